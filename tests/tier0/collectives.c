/* shfl, vote, match, redux, elect, activemask and bar.warp.sync, whole warps and parts. */
#include "tier0/kernels.h"

static uint32_t ref_mode, ref_lane, ref_c; /* what the shfl reference models */

static uint32_t shfl_ref(uint32_t i)
{
    uint32_t l = i & 31, b = ref_lane & 31, clamp = ref_c & 31, seg = ref_c >> 8 & 31;
    uint32_t most = (l & seg) | (clamp & ~seg), least = l & seg;
    int j = 0;
    bool hit;
    switch (ref_mode) {
    case 0:
        j = (int)l - (int)b;
        hit = j >= (int)most;
        break;
    case 1:
        j = (int)(l + b);
        hit = j <= (int)most;
        break;
    case 2:
        j = (int)(l ^ b);
        hit = j <= (int)most;
        break;
    default: j = (int)(least | (b & ~seg)); hit = j <= (int)most;
    }
    uint32_t from = hit ? (uint32_t)j : l;
    return ((i & ~31u) + from) * 3 + 7 + (hit ? 1000000u : 0);
}

static void all_shfl(void)
{
    static const char *const mode[] = {"up", "down", "bfly", "idx"};
    static const uint32_t controls[] = {0x1f, 0, 0x0707, 0x181f, 0x1c03, 0x1807, 0x1018};
    unsigned bad = 0, n = 0;
    for (unsigned m = 0; m < 4; m++)
        for (unsigned c = 0; c < sizeof controls / sizeof *controls; c++)
            for (unsigned lane = 0; lane < 32; lane += 3) {
                char text[4000];
                snprintf(text, sizeof text,
                         "%smad.lo.u32 %%r2, %%r0, 3, 7; mov.u32 %%r5, %u;\n"
                         "shfl.sync.%s.b32 %%r3|%%p1, %%r2, %%r5, %u, 0xffffffff;\n"
                         "@%%p1 add.u32 %%r3, %%r3, 1000000; %s%s",
                         HEAD ENTRY("k"), lane, mode[m], controls[c], STORE("%r3"), END);
                ref_mode = m;
                ref_lane = lane;
                ref_c = controls[c];
                if (!run(text, 1, 64, NULL))
                    return;
                n++;
                for (uint32_t i = 0; i < 64; i++)
                    bad += out[i] != shfl_ref(i);
            }
    check(!bad, "shfl: %u forms, %u wrong lanes", n, bad);
}

/* a butterfly sum among the lanes of a mask, while the others do something else */
static const char partial[] = KERNEL(
    "and.b32 %r2, %r1, 16; setp.ne.u32 %p1, %r2, 0; mov.u32 %r3, %r1; @%p1 bra X;\n"
    "mov.u32 %r4, 8;\n"
    "L: shfl.sync.bfly.b32 %r5, %r3, %r4, 31, 0xffff; add.u32 %r3, %r3, %r5; shr.u32 %r4, %r4, 1;\n"
    "setp.ne.u32 %p2, %r4, 0; @%p2 bra L; bra E;\n"
    "X: mul.lo.u32 %r3, %r3, 5;\n"
    "E: " STORE("%r3"));
static uint32_t partial_want(uint32_t i)
{
    uint32_t base = i & ~15u;
    return i & 16 ? i * 5 : base * 16 + 120;
}

/* lanes that take no part give 0: programs add over a whole warp with a few lanes active */
static const char few[] = KERNEL(
    "and.b32 %r2, %r1, 31; mad.lo.u32 %r3, %r1, 3, 7; setp.ge.u32 %p1, %r2, 8; @%p1 bra E;\n"
    "mov.u32 %r4, 16;\n"
    "L: shfl.sync.down.b32 %r5, %r3, %r4, 31, 0xff; add.u32 %r3, %r3, %r5; shr.u32 %r4, %r4, 1;\n"
    "setp.ne.u32 %p2, %r4, 0; @%p2 bra L;\n"
    "E: " STORE("%r3"));
static uint32_t few_want(uint32_t i)
{
    uint32_t v[64] = {0}, old[64];
    if ((i & 31) >= 8)
        return i * 3 + 7;
    for (uint32_t l = 0; l < 8; l++)
        v[l] = ((i & ~31u) + l) * 3 + 7;
    for (uint32_t step = 16; step; step /= 2) {
        memcpy(old, v, sizeof v);
        for (uint32_t l = 0; l < 8; l++) /* lanes 8 and up stay 0 */
            v[l] = old[l] + old[l + step];
    }
    return v[i & 31];
}

/* lanes reach the same shfl through different paths and at different times */
static const char gather[] = KERNEL("mov.u32 %r3, 0; and.b32 %r4, %r1, 31;\n"
                                    "L: setp.ge.u32 %p1, %r3, %r4; @%p1 bra D; add.u32 %r3, %r3, 1; bra L;\n"
                                    "D: shfl.sync.idx.b32 %r5, %r1, 31, 31, 0xffffffff; " STORE("%r5"));
static uint32_t gather_want(uint32_t i) { return i | 31; }

/* tiles of four lanes, each of which names itself: one instruction, eight groups */
#define TILE(what) \
    KERNEL("and.b32 %r2, %r1, 28; mov.u32 %r3, 15; shl.b32 %r3, %r3, %r2; shr.u32 %r4, %r1, 1;\n" \
           "and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1; rem.u32 %r5, %r1, 7; setp.eq.u32 %p2, %r5, 0;\n" what)
static const char tile_vote[] = TILE(
    "vote.sync.ballot.b32 %r5, %p1, %r3; shr.u32 %r5, %r5, %r2; vote.sync.any.pred %p3, %p2, %r3;\n"
    "@%p3 add.u32 %r5, %r5, 100; vote.sync.all.pred %p3, %p2, %r3; @%p3 add.u32 %r5, %r5, 1000;\n" STORE("%r5"));
static uint32_t tile_vote_want(uint32_t i)
{
    uint32_t any = 0;
    for (uint32_t l = i & ~3u; l < (i & ~3u) + 4; l++)
        any |= l % 7 == 0;
    return 10 + 100 * any;
}
static const char tile_match[] = TILE("match.any.sync.b32 %r5, %r4, %r3; shr.u32 %r5, %r5, %r2;\n" STORE("%r5"));
static uint32_t tile_match_want(uint32_t i) { return i & 2 ? 12 : 3; }
static const char tile_redux[] = TILE("redux.sync.add.u32 %r5, %r1, %r3;\n" STORE("%r5"));
static uint32_t tile_redux_want(uint32_t i) { return 4 * (i & ~3u) + 6; }

#ifndef NAMES_ITSELF
/* each lane's mask names those below it, and not itself: PTX leaves it open, devices and with them it */
static const char ballot_below[] = KERNEL("mov.u32 %r3, %lanemask_lt; rem.u32 %r4, %r1, 3; setp.eq.u32 %p1, %r4, 0;\n"
                                          "vote.sync.ballot.b32 %r5, %p1, %r3;\n" STORE("%r5"));
static uint32_t ballot_below_want(uint32_t i)
{
    uint32_t below = 0;
    for (uint32_t l = i & ~31u; l < i; l++)
        below |= (uint32_t)(l % 3 == 0) << (l & 31);
    return below;
}
#endif

/* some lanes have left: the full mask counts those that live */
static const char after_exit[] = KERNEL(STORE("%r1") "and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; @%p1 exit;\n"
                                                     "vote.sync.ballot.b32 %r3, 1, 0xffffffff; " STORE("%r3"));
static uint32_t after_exit_want(uint32_t i) { return i & 3 ? 0xeeeeeeee : i; }

/* the two halves wait for each other at different places: nobody may hang */
static const char mismatch[] = KERNEL("and.b32 %r2, %r1, 16; setp.ne.u32 %p1, %r2, 0; @%p1 bra X;\n"
                                      "shfl.sync.idx.b32 %r3, %r1, 2, 31, 0xffffffff; bra E;\n"
                                      "X: shfl.sync.idx.b32 %r3, %r1, 20, 31, 0xffffffff;\n"
                                      "E: " STORE("%r3"));
static uint32_t mismatch_want(uint32_t i) { return (i & ~31u) + (i & 16 ? 20 : 2); }

static const char votes[] = KERNEL(
    "setp.lt.u32 %p1, %r1, 40; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1;\n"
    "vote.sync.uni.pred %p4, %p1, -1; vote.sync.ballot.b32 %r2, !%p1, -1; selp.u32 %r3, 1, 0, %p2;\n"
    "selp.u32 %r4, 2, 0, %p3; selp.u32 %r5, 4, 0, %p4; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;\n"
    "and.b32 %r2, %r2, 0xffffff0; or.b32 %r2, %r2, %r3; " STORE("%r2"));
static uint32_t votes_want(uint32_t i) { return i < 32 ? 7 : i < 64 ? (0xffffff00u & 0xffffff0u) | 2 : 0xffffff0u | 4; }

static const char matches[] = KERNEL(
    "rem.u32 %r2, %r1, 5; match.any.sync.b32 %r3, %r2, -1; cvt.u64.u32 %rd5, %r2; shl.b64 %rd5, %rd5, 40;\n"
    "match.any.sync.b64 %r4, %rd5, -1; match.all.sync.b32 %r5|%p1, %r2, -1; shr.u32 %r6, %r1, 5;\n"
    "match.all.sync.b32 %r7|%p2, %r6, -1; selp.u32 %r8, 0, 1, %p1; and.b32 %r7, %r7, %r8;\n"
    "selp.u32 %r9, 2, 0, %p2; xor.b32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; or.b32 %r3, %r3, %r7;\n"
    "or.b32 %r3, %r3, %r9; popc.b32 %r10, %r4; mad.lo.u32 %r3, %r10, 16, %r3; " STORE("%r3"));
static uint32_t matches_want(uint32_t i)
{
    uint32_t base = i & ~31u, n = 0;
    for (uint32_t k = base; k < base + 32; k++)
        n += k % 5 == i % 5;
    return n * 16 + 3;
}

static const char reductions[] = KERNEL(
    "add.u32 %r2, %r1, 3; sub.s32 %r3, %r1, 20; redux.sync.add.u32 %r4, %r2, -1;\n"
    "redux.sync.min.s32 %r5, %r3, -1; redux.sync.max.u32 %r6, %r3, -1; redux.sync.xor.b32 %r7, %r2, -1;\n"
    "redux.sync.and.b32 %r8, %r2, -1; redux.sync.or.b32 %r9, %r2, -1;\n"
    "xor.b32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; xor.b32 %r4, %r4, %r7; add.u32 %r4, %r4, %r8;\n"
    "xor.b32 %r4, %r4, %r9; " STORE("%r4"));
static uint32_t reductions_want(uint32_t i)
{
    uint32_t base = i & ~31u, add = 0, x = 0, a = ~0u, o = 0, most = 0;
    int32_t least = INT32_MAX;
    for (uint32_t k = base; k < base + 32; k++) {
        add += k + 3;
        x ^= k + 3;
        a &= k + 3;
        o |= k + 3;
        least = (int32_t)(k - 20) < least ? (int32_t)(k - 20) : least;
        most = k - 20 > most ? k - 20 : most;
    }
    return ((((add ^ (uint32_t)least) + most) ^ x) + a) ^ o;
}

/* redux of f32: warp 0 random, 1 zeros of both signs, 2 with a NaN among numbers and infinities, 3 NaNs alone. */
static struct {
    bool most, abs, nan;
} redux_form;
static uint32_t redux_source(uint32_t i)
{
    switch (i / 32) {
    case 0: return (i * 0x9e3779b9u) & 0xbfffffff;
    case 1: return i << 31;
    case 2: return i % 32 == 7 ? 0xffc00001 : i % 32 == 9 ? 0xff800000 : (i * 0x9e3779b9u) & 0xbfffffff;
    default: return 0x7f800001 + i;
    }
}
static uint32_t redux_float_want(uint32_t i)
{
    uint32_t best = 0x7fffffff;
    for (uint32_t k = i & ~31u; k < (i & ~31u) + 32; k++) {
        const uint32_t v = redux_form.abs ? redux_source(k) & 0x7fffffff : redux_source(k);
        const int64_t place = v >> 31 ? -(int64_t)(v & 0x7fffffff) - 1 : (int64_t)v;
        const int64_t have = best >> 31 ? -(int64_t)(best & 0x7fffffff) - 1 : (int64_t)best;
        if ((v & 0x7fffffff) > 0x7f800000) {
            if (redux_form.nan)
                return 0x7fffffff;
        } else if (best == 0x7fffffff || (redux_form.most ? place > have : place < have)) {
            best = v;
        }
    }
    return best;
}
static void redux_floats(void)
{
    static const char head[] =
        "mul.lo.u32 %r2, %r1, 0x9e3779b9; and.b32 %r2, %r2, 0xbfffffff; shr.u32 %r4, %r1, 5; and.b32 %r5, %r1, 31;\n"
        "shl.b32 %r6, %r1, 31; setp.eq.u32 %p1, %r4, 1; selp.b32 %r2, %r6, %r2, %p1;\n"
        "setp.eq.u32 %p1, %r4, 2; setp.eq.and.u32 %p2, %r5, 7, %p1; selp.b32 %r2, 0xffc00001, %r2, %p2;\n"
        "setp.eq.and.u32 %p2, %r5, 9, %p1; selp.b32 %r2, 0xff800000, %r2, %p2;\n"
        "add.u32 %r6, %r1, 0x7f800001; setp.eq.u32 %p1, %r4, 3; selp.b32 %r2, %r6, %r2, %p1;\n"
        "mov.u32 %r3, 0; setp.ge.u32 %p3, %r1, 0;\n";
    static const char frame[] = KERNEL("HERE" STORE("%r3"));
    const char *here = strstr(frame, "HERE");
    for (unsigned k = 0; k < 16; k++) {
        char text[2048], name[40];
        redux_form.most = k & 1;
        redux_form.abs = k & 2;
        redux_form.nan = k & 4;
        snprintf(name, sizeof name, "redux.sync.%s%s%s.f32", k & 1 ? "max" : "min", k & 2 ? ".abs" : "",
                 k & 4 ? ".NaN" : "");
        snprintf(text, sizeof text, "%.*s%s%s%s %%r3, %%r2, -1;\n%s", (int)(here - frame), frame, head,
                 k & 8 ? "@%p3 " : "", name, here + 4);
        expect(name, text, 1, 128, redux_float_want);
    }
}

static const char leaders[] = KERNEL(
    "setp.lt.u32 %p1, %r1, 9; mov.u32 %r4, 500; @%p1 bra E;\n"
    "activemask.b32 %r2; elect.sync %r3|%p2, %r2; selp.u32 %r4, 100, 0, %p2; add.u32 %r4, %r4, %r3;\n"
    "E: " STORE("%r4"));
static uint32_t leaders_want(uint32_t i) { return i < 9 ? 500 : i < 32 ? 9 + (i == 9 ? 100 : 0) : i & 31 ? 0 : 100; }

/* lane 0 and the rest meet at two different bar.warp.sync */
static const char warpsync[] = KERNEL(".shared .b32 v[4];\n"
                                      "setp.eq.u32 %p1, %r1, 0; @%p1 bra A; bar.warp.sync -1; bra B;\n"
                                      "A: mov.u32 %r2, 99; st.volatile.shared.u32 [v], %r2; bar.warp.sync -1;\n"
                                      "B: ld.volatile.shared.u32 %r3, [v]; " STORE("%r3"));
static uint32_t warpsync_want(uint32_t i)
{
    (void)i;
    return 99;
}

static const char masks[] = KERNEL(
    "mov.u32 %r2, %lanemask_lt; mov.u32 %r3, %lanemask_ge; xor.b32 %r2, %r2, %r3;\n"
    "mov.u32 %r4, %lanemask_eq; mov.u32 %r5, %laneid; shl.b32 %r6, 1, %r5; xor.b32 %r4, %r4, %r6;\n"
    "add.u32 %r2, %r2, %r4; mov.u32 %r7, %lanemask_le; mov.u32 %r8, %lanemask_gt; and.b32 %r7, %r7, %r8;\n"
    "add.u32 %r2, %r2, %r7; mov.u32 %r9, %warpid; add.u32 %r2, %r2, %r9; " STORE("%r2"));
static uint32_t masks_want(uint32_t i) { return i / 32 - 1; }

static void all(void)
{
    all_shfl();
    expect("shfl among part of a warp", partial, 1, 64, partial_want);
    expect("shfl from lanes that take no part", few, 1, 64, few_want);
    expect("shfl gathers late lanes", gather, 1, 64, gather_want);
    run(after_exit, 1, 64, NULL);
    bool good = true;
    for (uint32_t i = 0; i < 64; i++)
        good &= out[i] == (after_exit_want(i) == 0xeeeeeeee ? 0xeeeeeeee : i);
    check(good, "ballot after lanes left");
    expect("shfl at different places does not hang", mismatch, 1, 64, mismatch_want);
    expect("vote", votes, 1, 96, votes_want);
    expect("match", matches, 1, 64, matches_want);
    expect("redux", reductions, 1, 64, reductions_want);
    redux_floats();
    expect("votes of tiles", tile_vote, 1, 64, tile_vote_want);
    expect("match in tiles", tile_match, 1, 64, tile_match_want);
    expect("redux in tiles", tile_redux, 1, 64, tile_redux_want);
#ifndef NAMES_ITSELF
    expect("ballot of the lanes below", ballot_below, 1, 64, ballot_below_want);
#endif
    expect("activemask and elect", leaders, 1, 64, leaders_want);
    expect("bar.warp.sync at different places", warpsync, 1, 32, warpsync_want);
    expect("lane masks", masks, 1, 96, masks_want);
}

int main(void)
{
    all();
    use_portable_handlers();
    all();
    return t0t_done();
}
