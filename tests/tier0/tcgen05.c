/* Products by tensor memory (tcgen05): all kinds against sums by single elements, block scales, zeroed columns, pairs
 * of blocks. */
#include "tier0/tcgen05.h"
#include "tier0/layouts.h"

#ifndef ROUNDS
#define ROUNDS 10 /* of each kind */
#endif
#ifndef LEVELS
#define LEVELS 3
#endif
static unsigned rounds = ROUNDS;
static uint8_t shared[2][SMEM];

enum { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, S8, U8, FP4 };
static const unsigned bits_in[] = {16, 16, 32, 8, 8, 8, 8, 8, 8, 8, 4};
static const char *const type_names[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",
                                         "e3m2", "e2m1", "s8",   "u8",   "fp4"};

struct product {
    const char *kind;
    unsigned a, b, m, n, scales; /* scales: factors of a row */
    bool ue8m0, f16, add, tensor_a, neg_a, neg_b, saturate, masked;
    bool sparse, ws, pair;
    bool wide;                  /* 96 elements along k, of sm_103 */
    bool far;                   /* A's scales are beyond what f32 can apply alone, B's make up for them */
    unsigned selector;          /* of a sparse product of 16 or 32 bits */
    unsigned ids[2];            /* first bytes of the scales of A and B */
    uint64_t zero;              /* .ws: which columns of B are zeros */
    unsigned column;            /* of the sums */
    unsigned down;              /* what is added is scaled by 2^-down */
    uint32_t mask[8];           /* lanes without output */
    struct layout la[2], lb[2]; /* of each block */
};

/* Columns of A that are stored. */
static unsigned stored(const struct product *p) { return (p->wide ? 3 : 2) * 128 / bits_in[p->a]; }

/* Infinities and NaNs, of the types that have them. */
static bool specials;
static bool special_number(unsigned type, uint32_t *bits, double *v)
{
    static const uint32_t infinity[] = {0x7c00, 0x7f80, 0x7f800000, 0, 0x7c},
                          nan[] = {0x7e00, 0x7fc0, 0x7fc00000, 0x7f, 0x7e};
    static const uint32_t sign[] = {0x8000, 0x8000, 0x80000000, 0x80, 0x80};
    if (!specials || type > E5M2 || any(100))
        return false;
    const bool is_nan = type == E4M3 || any(4) == 0, minus = any(2);
    *bits = (is_nan ? nan : infinity)[type] | (minus ? sign[type] : 0);
    *v = is_nan ? NAN : minus ? -INFINITY : INFINITY;
    return true;
}

/* Any value of a type and its bits; of 16 and 32 bits some dozens of binades. */
static double number(unsigned type, uint32_t *bits)
{
    static const struct {
        uint8_t exponent, fraction, lowest, range;
    } floats[] = {{5, 10, 8, 14}, {8, 7, 118, 20}, {8, 23, 118, 20}, {4, 3, 0, 16}, {5, 2, 0, 31},
                  {2, 3, 0, 4},   {3, 2, 0, 8},    {2, 1, 0, 4},     {0},           {0},
                  {2, 1, 0, 4}};
    if (type == S8 || type == U8) {
        *bits = any(256);
        return type == S8 ? (int8_t)*bits : (double)*bits;
    }
    double special;
    if (special_number(type, bits, &special))
        return special;
    const unsigned e = floats[type].exponent, f = floats[type].fraction;
    const unsigned exponent = floats[type].lowest + any(floats[type].range), sign = any(2);
    uint32_t fraction = any(1u << f);
    if (type == TF32)
        fraction = (fraction & ~0x1fffu) | any(0x2000); /* below is not looked at */
    if (type == E4M3 && exponent == 15 && fraction == 7)
        fraction = 6;
    *bits = sign << (e + f) | exponent << f | fraction;
    const int bias = (1 << (e - 1)) - 1;
    const double kept = type == TF32 ? fraction & ~0x1fffu : fraction;
    const double v = exponent || type == BF16 || type == TF32 ? ldexp(1 + ldexp(kept, -(int)f), (int)exponent - bias)
                                                              : ldexp(kept, 1 - bias - (int)f);
    return sign ? -v : v;
}

/* padded: of an element of 4 bits in tensor memory, a byte each. */
static void put_element(uint8_t *chunk, unsigned type, unsigned e, uint32_t v, bool padded)
{
    if (padded) {
        chunk[e] = (uint8_t)(v << 2);
        return;
    }
    const unsigned width = type == E2M3 || type == E3M2 ? 6 : type == E2M1 ? 4 : bits_in[type];
    for (unsigned b = 0; b < width; b++) {
        const unsigned at = e * width + b;
        chunk[at / 8] = (uint8_t)((chunk[at / 8] & ~(1u << at % 8)) | (v >> b & 1) << at % 8);
    }
}

static uint32_t instruction_descriptor(const struct product *p)
{
    static const uint8_t code[] = {0, 1, 2, 0, 1, 3, 4, 5, 1, 0, 1};
    const bool whole = p->a == S8 || p->a == U8;
    uint32_t d = (p->sparse ? 4u | p->selector : 0) | (uint32_t)code[p->a] << 7 | (uint32_t)code[p->b] << 10 |
                 (uint32_t)p->neg_a << 13 | (uint32_t)p->neg_b << 14 | (uint32_t)p->la[0].across << 15 |
                 (uint32_t)p->lb[0].across << 16 | p->n / 8 << 17 | p->m / 16 << 24;
    if (p->scales)
        return d | (uint32_t)p->ue8m0 << 23 | p->ids[1] << 4 | p->ids[0] << 29 | (uint32_t)p->wide << 31;
    return d | (uint32_t)p->saturate << 3 | (whole ? 2u : !p->f16) << 4 | (p->zero >> 56 ? 3u << 30 : 0);
}

static double fa[256][128], fb[288][128], sa[256][6], sb[256][6];
static bool has[256][128]; /* what a sparse A has */

/* low: the smallest of sixteen exponents of ue8m0. */
static double scale_number(bool ue8m0, unsigned low, uint8_t *byte)
{
    *byte = (uint8_t)(ue8m0 ? low + any(16) : 1 + any(0x7e));
    return ue8m0 ? ldexp(1, *byte - 127) : *byte >> 3 ? ldexp(8 + (*byte & 7), (*byte >> 3) - 10) : ldexp(*byte, -9);
}

static double half_value(uint32_t h)
{
    const int e = (int)(h >> 10 & 31);
    const double f = e == 31 ? INFINITY : e ? ldexp(1024 + (h & 1023), e - 25) : ldexp(h & 1023, -24);
    return h & 0x8000 ? -f : f;
}

/* Metadata of a sparse A in tensor memory, by CuTe's tmem_e_frg: cells of one bit (two of tf32) are counted through the
 * lanes first. .ws wants as many copies as fit. */
static void put_metadata(const struct product *p, unsigned block, unsigned row, unsigned k, unsigned bit,
                         unsigned value)
{
    const unsigned type = p->a, wide = type == TF32 ? 8 : 16, unit = type == TF32 ? 2 : 1;
    unsigned v = row + 128 * (k / (type == FP4 ? 2 : 1));
    if (type <= TF32)
        v = row % 8 + row / 8 % 2 * 128 * wide + row / 16 * 16 + k % wide * 128 + k / wide * 8;
    for (unsigned lane = v % 128; lane < 128; lane += p->ws ? p->m : 128) {
        const unsigned at = v / 128 * unit + bit + 32 * (type <= TF32 ? p->selector : 0);
        uint8_t *to = &shared[block][E_AT + 8 * lane + at / 8];
        *to = (uint8_t)((*to & ~(1u << at % 8)) | value << at % 8);
    }
}

/* Which columns a chunk of a row keeps: one of two, two of four or two pairs of four. */
static void draw_chunk(const struct product *p, unsigned block, unsigned row, unsigned chunk, unsigned column[4])
{
    static const uint8_t codes[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* lower index first */
    const unsigned code = p->a == TF32 ? (any(2) ? 0xe : 0x4) : codes[any(6)];
    for (unsigned b = 0; b < 4; b++) /* four bits lie over the cells of the chunk's columns */
        if (p->a == TF32)
            put_metadata(p, block, row, 2 * chunk + b / 2, b % 2, code >> b & 1);
        else if (p->a == FP4)
            put_metadata(p, block, row, 8 * chunk + 2 * b, 0, code >> b & 1);
        else
            put_metadata(p, block, row, 4 * chunk + b, 0, code >> b & 1);
    if (p->a == TF32)
        column[0] = 2 * chunk + (code == 0xe);
    for (unsigned e = 0; p->a != TF32 && e < 2; e++) {
        const unsigned at = 4 * chunk + (code >> 2 * e & 3);
        if (p->a == FP4)
            column[2 * e] = 2 * at, column[2 * e + 1] = 2 * at + 1;
        else
            column[e] = at;
    }
}

/* A mask by the ISA's words: spans written one after the other from the lowest bit, of which the first `start` fall. */
static bool zeroed(const struct product *p, unsigned column)
{
    const unsigned each = p->n * p->m / 128, part = column / each;
    unsigned left = (p->zero >> 8 * part & 255) + column % each;
    bool zeros = p->zero >> (32 + part) & 1;
    for (unsigned span; (span = 1 + (zeros ? p->zero >> 40 & 255 : p->zero >> 48 & 255)) <= left; zeros = !zeros)
        left -= span;
    return p->zero >> 39 & 1 && zeros;
}

/* The block, lane and column of a sum, as a place in the results. */
static unsigned sum_place(const struct product *p, unsigned r, unsigned c)
{
    const unsigned rows = p->pair ? p->m / 2 : p->m, block = r / rows, each = rows == 128 ? p->n : p->n * rows / 128;
    unsigned lane = r % rows, column = c;
    if (p->ws || p->pair)
        lane += c / each * rows, column = c % each;
    else if (rows == 64)
        lane = r / 16 * 32 + r % 16;
    return (block * 128 + lane) * 128 + p->column + column;
}

/* Draws the factors into the blocks' shared memory and their values into fa, fb, sa, sb. */
static void draw_factors(struct product *p, unsigned rows_b)
{
    const unsigned k = stored(p) << p->sparse, keep = p->a == TF32 ? 1 : p->a == FP4 ? 4 : 2;
    const unsigned blocks = 1 + p->pair, ra = p->m / blocks, rb = rows_b / blocks;
    unsigned column[4] = {0}, e;
    uint32_t bits;
    memset(fa, 0, sizeof fa);
    memset(has, 0, sizeof has);
    for (unsigned block = 0; block < blocks; block++) {
        for (unsigned r = 0; r < ra; r++)
            for (unsigned c = 0; c < stored(p); c++) {
                if (!p->sparse)
                    column[c % keep] = c;
                else if (c % keep == 0)
                    draw_chunk(p, block, r, c / keep, column);
                fa[block * ra + r][column[c % keep]] = number(p->a, &bits);
                has[block * ra + r][column[c % keep]] = true;
                const uint32_t at = layout_chunk(&p->la[block], r, c, &e);
                put_element(shared[block] + at, p->a, e, bits, p->tensor_a && p->a == E2M1);
            }
        for (unsigned r = 0; r < rb; r++)
            for (unsigned c = 0; c < k; c++) {
                fb[block * rb + r][c] = number(p->b, &bits);
                const uint32_t at = layout_chunk(&p->lb[block], r, c, &e);
                put_element(shared[block] + at, p->b, e, bits, false);
            }
        /* scales: row r of A is row r % 32 of the r / 32-th group of 32 rows, words of 4 bytes, 16 bytes a row; the
         * fifth and later ones lie behind those of all rows */
        for (unsigned r = 0; p->scales && r < 128; r++)
            for (unsigned q = 0; q < p->scales; q++) {
                const unsigned at = S_AT + r % 32 * 16 + r / 32 * 4, x = p->ids[0] + q, y = p->ids[1] + q;
                sa[block * 128 + r][q] = scale_number(p->ue8m0, p->far ? 239 : 120,
                                                      &shared[block][at + x / 4 * 1024 + x % 4]);
                const unsigned of_b = at + 512 + y / 4 * 1024 + y % 4; /* both blocks have those of all columns */
                uint8_t *b = &shared[block][of_b];
                if (block)
                    *b = shared[0][of_b];
                else
                    sb[r][q] = scale_number(p->ue8m0, p->far ? 0 : 120, b);
            }
    }
}

static void put_kernel(const struct product *p)
{
    const struct layout plain[2] = {{.start = S_AT, .stride = 128, .per = 16},
                                    {.start = S_AT + 512, .stride = 128, .per = 16}};
    const unsigned words_of = p->wide ? 2 : 1; /* of a row's scales */
    length = 0;
    PUT("%s%s", HEAD_100 ENTRY("k"),
        "mul.wide.u32 %rd20, %r50, 40960; add.u64 %rd20, %rd20, 65536; mul.wide.u32 %rd21, %r50, 65536;\n"
        "add.u64 %rd30, %rd30, %rd21; add.u64 %rd22, %rd31, %rd21; add.u64 %rd31, %rd31, %rd20;\n");
    PUT(BEGIN "add.u64 %%rd3, %%rd22, %%rd4; sub.u64 %%rd3, %%rd3, %%rd30;\n", "");
    for (unsigned c = 0; c < 128; c++)
        PUT("ld.global.u32 %%z%u, [%%rd3+%u];\n", c, 4 * c);
    PUT("tcgen05.st.sync.aligned.32x32b.x128.b32 [%%r13], ");
    registers(128);
    if (p->sparse) /* a thread's two words to its lane */
        PUT(";\nadd.u32 %%r30, %%r2, %%r3; add.u32 %%r30, %%r30, %%r3; ld.shared.v2.b32 {%%z0, %%z1}, [%%r30+%u];\n"
            "tcgen05.st.sync.aligned.32x32b.x2.b32 [%%r13+410], {%%z0, %%z1}",
            E_AT);
    PUT(";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
        "tcgen05.fence::after_thread_sync; add.u32 %%r25, %%r11, 410; mov.u64 %%rd5, 0x%llx; mov.u64 %%rd6, 0x%llx;\n"
        "mov.u64 %%rd7, 0x%llx; mov.u64 %%rd8, 0x%llx; add.u32 %%r20, %%r11, 400; add.u32 %%r21, %%r11, %u;\n",
        (unsigned long long)layout_descriptor(&p->la[0], true), (unsigned long long)layout_descriptor(&p->lb[0], true),
        (unsigned long long)layout_descriptor(&plain[0], true), (unsigned long long)layout_descriptor(&plain[1], true),
        400 + 4 * words_of);
    if (p->pair)
        PUT("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.ne.u32 %%p7, %%r50, 0;\n"
            "or.pred %%p4, %%p7, %%p4;\n");
    PUT("mov.b64 %%rd9, 0x%llx; @%%p4 bra M;\n", (unsigned long long)p->zero);
    for (unsigned x = 0; p->scales && x < words_of; x++)
        PUT("tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r20+%u], %%rd7;\n"
            "tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r21+%u], %%rd8;\n"
            "add.u64 %%rd7, %%rd7, 64; add.u64 %%rd8, %%rd8, 64;\n",
            4 * x, 4 * x);
    PUT("mov.u32 %%r22, 0x%x; setp.ne.u32 %%p5, %u, 0; add.u32 %%r27, %%r11, %u; mov.b16 %%h1, 3;\n",
        instruction_descriptor(p), p->add, p->column);
    for (unsigned x = 0; p->masked && x < 8; x++)
        PUT("mov.u32 %%r%u, 0x%x;\n", 30 + x, p->mask[x]);
    if (p->tensor_a) /* A as it lies in shared memory: rows of two chunks */
        PUT("add.u32 %%r24, %%r11, 300; tcgen05.cp.cta_group::1.128x256b [%%r24], %%rd5;\n");
    PUT("tcgen05.mma%s%s.cta_group::1.kind::%s [%%r27], %s, %%rd6, %s%%r22, %s%s%%p5", p->ws ? ".ws" : "",
        p->sparse ? ".sp" : "", p->kind, p->tensor_a ? "[%r24]" : "%rd5", p->sparse ? "[%r25], " : "",
        p->scales   ? "[%r20], [%r21], "
        : p->masked ? "{%r30, %r31, %r32, %r33"
                    : "",
        !p->masked ? ""
        : p->pair  ? ", %r34, %r35, %r36, %r37}, "
                   : "}, ");
    if (p->down)
        PUT(", %u", p->down);
    PUT("%s;\n", p->zero ? ", %rd9" : p->ws && any(2) ? ", 0" : "");
    /* the mbarrier's address in shared memory, generic, and one of shared memory where a generic one should be */
    const char *const address = any(2) ? "cvta.shared.u64 %rd10, %rd10;" : "";
    const bool generic = *address || any(2);
    PUT("mov.u64 %%rd10, bar; %s tcgen05.commit.cta_group::1.mbarrier::arrive::one%s%s.b64 [%s]%s;\n"
        "M: mbarrier.try_wait.parity.shared::cta.b64 %%p6, [bar], 0; @!%%p6 bra M;\n"
        "tcgen05.ld.sync.aligned.32x32b.x128.b32 ",
        address, generic ? "" : ".shared::cluster", p->pair ? ".multicast::cluster" : "", generic ? "%rd10" : "bar",
        p->pair ? ", %h1" : "");
    registers(128); /* without a lane: each warp's own */
    PUT(", [%%r%u];\ntcgen05.wait::ld.sync.aligned;\n", p->add ? 11 : 13);
    if (p->pair)
        PUT("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n");
    for (unsigned c = 0; c < 128; c++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * c, c);
    PUT("setp.ne.u32 %%p3, %%r10, 0;\n" FINISH);
    for (char *at = text_of; p->pair && (at = strstr(at, "cta_group::1")); at += 12)
        at[11] = '2';
}

static bool run_product(const struct product *p)
{
    struct args a = {result, words, 0};
    struct t0t t;
    struct t0_fault f = {0};
    const uint32_t blocks = 1 + p->pair;
    if (!t0t_open(&t, text_of, "k"))
        return check(false, "%s: %s", p->kind, t.why), false;
    memcpy(t0t_cluster, (uint32_t[3]){p->pair ? 2 : 0, p->pair, p->pair}, sizeof t0t_cluster);
    t0t_run(&t, (uint32_t[3]){blocks, 1, 1}, (uint32_t[3]){THREADS, 1, 1}, 0, &a, &f);
    memset(t0t_cluster, 0, sizeof t0t_cluster);
    t0t_close(&t);
    if (f.kind != T0_OK)
        check(false, "%s: fault %d at line %u: %s", p->kind, f.kind, f.line, f.text);
    return f.kind == T0_OK;
}

static bool same_sum(const struct product *p, uint32_t old, uint32_t got, double sum, double size)
{
    float f;
    if (p->a == S8 || p->a == U8) {
        int64_t want = (int64_t)sum + (p->add ? (int32_t)old : 0);
        want = !p->saturate ? want : want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
        return got == (uint32_t)want;
    }
    memcpy(&f, &old, 4);
    if (p->add) {
        const double before = ldexp(p->f16 ? half_value(old & 0xffff) : (double)f, -(int)p->down);
        sum += before;
        size += fabs(before);
    }
    memcpy(&f, &got, 4);
    if (!isfinite(sum))
        return p->f16 ? (got & 0xffff) == (isnan(sum) ? 0x7fffu
                                           : sum > 0  ? 0x7c00u
                                                      : 0xfc00u)
                      : got == (isnan(sum) ? 0x7fffffffu
                                : sum > 0  ? 0x7f800000u
                                           : 0xff800000u);
    const double v = p->f16 ? half_value(got & 0xffff) : (double)f;
    if (p->f16 && fabs(sum) > 65510)
        return fabs(v) >= 65504 && (v > 0) == (sum > 0);
    return fabs(v - sum) <= ldexp(size, -19) + (p->f16 ? ldexp(fabs(sum), -11) + ldexp(1, -25) : 0);
}

static bool product(struct product *p)
{
    const unsigned k = stored(p) << p->sparse, blocks = 1 + p->pair;
    const unsigned shift = p->zero >> 56, rows = p->n + (shift ? 32 : 0);
    const bool whole = p->a == S8 || p->a == U8;
    static uint8_t is_sum[2 * 128 * 128];
    for (unsigned block = 0; block < blocks; block++)
        for (unsigned x = 0; x < SMEM; x++)
            shared[block][x] = (uint8_t)any(256);
    for (unsigned x = 0; x < 2 * 128 * 128; x++) {
        float f = (float)((int)any(4001) - 2000) / 64;
        uint32_t u;
        memcpy(&u, &f, 4);
        words[x] = whole ? (any(8) ? any(1000) : 0x7fffff00u + any(0x200)) : p->f16 ? any(65536) & 0xfffffbffu : u;
        if (p->f16)
            words[x] |= any(65536) << 16;
    }
    draw_factors(p, rows);
    for (unsigned block = 0; block < blocks; block++)
        memcpy((uint8_t *)(words + 2 * 128 * 128) + block * SMEM, shared[block], SMEM);
    put_kernel(p);
    if (!run_product(p))
        return false;
    memset(is_sum, 0, sizeof is_sum);
    for (unsigned r = 0; r < p->m; r++)
        for (unsigned c = 0; c < p->n; c++) {
            const unsigned at = sum_place(p, r, c), block = at / 16384, lane = at / 128 % 128;
            double sum = 0, size = 0;
            if (p->masked && p->mask[4 * block + lane / 32] >> lane % 32 & 1)
                continue;
            is_sum[at] = 1;
            for (unsigned e = 0; e < k; e++) {
                if (!has[r][e])
                    continue;
                const unsigned q = p->scales ? e / (k / p->scales) : 0;
                const double one = (zeroed(p, c) ? 0 : fa[r][e] * fb[c + shift][e]) *
                                   (p->scales ? sa[r][q] * sb[c][q] : 1);
                sum += one;
                size += fabs(one);
            }
            sum = p->neg_a != p->neg_b ? -sum : sum;
            if (!same_sum(p, words[at], result[at], sum, size)) {
                float got;
                memcpy(&got, &result[at], 4);
                return check(false,
                             "row %u column %u is 0x%x (%g), want %g and 0x%x (%s %s m %u n %u swizzles %d %d across "
                             "%d %d)",
                             r, c, result[at], (double)got, sum, words[at], type_names[p->a], type_names[p->b], p->m,
                             p->n, p->la[0].swizzle, p->lb[0].swizzle, p->la[0].across, p->lb[0].across),
                       false;
            }
        }
    for (unsigned x = 0; x < blocks * 128 * 128; x++)
        if (!is_sum[x] && result[x] != words[x])
            return check(false, "lane %u column %u of block %u was 0x%x and is 0x%x", x / 128 % 128, x % 128, x / 16384,
                         words[x], result[x]),
                   false;
    return true;
}

/* Layouts of both factors: swizzles and majors that the type has. The scales' and metadata's memory is taken. */
static void draw_layouts(struct product *p)
{
    const unsigned per_a = 128 / bits_in[p->a], k = stored(p) << p->sparse, blocks = 1 + p->pair;
    const unsigned rows_a = p->m / blocks, rows_b = (p->n + (p->zero >> 56 ? 32 : 0)) / blocks;
    const bool along_a = p->tensor_a || (p->a >= E2M3 && p->a <= E2M1) || p->a == FP4 || any(2);
    const bool along_b = (p->b >= E2M3 && p->b <= E2M1) || p->b == FP4 || rows_b % per_a || any(2);
    const enum layout_swizzle swizzle_a = p->tensor_a ? LAYOUT_PLAIN : any(4), swizzle_b = any(p->sparse ? 3 : 4);
    /* tf32 across k has lines of its own, in fours */
    const enum layout_swizzle lines_a = !along_a && p->a == TF32 ? LAYOUT_128B_BASE_32B : swizzle_a;
    const enum layout_swizzle lines_b = !along_b && p->b == TF32 ? LAYOUT_128B_BASE_32B : swizzle_b;
    const bool turning = p->wide && any(2);
    uint8_t used[LAYOUT_BYTES / 16];
    do {
        memset(used, 0, S_AT / 16);
        memset(used + S_AT / 16, 1, sizeof used - S_AT / 16);
    } while (!(turning ? layout_draw_turning(&p->la[0], per_a, rows_a, used)
                       : layout_draw(&p->la[0], per_a, rows_a, stored(p), lines_a, !along_a, used)) ||
             !(turning ? layout_draw_turning(&p->lb[0], per_a, rows_b, used)
                       : layout_draw(&p->lb[0], per_a, rows_b, k, lines_b, !along_b, used)));
    p->la[1] = p->la[0];
    p->lb[1] = p->lb[0];
}

static void kind(const char *name, const char *kind, unsigned low, unsigned high, unsigned scales, bool sparse, bool ws)
{
    unsigned good = 0, tried = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct product p = {
            .kind = kind, .scales = scales, .sparse = sparse, .ws = ws, .wide = scales % 3 == 0 && scales};
        const bool whole = low == S8, small = low == E4M3;
        p.a = small && round == 1 ? E2M1 : low + any(high - low + 1); /* in tensor memory, if there are 128 rows */
        p.b = p.a <= TF32 ? p.a : low + any(high - low + 1);
        p.pair = !ws && round % 3 == 2;
        p.m = scales || round % 2 ? 128 : ws ? 32u << any(3) : sparse ? 128 : 64;
        p.m = !p.pair ? p.m : scales || sparse || any(2) ? 256 : 128;
        p.n = ws ? 64u << any(2) : scales || sparse || p.pair ? 16 * (1 + any(8)) : 8 * (1 + any(16));
        p.selector = sparse && p.a <= TF32 ? any(2) : 0;
        p.ue8m0 = scales && (scales < 4 || any(2));
        p.f16 = (p.a == F16 || (small && !scales)) && any(2);
        p.add = any(2);
        p.neg_a = !whole && any(3) == 0;
        p.neg_b = !whole && any(3) == 0;
        p.saturate = whole && any(2);
        p.masked = !ws && !scales && any(2);
        p.down = p.masked && p.a <= TF32 && any(2) ? 1 + any(15) : 0;
        for (unsigned x = 0; x < 2; x++)
            p.ids[x] = scales == 1 || scales == 3 ? any(4) : scales == 2 || scales == 6 ? 2 * any(2) : 0;
        for (unsigned x = 0; p.masked && x < 8; x++)
            p.mask[x] = any(1u << 31) & any(1u << 31) << any(2);
        for (unsigned x = 0; ws && round % 4 == 3 && x < 4; x++) { /* starts within the first span */
            const uint64_t both = x ? p.zero >> 40 & 0xffff : any(20) | any(20) << 8, first = any(2);
            p.zero |= both << 40 | 1ull << 39 | first << (32 + x);
            p.zero |= (uint64_t)any(1 + (both >> (first ? 0 : 8) & 255)) << 8 * x;
            p.zero |= !x && p.n == 64 ? (uint64_t)any(p.m == 32 ? 17 : 33) << 56 : 0;
        }
        p.column = any(129 - p.n);
        p.far = p.ue8m0 && round % 4 == 1;
        specials = round % 4 == 2; /* no masks, whose zeros are multiplied */
        p.tensor_a = round % 3 == 1 && p.m == 128 && !p.wide && p.a != E2M3 && p.a != E3M2;
        draw_layouts(&p);
        tried++;
        good += product(&p);
    }
    check(good == tried, "%s%s%s: %u of %u random products", name, ws ? ", weights stay" : "", sparse ? ", sparse" : "",
          good, tried);
}

static void all(void)
{
    for (unsigned way = 0; way < 4; way++) {
        const bool sparse = way & 1, ws = way & 2;
        kind("f16", "f16", F16, BF16, 0, sparse, ws);
        kind("tf32", "tf32", TF32, TF32, 0, sparse, ws);
        kind("f8f6f4", "f8f6f4", E4M3, E2M1, 0, sparse, ws);
        kind("i8", "i8", S8, U8, 0, sparse, ws);
        if (ws)
            continue;
        kind("mxf8f6f4", "mxf8f6f4.block_scale", E4M3, E2M1, 1, sparse, ws);
        kind("mxf4", "mxf4.block_scale", FP4, FP4, 2, sparse, ws);
        kind("mxf4nvf4", "mxf4nvf4.block_scale.scale_vec::4X", FP4, FP4, 4, sparse, ws);
        if (sparse)
            continue;
        kind("mxf4, 96 along k", "mxf4.block_scale", FP4, FP4, 3, sparse, ws);
        kind("mxf4nvf4, 96 along k", "mxf4nvf4.block_scale.scale_vec::4X", FP4, FP4, 6, sparse, ws);
    }
}

/* Then with the handlers of CPUs that have less. */
int main(void)
{
    all();
    rounds = 3;
    for (unsigned level = 1; level <= LEVELS && (int)level <= t0_alu_level(); level += 2) {
        printf("# level %u\n", level);
        t0_alu_handlers_level(lir_table, (int)level);
        all();
    }
    return t0t_done();
}
