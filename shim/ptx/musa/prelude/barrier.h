/* The prelude: barriers of some of a block's threads on machines that have one barrier for all: words in shared
 * memory. Of a word bits 0-15 count who has come, 16-31 those with a true predicate, 32-47 hold the latter of the
 * round before, 48-63 the round. A thread that waits goes round a loop: warps wider than PTX's 32 threads, in which
 * one half may have to pass another, cannot do that. */
#if defined(CM_NAMED_BARRIERS)
#define CM_BARRIERS
#define CM_BARRIERS_BEGIN
namespace cm
{
CM_FN void bar_some(unsigned id, unsigned n) { bar_count(id, n); }
} // namespace cm
#else
#if CM_WARP > 32
#define CM_BARRIERS static_assert(CM_WARP == 32, "barriers of some of a block's threads need warps of 32");
#else
#define CM_BARRIERS CM_SHARED_WORDS(named_barriers, 16)
#endif
#define CM_BARRIERS_BEGIN barriers_begin(named_barriers);
#define bar_some(id, n) bar_unless_all(named_barriers, id, n)
#define bar_count(id, n) bar_meet(named_barriers, id, n, false)
#define bar_arrive(id, n) bar_come(named_barriers, id, n, false)
#define bar_count_popc(id, n, p) bar_meet(named_barriers, id, n, p)
#define bar_count_and(id, n, p) (bar_meet(named_barriers, id, n, !(p)) == 0)
#define bar_count_or(id, n, p) (bar_meet(named_barriers, id, n, p) != 0)
namespace cm
{
CM_FN void barriers_begin(u64 *word)
{
    if (thread_id() == 0)
        for (u32 k = 0; k < 16; k++)
            word[k] = 0;
    bar_all(0);
}
/* The last thread stands for those that its warp lacks: counts are of whole warps. */
CM_FN u64 bar_come(u64 *word, u32 id, u32 n, bool p)
{
    const u32 threads = ntid(0) * ntid(1) * ntid(2), mine = thread_id() == threads - 1 ? 1 + (0 - threads & 31) : 1;
    u64 *w = word + (id & 15);
    fence(0);
    for (u64 old = *(volatile u64 *)w, was;; old = was) {
        const u64 come = (old & 0xffff) + mine, yes = (old >> 16 & 0xffff) + p, round = old >> 48;
        const u64 now = come >= n ? (round + 1) << 48 | yes << 32
                                  : round << 48 | (old & 0xffff00000000ull) | yes << 16 | come;
        was = cas(w, old, now);
        if (was == old)
            return round;
    }
}
CM_FN u32 bar_meet(u64 *word, u32 id, u32 n, bool p)
{
    const u64 round = bar_come(word, id, n, p);
    volatile u64 *w = word + (id & 15);
    u64 now = *w;
    while (now >> 48 == round) {
        spin();
        now = *w;
    }
    fence(0);
    return (u32)(now >> 32) & 0xffff;
}
/* In kernels where nobody merely arrives, a barrier of all threads is the machine's. */
CM_FN void bar_unless_all(u64 *word, u32 id, u32 n)
{
    if (n >= ntid(0) * ntid(1) * ntid(2))
        bar_all(0);
    else
        bar_meet(word, id, n, false);
}
} // namespace cm
#endif
