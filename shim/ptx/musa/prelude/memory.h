/* The prelude: loads, stores, atomics. Addresses are 64-bit numbers; shared memory is one array, in which a
 * 32-bit shared address is an offset. */
namespace cm
{
typedef u8 m8 __attribute__((may_alias));
typedef u16 m16 __attribute__((may_alias));
typedef u32 m32 __attribute__((may_alias));
typedef u64 m64 __attribute__((may_alias));
template <u32 bytes> struct word;
template <> struct word<1> {
    typedef m8 T;
};
template <> struct word<2> {
    typedef m16 T;
};
template <> struct word<4> {
    typedef m32 T;
};
template <> struct word<8> {
    typedef m64 T;
};
/* n words that move as one access where the machine has one that wide */
template <u32 bytes, u32 n> struct alignas(bytes *n > 16 ? 16 : bytes * n) some {
    typename word<bytes>::T v[n];
} __attribute__((may_alias));

/* Pointers rather than numbers, so that the compiler sees what is shared. */
CM_FN u8 *flat(u64 a) { return (u8 *)a; }
/* What PTX says is global memory: where the toolkit takes address spaces, the compiler follows that up. */
#ifdef CM_USE_SPACES
CM_FN u8 *in_global(u64 a) { return (u8 *)(__attribute__((address_space(1))) u8 *)a; }
#else
CM_FN u8 *in_global(u64 a) { return (u8 *)a; }
#endif
#define CM_S(a) (shared_memory + (u32)(a))
template <u32 bytes> CM_FN u64 load(const u8 *a) { return *(const typename word<bytes>::T *)a; }
template <u32 bytes> CM_FN u64 load_strong(const u8 *a)
{
    spin();
    return *(const volatile typename word<bytes>::T *)a;
}
template <u32 bytes> CM_FN void store(u8 *a, u64 v) { *(typename word<bytes>::T *)a = (typename word<bytes>::T)v; }
template <u32 bytes> CM_FN void store_strong(u8 *a, u64 v)
{
    *(volatile typename word<bytes>::T *)a = (typename word<bytes>::T)v;
}
template <u32 bytes, u32 n> CM_FN some<bytes, n> load_some(const u8 *a) { return *(const some<bytes, n> *)a; }
template <u32 bytes, u32 n> CM_FN some<bytes, n> load_some_strong(const u8 *a)
{
    some<bytes, n> r;
    if (bytes * n == 8) { /* one access: a word and its flag travel together */
        union {
            u64 all;
            some<bytes, n> r;
        } v;
        v.all = *(const volatile m64 *)a;
        return v.r;
    }
    for (u32 k = 0; k < n; k++)
        r.v[k] = ((const volatile typename word<bytes>::T *)a)[k];
    return r;
}
template <u32 bytes, u32 n> CM_FN void store_some(u8 *a, some<bytes, n> v) { *(some<bytes, n> *)a = v; }
template <u32 bytes, u32 n> CM_FN void store_some_strong(u8 *a, some<bytes, n> v)
{
    if (bytes * n == 8) {
        union {
            u64 all;
            some<bytes, n> r;
        } w;
        w.r = v;
        *(volatile m64 *)a = w.all;
        return;
    }
    for (u32 k = 0; k < n; k++)
        ((volatile typename word<bytes>::T *)a)[k] = v.v[k];
}
/* What a row holds of a loaded word: extended by its sign, cut to 16 bits in a row of 16. */
template <u32 bytes> CM_FN u64 sign_extend(u64 v) { return (u64)((s64)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes)); }
/* Arguments and results by value, of any alignment. */
template <u32 n, u32 align> struct alignas(align) blob {
    m8 v[n];
};
CM_FN void copy(u8 *to, const u8 *from, u32 n)
{
    for (u32 k = 0; k < n; k++)
        to[k] = from[k];
}

/* ---- atomics: add, exchange and compare-and-swap are the machine's, the rest is made of the last ---- */
CM_FN u64 updated(u32 op, u32 type, u64 old, u64 b, u64 c)
{
    const bool wide = type == CM_B64 || type == CM_U64 || type == CM_S64;
    const bool half = type == CM_B16 || type == CM_U16;
    const u64 ones = wide ? ~0ull : half ? 0xffffull : 0xffffffffull;
    const u64 o = old & ones, v = b & ones;
    if (op == CM_A_EXCH)
        return b;
    if (op == CM_A_CAS)
        return o == v ? c : old;
    if (type == CM_TF32_)
        return out32(op == CM_A_ADD   ? as_f32((u32)o) + as_f32((u32)v)
                     : op == CM_A_MIN ? least(as_f32((u32)o), as_f32((u32)v))
                                      : most(as_f32((u32)o), as_f32((u32)v)),
                     0);
    if (type == CM_TF64_)
        return bits(as_f64(old) + as_f64(b));
    if (type == CM_TF16 || type == CM_TF16X2 || type == CM_TBF16 || type == CM_TBF16X2) {
        const bool bf = type == CM_TBF16 || type == CM_TBF16X2;
        u64 r = 0;
        for (u32 k = 0; k < (type == CM_TF16 || type == CM_TBF16 ? 1u : 2u); k++) {
            u32 p = (u32)o >> 16 * k, q = (u32)v >> 16 * k;
            r |= (u64)(op == CM_A_ADD   ? bf ? ADD_BF16(p, q, 0) : ADD_F16(p, q, 0)
                         : op == CM_A_MIN ? bf ? MIN_BF16(p, q, 0) : MIN_F16(p, q, 0)
                         : bf ? MAX_BF16(p, q, 0)
                                        : MAX_F16(p, q, 0))
                 << 16 * k;
        }
        return r;
    }
    const bool below = type == CM_S64 ? (s64)o < (s64)v : type == CM_S32 ? (s32)o < (s32)v : o < v;
    switch (op) {
    case CM_A_ADD: return (o + v) & ones;
    case CM_A_AND: return o & v;
    case CM_A_OR: return o | v;
    case CM_A_XOR: return o ^ v;
    case CM_A_INC: return o >= v ? 0 : o + 1;
    case CM_A_DEC: return o == 0 || o > v ? v : o - 1;
    case CM_A_MIN: return below ? o : v;
    default: return below ? v : o;
    }
}
template <u32 op, u32 type> CM_FN u32 atom32(u8 *a, u32 b, u32 c)
{
    u32 *p = (u32 *)a;
#ifdef CM_USE_ATOMIC32
    if (op == CM_A_ADD && type == CM_TF32_)
        return bits(atomicAdd((f32 *)a, as_f32(b)));
#endif
    if (op == CM_A_ADD && (type == CM_U32 || type == CM_S32))
        return add(p, b);
    if (op == CM_A_EXCH)
        return swap(p, b);
    if (op == CM_A_CAS)
        return cas(p, b, c);
    for (u32 old = *(volatile u32 *)p, was;; old = was) {
        was = cas(p, old, (u32)updated(op, type, old, b, c));
        if (was == old)
            return old;
    }
}
template <u32 op, u32 type> CM_FN u64 atom64(u8 *a, u64 b, u64 c)
{
    u64 *p = (u64 *)a;
#ifdef CM_USE_ATOMIC64
    if (op == CM_A_ADD && type == CM_TF64_)
        return bits(atomicAdd((f64 *)a, as_f64(b)));
#endif
    if (op == CM_A_ADD && type != CM_TF64_)
        return add(p, b);
    if (op == CM_A_EXCH)
        return swap(p, b);
    if (op == CM_A_CAS)
        return cas(p, b, c);
    for (u64 old = *(volatile u64 *)p, was;; old = was) {
        was = cas(p, old, updated(op, type, old, b, c));
        if (was == old)
            return old;
    }
}
/* Half of an aligned word, which is what can be swapped. */
template <u32 op, u32 type> CM_FN u32 atom16(u8 *a, u32 b, u32 c)
{
#ifdef CM_USE_ATOMIC16
    if (op == CM_A_ADD && type == CM_TF16) {
        union {
            u16 u;
            __half h;
        } v;
        v.u = (u16)b;
        v.h = atomicAdd((__half *)a, v.h);
        return v.u;
    }
#endif
    u32 *p = (u32 *)((u64)a & ~3ull), shift = (u32)((u64)a & 2) * 8;
    for (u32 all = *(volatile u32 *)p, was;; all = was) {
        u32 old = all >> shift & 0xffff, now = (u32)updated(op, type, old, b & 0xffff, c & 0xffff) & 0xffff;
        was = cas(p, all, (all & ~(0xffffu << shift)) | now << shift);
        if (was == all)
            return old;
    }
}
} // namespace cm
