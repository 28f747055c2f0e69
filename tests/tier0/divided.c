/* Lanes' numbers divided by kernel parameters, as a thread asks which row and column it has: drawn kernels and
 * divisors, multiples of a warp's lanes and others, beside C. Tier 1 writes such kernels twice
 * (shim/ptx/tier1/emit/given.c). */
#include "tier0/harness.h"

enum { KERNELS = 50, LAUNCHES = 24, BLOCKS = 3, MOST = BLOCKS * 96, ROUNDS = 3, ROOM = 4096 };

static uint32_t state = 0x2545f491u;
static uint32_t drawn(uint32_t below)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return (uint32_t)((uint64_t)state * below >> 32);
}

enum width { U32, S32, U64, S64, PREPARED, WIDTHS };
struct form {
    unsigned number, bound, width;
    bool loop, loads, by_register;
    uint32_t plus; /* to the number */
};
static const char *const width_names[] = {"u32", "s32", "u64", "s64", "prepared"};
static const char *const bound_names[] = {"lt.s32", "lt.u32", "ge.s32", "gt.s32", "le.u32", "none"};
static const uint32_t pluses[] = {0, 0, 64, 7, 0x7fffffc0u, 0xffffffa0u, 0xffffffa0u, 0xfffffff1u};

struct params {
    uint32_t *out;
    const uint32_t *in;
    uint32_t n, start;
    uint64_t d64;
    uint32_t d, magic, shift, unused;
};

static size_t put(char *text, size_t at, const char *s) { return at + (size_t)sprintf(text + at, "%s", s); }

/* %r1: the number; %r2: its quotient, %r3: its remainder; %r9: the flat index of its result. */
static void write_kernel(char *text, const struct form *f)
{
    static const char *const number[] = {
        "mad.lo.s32 %r1, %r10, %r11, %r12;\n",
        "mul.lo.u32 %r1, %r10, %r11; add.u32 %r1, %r1, %r12;\n",
        "mad.lo.s32 %r1, %r10, %r11, %r12; add.u32 %r1, %r1, %r13;\n",
        "mul.lo.u32 %r1, %r10, %r11; or.b32 %r1, %r1, %r12;\n",
    };
    size_t n = put(
        text, 0,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .align 8 .b8 p[56])\n{\n"
        ".reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .pred %p<4>;\n"
        "ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [p+8]; ld.param.u32 %r14, [p+16]; ld.param.u32 %r13, [p+20];\n"
        "mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x; mov.u32 %r15, %nctaid.x;\n"
        "mul.lo.u32 %r15, %r15, %r11; mad.lo.u32 %r9, %r10, %r11, %r12;\n");
    if (f->by_register)
        n = put(text, n,
                "mov.b64 %rd9, p; add.s64 %rd9, %rd9, 32; ld.param.u64 %rd4, [%rd9+-8];\n"
                "ld.param.u32 %r4, [%rd9]; ld.param.v2.u32 {%r5, %r6}, [p+36];\n");
    else
        n = put(
            text, n,
            "ld.param.u64 %rd4, [p+24]; ld.param.u32 %r4, [p+32]; ld.param.u32 %r5, [p+36];\nld.param.u32 %r6, [p+40];\n");
    n = put(text, n, number[f->number]);
    n += (size_t)sprintf(text + n, "add.u32 %%r1, %%r1, %u;\nmov.u32 %%r20, 0;\nL:\n", f->plus);
    if (f->bound < 3)
        n += (size_t)sprintf(text + n, "setp.%s %%p1, %%r1, %%r14;\n", bound_names[f->bound]);
    else if (f->bound < 5)
        n += (size_t)sprintf(text + n, "setp.%s %%p1, %%r14, %%r1;\n", bound_names[f->bound]);
    if (f->bound < 5)
        n = put(text, n, f->bound == 2 || f->bound == 4 ? "@%p1 bra E;\n" : "@!%p1 bra E;\n");
    switch (f->width) {
    case U32: n = put(text, n, "div.u32 %r2, %r1, %r4; rem.u32 %r3, %r1, %r4;\n"); break;
    case S32: n = put(text, n, "div.s32 %r2, %r1, %r4; mul.lo.s32 %r7, %r2, %r4; sub.s32 %r3, %r1, %r7;\n"); break;
    case U64: /* as compilers write it: by 32 bits where both fit */
        n = put(text, n,
                !f->plus && f->number < 2 && !f->loop
                    ? "mul.wide.u32 %rd5, %r10, %r11; cvt.u64.u32 %rd6, %r12; add.s64 %rd5, %rd5, %rd6;\n"
                    : "cvt.u64.u32 %rd5, %r1;\n");
        n = put(text, n,
                "or.b64 %rd6, %rd5, %rd4; and.b64 %rd6, %rd6, -4294967296; setp.ne.s64 %p2, %rd6, 0; @%p2 bra W;\n"
                "cvt.u32.u64 %r7, %rd4; cvt.u32.u64 %r8, %rd5; div.u32 %r2, %r8, %r7; mul.lo.s32 %r18, %r2, %r7;\n"
                "sub.s32 %r3, %r8, %r18; cvt.u64.u32 %rd8, %r3; bra M;\nW:\ndiv.u64 %rd7, %rd5, %rd4;\n"
                "mul.lo.s64 %rd12, %rd4, %rd7; sub.s64 %rd8, %rd5, %rd12; cvt.u32.u64 %r2, %rd7;\nM:\n"
                "cvt.u32.u64 %r3, %rd8;\n");
        break;
    case S64:
        n = put(text, n,
                "cvt.s64.s32 %rd5, %r1; cvt.s64.s32 %rd6, %r4; div.s64 %rd7, %rd5, %rd6; rem.s64 %rd8, %rd5, %rd6;\n"
                "cvt.u32.u64 %r2, %rd7; cvt.u32.u64 %r3, %rd8;\n");
        break;
    default:
        n = put(text, n,
                "mul.hi.u32 %r7, %r1, %r5; add.s32 %r7, %r7, %r1; shr.u32 %r2, %r7, %r6; mul.lo.u32 %r7, %r2, %r4;\n"
                "sub.s32 %r3, %r1, %r7;\n");
    }
    if (f->loads && f->width == U64)
        n = put(text, n, "shl.b64 %rd10, %rd8, 2; add.s64 %rd10, %rd1, %rd10; ld.global.u32 %r16, [%rd10];\n");
    else if (f->loads)
        n = put(text, n, "mul.wide.s32 %rd10, %r3, 4; add.s64 %rd10, %rd1, %rd10; ld.global.u32 %r16, [%rd10];\n");
    else
        n = put(text, n, "add.u32 %r16, %r2, %r3;\n");
    n = put(text, n,
            "mul.wide.u32 %rd11, %r9, 12; add.s64 %rd11, %rd0, %rd11; st.global.u32 [%rd11], %r2; "
            "st.global.u32 [%rd11+4], %r3; st.global.u32 [%rd11+8], %r16;\n");
    if (f->loop)
        n = put(text, n,
                "add.u32 %r1, %r1, %r15; add.u32 %r9, %r9, %r15; add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 3; @%p3 "
                "bra L;\n");
    put(text, n, "E:\nret;\n}\n");
}

static bool inside(const struct form *f, uint32_t x, uint32_t n)
{
    switch (f->bound) {
    case 0: return (int32_t)x < (int32_t)n;
    case 1: return x < n;
    case 2: return (int32_t)x < (int32_t)n;
    case 3: return (int32_t)n > (int32_t)x;
    case 4: return n > x;
    default: return true;
    }
}

static void divide(const struct form *f, const struct params *p, uint32_t x, uint32_t *q, uint32_t *r)
{
    const int32_t s = (int32_t)p->d;
    switch (f->width) {
    case U32: *q = p->d ? x / p->d : ~0u, *r = p->d ? x % p->d : x; break;
    case S32:
        *q = !s ? ~0u : s == -1 ? 0 - x : (uint32_t)((int32_t)x / s);
        *r = x - *q * p->d;
        break;
    case U64: *q = (uint32_t)(x / p->d64), *r = (uint32_t)(x % p->d64); break;
    case S64: *q = (uint32_t)((int64_t)(int32_t)x / s), *r = (uint32_t)((int64_t)(int32_t)x % s); break;
    default:
        *q = (uint32_t)((uint64_t)x * p->magic >> 32) + x;
        *q = p->shift > 31 ? 0 : *q >> p->shift;
        *r = x - *q * p->d;
    }
}

/* What a host prepares for a divisor. */
static void prepare(struct params *p, uint32_t d)
{
    p->shift = 0;
    while (1ull << p->shift < d)
        p->shift++;
    p->magic = (uint32_t)((((1ull << p->shift) - d) << 32) / d + 1);
}

static void launch(struct t0t *t, const struct form *f, uint32_t threads, unsigned *bad, unsigned *ran)
{
    static const uint32_t divisors[] = {32, 64, 96, 128, 256, 1024, 2048, 33, 31, 1, 48, 100, 7, 1000, 2047};
    static const uint32_t large[] = {1u << 30, 1u << 31, 3u << 29, 0xffffffe0u, 0xffffffffu, 0x80000020u};
    static uint32_t out[MOST * ROUNDS * 3], want[MOST * ROUNDS * 3], in[2 * ROOM];
    struct params p = {.out = out, .in = in + ROOM};
    for (unsigned k = 0; k < 2 * ROOM; k++)
        in[k] = k * 2654435761u;
    p.d = !f->loads && drawn(4) == 0 ? large[drawn(6)] : divisors[drawn(drawn(3) ? 7 : 15)];
    p.d64 = p.d;
    if (!f->loads && f->width == U64 && drawn(4) == 0)
        p.d64 = (uint64_t)p.d << 32 | 32;
    prepare(&p, p.d);
    if (f->width == PREPARED && !f->loads && drawn(2)) { /* for another one, or for none */
        if (drawn(3) == 0)
            prepare(&p, divisors[drawn(15)]);
        else if (drawn(2))
            p.magic += 1u << (29 + drawn(3));
        else
            p.shift += 32;
    }
    if ((f->width == U32 || f->width == S32) && !f->loads && drawn(5) == 0)
        p.d = 0;
    const uint32_t total = BLOCKS * threads, step = total;
    p.start = drawn(2) ? 32 * drawn(6) : drawn(3) ? drawn(100) : 0 - 32 * drawn(4);
    p.n = drawn(4) ? 32 * (1 + drawn(total / 8)) : drawn(2 * total);
    p.n = drawn(6) ? p.n + (f->plus & ~31u) : drawn(2) ? ~0u : 0x80000000u;
    memset(out, 0xee, sizeof out);
    memset(want, 0xee, sizeof want);
    for (uint32_t k = 0; k < total; k++) {
        const uint32_t tid = k % threads, block = k / threads;
        uint32_t x = f->number == 3 ? (block * threads | tid) : k + (f->number == 2 ? p.start : 0), at = k;
        x += f->plus;
        for (unsigned r = 0; r < (f->loop ? ROUNDS : 1) && inside(f, x, p.n); r++, x += step, at += step) {
            uint32_t *w = &want[3 * at];
            divide(f, &p, x, &w[0], &w[1]);
            w[2] = f->loads ? p.in[(int32_t)w[1]] : w[0] + w[1];
        }
    }
    const enum t0_fault_kind fault = t0t_run(t, (const uint32_t[]){BLOCKS, 1, 1}, (const uint32_t[]){threads, 1, 1}, 0,
                                             &p, NULL);
    const bool wrong = fault || memcmp(out, want, sizeof out) != 0;
    if (wrong && !*bad)
        printf("# threads %u, d %#x, d64 %#llx, magic %#x, shift %u, n %#x, start %#x, fault %d\n", threads, p.d,
               (unsigned long long)p.d64, p.magic, p.shift, p.n, p.start, (int)fault);
    *bad += wrong;
    ++*ran;
}

#ifdef CUMU_TESTS_TIER1_ON_TIER1_H
/* So many blocks that an int which counts threads falls below 0: there, quotients are rounded upwards. */
static void divide_far(void)
{
    enum { FROM = (1 << 21) - 2, TO = (1 << 21) + 2 };
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 from, "
        ".param .u32 d)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<2>;\nld.param.u64 %rd0, [out]; ld.param.u32 %r1, "
        "[from]; ld.param.u32 %r2, [d];\nmov.u32 %r3, %ctaid.x; mov.u32 %r4, %tid.x; setp.lt.u32 %p1, %r3, %r1;\n@%p1 bra "
        "E;\nshl.b32 %r5, %r3, 10; add.s32 %r5, %r5, %r4; div.s32 %r6, %r5, %r2;\nsub.u32 %r7, %r3, %r1; shl.b32 %r7, "
        "%r7, 5; add.u32 %r7, %r7, %r4; mul.wide.u32 %rd1, %r7, 4; add.u64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], "
        "%r6;\nE:\nret;\n}\n";
    static int32_t out[32 * (TO - FROM)];
    const struct {
        void *out;
        uint32_t from, d;
    } args = {out, FROM, 1024};
    unsigned bad = 0;
    const bool ran = t0t_once(text, "k", TO, 32, &args, NULL);
    for (uint32_t k = 0; k < 32 * (TO - FROM); k++)
        bad += out[k] != (int32_t)((FROM + k / 32) << 10 | k % 32) / 1024;
    check(ran && !bad, "2 million blocks (%u wrong)", bad);
}
#endif

int main(void)
{
    static const uint32_t threads[] = {64, 64, 96, 32, 64, 96, 40};
    for (unsigned k = 0; k < KERNELS; k++) {
        char text[4096];
        struct t0t t;
        unsigned bad = 0, ran = 0;
        struct form f = {.number = drawn(8) % 6 % 4,
                         .bound = drawn(9) % 6,
                         .width = k % WIDTHS,
                         .loop = drawn(4) == 0,
                         .loads = drawn(4) == 0,
                         .by_register = drawn(2),
                         .plus = pluses[drawn(8)]};
        if (f.loads && f.width == PREPARED && f.plus > 1000)
            f.plus = 64;             /* 33 bits: not what it is prepared for */
        if (f.width == U64 && k % 2) /* a number of 64 bits from the start */
            f.number = k / 2 % 2, f.plus = 0, f.loop = false;
        if (f.width == S64 && f.number == 2 && f.plus == 0x7fffffc0u)
            f.plus = 64; /* an int that overflows within a warp: undefined in C, and taken on trust (range.c) */
        write_kernel(text, &f);
        if (!t0t_open(&t, text, "k")) {
            check(false, "kernel %u: %s", k, t.why);
            continue;
        }
        for (unsigned l = 0; l < LAUNCHES; l++)
            launch(&t, &f, threads[drawn(k % 5 ? 6 : 7)], &bad, &ran);
        check(!bad, "%s, number %u + %#x, bound %s%s%s%s (%u of %u launches wrong)", width_names[f.width], f.number,
              f.plus, bound_names[f.bound], f.loop ? ", in a loop" : "", f.loads ? ", loads" : "",
              f.by_register ? ", by address" : "", bad, ran);
        t0t_close(&t);
    }
#ifdef CUMU_TESTS_TIER1_ON_TIER1_H
    divide_far();
#endif
    return t0t_done();
}
