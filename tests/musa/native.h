/* What a toolkit may have of its own (shim/ptx/musa/native.def), for the host: written from what is documented of it,
 * by element rather than by register. Part of host.h. */
template <class T> CM_FN T atomicAdd(T *p, T v)
{
    T old = *p; /* threads are fibers */
    *p = old + v;
    return old;
}
CM_FN unsigned cm_lane() { return (tid(0) + ntid(0) * (tid(1) + ntid(1) * tid(2))) & 31; }
CM_FN unsigned cm_from(unsigned mask, unsigned v, unsigned lane, bool in)
{
    return cm_machine->warp(0, mask, v, in ? lane : cm_lane());
}
CM_FN unsigned __shfl_up_sync(unsigned mask, unsigned v, unsigned by, int width)
{
    unsigned l = cm_lane();
    return cm_from(mask, v, l - by, l % (unsigned)width >= by);
}
CM_FN unsigned __shfl_down_sync(unsigned mask, unsigned v, unsigned by, int width)
{
    unsigned l = cm_lane();
    return cm_from(mask, v, l + by, l % (unsigned)width + by < (unsigned)width);
}
CM_FN unsigned __shfl_xor_sync(unsigned mask, unsigned v, int by, int width)
{
    const unsigned l = cm_lane(), from = l ^ (unsigned)by;
    return cm_from(mask, v, from, from / (unsigned)width == l / (unsigned)width);
}
#define CM_REDUCE(name, T, expr) \
    CM_FN T name(unsigned mask, T v) \
    { \
        T all[32], r; \
        bool first = true; \
        for (unsigned l = 0; l < 32; l++) { \
            if (!(mask >> l & 1)) \
                continue; \
            all[l] = (T)cm_machine->warp(0, mask, (unsigned)v, l); \
            r = first ? all[l] : (T)(expr); \
            first = false; \
        } \
        return r; \
    }
CM_REDUCE(__reduce_add_sync, unsigned, r + all[l])
CM_REDUCE(__reduce_and_sync, unsigned, r &all[l])
CM_REDUCE(__reduce_or_sync, unsigned, r | all[l])
CM_REDUCE(__reduce_xor_sync, unsigned, r ^ all[l])
CM_REDUCE(__reduce_min_sync, unsigned, all[l] < r ? all[l] : r)
CM_REDUCE(__reduce_max_sync, unsigned, all[l] > r ? all[l] : r)
CM_REDUCE(__reduce_min_sync, int, all[l] < r ? all[l] : r)
CM_REDUCE(__reduce_max_sync, int, all[l] > r ? all[l] : r)

/* ---- copies that are done when they are waited for ---- */
enum { CM_COPIES = 32 };
static struct {
    void *to[CM_COPIES];
    const void *from[CM_COPIES];
    unsigned n;
} cm_copies[1024]; /* by thread of a block */
CM_FN unsigned cm_thread() { return (tid(0) + ntid(0) * (tid(1) + ntid(1) * tid(2))) & 1023; }
CM_FN void __musa_memcpy_g2s_wait()
{
    const unsigned t = cm_thread();
    for (unsigned k = 0; k < cm_copies[t].n; k++)
        __builtin_memcpy(cm_copies[t].to[k], cm_copies[t].from[k], 16);
    cm_copies[t].n = 0;
}
CM_FN void __musa_memcpy_g2s(void *to, const void *from, unsigned bytes, int)
{
    const unsigned t = cm_thread();
    if (bytes != 16 || (unsigned long long)to % 16 || (unsigned long long)from % 16)
        trap();
    if (cm_copies[t].n == CM_COPIES)
        __musa_memcpy_g2s_wait();
    cm_copies[t].to[cm_copies[t].n] = to;
    cm_copies[t].from[cm_copies[t].n++] = from;
}

/* ---- halves ---- */
struct __half {
    unsigned short x;
};
struct __half2 {
    __half x, y;
};
CM_FN double cm_small(unsigned u, int fraction, int bias) /* finite, without its sign */
{
    const unsigned m = u & ((1u << fraction) - 1), e = u >> fraction;
    return e ? __builtin_ldexp(1.0 + m / (double)(1u << fraction), (int)e - bias)
             : __builtin_ldexp(m / (double)(1u << fraction), 1 - bias);
}
CM_FN double cm_half(unsigned short h)
{
    const unsigned size = h & 0x7fff;
    const double v = size > 0x7c00 ? __builtin_nan("") : size == 0x7c00 ? __builtin_inf() : cm_small(size, 10, 15);
    return h & 0x8000 ? -v : v;
}
CM_FN __half cm_to_half(double v)
{
    __half h = {(unsigned short)(__builtin_signbit(v) ? 0x8000 : 0)};
    const double size = __builtin_fabs(v);
    if (size != size) {
        h.x = 0x7fff;
    } else if (size >= 65520) {
        h.x |= 0x7c00;
    } else if (size > 0) {
        int e = __builtin_ilogb(size) < -14 ? -14 : __builtin_ilogb(size);
        const double m = __builtin_nearbyint(__builtin_ldexp(size, 10 - e));
        h.x = (unsigned short)(h.x + (unsigned)((e + 14) << 10) + (unsigned)m);
    }
    return h;
}
CM_FN __half atomicAdd(__half *p, __half v)
{
    __half old = *p;
    *p = cm_to_half(cm_half(old.x) + cm_half(v.x));
    return old;
}
#define CM_TWO(name, params, expr) \
    CM_FN __half name##_one params { return cm_to_half(expr); }
CM_TWO(cm_add, (__half a, __half b), cm_half(a.x) + cm_half(b.x))
CM_TWO(cm_sub, (__half a, __half b), cm_half(a.x) - cm_half(b.x))
CM_TWO(cm_mul, (__half a, __half b), cm_half(a.x) * cm_half(b.x))
/* A sum that a double does not hold is rounded to odd first. */
CM_FN __half cm_fma_one(__half a, __half b, __half c)
{
    const double p = cm_half(a.x) * cm_half(b.x), z = cm_half(c.x), s = p + z, t = s - p, e = (p - (s - t)) + (z - t);
    union {
        double d;
        long long i;
    } u = {s};
    if (e != 0 && e == e && !(u.i & 1))
        u.i += (e > 0) == (s > 0) ? 1 : -1;
    return cm_to_half(u.d);
}
CM_FN __half2 __hadd2(__half2 a, __half2 b)
{
    __half2 r = {cm_add_one(a.x, b.x), cm_add_one(a.y, b.y)};
    return r;
}
CM_FN __half2 __hsub2(__half2 a, __half2 b)
{
    __half2 r = {cm_sub_one(a.x, b.x), cm_sub_one(a.y, b.y)};
    return r;
}
CM_FN __half2 __hmul2(__half2 a, __half2 b)
{
    __half2 r = {cm_mul_one(a.x, b.x), cm_mul_one(a.y, b.y)};
    return r;
}
CM_FN __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    __half2 r = {cm_fma_one(a.x, b.x, c.x), cm_fma_one(a.y, b.y, c.y)};
    return r;
}

/* ---- matrix products of mp_31 ---- */
/* Element of A or B (of `rows` rows) that lane l has at place v of register r, as row + rows * column along k: what the
 * vendor's library calls the layout of a factor whose rows lie along k. */
CM_FN unsigned cm_factor_at(unsigned rows, unsigned k, unsigned per, unsigned l, unsigned r, unsigned v)
{
    const unsigned along = k / (4 * per), v1 = r % along, v2 = r / along;
    return l % 4 * (rows * per) + l / 4 + v * rows + v1 * 4 * per * rows + v2 * 8;
}
CM_FN double cm_element(int type, bool is_b, unsigned word, unsigned v)
{
    union {
        unsigned u;
        float f;
    } w = {word};
    const unsigned byte = word >> 8 * v & 0xff, half = word >> 16 * v & 0xffff;
    const bool e5m2 = type == 6 || (type == 11 && is_b) || (type == 12 && !is_b);
    switch (type) {
    case 0: return byte;
    case 1: return (signed char)byte;
    case 2: return cm_half((unsigned short)half);
    case 3: w.u = half << 16; return w.f;
    case 4: w.u &= 0xffffe000u; return w.f;
    default: break;
    }
    if (e5m2)
        return cm_half((unsigned short)(byte << 8));
    const double size = (byte & 0x7f) == 0x7f ? __builtin_nan("") : cm_small(byte & 0x7f, 3, 7);
    return byte & 0x80 ? -size : size;
}
CM_FN void cm_unit(unsigned k, int *d, const int *a, const int *b, const int *c, int format, int shape, int type)
{
    const unsigned bits = type == 4 ? 32 : type == 2 || type == 3 ? 16 : 8, per = 32 / bits, l0 = cm_lane();
    double ma[16 * 16], mb[8 * 16];
    int sums[4];
    for (unsigned l = 0; l < 32; l++) {
        for (unsigned r = 0; r < 16 * k / per / 32; r++) {
            const unsigned word = cm_machine->warp(0, ~0u, (unsigned)a[r], l);
            for (unsigned v = 0; v < per; v++)
                ma[cm_factor_at(16, k, per, l, r, v)] = cm_element(type, false, word, v);
        }
        for (unsigned r = 0; r < 8 * k / per / 32; r++) {
            const unsigned word = cm_machine->warp(0, ~0u, (unsigned)b[r], l);
            for (unsigned v = 0; v < per; v++)
                mb[cm_factor_at(8, k, per, l, r, v)] = cm_element(type, true, word, v);
        }
    }
    for (unsigned v = 0; v < 4; v++) {
        const unsigned row = l0 / 8 + 4 * v, col = l0 % 8;
        union {
            int i;
            float f;
        } s = {c[v]};
        for (unsigned e = 0; e < k; e++)
            if (type < 2)
                s.i = (int)((unsigned)s.i + (unsigned)(int)(ma[row + 16 * e] * mb[col + 8 * e]));
            else
                s.f = __builtin_fmaf((float)ma[row + 16 * e], (float)mb[col + 8 * e], s.f);
#ifdef CM_WRONG_UNITS
        s.i = 0;
#endif
        sums[v] = shape == 1 && format == (type == 1) ? s.i : 0x55555555;
    }
    __builtin_memcpy(d, sums, sizeof sums);
}
#define CM_UNIT_OF(K) \
    CM_FN void __musa_wmma_m16n8k##K##_mma(int *d, const int *a, const int *b, const int *c, int, int, int, bool, \
                                           int format, int shape, int type) \
    { \
        cm_unit(K, d, a, b, c, format, shape, type); \
    }
CM_UNIT_OF(4)
CM_UNIT_OF(8)
CM_UNIT_OF(16)
