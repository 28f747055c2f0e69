/* The prelude: what 32 threads do together, all of it made of one shuffle and one ballot. `mask` names those
 * who take part, as bits of their 32; they hold the same one. */
namespace cm
{
/* Lane that mode CM_SHFL_* reads from, and whether it is in range; c: clamp in bits 0-4, segment in 8-12. */
CM_FN u32 shuffle(u32 mode, u32 mask, u32 a, u32 b, u32 c, bool &in)
{
    u32 l = lane_id(), n = b & 31, clamp = c & 31, segment = c >> 8 & 31, j;
    u32 most = (l & segment) | (clamp & ~segment), least = l & segment;
    switch (mode) {
    case CM_SHFL_UP:
        j = l - n;
        in = (s32)j >= (s32)most;
        break;
    case CM_SHFL_DOWN:
        j = l + n;
        in = j <= most;
        break;
    case CM_SHFL_BFLY:
        j = l ^ n;
        in = j <= most;
        break;
    default: j = least | (n & ~segment); in = j <= most;
    }
    return shfl_idx(mask, a, in ? j & 31 : l);
}
/* The same of a known clamp and segment, which nearly all are: by the toolkit's own shuffles where they are known. */
template <u32 mode, u32 c> CM_FN u32 shuffle_within(u32 mask, u32 a, u32 b, bool &in)
{
#ifdef CM_USE_SHFL
    const u32 width = 32 - (c >> 8 & 31), clamp = c & 31, l = lane_id() & (width - 1), n = b & 31;
    if (!(width & (width - 1)) && clamp == (mode == CM_SHFL_UP ? 0u : 31u)) {
        in = mode == CM_SHFL_UP ? l >= n : mode == CM_SHFL_DOWN ? l + n < width : mode != CM_SHFL_BFLY || n < width;
        if (mode == CM_SHFL_UP)
            return __shfl_up_sync(mask, a, n, (int)width);
        if (mode == CM_SHFL_DOWN)
            return __shfl_down_sync(mask, a, n, (int)width);
        if (mode == CM_SHFL_BFLY && width == 32)
            return __shfl_xor_sync(mask, a, (int)n, 32);
    }
#endif
    return shuffle(mode, mask, a, b, c, in);
}
CM_FN u32 vote(u32 kind, u32 mask, bool p, bool negated)
{
    u32 yes = ballot(mask, p != negated) & mask;
    return kind == CM_VOTE_BALLOT ? yes
           : kind == CM_VOTE_ALL  ? yes == mask
           : kind == CM_VOTE_ANY  ? yes != 0
                                  : !yes || yes == mask;
}
CM_FN u64 shfl_idx64(u32 mask, u64 v, u32 lane)
{
    return shfl_idx(mask, (u32)v, lane) | (u64)shfl_idx(mask, (u32)(v >> 32), lane) << 32;
}
CM_FN u32 match(u32 mask, u64 v, bool wide, bool all, bool &same_all)
{
    u32 same = 0;
    for (u32 l = 0; l < 32; l++)
        if (mask >> l & 1)
            same |= ((wide ? shfl_idx64(mask, v, l) == v : shfl_idx(mask, (u32)v, l) == (u32)v) ? 1u : 0u) << l;
    same_all = same == mask;
    return !all || same_all ? same : 0;
}
/* redux.sync: the toolkit's reductions where a probe found them right, else a shuffle from each member. */
CM_FN u32 redux(u32 op, bool sign, u32 mask, u32 v)
{
#ifdef CM_USE_REDUX
    switch (op) {
    case CM_A_ADD: return __reduce_add_sync(mask, v);
    case CM_A_AND: return __reduce_and_sync(mask, v);
    case CM_A_OR: return __reduce_or_sync(mask, v);
    case CM_A_XOR: return __reduce_xor_sync(mask, v);
    case CM_A_MIN: return sign ? (u32)__reduce_min_sync(mask, (s32)v) : __reduce_min_sync(mask, v);
    default: return sign ? (u32)__reduce_max_sync(mask, (s32)v) : __reduce_max_sync(mask, v);
    }
#else
    u32 r = 0;
    bool first = true;
    for (u32 l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        u32 w = shfl_idx(mask, v, l);
        bool less = sign ? (s32)w < (s32)r : w < r;
        r = first            ? w
            : op == CM_A_ADD ? r + w
            : op == CM_A_AND ? r & w
            : op == CM_A_OR  ? r | w
            : op == CM_A_XOR ? r ^ w
            : op == CM_A_MIN ? less ? w : r
            : less           ? r
                             : w;
        first = false;
    }
    return r;
#endif
}
} // namespace cm
