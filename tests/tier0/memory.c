/* Loads and stores of every space and width, addresses, local arrays, parameters, faults. */
#include "tier0/kernels.h"

/* every access width and sign, through global memory */
static const char widths[] = KERNEL(
    "ld.global.u8 %r2, [%rd1]; ld.global.s8 %r3, [%rd1+1]; ld.global.u16 %r4, [%rd1+2];\n"
    "ld.global.s16 %r5, [%rd1]; ld.global.s8 %h1, [%rd1+3]; ld.global.u8 %h2, [%rd1+3];\n"
    "ld.global.s32 %rd5, [%rd1]; ld.global.u8 %rd6, [%rd1+1]; ld.global.s16 %rd7, [%rd1+2];\n"
    "add.u32 %r2, %r2, %r3; mul.lo.u32 %r2, %r2, 31; add.u32 %r2, %r2, %r4; mul.lo.u32 %r2, %r2, 31;\n"
    "add.u32 %r2, %r2, %r5; mul.lo.u32 %r2, %r2, 31; cvt.u32.u16 %r6, %h1; add.u32 %r2, %r2, %r6;\n"
    "mul.lo.u32 %r2, %r2, 31; cvt.u32.u16 %r6, %h2; add.u32 %r2, %r2, %r6;\n"
    "shr.s64 %rd5, %rd5, 28; add.s64 %rd5, %rd5, %rd6; add.s64 %rd5, %rd5, %rd7; cvt.u32.u64 %r7, %rd5;\n"
    "xor.b32 %r2, %r2, %r7; " STORE("%r2"));
static uint32_t widths_want(uint32_t i)
{
    uint32_t v = in[i], r;
    uint8_t b[4];
    uint16_t h[2];
    memcpy(b, &v, 4);
    memcpy(h, &v, 4);
    r = b[0] + (uint32_t)(int8_t)b[1];
    r = r * 31 + h[1];
    r = r * 31 + (uint32_t)(int16_t)h[0];
    r = r * 31 + (uint16_t)(int8_t)b[3];
    r = r * 31 + b[3];
    return r ^ (uint32_t)(((int64_t)(int32_t)v >> 28) + b[1] + (int16_t)h[1]);
}

/* narrow stores: only the low bits, nothing beside them */
static const char narrow[] = KERNEL("mov.u32 %r2, 0x11223344; " STORE(
    "%r2") "ld.global.u32 %r3, [%rd1]; st.global.u8 [%rd0+1], %r3;\n"
           "cvt.u16.u32 %h1, %r3; st.global.u16 [%rd0+2], %h1; cvt.u64.u32 %rd5, %r3; st.global.u8 [%rd0], %rd5;\n");
static uint32_t narrow_want(uint32_t i) { return (in[i] & 0xff) | (in[i] & 0xff) << 8 | (in[i] & 0xffff) << 16; }

/* vectors: v4.u32 in, v2.u16, v4.u8, v2.u64 and v4.f32 out; b128 copied whole */
static const char vectors[] = KERNEL(
    ".shared .align 16 .b8 sm[4096];\n"
    "mul.wide.u32 %rd5, %r1, 16; add.s64 %rd6, %rd31, %rd5; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd6];\n"
    "shl.b32 %r10, %r1, 4; mov.u32 %r11, sm; add.u32 %r10, %r10, %r11;\n"
    "st.shared.v2.b64 [%r10], {%rd5, %rd5}; st.shared.v4.f32 [%r10], {%r3, %r2, %r5, %r4};\n"
    "ld.shared.v2.u64 {%rd7, %rd8}, [%r10]; mov.b64 {%r6, %r7}, %rd8; ld.shared.b128 %q1, [%r10];\n"
    "st.shared.b128 [%r10], %q1; ld.shared.v4.u16 {%h1, %h2, %h3, %h4}, [%r10+8];\n"
    "st.shared.v2.u16 [%r10], {%h2, %h1}; st.shared.v4.u8 [%r10+4], {%h1, %h2, %h3, %h4};\n"
    "ld.shared.u32 %r8, [%r10]; ld.shared.u32 %r9, [%r10+4]; ld.global.v4.u32 {%r12, _, _, %r13}, [%rd6];\n"
    "xor.b32 %r8, %r8, %r9; add.u32 %r8, %r8, %r6; xor.b32 %r8, %r8, %r7; add.u32 %r8, %r8, %r12;\n"
    "xor.b32 %r8, %r8, %r13; " STORE("%r8"));
static uint32_t vectors_want(uint32_t i)
{
    const uint32_t *v = in + 4 * i;
    uint32_t h1 = v[3] & 0xffff, h2 = v[3] >> 16, h3 = v[2] & 0xffff, h4 = v[2] >> 16;
    uint32_t first = h2 | h1 << 16;
    uint32_t second = (h1 & 255) | (h2 & 255) << 8 | (h3 & 255) << 16 | (h4 & 255) << 24;
    return ((((first ^ second) + v[3]) ^ v[2]) + v[0]) ^ v[3];
}

/* Vectors of 32-bit elements of whole and partial warps: one behind the other, the same for all lanes,
 * scattered; global and shared memory. The kernel copies v (2 or 4) elements from index i * mul + add. */
static void vector_shapes(void)
{
    static const unsigned mul[] = {1, 0, 3}, add[] = {0, 5, 2};
    unsigned bad = 0, n = 0;
    for (unsigned v = 2; v <= 4; v += 2)
        for (unsigned s = 0; s < 3; s++)
            for (unsigned part = 0; part < 3; part++, n++) {
                char text[4000];
                const char *regs = v == 4 ? "{%r10, %r11, %r12, %r13}" : "{%r10, %r11}";
                snprintf(
                    text, sizeof text,
                    "%s.shared .align 16 .b8 s[4096];\n"
                    "mad.lo.u32 %%r2, %%r1, %u, %u; mul.wide.u32 %%rd5, %%r2, %u; add.s64 %%rd6, %%rd31, %%rd5;\n"
                    "mul.wide.u32 %%rd7, %%r1, %u; add.s64 %%rd8, %%rd30, %%rd7; mov.u32 %%r3, s;\n"
                    "mad.lo.u32 %%r4, %%r2, %u, %%r3; rem.u32 %%r5, %%r1, 7; setp.%s.u32 %%p1, %%r5, 3; @%%p1 bra E;\n"
                    "ld.global.v%u.u32 %s, [%%rd6]; st.shared.v%u.u32 [%%r4], %s;\n"
                    "mov.u32 %%r10, 0; mov.u32 %%r11, 0; mov.u32 %%r12, 0; mov.u32 %%r13, 0;\n"
                    "ld.shared.v%u.u32 %s, [%%r4]; st.global.v%u.u32 [%%rd8], %s;\nE: %s",
                    HEAD ENTRY("k"), mul[s], add[s], 4 * v, 4 * v, 4 * v,
                    part == 0   ? "gt"
                    : part == 1 ? "eq"
                                : "ge",
                    v, regs, v, regs, v, regs, v, regs, END);
                if (part == 0) /* everybody: % 7 is never above 6 */
                    memcpy(strstr(text, "%r5, 3;"), "%r5, 9;", 7);
                memset(out, 0xee, sizeof out);
                if (!run(text, 1, 64, NULL))
                    return;
                for (uint32_t i = 0; i < 64 * v; i++) {
                    uint32_t lane = i / v;
                    bool off = part == 1 ? lane % 7 == 3 : part == 2 && lane % 7 >= 3;
                    uint32_t want = off ? 0xeeeeeeee : in[(lane * mul[s] + add[s]) * v + i % v];
                    bad += out[i] != want;
                }
            }
    check(!bad, "vectors in %u shapes, %u wrong elements", n, bad);
}

/* generic addresses of every space; isspacep; cvta both ways */
static const char generic[] = KERNEL(
    ".shared .align 4 .b32 s[64]; .local .align 4 .b32 loc[2];\n"
    "mov.u64 %rd5, s; cvta.shared.u64 %rd6, %rd5; mul.wide.u32 %rd7, %r1, 4; add.s64 %rd8, %rd6, %rd7;\n"
    "st.u32 [%rd8], %r1; mov.u64 %rd9, loc; cvta.local.u64 %rd10, %rd9; add.u32 %r2, %r1, 100;\n"
    "st.u32 [%rd10+4], %r2; ld.local.u32 %r3, [%rd9+4]; ld.local.u32 %r9, [loc+4]; shl.b32 %r4, %r1, 2;\n"
    "mov.u32 %r5, s; add.u32 %r4, %r4, %r5; ld.shared.u32 %r6, [%r4]; isspacep.shared %p1, %rd8;\n"
    "isspacep.local %p2, %rd10; isspacep.global %p3, %rd0; isspacep.global %p4, %rd8;\n"
    "isspacep.shared %p5, %rd10; cvta.to.shared.u64 %rd11, %rd8; ld.shared.u32 %r7, [%rd11];\n"
    "add.u32 %r8, %r3, %r6; add.u32 %r8, %r8, %r7; add.u32 %r8, %r8, %r9; @!%p1 add.u32 %r8, %r8, 1000;\n"
    "@!%p2 add.u32 %r8, %r8, 2000; @!%p3 add.u32 %r8, %r8, 4000; @%p4 add.u32 %r8, %r8, 8000;\n"
    "@%p5 add.u32 %r8, %r8, 16000; cvta.to.global.u64 %rd12, %rd0; st.u32 [%rd12], %r8;\n");
static uint32_t generic_want(uint32_t i) { return i * 4 + 200; }

/* a local array that every lane walks at its own pace */
static const char local[] = KERNEL(
    ".local .align 4 .b8 depot[64]; mov.u64 %rd5, depot; mov.u32 %r2, 0; mov.u32 %r5, 0;\n"
    "A: mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd5, %rd6; mul.lo.u32 %r3, %r2, %r1;\n"
    "st.local.u32 [%rd7], %r3; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 16; @%p1 bra A;\n"
    "and.b32 %r6, %r1, 15; mov.u32 %r2, 0;\n"
    "B: setp.gt.u32 %p2, %r2, %r6; @%p2 bra E; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd5, %rd6;\n"
    "ld.local.u32 %r3, [%rd7]; add.u32 %r5, %r5, %r3; add.u32 %r2, %r2, 1; bra B;\n"
    "E: " STORE("%r5"));
static uint32_t local_want(uint32_t i)
{
    uint32_t n = i & 15;
    return n * (n + 1) / 2 * (i % 256);
}

static const char variables[] = HEAD
    ".global .align 4 .u32 a[4] = {1, 2, 3, 4}; .const .align 8 .f64 pi = 0d400921FB54442D18;\n"
    ".global .align 8 .u64 links[3] = {a, generic(a)+8, pi}; .global .align 4 .u32 zero[2];\n"
    ".global .align 1 .b8 text[8] = {104, 105, 0};\n" ENTRY(
        "k") "mov.u64 %rd5, links; ld.global.u64 %rd6, [%rd5]; ld.global.u64 %rd7, [%rd5+8];\n"
             "ld.global.u64 %rd8, [links+16]; ld.global.u32 %r2, [%rd6+4]; ld.global.u32 %r3, "
             "[%rd7];\n"
             "ld.f64 %d1, [%rd8]; cvt.rzi.u32.f64 %r4, %d1; ld.global.u8 %r5, [text+1]; "
             "ld.global.u32 %r6, [zero];\n"
             "ld.const.f64 %d2, [pi]; cvt.rni.u32.f64 %r7, %d2; mad.lo.u32 %r2, %r2, 10, %r3;\n"
             "mad.lo.u32 %r2, %r2, 10, %r4; mad.lo.u32 %r2, %r2, 1000, %r5; add.u32 %r2, %r2, "
             "%r6;\n"
             "mad.lo.u32 %r2, %r2, 10, %r7; " STORE("%r2") END;
static uint32_t variables_want(uint32_t i)
{
    (void)i;
    return 2331053;
}

/* kernel parameters: a structure by value, a vector load, an address of one */
static void params(void)
{
    static const char text[] = HEAD ".visible .entry k(.param .u64 o, .param .align 8 .b8 s[24], .param .u8 c, .param "
                                    ".f32 f)\n{\n" REGS
                                    "mov.u32 %r1, %tid.x; ld.param.u64 %rd5, [o]; mul.wide.u32 %rd6, "
                                    "%r1, 4; add.s64 %rd5, %rd5, %rd6;\n"
                                    "ld.param.u16 %h1, [s]; ld.param.s8 %r2, [s+2]; ld.param.u64 %rd7, [s+8]; "
                                    "ld.param.v2.u32 {%r3, %r4}, [s+16];\n"
                                    "mov.b64 %rd8, s; ld.param.u32 %r5, [%rd8+16]; ld.param.u8 %r6, [c]; ld.param.f32 "
                                    "%f1, [f];\n"
                                    "cvt.u32.u16 %r7, %h1; add.u32 %r7, %r7, %r2; cvt.u32.u64 %r8, %rd7; add.u32 %r7, "
                                    "%r7, %r8;\n"
                                    "add.u32 %r7, %r7, %r3; mad.lo.u32 %r7, %r4, 3, %r7; mad.lo.u32 %r7, %r5, 5, %r7;\n"
                                    "mad.lo.u32 %r7, %r6, 7, %r7; cvt.rzi.u32.f32 %r9, %f1; add.u32 %r7, %r7, %r9;\n"
                                    "st.global.u32 [%rd5], %r7; ret;\n}\n";
    struct {
        void *o;
        struct {
            uint16_t a;
            int8_t b;
            uint64_t c;
            uint32_t d, e;
        } s;
        uint8_t c;
        float f;
    } p = {out, {1000, -3, 1ull << 40 | 50, 11, 13}, 200, 99.5f};
    uint32_t want = 1000 - 3 + 50 + 11 + 13 * 3 + 11 * 5 + 200 * 7 + 99;
    bool good = t0t_once(text, "k", 1, 32, &p, NULL);
    check(good && out[0] == want && out[31] == want, "kernel parameters: %u, want %u", out[31], want);
}

/* Which space an address is of: each of seven, asked for each window, the same in all lanes and differing (of the last
 * lane's own element). The parameter lies beyond what fits in 4096 bytes. */
static void spaces(void)
{
    static const struct {
        const char *address; /* to %rd10 */
        uint32_t bytes;      /* of an element */
        const char *in;      /* windows that hold it, by letter below */
    } at[] = {
        {"mov.u64 %rd10, c; cvta.const.u64 %rd10, %rd10;", 4, "c"},
        {"mov.u64 %rd10, g; cvta.global.u64 %rd10, %rd10;", 4, "g"},
        {"mov.b64 %rd10, s; cvta.param.u64 %rd10, %rd10; add.u64 %rd10, %rd10, 5000;", 4, "gp"},
        {"mov.u64 %rd10, sh; cvta.shared.u64 %rd10, %rd10;", 4, "sk"},
        {"mov.u64 %rd10, loc; cvta.local.u64 %rd10, %rd10;", 0, "l"},
        {"mov.u64 %rd10, c; add.u64 %rd10, %rd10, 128;", 0, "g"}, /* behind it */
        {"ld.param.u64 %rd10, [o];", 4, "g"},
    };
    static const struct {
        char letter;
        const char *name;
    } window[] = {{'c', "const"},  {'g', "global"},          {'p', "param"},
                  {'s', "shared"}, {'k', "shared::cluster"}, {'l', "local"}};
    enum { PLACES = sizeof at / sizeof *at, WINDOWS = sizeof window / sizeof *window };
    static char text[16384];
    struct {
        void *o;
        uint8_t s[6000];
    } p = {.o = out};
    int n = snprintf(
        text, sizeof text, "%s",
        HEAD ".const .align 4 .b32 c[32] = {1}; .global .align 4 .b32 g[32];\n"
             ".visible .entry k(.param .u64 o, .param .align 8 .b8 s[6000])\n{\n" REGS
             ".shared .align 4 .b32 sh[32]; .local .align 4 .b32 loc[2]; mov.u32 %r1, %tid.x; ld.param.u64 %rd5, [o];\n"
             "mad.wide.u32 %rd5, %r1, 4, %rd5;\n");
    for (unsigned k = 0; k < 2 * PLACES; k++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "mov.u32 %%r2, 0; %s\n", at[k / 2].address);
        if (k & 1)
            n += snprintf(text + n, sizeof text - (size_t)n, "mad.wide.u32 %%rd10, %%r1, %u, %%rd10;\n",
                          at[k / 2].bytes);
        for (unsigned w = 0; w < WINDOWS; w++)
            n += snprintf(text + n, sizeof text - (size_t)n, "isspacep.%s %%p1, %%rd10; @%%p1 or.b32 %%r2, %%r2, %u;\n",
                          window[w].name, 1u << w);
        n += snprintf(text + n, sizeof text - (size_t)n, "st.global.u32 [%%rd5+%u], %%r2;\n", 128 * k);
    }
    snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
    bool ran = t0t_once(text, "k", 1, 32, &p, NULL);
    for (unsigned k = 0; ran && k < 2 * PLACES; k++) {
        uint32_t want = 0;
        for (unsigned w = 0; w < WINDOWS; w++)
            want |= strchr(at[k / 2].in, window[w].letter) ? 1u << w : 0;
        check(out[32 * k] == want && out[32 * k + 31] == want,
              "windows that hold `%s`: %x, %x of the last lane, want %x", at[k / 2].address, out[32 * k],
              out[32 * k + 31], want);
    }
}

/* static variables of two functions and dynamic memory behind them */
static void dynamic_shared(void)
{
    static const char text[] = HEAD
        ".extern .shared .align 16 .b8 dyn[];\n"
        ".func other(.param .b32 x) { .shared .align 8 .b8 mine[40]; .reg .b32 %r<4>; ld.param.u32 %r1, [x];\n"
        "st.shared.u32 [mine+36], %r1; ret; }\n" ENTRY(
            "k") ".shared .align 4 .b8 st[12];\n"
                 "setp.ne.u32 %p1, %r1, 0; mov.u32 %r9, 55; @%p1 bra E; st.shared.u32 [st+8], %r9;\n"
                 "{ .param .b32 a; st.param.b32 [a], 66; call other, (a); }\n"
                 "E: bar.sync 0; shl.b32 %r2, %r1, 2; mov.u32 %r3, dyn; add.u32 %r2, %r2, %r3;\n"
                 "st.shared.u32 [%r2], %r1; bar.sync 0; sub.u32 %r4, 63, %r1; shl.b32 %r4, %r4, 2;\n"
                 "add.u32 %r4, %r4, %r3; ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [st+8]; add.u32 %r5, %r5, %r6;\n"
                 "mov.u32 %r7, %dynamic_smem_size; add.u32 %r5, %r5, %r7; " STORE("%r5") END;
    struct t0t t;
    struct args a = {out, in, 64};
    uint32_t one[3] = {1, 1, 1}, block[3] = {64, 1, 1};
    bool good = t0t_open(&t, text, "k") && t0t_run(&t, one, block, 256, &a, NULL) == T0_OK;
    for (uint32_t i = 0; i < 64; i++)
        good &= out[i] == 63 - i + 55 + 256;
    check(good && t.info.shared_size >= 52 && t.info.shared_size <= 64, "dynamic shared memory %s", t.why);
    t0t_close(&t);
}

static void indices(void)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 o)\n{\n" REGS
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;\n"
        "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y;\n"
        "mov.u32 %r9, %ctaid.z; mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y; mov.u32 %r12, %ntid.z;\n"
        "mad.lo.u32 %r13, %r9, %r11, %r8; mad.lo.u32 %r13, %r13, %r10, %r7; mul.lo.u32 %r14, %r4, %r5;\n"
        "mul.lo.u32 %r14, %r14, %r12; mad.lo.u32 %r15, %r13, %r14, %r6; ld.param.u64 %rd1, [o];\n"
        "mul.wide.u32 %rd2, %r15, 4; add.s64 %rd1, %rd1, %rd2; mad.lo.u32 %r16, %r1, 100, %r2; mad.lo.u32 %r16, %r16, 100, %r3;\n"
        "mad.lo.u32 %r16, %r13, 1000000, %r16; st.global.u32 [%rd1], %r16; ret;\n}\n";
    struct t0t t;
    void *p = out;
    uint32_t grid[3] = {3, 2, 2}, block[3] = {5, 4, 3};
    bool good = t0t_open(&t, text, "k") && t0t_run(&t, grid, block, 0, &p, NULL) == T0_OK;
    for (uint32_t i = 0; i < 720; i++) {
        uint32_t b = i / 60, x = i % 5, y = i / 5 % 4, z = i / 20 % 3;
        good &= out[i] == b * 1000000 + (x * 100 + y) * 100 + z;
    }
    check(good, "three-dimensional blocks and grids %s", t.why);
    t0t_close(&t);
}

static void faults(void)
{
    static char text[4000];
    uint64_t odd = (uint64_t)(uintptr_t)in + 2;
    expect_fault("null pointer",
                 KERNEL("setp.ne.u32 %p1, %r1, 45; @%p1 bra E; mov.u64 %rd5, 16; st.global.u32 [%rd5+4], %r1;\n"
                        "E: " STORE("%r1")),
                 3, 64, T0_FAULT_ADDRESS, 0, 45, 20);
    expect_fault("a whole warp reads where nothing is",
                 KERNEL("setp.ne.u32 %p1, %r50, 1; @%p1 ret; mul.wide.u32 %rd5, %r1, 4; add.s64 "
                        "%rd5, %rd5, 4096;\n"
                        "ld.global.u32 %r2, [%rd5]; " STORE("%r2")),
                 2, 64, T0_FAULT_ADDRESS, 1, ANY_THREAD, 0);
    snprintf(text, sizeof text,
             "%smov.u64 %%rd5, %llu; @%%p1 add.u32 %%r2, %%r2, 1; setp.eq.u32 %%p1, %%r1, 7;\n"
             "@%%p1 ld.global.u32 %%r2, [%%rd5]; %s",
             HEAD ENTRY("k"), (unsigned long long)odd, END);
    expect_fault("misaligned load", text, 1, 32, T0_FAULT_MISALIGNED, 0, 7, odd);
    expect_fault("misaligned vector in shared memory",
                 KERNEL(".shared .align 16 .b8 s[64]; mov.u32 %r2, s; add.u32 %r2, %r2, 8;\n"
                        "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];\n"),
                 1, 32, T0_FAULT_MISALIGNED, 0, 0, 0);
    expect_fault("a word is misaligned where a matrix's rows were not", /* lanes 8 on have no row */
                 KERNEL(".shared .align 16 .b8 s[520]; mov.u32 %r3, s; shl.b32 %r2, %r1, 4; add.u32 %r2, %r2, %r3;\n"
                        "setp.ge.u32 %p1, %r1, 8; @%p1 add.u32 %r2, %r2, 2;\n"
                        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2]; ld.shared.u32 %r5, [%r2];\n"
                        "add.u32 %r4, %r4, %r5; " STORE("%r4")),
                 1, 32, T0_FAULT_MISALIGNED, 0, 8, 0);
    static const char *const parts[] = {
        "ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd5+16]",
        "st.global.v8.u32 [%rd5+48], {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}",
        "ld.global.v4.u64 {%rd2, %rd3, %rd4, %rd6}, [%rd5+8]",
        "red.global.add.v2.f32 [%rd5+4], {%f1, %f2}",
        "atom.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5+8], {%f1, %f2, %f3, %f4}",
        "red.global.v8.f16.add.noftz [%rd5+8], {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1}"};
    for (unsigned k = 0; k < sizeof parts / sizeof *parts; k++) {
        snprintf(
            text, sizeof text,
            ".version 8.8\n.target sm_100\n.address_size 64\n%sadd.u64 %%rd5, %%rd31, 128; and.b64 %%rd5, %%rd5, -32; %s;\n%s",
            ENTRY("k"), parts[k], END);
        expect_fault(parts[k], text, 1, 32, T0_FAULT_MISALIGNED, 0, 0, 0);
    }
    expect_fault("outside shared memory",
                 KERNEL(".shared .align 4 .b8 s[128]; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 "
                        "%r2, %r2, %r3;\n"
                        "st.shared.u32 [%r2], %r1; bar.sync 0;\n"),
                 1, 64, T0_FAULT_SHARED, 0, 32, 128);
    expect_fault("trap", KERNEL("setp.ne.u32 %p1, %r1, 33; @%p1 bra E; trap; E: " STORE("%r1")), 1, 64, T0_FAULT_TRAP,
                 0, 33, 0);
    expect_fault("atomic on a null pointer", KERNEL("mov.u64 %rd5, 8; atom.global.add.u32 %r2, [%rd5], 1;\n"), 1, 32,
                 T0_FAULT_ADDRESS, 0, 0, 8);
}

static const char recovered[] = KERNEL(STORE("%r1"));
static uint32_t same(uint32_t i) { return i; }

static void all(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u ^ i << 7;
    expect("widths of loads", widths, 2, 96, widths_want);
    expect("narrow stores", narrow, 1, 96, narrow_want);
    expect("vectors", vectors, 1, 64, vectors_want);
    vector_shapes();
    expect("generic addresses", generic, 1, 64, generic_want);
    expect("local arrays", local, 2, 256, local_want);
    expect("variables and their initialisers", variables, 1, 32, variables_want);
    params();
    spaces();
    dynamic_shared();
    indices();
    faults();
    expect("a kernel after a fault", recovered, 1, 64, same);
}

int main(void)
{
    all();
    use_portable_handlers();
    all();
    return t0t_done();
}
