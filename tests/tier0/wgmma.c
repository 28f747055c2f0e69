/* Products of warpgroups (wgmma): every type, swizzle and major of both factors, dense and sparse, against sums by
 * single elements whose places are computed from their numbers alone. Values are small integers, so that each order of
 * summing gives the same bits; or any bits, now and then an infinity or a NaN, and the sum is right within what summing
 * in f32 rounds. */
#include "tier0/kernels.h"

#include <math.h>

#ifndef ROUNDS
#define ROUNDS 24 /* of each type */
#endif
enum { THREADS = 128, SMEM = 40960, META_AT = 512 /* of words */ };
#ifndef LEVELS
#define LEVELS 3
#endif
static uint8_t shared[SMEM];
static uint32_t words[SMEM / 4 + 4096]; /* in: 128 x 4 words of A or metadata, 128 x 128 of sums, then shared memory */
static uint32_t result[THREADS * 128];

static uint64_t seed = 12345678901234567u;
static uint32_t any(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

#include "tier0/layouts.h"

enum { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1, TYPES = B1 };
static const struct {
    const char *name;
    unsigned size, k;
} types[] = {{"f16", 2, 16},  {"bf16", 2, 16}, {"tf32", 4, 8}, {"e4m3", 1, 32},
             {"e5m2", 1, 32}, {"s8", 1, 32},   {"u8", 1, 32},  {"b1", 1, 256}};

/* The bits of a small number in a type. */
static uint32_t bits_of(unsigned type, int v)
{
    static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44, 0x48}, e5m2[] = {0, 0x3c, 0x40, 0x42, 0x44};
    const unsigned n = (unsigned)(v < 0 ? -v : v);
    const float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    switch (type) {
    case F16: return v ? (u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 0x3ff) : 0;
    case BF16: return u >> 16;
    case TF32: return u | any(0x2000); /* what lies below is not looked at */
    case E4M3: return e4m3[n] | (v < 0 ? 0x80u : 0);
    case E5M2: return e5m2[n] | (v < 0 ? 0x80u : 0);
    default: return (uint32_t)v & 255;
    }
}

/* Exponent and fraction of the formats of floats, and what is taken off the bits' top. */
static const struct {
    int8_t exponent, fraction, unused;
} floats[] = {{5, 10, 0}, {8, 7, 0}, {8, 10, 13}, {4, 3, 0}, {5, 2, 0}};

static double value_of(unsigned type, uint32_t bits)
{
    if (type >= S8)
        return type == S8 ? (int8_t)bits : (double)(bits & 255);
    const int fraction = floats[type].fraction, bias = (1 << (floats[type].exponent - 1)) - 1;
    const uint32_t v = bits >> floats[type].unused, m = v & ((1u << fraction) - 1);
    const int e = (int)(v >> fraction & ((1u << floats[type].exponent) - 1));
    double x = e ? ldexp(1 + ldexp(m, -fraction), e - bias) : ldexp(m, 1 - bias - fraction);
    if (type == E4M3 ? e == 15 && m == 7 : e == (1 << floats[type].exponent) - 1)
        x = m ? NAN : INFINITY;
    return v >> (fraction + floats[type].exponent) & 1 ? -x : x;
}

/* Values of all exponents; of eight bits' exponents those whose products f32 has. Of 200 one at most is not finite. */
static uint32_t any_bits(unsigned type)
{
    for (;;) {
        const uint32_t bits = any(1u << 16) | any(1u << 16) << 16;
        const double x = fabs(value_of(type, bits));
        if (!isfinite(x) && any(type == E5M2 ? 32 : 8))
            continue;
        if (!isfinite(x) || type >= E4M3 || type == F16 || x == 0 || (x > 0x1p-60 && x < 0x1p60))
            return type == TF32 ? bits : type >= E4M3 ? bits & 255 : bits & 0xffff;
    }
}

/* Place of element (row, k). */
static uint32_t place(const struct layout *y, unsigned size, unsigned row, unsigned k)
{
    unsigned e;
    const uint32_t chunk = layout_chunk(y, row, k, &e);
    return chunk + e * size;
}

struct form {
    unsigned a, b, n;
    bool f16, regs, add, neg_a, neg_b, sparse, full;
    unsigned selector;
    struct layout la, lb;
};

static char text_of[16384];
static const char *text(const struct form *p)
{
    const bool whole = p->a >= S8, half = p->a <= BF16;
    const unsigned regs = p->n / (p->f16 ? 4 : 2);
    size_t n = 0;
#define PUT(...) n += (size_t)snprintf(text_of + n, sizeof text_of - n, __VA_ARGS__)
    PUT("%s.reg .b32 %%z<128>; .reg .b32 %%y<5>;\n"
        ".shared .align 1024 .b8 s[40960];\n"
        "mov.u32 %%r2, s; shl.b32 %%r3, %%r1, 2; add.u32 %%r4, %%r2, %%r3; mov.u32 %%r5, 0;\n"
        "cvt.u64.u32 %%rd2, %%r3; add.u64 %%rd2, %%rd31, %%rd2; add.u64 %%rd2, %%rd2, 16384;\n"
        "F: ld.global.u32 %%r6, [%%rd2]; st.shared.u32 [%%r4], %%r6; add.u64 %%rd2, %%rd2, 512;\n"
        "add.u32 %%r4, %%r4, 512; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, 80; @%%p1 bra F; bar.sync 0;\n"
        "shl.b32 %%r7, %%r1, 4; cvt.u64.u32 %%rd3, %%r7; add.u64 %%rd3, %%rd3, %%rd31;\n"
        "ld.global.v4.u32 {%%y0, %%y1, %%y2, %%y3}, [%%rd3]; shl.b32 %%r8, %%r1, 9; cvt.u64.u32 %%rd4, %%r8;\n"
        "add.u64 %%rd4, %%rd4, %%rd30; fence.proxy.async;\n"
        "mul.wide.u32 %%rd7, %%r1, 4; add.u64 %%rd7, %%rd7, %%rd31; ld.global.u32 %%y4, [%%rd7+2048];\n",
        HEAD ENTRY("k"));
    for (unsigned k = 0; k < regs; k++)
        PUT("ld.global.u32 %%z%u, [%%rd4+%u];\n", k, 4 * k);
    PUT("mov.u64 %%rd5, 0x%llx; mov.u64 %%rd6, 0x%llx; setp.ne.u32 %%p2, %u, 0;\nwgmma.fence.sync.aligned;\n",
        (unsigned long long)layout_descriptor(&p->la, false), (unsigned long long)layout_descriptor(&p->lb, false),
        p->add);
    PUT("wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s {", p->sparse ? ".sp" : "", p->n, types[p->a].k << p->sparse,
        whole    ? "s32"
        : p->f16 ? "f16"
                 : "f32",
        types[p->a].name, p->a == B1 ? "b1.and.popc" : types[p->b].name);
    for (unsigned k = 0; k < regs; k++)
        PUT("%s%%z%u", k ? ", " : "", k);
    PUT(p->regs ? "}, {%%y0, %%y1, %%y2, %%y3}, %%rd6, " : "}, %%rd5, %%rd6, ");
    if (p->sparse)
        PUT("%%y4, %u, ", p->selector);
    PUT("%%p2");
    if (!whole)
        PUT(", %d, %d", p->neg_a ? -1 : 1, p->neg_b ? -1 : 1);
    if (half && !p->regs)
        PUT(", %d", p->la.across);
    if (half)
        PUT(", %d", p->lb.across);
    PUT(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (unsigned k = 0; k < regs; k++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * k, k);
    PUT(END);
    return text_of;
}

static double ma[64][64], mb[256][64];
static bool has[64][64]; /* what a sparse A has */

/* A bit of the metadata of (row, k): the thread and the bit by CuTe's ELayout_64x64, _64x32 and _64x16. */
static void put_metadata(const struct form *p, unsigned row, unsigned k, unsigned half, unsigned value)
{
    const unsigned quad = row / 16 * 32 + row % 8 * 4, size = types[p->a].size;
    const unsigned lane = size == 1   ? quad + k / 32 * 2 + row / 8 % 2
                          : size == 2 ? quad + p->selector * 2 + k / 16
                                      : quad + p->selector * 2 + k / 8;
    const unsigned bit = size == 1   ? k % 32
                         : size == 2 ? k % 16 + row / 8 % 2 * 16
                                     : 2 * (k % 8 + row / 8 % 2 * 8) + half;
    words[META_AT + lane] = (words[META_AT + lane] & ~(1u << bit)) | value << bit;
}

/* The columns that a chunk of a row keeps: one of two of tf32, two of four. */
static void draw_chunk(const struct form *p, unsigned row, unsigned chunk, unsigned column[2])
{
    static const uint8_t codes[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* lower index first */
    const unsigned code = p->a == TF32 ? (any(2) ? 0xe : 0x4) : codes[any(6)];
    for (unsigned b = 0; b < 4; b++)
        if (p->a == TF32)
            put_metadata(p, row, 2 * chunk + b / 2, b % 2, code >> b & 1);
        else
            put_metadata(p, row, 4 * chunk + b, 0, code >> b & 1);
    column[0] = p->a == TF32 ? 2 * chunk + (code == 0xe) : 4 * chunk + (code & 3);
    column[1] = 4 * chunk + (code >> 2 & 3);
}

static uint32_t draw_element(const struct form *p, unsigned type)
{
    return p->full || type >= S8 ? any_bits(type) : bits_of(type, (int)any(9) - 4);
}

static bool try_form(const struct form *p)
{
    const unsigned ka = types[p->a].k, k = ka << p->sparse, keep = p->a == TF32 ? 1 : 2;
    const unsigned sa = types[p->a].size, sb = types[p->b].size;
    const bool whole = p->a >= S8;
    struct args a = {result, words, 0};
    static uint32_t before[THREADS * 128];
    for (unsigned x = 0; x < SMEM; x++)
        shared[x] = (uint8_t)any(256);
    for (unsigned x = 0; x < THREADS; x++)
        words[META_AT + x] = any(1u << 31);
    memset(has, 0, sizeof has);
    unsigned column[2] = {0};
    for (unsigned r = 0; r < 64; r++)
        for (unsigned c = 0; c < ka; c++) {
            if (!p->sparse)
                column[c % keep] = c;
            else if (c % keep == 0)
                draw_chunk(p, r, c / keep, column);
            const uint32_t u = draw_element(p, p->a);
            ma[r][column[c % keep]] = value_of(p->a, u);
            has[r][column[c % keep]] = true;
            memcpy(shared + place(&p->la, sa, r, c), &u, sa);
            /* lane and register by the ISA's figure of A's fragment */
            const unsigned part = c * sa % 16 / 4, lane = r % 8 * 4 + part, reg = r / 8 % 2 + c * sa / 16 * 2;
            memcpy((uint8_t *)&words[((r / 16) * 32 + lane) * 4 + reg] + c * sa % 4, &u, sa);
        }
    for (unsigned r = 0; r < p->n; r++)
        for (unsigned c = 0; c < k; c++) {
            const uint32_t u = draw_element(p, p->b);
            mb[r][c] = value_of(p->b, u);
            memcpy(shared + place(&p->lb, sb, r, c), &u, sb);
        }
    memcpy(words + 4096, shared, SMEM);
    for (unsigned x = 0; x < THREADS * 128; x++) {
        const float f = (float)((int)any(65) - 32);
        uint32_t u;
        memcpy(&u, &f, 4);
        result[x] = before[x] = whole    ? any(1000) - 500
                                : p->f16 ? bits_of(F16, (int)any(65) - 32) | bits_of(F16, (int)any(65) - 32) << 16
                                         : u;
    }
    if (!t0t_once(text(p), "k", 1, THREADS, &a, NULL))
        return false;
    for (unsigned r = 0; r < 64; r++)
        for (unsigned c = 0; c < p->n; c++) {
            double sum = 0, all = 0; /* all: of the magnitudes */
            const unsigned lane = r / 16 * 32 + r % 8 * 4 + c % 8 / 2, pair = c / 8 * 2 + r / 8 % 2;
            const unsigned at = lane * 128 + (p->f16 ? pair : 2 * pair + c % 2);
            float old, got;
            for (unsigned e = 0; e < k; e++) {
                if (!has[r][e])
                    continue;
                sum += ma[r][e] * mb[c][e];
                all += fabs(ma[r][e] * mb[c][e]);
            }
            sum = p->neg_a != p->neg_b ? -sum : sum;
            if (whole) {
                sum += p->add ? (int32_t)before[at] : 0;
                if ((int32_t)result[at] != (int32_t)sum)
                    return check(false, "row %u column %u is %d, want %g", r, c, (int32_t)result[at], sum), false;
                continue;
            }
            if (p->f16) {
                old = (float)value_of(F16, before[at] >> 16 * (c % 2) & 0xffff);
                got = (float)value_of(F16, result[at] >> 16 * (c % 2) & 0xffff);
            } else {
                memcpy(&old, &before[at], 4);
                memcpy(&got, &result[at], 4);
            }
            if (!isfinite(sum)) {
                if (isnan(sum) ? !isnan(got) : got != sum)
                    return check(false, "row %u column %u is %g, want %g", r, c, (double)got, sum), false;
                continue;
            }
            const double want = sum + (p->add ? (double)old : 0);
            double error = p->full ? (k + 1) * 0x1p-24 * (all + fabs((double)old)) : 0;
            if (p->f16 && p->full)
                error += fabs(want) * 0x1p-11 + 0x1p-25;
            if (p->f16 && fabs(want) + error >= 65504) /* may be infinite */
                continue;
            if (!(fabs((double)got - want) <= error))
                return check(false, "row %u column %u is %g, want %g (%s n %u swizzles %u %u across %d %d regs %d)", r,
                             c, (double)got, want, types[p->a].name, p->n, p->la.swizzle, p->lb.swizzle, p->la.across,
                             p->lb.across, p->regs),
                       false;
        }
    return true;
}

/* Single bits: the sum counts those that both have. */
static bool try_bits(const struct form *p)
{
    struct args a = {result, words, 0};
    static uint32_t before[THREADS * 128];
    static uint8_t ba[64][32], bb[256][32];
    for (unsigned x = 0; x < SMEM; x++)
        shared[x] = (uint8_t)any(256);
    for (unsigned r = 0; r < 64; r++)
        for (unsigned c = 0; c < 32; c++) {
            const uint8_t u = ba[r][c] = (uint8_t)any(256);
            shared[place(&p->la, 1, r, c)] = u;
            const unsigned lane = r % 8 * 4 + c % 16 / 4, reg = r / 8 % 2 + c / 16 * 2;
            memcpy((uint8_t *)&words[((r / 16) * 32 + lane) * 4 + reg] + c % 4, &u, 1);
        }
    for (unsigned r = 0; r < p->n; r++)
        for (unsigned c = 0; c < 32; c++)
            shared[place(&p->lb, 1, r, c)] = bb[r][c] = (uint8_t)any(256);
    memcpy(words + 4096, shared, SMEM);
    for (unsigned x = 0; x < THREADS * 128; x++)
        result[x] = before[x] = any(1000) - 500;
    if (!t0t_once(text(p), "k", 1, THREADS, &a, NULL))
        return false;
    for (unsigned r = 0; r < 64; r++)
        for (unsigned c = 0; c < p->n; c++) {
            const unsigned lane = r / 16 * 32 + r % 8 * 4 + c % 8 / 2, pair = c / 8 * 2 + r / 8 % 2;
            const unsigned at = lane * 128 + 2 * pair + c % 2;
            int32_t want = p->add ? (int32_t)before[at] : 0;
            for (unsigned e = 0; e < 256; e++)
                want += ba[r][e / 8] >> e % 8 & bb[c][e / 8] >> e % 8 & 1;
            if ((int32_t)result[at] != want)
                return check(false, "row %u column %u is %d, want %d", r, c, (int32_t)result[at], want), false;
        }
    return true;
}

static void type(unsigned a, bool sparse)
{
    unsigned good = 0, tried = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct form p = {.a = a, .b = a, .sparse = sparse};
        if (a == E4M3 || a == E5M2)
            p.b = E4M3 + any(2);
        if (a == S8 || a == U8)
            p.b = S8 + any(2);
        p.n = round == 0 ? 256 : round == 1 ? 8 : a >= S8 ? 16 * (1 + any(16)) : 8 * (1 + any(32));
        p.f16 = (a == F16 || a == E4M3 || a == E5M2) && any(3) == 0;
        p.regs = any(3) == 0;
        p.full = round % 2;
        p.add = any(2);
        p.neg_a = a < S8 && any(4) == 0;
        p.neg_b = a < S8 && any(4) == 0;
        p.selector = sparse && types[a].size > 1 ? any(2) : 0;
        const bool half = a <= BF16, across_b = half && any(2);
        const unsigned swizzle = any(4), kb = a == B1 ? 32 : types[a].k << sparse;
        const bool across_a = half && any(2);
        uint8_t used[LAYOUT_BYTES / 16];
        do {
            memset(used, 0, sizeof used);
        } while (!layout_draw(&p.la, 16 / types[a].size, 64, a == B1 ? 32 : types[a].k, any(4), across_a, used) ||
                 !layout_draw(&p.lb, 16 / types[p.b].size, p.n, kb, swizzle, across_b, used));
        tried++;
        good += a == B1 ? try_bits(&p) : try_form(&p);
    }
    check(good == tried, "%s%s: %u of %u random products", types[a].name, sparse ? ", sparse" : "", good, tried);
}

/* What all four warps have stored, with no barrier but the fence, as CUTLASS's example 88 does. The same descriptors
 * again: after B's first column has changed, as another type, and with its sign turned. What a
 * warp has widened serves the next only as long as it is the same. */
static void again(void)
{
    static const char *const how[] = {"f16.f16 {",   ", 1, 1, 0, 0", "f16.f16 {",   ", 1, 1, 0, 0",
                                      "bf16.bf16 {", ", 1, 1, 0, 0", "bf16.bf16 {", ", 1, -1, 0, 0"};
    struct args a = {result, words, 0};
    size_t n = 0;
    PUT("%s.reg .b32 %%z<16>; .shared .align 1024 .b8 s[8192];\n"
        "mov.u32 %%r2, s; shl.b32 %%r3, %%r1, 2; add.u32 %%r4, %%r2, %%r3; mov.u32 %%r5, 0;\n"
        "F: st.shared.u32 [%%r4], 0x3c003c00; add.u32 %%r4, %%r4, 512; add.u32 %%r5, %%r5, 1;\n"
        "setp.lt.u32 %%p1, %%r5, 16; @%%p1 bra F; fence.proxy.async; shr.u32 %%r7, %%r2, 4;\n"
        "cvt.u64.u32 %%rd5, %%r7; or.b64 %%rd5, %%rd5, 0x1000080000; add.u64 %%rd6, %%rd5, 256;\n"
        "setp.ne.u32 %%p2, 0, 0; setp.ne.u32 %%p3, %%r1, 0; mul.wide.u32 %%rd4, %%r1, 64;\n"
        "add.u64 %%rd4, %%rd4, %%rd30;\n",
        HEAD ENTRY("k"));
    for (unsigned k = 0; k < 4; k++)
        PUT("%s wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.%s%%z%u, %%z%u, %%z%u, %%z%u}, "
            "%%rd5, %%rd6, %%p2%s;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; bar.sync 0;\n",
            k == 1 ? "@%p3 bra G; st.shared.u32 [%r2+4096], 0x40004000; fence.proxy.async; G: bar.sync 0;\n" : "",
            how[2 * k], 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3, how[2 * k + 1]);
    for (unsigned k = 0; k < 16; k++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * k, k);
    PUT(END);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned k = 0; k < 16; k++) {
            const bool first = t % 4 == 0 && k % 2 == 0;                             /* column */
            const float small = first ? 14 * 0x1p-14f + 2 * 0x1p-6f : 16 * 0x1p-14f; /* 0x3c00 is 2^-7 */
            const float want[] = {16, first ? 18 : 16, small, -small};
            float got;
            memcpy(&got, &result[16 * t + k], sizeof got);
            if (got != want[k / 4]) {
                check(false, "again: thread %u register %u is %g, want %g", t, k, (double)got, (double)want[k / 4]);
                return;
            }
        }
    check(true, "the same descriptors again");
}

static void all(void)
{
    for (unsigned a = 0; a < TYPES; a++)
        for (unsigned sparse = 0; sparse < 2; sparse++)
            type(a, sparse);
    type(B1, false);
}

int main(void)
{
    all();
    again();
    for (unsigned level = 1; level <= LEVELS && (int)level <= t0_alu_level(); level += 2) {
        printf("# level %u\n", level);
        t0_alu_handlers_level(lir_table, (int)level);
        all();
    }
    t0_alu_handlers(lir_table);
    expect_fault(
        "a descriptor outside shared memory",
        KERNEL(".reg .b32 %z<4>; mov.u64 %rd5, 0x3fff; "
               "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%z0, %z1, %z2, %z3}, %rd5, %rd5, 1, 1, 1;\n"),
        1, THREADS, T0_FAULT_SHARED, 0, 0, 0);
    return t0t_done();
}
