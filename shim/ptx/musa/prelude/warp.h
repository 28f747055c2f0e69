/* The prelude: what 32 threads do together, all of it made of one shuffle and one ballot. `mask` names those
 * who take part, as bits of their 32; they hold the same one. */
namespace cm {
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
    default:
        j = least | (n & ~segment);
        in = j <= most;
    }
    return shfl_idx(mask, a, in ? j & 31 : l);
}
CM_FN u32 vote(u32 kind, u32 mask, bool p, bool negated)
{
    u32 yes = ballot(mask, p != negated) & mask;
    return kind == CM_VOTE_BALLOT ? yes : kind == CM_VOTE_ALL ? yes == mask
           : kind == CM_VOTE_ANY ? yes != 0 : !yes || yes == mask;
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
CM_FN u32 redux(u32 op, bool sign, u32 mask, u32 v)
{
    u32 r = 0;
    bool first = true;
    for (u32 l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        u32 w = shfl_idx(mask, v, l);
        bool less = sign ? (s32)w < (s32)r : w < r;
        r = first ? w : op == CM_A_ADD ? r + w : op == CM_A_AND ? r & w : op == CM_A_OR ? r | w
            : op == CM_A_XOR ? r ^ w : op == CM_A_MIN ? less ? w : r : less ? r : w;
        first = false;
    }
    return r;
}
} // namespace cm
