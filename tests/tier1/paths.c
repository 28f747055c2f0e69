/* Forms of code that tier 1 chooses for speed: comparisons decided by a warp's two ends, blocks written a second
 * time for full warps, loops that run lane by lane, warps that keep pace, many blocks a call, selections by pieces,
 * atomics from registers. Each is checked against plain C, and the text for that it was chosen at all. */
#include "tier1/on_tier1.h"

#include "tier0/kernels.h"

static bool has(const char *text, enum t1_shape shape, const char *mark)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
    char *c = NULL;
    size_t size = 0;
    bool there = m && !t1_emit(m, "k", shape, t1t_isa, &c, &size, &diag);
    const char *kernel = there ? strstr(c, "T1_KERNEL t1_kernel(") : NULL;
    check(kernel != NULL, "shape %d: there is a text", (int)shape);
    bool found = kernel && strstr(kernel, mark);
    free(c);
    ptx_module_close(m);
    return found;
}

static void chosen(const char *text, enum t1_shape shape, const char *mark)
{
    check(has(text, shape, mark), "shape %d: the text has %s", (int)shape, mark);
}

/* ---- comparisons ---- */

/* in[] holds a pair for each block: where lanes start, what they are compared with */
#define PAIR \
    "mul.wide.u32 %rd2, %r50, 8; add.s64 %rd2, %rd31, %rd2; ld.global.u32 %r2, [%rd2];\n" \
    "ld.global.u32 %r3, [%rd2+4]; mov.u32 %r9, 0;\n"
#define BIT(cmp, type, a, b, n) \
    "setp." cmp "." type " %p1, " a ", " b "; selp.b32 %r10, " n ", 0, %p1; or.b32 %r9, %r9, %r10;\n"
// clang-format off
#define EIGHT(type, a, b, x)                                                                       \
    BIT("lt", type, a, b, x "1") BIT("le", type, a, b, x "2") BIT("gt", type, a, b, x "4")         \
    BIT("ge", type, a, b, x "8") BIT("lt", type, b, a, x "10") BIT("le", type, b, a, x "20")       \
    BIT("gt", type, b, a, x "40") BIT("ge", type, b, a, x "80")
// clang-format on
static const char narrow[] = KERNEL(PAIR "mad.lo.u32 %r4, %r1, 3, %r2;\n" EIGHT(
    "s32", "%r4", "%r3", "0x") "shl.b32 %r9, %r9, 8;\n" EIGHT("u32", "%r4", "%r3", "0x") STORE("%r9"));
/* the 64-bit ones stand at the same distance from their ends */
static const char wide[] = KERNEL(
    PAIR "shl.b32 %r5, %r2, 16; cvt.s64.s32 %rd3, %r2; shl.b64 %rd3, %rd3, 32; cvt.u64.u32 %rd4, %r1;\n"
         "mul.lo.s64 %rd4, %rd4, 3; add.s64 %rd4, %rd4, %rd3; cvt.s64.s32 %rd5, %r3; shl.b64 %rd5, %rd5, 32;\n"
         "add.s64 %rd4, %rd4, -40; add.s64 %rd5, %rd5, 7;\n" EIGHT(
             "s64", "%rd4", "%rd5", "0x") "shl.b32 %r9, %r9, 8;\n" EIGHT("u64", "%rd4", "%rd5", "0x") STORE("%r9"));

static uint32_t eight(bool lt, bool eq)
{
    bool gt = !lt && !eq;
    return (uint32_t)lt | (uint32_t)(lt | eq) << 1 | (uint32_t)gt << 2 | (uint32_t)(gt | eq) << 3 | (uint32_t)gt << 4 |
           (uint32_t)(gt | eq) << 5 | (uint32_t)lt << 6 | (uint32_t)(lt | eq) << 7;
}

enum { THREADS = 64 };
static uint32_t narrow_want(uint32_t i)
{
    const uint32_t a = in[2 * (i / THREADS)] + 3 * (i % THREADS), b = in[2 * (i / THREADS) + 1];
    return eight((int32_t)a < (int32_t)b, a == b) << 8 | eight(a < b, a == b);
}
static uint32_t wide_want(uint32_t i)
{
    const uint64_t a = ((uint64_t)in[2 * (i / THREADS)] << 32) + 3 * (i % THREADS) - 40;
    const uint64_t b = ((uint64_t)in[2 * (i / THREADS) + 1] << 32) + 7;
    return eight((int64_t)a < (int64_t)b, a == b) << 8 | eight(a < b, a == b);
}

static void comparisons(void)
{
    static const uint32_t ends[] = {0, 1, 95, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffff9c, 0xffffff9c};
    enum { N = sizeof ends / sizeof *ends };
    for (uint32_t a = 0; a < N; a++)
        for (uint32_t b = 0; b < N; b++) {
            in[2 * (a * N + b)] = ends[a] - (b & 1) * 50;
            in[2 * (a * N + b) + 1] = ends[b] + (a & 1);
        }
    expect("i < n at the ends of 32 bits", narrow, N * N, THREADS, narrow_want);
    expect("i < n at the ends of 64 bits", wide, N * N, THREADS, wide_want);
    chosen(narrow, T1_SHAPE_LINEAR, "T1_BELOW(s32, ");
    chosen(narrow, T1_SHAPE_LINEAR, "T1_BELOW(u32, ");
    chosen(wide, T1_SHAPE_LINEAR, "T1_BELOW(s64, ");
}

/* ---- full warps and others ---- */

static const char twice[] = KERNEL(
    "ld.param.u32 %r2, [pn]; setp.ge.s32 %p1, %r0, %r2; @%p1 bra D;\n"
    "mul.wide.s32 %rd2, %r0, 4; add.s64 %rd3, %rd30, %rd2; add.s64 %rd2, %rd31, %rd2;\n"
    "ld.global.u32 %r3, [%rd2]; ld.global.u32 %r4, [%rd2+4]; and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 0;\n"
    "@%p2 add.u32 %r3, %r3, %r4; @!%p2 mul.lo.u32 %r3, %r3, 3; st.global.u32 [%rd3], %r3;\nD:\n");

static void full_and_partial(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 0x9e3779b9u >> 7;
    for (uint32_t n = 0; n < 200; n += 13) {
        struct args a = {out, in, n};
        uint32_t bad = 0;
        memset(out, 0xee, sizeof out);
        if (!t0t_once(twice, "k", 4, 64, &a, NULL))
            return;
        for (uint32_t i = 0; i < 256; i++)
            bad += out[i] != (i >= n ? 0xeeeeeeeeu : in[i] & 1 ? 3 * in[i] : in[i] + in[i + 1]);
        check(!bad, "full and partial warps, n = %u: %u wrong", n, bad);
    }
    chosen(twice, T1_SHAPE_LINEAR, "if (T1_LIKELY(m == ~0u)) {");
}

/* ---- lane by lane ---- */

/* Lane t goes round in[t] % 9 + 1 times: over in[] from t on, in[] at what it finds there, and pairs. A guard,
 * a 64-bit sum, a predicate that lives from round to round, and a counter that starts evenly in all lanes. */
static const char rows[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; and.b32 %r11, %r2, 15; rem.u32 %r2, %r2, 9; add.u32 %r2, %r2, 1; mov.u32 %r3, 0; mov.u64 %rd5, 0;\n"
    "mov.u32 %r4, %r1; setp.ne.u32 %p3, %r2, 5; mov.u64 %rd2, %rd1;\n"
    "mul.wide.u32 %rd6, %r11, 8; add.s64 %rd6, %rd31, %rd6;\n"
    "L: ld.global.u32 %r5, [%rd2]; and.b32 %r6, %r5, 1023; mul.wide.u32 %rd3, %r6, 4;\n"
    "add.s64 %rd3, %rd31, %rd3; ld.global.u32 %r7, [%rd3]; ld.global.v2.u32 {%r8, %r9}, [%rd6+64];\n"
    "xor.b32 %r7, %r7, %r8; @%p3 add.u32 %r3, %r3, %r7; @!%p3 sub.u32 %r3, %r3, %r9; not.pred %p3, %p3;\n"
    "cvt.u64.u32 %rd4, %r4; add.u64 %rd5, %rd5, %rd4; add.u32 %r4, %r4, 1;\n"
    "add.s64 %rd2, %rd2, 8; add.s64 %rd6, %rd6, 16; add.u32 %r2, %r2, -1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;\n"
    "cvt.u32.u64 %r10, %rd5; mad.lo.u32 %r3, %r10, 77, %r3; @%p3 add.u32 %r3, %r3, 1;\n" STORE("%r3"));
static uint32_t rows_want(uint32_t i, uint32_t block)
{
    uint32_t n = in[i] % 9 + 1, r = 0, t = i % block;
    uint64_t sum = 0;
    bool flag = n != 5;
    for (uint32_t k = 0; k < n; k++, t++) {
        const uint32_t *pair = &in[2 * (in[i] & 15) + 4 * k + 16];
        r = flag ? r + (in[in[i + 2 * k] & 1023] ^ pair[0]) : r - pair[1];
        flag = !flag;
        sum += t;
    }
    return (uint32_t)sum * 77 + r + flag;
}

/* in[t] names a byte offset: the lanes that have an odd one must fault */
static const char uneven[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; cvt.u64.u32 %rd2, %r2; add.s64 %rd2, %rd31, %rd2; mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
    "and.b32 %r6, %r1, 3; add.u32 %r6, %r6, 1;\n"
    "L: ld.global.u32 %r5, [%rd2]; add.u32 %r3, %r3, %r5; ld.global.u32 %r5, [%rd2+8]; add.u32 %r3, %r3, %r5;\n"
    "add.s64 %rd2, %rd2, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r6; @%p1 bra L;\n" STORE("%r3"));

static void lane_by_lane(void)
{
    static const uint32_t blocks[] = {64, 32, 40, 7}; /* whole warps and others */
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 0x9e3779b9u >> 7;
    for (unsigned b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        struct args a = {out, in, 0};
        uint32_t bad = 0, count = 9 * blocks[b];
        if (!t0t_once(rows, "k", 9, blocks[b], &a, NULL))
            return;
        for (uint32_t i = 0; i < count; i++)
            bad += out[i] != rows_want(i, blocks[b]);
        check(!bad, "rows lane by lane, %u threads: %u of %u wrong", blocks[b], bad, count);
    }
    struct t0t t;
    if (check(t0t_open(&t, rows, "k"), "opens")) { /* halves of warps, and lanes that stand anywhere */
        static const uint32_t grid[3] = {5, 1, 1}, shape[2][3] = {{16, 4, 1}, {5, 4, 2}};
        for (unsigned s = 0; s < 2; s++) {
            struct args a = {out, in, 0};
            uint32_t bad = 0;
            check(t0t_run(&t, grid, shape[s], 0, &a, NULL) == T0_OK, "runs");
            for (uint32_t i = 0; i < 5 * shape[s][0]; i++) /* rows of y > 0 store the same */
                bad += out[i] != rows_want(i, shape[s][0]);
            check(!bad, "rows lane by lane, %u x %u threads: %u wrong", shape[s][0], shape[s][1], bad);
        }
    }
    t0t_close(&t);
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = 4 * (i % 97);
    in[70] = 6;
    expect_fault("an uneven address lane by lane", uneven, 2, 64, T0_FAULT_MISALIGNED, 1, 6, 0);
    chosen(rows, T1_SHAPE_LINEAR, "for (uint32_t left = m; left; left &= left - 1) {");
    chosen(uneven, T1_SHAPE_FLAT, "for (uint32_t left = m; left; left &= left - 1) {");
}

/* ---- halves of a warp ---- */

/* steps of 12 bytes from the same place in both halves, and from one of each half's own */
static const char halves[] = KERNEL(
    "and.b32 %r2, %r1, 15; mul.lo.u32 %r3, %r2, 12; cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd31, %rd2;\n"
    "ld.global.u32 %r4, [%rd2+8]; shr.u32 %r5, %r1, 4; mad.lo.u32 %r6, %r5, 400, %r3; cvt.u64.u32 %rd3, %r6;\n"
    "add.s64 %rd3, %rd31, %rd3; ld.global.u32 %r7, [%rd3+4]; mad.lo.u32 %r4, %r4, 5, %r7;\n" STORE("%r4"));
static uint32_t halves_want(uint32_t i)
{
    const uint32_t t = i % 96;
    return in[t % 16 * 3 + 2] * 5 + in[t / 16 * 100 + t % 16 * 3 + 1];
}

/* Words side by side, of places that both halves read. */
static const char halves_words[] = KERNEL(
    "and.b32 %r2, %r1, 15; mul.lo.u32 %r3, %r2, 20; cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd31, %rd2;\n"
    "ld.global.u32 %r4, [%rd2]; ld.global.u32 %r5, [%rd2+4]; ld.global.u32 %r6, [%rd2+8];\n"
    "ld.global.u32 %r7, [%rd2+12]; mad.lo.u32 %r4, %r4, 5, %r5; mad.lo.u32 %r4, %r4, 5, %r6;\n"
    "mad.lo.u32 %r4, %r4, 5, %r7;\n" STORE("%r4"));
static uint32_t halves_words_want(uint32_t i)
{
    const uint32_t *w = in + i % 96 % 16 * 5;
    return ((w[0] * 5 + w[1]) * 5 + w[2]) * 5 + w[3];
}

static void in_halves(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 0x9e3779b9u >> 7;
    expect("gathers of half warps", halves, 3, 96, halves_want);
    expect("words of half warps", halves_words, 3, 96, halves_words_want);
    chosen(halves, T1_SHAPE_LINEAR, "T1_MASK32(live, 0) ? t");
    check(!has(halves_words, T1_SHAPE_LINEAR, "get4_u32("), "halves share the gathers of words");
}

/* ---- warps that keep pace ---- */

static const char stride[] = KERNEL(
    "ld.param.u32 %r2, [pn]; mov.u32 %r3, 0; mov.u32 %r4, %nctaid.x; mul.lo.u32 %r4, %r4, %r51; mov.u32 %r5, %r0;\n"
    "setp.ge.s32 %p1, %r5, %r2; @%p1 bra D;\n"
    "L: mul.wide.s32 %rd2, %r5, 4; add.s64 %rd2, %rd31, %rd2; ld.global.u32 %r6, [%rd2];\n"
    "add.u32 %r3, %r3, %r6; add.s32 %r5, %r5, %r4; setp.lt.s32 %p1, %r5, %r2; @%p1 bra L;\n"
    "D: bar.sync 0; " STORE("%r3"));

static void keeping_pace(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 0x9e3779b9u >> 7;
    for (uint32_t n = 50; n <= MOST; n += 997) {
        struct args a = {out, in, n};
        uint32_t bad = 0;
        if (!t0t_once(stride, "k", 1, 96, &a, NULL))
            return;
        for (uint32_t i = 0; i < 96; i++) {
            uint32_t sum = 0;
            for (uint32_t k = i; k < n; k += 96)
                sum += in[k];
            bad += out[i] != sum;
        }
        check(!bad, "warps that keep pace, n = %u: %u wrong", n, bad);
    }
    chosen(stride, T1_SHAPE_LINEAR, "T1_REST(b, rounds, 8)");
}

/* ---- blocks of one call ---- */

static const char where[] = KERNEL(
    "mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;\n"
    "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r50; mad.lo.u32 %r7, %r6, %r51, %r1;\n"
    "mul.wide.u32 %rd2, %r7, 4; add.s64 %rd2, %rd30, %rd2; mad.lo.u32 %r8, %r2, 100, %r50;\n"
    "mad.lo.u32 %r8, %r3, 10000, %r8; st.global.u32 [%rd2], %r8;\n");
static const char third[] = KERNEL("setp.ne.u32 %p1, %r50, 3; @%p1 bra D; setp.ne.u32 %p1, %r1, 37; @%p1 bra D;\n"
                                   "mov.u64 %rd2, 16; ld.global.u32 %r2, [%rd2]; " STORE("%r2") "D:\n");

static void many_blocks(void)
{
    struct t0t t;
    static const uint32_t grid[3] = {3, 5, 2}, block[3] = {32, 1, 1};
    struct args a = {out, in, 0};
    uint32_t bad = 0;
    if (check(t0t_open(&t, where, "k") && t0t_run(&t, grid, block, 0, &a, NULL) == T0_OK, "runs"))
        for (uint32_t i = 0; i < 3 * 5 * 2 * 32; i++) {
            const uint32_t b = i / 32;
            bad += out[i] != b % 3 + 100 * (b / 3 % 5) + 10000 * (b / 15);
        }
    check(!bad, "each block of a call has its place: %u wrong", bad);
    t0t_close(&t);
    expect_fault("the block of a call that faults is named", third, 6, 64, T0_FAULT_ADDRESS, 3, 37, 16);
}

/* ---- selections by what a comparison left of each piece ---- */

static const char picks[] = KERNEL(
    "ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4]; mov.b32 %f1, %r2; mov.b32 %f2, %r3;\n"
    "mul.wide.u32 %rd2, %r2, 0x10001; mul.wide.u32 %rd3, %r3, 0xffff; setp.lt.s32 %p1, %r2, %r3;\n"
    "setp.gt.u64 %p2, %rd2, %rd3; setp.ltu.f32 %p3, %f1, %f2; selp.b32 %r4, %r2, %r3, %p1;\n"
    "selp.b64 %rd4, %rd2, %rd3, %p2; selp.b32 %r5, %r2, 7, %p2; selp.b64 %rd5, %rd3, 9, %p1;\n"
    "selp.f32 %f3, %f1, %f2, %p3; mov.b32 %r6, %f3; xor.b64 %rd4, %rd4, %rd5; mov.b64 {%r7, %r8}, %rd4;\n"
    "@!%p1 add.u32 %r4, %r4, 5; mad.lo.u32 %r4, %r4, 3, %r5; mad.lo.u32 %r4, %r4, 3, %r6;\n"
    "mad.lo.u32 %r4, %r4, 3, %r7; mad.lo.u32 %r4, %r4, 3, %r8;\n" STORE("%r4"));

static uint32_t picks_want(uint32_t i)
{
    const uint32_t a = in[i], b = in[i + 1];
    const uint64_t x = (uint64_t)a * 0x10001, y = (uint64_t)b * 0xffff;
    const bool less = (int32_t)a<(int32_t)b, more = x> y;
    float f, g;
    memcpy(&f, &a, sizeof f);
    memcpy(&g, &b, sizeof g);
    const uint64_t w = (more ? x : y) ^ (less ? y : 9);
    uint32_t r = (less ? a : b + 5) * 3 + (more ? a : 7);
    r = r * 3 + (f >= g ? b : a);
    return (r * 3 + (uint32_t)w) * 3 + (uint32_t)(w >> 32);
}

static void selections(void)
{
    for (uint32_t i = 0; i < MOST; i++) /* with equal neighbours, and NaNs */
        in[i] = (i & 31) == 9 ? 0x7fc00000u : (i >> (i & 1)) * 0x9e3779b9u;
    expect("selections", picks, 3, 64, picks_want);
    expect("selections in part of a warp", picks, 3, 50, picks_want);
    chosen(picks, T1_SHAPE_LINEAR, "t1_pick32(v");
    chosen(picks, T1_SHAPE_LINEAR, "t1_pick64(v");
}

/* ---- shared memory ---- */

static const char bins[] = KERNEL(
    ".shared .align 4 .b8 s[256]; mov.u32 %r10, s; shl.b32 %r11, %r1, 2; add.u32 %r11, %r11, %r10;\n"
    "mov.u32 %r12, 0; st.shared.u32 [%r11], %r12; bar.sync 0; ld.param.u32 %r2, [pn]; ld.global.u32 %r3, [%rd1];\n"
    "setp.ge.u32 %p1, %r1, %r2; @%p1 bra D; and.b32 %r4, %r3, 15; shl.b32 %r4, %r4, 2; add.u32 %r4, %r10, %r4;\n"
    "red.shared.add.u32 [%r4], 1; red.shared.add.u32 [%r4+64], %r3; red.shared.max.u32 [%r4+128], %r3;\n"
    "add.u32 %r5, %r4, -64; red.shared.xor.b32 [%r5+256], %r3;\n"
    "D: bar.sync 0; ld.shared.u32 %r6, [%r11];\n" STORE("%r6"));
/* Lanes' addresses that nothing is known of: n is 66 */
static const char odd[] = KERNEL(
    ".shared .align 4 .b8 s[512]; mov.u32 %r10, s; ld.param.u32 %r2, [pn]; ld.global.u32 %r3, [%rd1];\n"
    "and.b32 %r4, %r3, 15; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2; add.u32 %r4, %r10, %r4;\n"
    "red.shared.add.u32 [%r4], 1;\n");
static const char tiles[] = KERNEL(
    "mov.u32 %r3, 0; mov.u32 %r5, 0; mul.wide.s32 %rd2, %r0, 4; add.s64 %rd2, %rd31, %rd2;\n"
    "L: ld.global.u32 %r6, [%rd2]; bar.sync 0; add.u32 %r3, %r3, %r6; add.s64 %rd2, %rd2, 512;\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4; @%p1 bra L;\n" STORE("%r3"));

/* Words of a lane's own structure in shared memory; `order` of one of the loads and one of the stores. */
#define STRUCTURES(order) \
    KERNEL(".shared .align 4 .b8 s[2048]; mov.u32 %r10, s; mad.lo.u32 %r11, %r1, 20, %r10; add.u32 %r12, %r11, 8;\n" \
           "st.shared.u32 [%r11], %r0; st" order ".shared.u32 [%r12], %r1; st.shared.u32 [%r11+12], %r50;\n" \
           "st.shared.u32 [%r12+-4], 7; ld.shared.u32 %r3, [%r12]; ld.shared.u32 %r4, [%r12+4];\n" \
           "ld.shared.u32 %r5, [%r11+4]; ld" order ".shared.u32 %r6, [%r11]; mad.lo.u32 %r3, %r3, 3, %r4;\n" \
           "mad.lo.u32 %r3, %r3, 3, %r5; mad.lo.u32 %r3, %r3, 3, %r6;\n" STORE("%r3"))
static const char structures[] = STRUCTURES("");
static const char volatiles[] = STRUCTURES(".volatile");
static uint32_t structures_want(uint32_t i) { return (i % 64 * 9 + i / 64 * 3 + 7) * 3 + i; }

/* Eight words a lane, by fours, halves exchanged; lanes are so many bytes apart. */
#define EIGHT_WORDS(step) \
    KERNEL("mul.wide.u32 %rd5, %r1, " step "; mul.lo.u32 %r2, %r50, %r51; mul.wide.u32 %rd8, %r2, " step ";\n" \
           "add.s64 %rd5, %rd5, %rd8; add.s64 %rd6, %rd31, %rd5; add.s64 %rd7, %rd30, %rd5;\n" \
           "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd6]; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd6+16];\n" \
           "st.global.v4.u32 [%rd7+16], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%rd7], {%r6, %r7, %r8, %r9};\n")
static const char eight_words[] = EIGHT_WORDS("32"), eight_apart[] = EIGHT_WORDS("48");
static uint32_t eight_words_want(uint32_t i) { return in[i ^ 4]; }
static uint32_t eight_apart_want(uint32_t i) { return i % 12 < 8 ? in[i / 12 * 12 + (i % 12 ^ 4)] : 0xeeeeeeee; }

static uint32_t tiles_want(uint32_t i) { return in[i] + in[i + 128] + in[i + 256] + in[i + 384]; }

static void shared_memory(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 0x9e3779b9u >> 7;
    for (uint32_t n = 0; n <= 64; n += 16) {
        struct args a = {out, in, n};
        uint32_t bad = 0, want[64] = {0};
        if (!t0t_once(bins, "k", 1, 64, &a, NULL))
            return;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t *s = &want[in[i] & 15];
            s[0]++;
            s[16] += in[i];
            s[32] = in[i] > s[32] ? in[i] : s[32];
            s[48] ^= in[i];
        }
        for (uint32_t i = 0; i < 64; i++)
            bad += out[i] != want[i];
        check(!bad, "atomics on shared memory, n = %u: %u wrong", n, bad);
    }
    chosen(bins, T1_SHAPE_LINEAR, "T1_EACH_OF(");
    check(!has(bins, T1_SHAPE_LINEAR, "t1_low_u32("), "sums of multiples are not tested for alignment");
    expect_fault("a sum with something else is", odd, 1, 66, T0_FAULT_MISALIGNED, 0, 0, 0);
    expect("structures", structures, 2, 64, structures_want);
    expect("structures, volatile", volatiles, 2, 64, structures_want);
    if (t1t_isa != T1_PLAIN) {
        chosen(structures, T1_SHAPE_LINEAR, "get4_u32(");
        chosen(structures, T1_SHAPE_LINEAR, "put4_u32(");
    }
    expect("eight words", eight_words, 2, 64, eight_words_want);
    expect("eight words, apart", eight_apart, 2, 64, eight_apart_want);
    if (t1t_isa == T1_AVX512) {
        chosen(eight_words, T1_SHAPE_LINEAR, "t1_rows_get8(");
        chosen(eight_words, T1_SHAPE_LINEAR, "t1_rows_put8(");
    }
    check(!has(volatiles, T1_SHAPE_LINEAR, "t4_u32("), "volatile words move alone");
    expect("tiles", tiles, 2, 64, tiles_want);
    chosen(tiles, T1_SHAPE_LINEAR, "T1_AHEAD_ROUND(");
}

/* ---- frames ---- */

enum { ALIVE = 640, ROOM = 1 << 16 };
static uint32_t alive_want(uint32_t i)
{
    uint32_t v = in[i], sum = 0;
    for (uint32_t k = 0; k < ALIVE; k++, v = v * 5 + i)
        sum = sum * 3 + v;
    return sum;
}

/* Values that were computed before a barrier, as the last of them is stored there, and are used behind it lie on the
 * warp's stack, 128 bytes each: more than the least stack has. */
static void large_frame(void)
{
    char *text = malloc(ROOM);
    if (!text)
        return;
    size_t n = (size_t)snprintf(text, ROOM, "%s.reg .b32 %%v<%d>; ld.global.u32 %%v0, [%%rd1]; mov.u32 %%r9, 0;\n",
                                HEAD ENTRY("k"), ALIVE);
    for (int k = 1; k < ALIVE; k++)
        n += (size_t)snprintf(text + n, ROOM - n, "mad.lo.u32 %%v%d, %%v%d, 5, %%r0;\n", k, k - 1);
    n += (size_t)snprintf(text + n, ROOM - n, "st.global.u32 [%%rd0], %%v%d; bar.sync 0;\n", ALIVE - 1);
    for (int k = 0; k < ALIVE; k++)
        n += (size_t)snprintf(text + n, ROOM - n, "mad.lo.u32 %%r9, %%r9, 3, %%v%d;\n", k);
    snprintf(text + n, ROOM - n, "%s", STORE("%r9") END);
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 0x9e3779b9u >> 7;
    expect("a frame of 640 values", text, 2, 544, alive_want);
    free(text);
}

/* ---- products of warpgroups ---- */

#define TURN(x) "neg.f32 %z" x ", %z" x ";\n"
#define PRODUCTS(before) \
    KERNEL(".reg .b32 %z<4>; mov.u64 %rd5, 0; mov.u32 %r9, 0; and.b32 %r8, %r1, 5; setp.ne.u32 %p2, %r8, 0;\n" \
           "ld.global.v4.u32 {%z0, %z1, %z2, %z3}, [%rd31]; L: wgmma.fence.sync.aligned;\n" before \
           "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%z0, %z1, %z2, %z3}, %rd5, %rd5, 1, 1, 1;\n" \
           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %r9, %r9, 1;\n" \
           "setp.lt.u32 %p1, %r9, 4; @%p1 bra L; add.f32 %z0, %z0, %z1; add.f32 %z0, %z0, %z2;\n" \
           "add.f32 %z0, %z0, %z3;\n" STORE("%z0"))
static const char together[] = PRODUCTS(TURN("0") TURN("1") TURN("2") TURN("3"));
static const char apart[] = PRODUCTS("@%p2 bra X;\n" TURN("0") TURN("1") TURN("2") TURN("3") "X:\n");

/* Sums stay where the handler adds to them, but not where lanes may have several values of one. The SSE code that is
 * called finds the upper halves of vector registers clear. */
static void sums_in_place(void)
{
    chosen(together, T1_SHAPE_LINEAR, "(uint8_t *)frame_;");
    chosen(together, T1_SHAPE_LINEAR, "t1_upper_clean();\nb->services->exec(");
    check(has(apart, T1_SHAPE_LINEAR, "exec(") && !has(apart, T1_SHAPE_LINEAR, "frame_"), "not where lanes part");
}

/* Of lanes that may differ, numbers: 0 times one of them, what remains of it by 1. */
static const char by_chance[] = KERNEL(
    "mad.lo.s32 %r3, %r1, 0, %r50; rem.u32 %r4, %r1, 1; mul.lo.u32 %r5, %r4, %r50; shl.b32 %r6, %r50, %r4;\n"
    "add.u32 %r7, %r3, %r5; add.u32 %r7, %r7, %r6; and.b32 %r8, %r50, %r4; sub.u32 %r7, %r7, %r8;\n" STORE("%r7"));
static uint32_t by_chance_want(uint32_t i) { return i / 64 * 2; }

static void numbers_by_chance(void)
{
    expect("numbers by chance", by_chance, 3, 64, by_chance_want);
    for (unsigned s = T1_SHAPE_LINEAR; s <= T1_SHAPE_ANY; s++)
        chosen(by_chance, (enum t1_shape)s, "T1_KERNEL");
}

static int all(void)
{
    comparisons();
    sums_in_place();
    large_frame();
    full_and_partial();
    lane_by_lane();
    in_halves();
    keeping_pace();
    many_blocks();
    selections();
    shared_memory();
    numbers_by_chance();
    return t0t_done();
}

int main(void) { return t1t_run_all(all, true); }
