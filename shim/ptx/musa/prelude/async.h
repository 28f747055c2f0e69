/* The prelude: asynchronous copies, done when issued or, by the toolkit's own function, begun then and waited for where
 * the emitter says so; and mbarrier objects: 64 bits that arrivals change by compare-and-swap. Bits 0-19 arrivals still
 * missing, 20-39 arrivals of a phase, 40-60 bytes still expected, 61-63 phase. */
namespace cm
{
#ifdef CM_USE_COPY
CM_FN void copies_done() { __musa_memcpy_g2s_wait(); }
CM_FN void copy_16(u8 *to, const u8 *from)
{
    __musa_memcpy_g2s((__attribute__((address_space(3))) void *)to, (__attribute__((address_space(1))) void *)from, 16,
                      0);
}
#else
CM_FN void copies_done() {}
CM_FN void copy_16(u8 *to, const u8 *from) { *(some<8, 2> *)to = *(const some<8, 2> *)from; }
#endif
CM_FN void copy_async(u8 *to, const u8 *from, u32 size, u32 n)
{
    if (size == 16 && n >= 16) { /* as one access: both sides are aligned to it */
        copy_16(to, from);
        return;
    }
    copies_done(); /* one after the other, should they overlap */
    n = n < size ? n : size;
    for (u32 k = 0; k < size; k += 4)
        *(m32 *)(to + k) = k + 4 <= n ? *(const m32 *)(from + k) : 0;
    for (u32 k = n & ~3u; k < n; k++)
        *(m8 *)(to + k) = *(const m8 *)(from + k);
}
CM_FN u64 arrived(u64 word, u64 n, bool drop, u32 bytes)
{
    u64 left = word & 0xfffff, all = word >> 20 & 0xfffff, phase = word >> 61;
    u64 missing = ((word >> 40) + bytes) & 0x1fffff;
    if (drop)
        all -= n < all ? n : all;
    left -= n < left ? n : left;
    if (!left && !missing) {
        left = all;
        phase++;
    }
    return left | all << 20 | missing << 40 | phase << 61;
}
CM_FN u64 arrive(u8 *a, u64 n, bool drop, u32 bytes)
{
    u64 *p = (u64 *)a;
    fence(0);
    for (u64 old = *(volatile u64 *)p, was;; old = was) {
        was = cas(p, old, arrived(old, n, drop, bytes));
        if (was == old)
            return old;
    }
}
CM_FN u64 barrier_word(const u8 *a)
{
    u64 w = *(const volatile u64 *)a;
    spin();
    fence(0);
    return w;
}
CM_FN void zero_bulk(u8 *to, u32 n)
{
    for (u32 k = 0; k < n; k += 8)
        *(m64 *)(to + k) = 0;
}
CM_FN void copy_bulk(u8 *to, const u8 *from, u32 n)
{
    for (u32 k = 0; k < n; k += 16)
        *(some<8, 2> *)(to + k) = *(const some<8, 2> *)(from + k);
}
template <u32 op, u32 type, u32 size> CM_FN void reduce_bulk(u8 *to, const u8 *from, u32 n)
{
    for (u32 k = 0; k < n; k += size) {
        if (size == 8)
            atom64<op, type>(to + k, *(const m64 *)(from + k), 0);
        else if (size == 4)
            atom32<op, type>(to + k, *(const m32 *)(from + k), 0);
        else
            atom16<op, type>(to + k, *(const m16 *)(from + k), 0);
    }
}
} // namespace cm
