/* The prelude: atomics of 16 bytes, which no machine of MUSA is known to have: under a lock, one of some by the
 * address. They are atomic among the threads of one kernel's launches, and with its strong loads and stores. */
CM_STATIC cm::u32 wide_locks[64];
namespace cm
{
typedef some<8, 2> wide;
/* One step of a loop, so that threads that run in step cannot keep the lock from one another. */
CM_FN bool locked(u64 a) { return cas(&wide_locks[a >> 4 & 63], 0u, 1u) == 0; }
CM_FN void unlock(u64 a)
{
    fence(1);
    swap(&wide_locks[a >> 4 & 63], 0u);
}
CM_FN wide wide_words(u64 low, u64 high)
{
    wide v;
    v.v[0] = low;
    v.v[1] = high;
    return v;
}
CM_FN wide atom128(u32 op, u8 *a, wide b, wide c)
{
    volatile u64 *p = (volatile u64 *)a;
    wide old;
    for (bool done = false; !done;) {
        if (locked((u64)a)) {
            fence(1);
            old.v[0] = p[0];
            old.v[1] = p[1];
            const bool hit = op != CM_A_CAS || (old.v[0] == b.v[0] && old.v[1] == b.v[1]);
            if (hit) {
                p[0] = op == CM_A_CAS ? c.v[0] : b.v[0];
                p[1] = op == CM_A_CAS ? c.v[1] : b.v[1];
            }
            unlock((u64)a);
            done = true;
        } else {
            spin();
        }
    }
    return old;
}
CM_FN wide load_wide(const u8 *a)
{
    const volatile u64 *p = (const volatile u64 *)a;
    wide v;
    for (bool done = false; !done;) {
        if (locked((u64)a)) {
            fence(1);
            v.v[0] = p[0];
            v.v[1] = p[1];
            unlock((u64)a);
            done = true;
        } else {
            spin();
        }
    }
    return v;
}
CM_FN void store_wide(u8 *a, wide v) { atom128(CM_A_EXCH, a, v, v); }
} // namespace cm
