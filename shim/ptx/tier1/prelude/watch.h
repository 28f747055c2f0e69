/* Tier 1's prelude: accesses of watched kernels (T1_EMIT_WATCHED). Each is tested against the range that was found to
 * be allowed at its place before, or against the block's shared and the thread's local memory, whose addresses are
 * offsets. What is outside goes to a service, which knows all that lives: it gives the place another range, or ends
 * the block. */
#define T1_OUTSIDE(lo, hi, base, size, bytes) \
    ((size) < (bytes) || (lo) - (base) > (size) - (bytes) || (hi) - (base) > (size) - (bytes))

/* Lanes at first + stride * (lane - from). */
static __attribute__((noinline, unused, cold)) void t1_watch_row(struct t1_block *b, uint32_t warp, uint32_t mask,
                                                                 uint64_t first, int64_t stride, unsigned from,
                                                                 const struct t1_watched *at, struct t1_range *range)
{
    uint64_t a[32];
    T1_FOR_LANES(l, mask) a[l] = first + (uint64_t)stride * (uint64_t)(l - from);
    b->services->watch(b, warp, mask, a, at, range);
}
/* What of `first` + scale * index lies in the range: the indices from *lo on, *most of them and one; false: none. */
T1_INLINE _Bool t1_watch_index(uint64_t first, unsigned log2, unsigned bytes, const struct t1_range *r, uint32_t *lo,
                               uint32_t *most)
{
    int64_t from = (int64_t)(r->base - first), to = (int64_t)(r->base + r->size - bytes - first);
    from = (from + (1 << log2) - 1) >> log2;
    to >>= log2;
    from = from < -2147483648l ? -2147483648l : from;
    to = to > 2147483647l ? 2147483647l : to;
    *lo = (uint32_t)from;
    *most = (uint32_t)(to - from);
    return r->size >= bytes && from <= to;
}
