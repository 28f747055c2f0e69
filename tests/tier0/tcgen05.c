/* Products by tensor memory (tcgen05): all kinds against sums by single elements, block scales, zeroed columns, pairs
 * of blocks, columns given out, wrong descriptors. */
#include "tier0/tcgen05.h"

#ifndef ROUNDS
#define ROUNDS 10 /* of each kind */
#endif
static uint8_t shared[SMEM];

enum { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, S8, U8, FP4 };
static const unsigned bits_in[] = {16, 16, 32, 8, 8, 8, 8, 8, 8, 8, 4};
static const char *const type_names[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",
                                         "e3m2", "e2m1", "s8",   "u8",   "fp4"};

struct product {
    const char *kind;
    unsigned a, b, m, n, scales; /* scales: factors of a row */
    bool ue8m0, f16, add, tensor_a;
    bool sparse, ws;
    unsigned selector; /* of a sparse product of 16 or 32 bits */
    uint64_t zero;     /* .ws: which columns of B are zeros */
    unsigned swizzle;  /* as descriptors number them */
};

/* A value and its bits: those that all types have. */
static float number(unsigned type, uint32_t *bits)
{
    static const float v[] = {0, 0.5f, 1, 1.5f, 2, 3, 4};
    static const uint8_t e4m3[] = {0, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48},
                         e5m2[] = {0, 0x38, 0x3c, 0x3e, 0x40, 0x42, 0x44};
    static const uint8_t e2m3[] = {0, 4, 8, 12, 16, 20, 24}, e3m2[] = {0, 8, 12, 14, 16, 18, 20},
                         e2m1[] = {0, 1, 2, 3, 4, 5, 6};
    static const uint16_t half[] = {0, 0x3800, 0x3c00, 0x3e00, 0x4000, 0x4200, 0x4400};
    const unsigned k = any(7), neg = any(2);
    float f = neg ? -v[k] : v[k];
    uint32_t u;
    switch (type) {
    case F16: *bits = half[k] | neg << 15; break;
    case BF16:
    case TF32:
        memcpy(&u, &f, 4);
        *bits = type == BF16 ? u >> 16 : u;
        break;
    case E4M3: *bits = e4m3[k] | neg << 7; break;
    case E5M2: *bits = e5m2[k] | neg << 7; break;
    case E2M3: *bits = e2m3[k] | neg << 5; break;
    case E3M2: *bits = e3m2[k] | neg << 5; break;
    case E2M1:
    case FP4: *bits = e2m1[k] | neg << 3; break;
    case S8:
        f = (float)((int)any(256) - 128);
        *bits = (uint32_t)(int)f & 255;
        break;
    default: f = (float)(*bits = any(256));
    }
    return f;
}

static const unsigned spans[] = {16, 128, 128, 0, 64, 0, 32, 0};

/* Byte of a chunk of 16 of (row, chunk), along k. */
static uint32_t chunk_place(uint32_t start, unsigned swizzle, unsigned rows, unsigned row, unsigned chunk)
{
    const unsigned span = spans[swizzle];
    uint32_t a = start + row % 8 * span + row / 8 * 8 * span;
    if (!swizzle)
        return start + row % 8 * 16 + row / 8 * 128 + chunk * (rows / 8 * 128);
    a += chunk * 16;
    const uint32_t line = a / 128, c = a / 16 % 8;
    return line * 128 + (c ^ (swizzle == 2 ? line & 7 : swizzle == 4 ? line & 3 : line & 1)) * 16;
}

static uint64_t descriptor(uint32_t start, unsigned swizzle, unsigned rows)
{
    const uint64_t lead = swizzle ? 0 : rows / 8 * 128, stride = 8 * spans[swizzle];
    return start >> 4 | lead >> 4 << 16 | stride >> 4 << 32 | 1ull << 46 | (uint64_t)swizzle << 61;
}

static void put_element(uint8_t *chunk, unsigned type, unsigned e, uint32_t v)
{
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
                 p->n / 8 << 17 | p->m / 16 << 24;
    if (p->scales)
        return d | (uint32_t)p->ue8m0 << 23;
    return d | (whole ? 2u : !p->f16) << 4 | (p->zero >> 56 ? 3u << 30 : 0);
}

static float fa[128][128], fb[256][128], sa[128][4], sb[256][4];

static float scale_number(bool ue8m0, uint8_t *byte)
{
    static const uint8_t e4m3[] = {0x38, 0x3c, 0x40, 0x30};
    static const float v[] = {1, 1.5f, 2, 0.5f};
    const unsigned k = any(4);
    *byte = ue8m0 ? (uint8_t)(125 + k) : e4m3[k];
    return ue8m0 ? ldexpf(1, (int)k - 2) : v[k];
}

static float half_value(uint32_t h)
{
    const int e = (int)(h >> 10 & 31);
    const float f = e ? ldexpf((float)(1024 + (h & 1023)), e - 25) : ldexpf((float)(h & 1023), -24);
    return h & 0x8000 ? -f : f;
}

/* Metadata of a sparse A in tensor memory, by CuTe's tmem_e_frg: cells of one bit (two of tf32) are counted through the
 * lanes first. .ws wants as many copies as fit. */
static void put_metadata(const struct product *p, unsigned row, unsigned k, unsigned bit, unsigned value)
{
    const unsigned type = p->a, wide = type == TF32 ? 8 : 16, unit = type == TF32 ? 2 : 1;
    unsigned v = row + 128 * (k / (type == FP4 ? 2 : 1));
    if (type <= TF32)
        v = row % 8 + row / 8 % 2 * 128 * wide + row / 16 * 16 + k % wide * 128 + k / wide * 8;
    for (unsigned lane = v % 128; lane < 128; lane += p->ws ? p->m : 128) {
        const unsigned at = v / 128 * unit + bit + 32 * (type <= TF32 ? p->selector : 0);
        shared[E_AT + 8 * lane + at / 8] = (uint8_t)((shared[E_AT + 8 * lane + at / 8] & ~(1u << at % 8)) |
                                                     value << at % 8);
    }
}

/* Which columns a chunk of a row keeps: one of two, two of four or two pairs of four. */
static void draw_chunk(const struct product *p, unsigned row, unsigned chunk, unsigned column[4])
{
    static const uint8_t codes[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* lower index first */
    const unsigned code = p->a == TF32 ? (any(2) ? 0xe : 0x4) : codes[any(6)];
    for (unsigned b = 0; b < 4; b++) /* four bits lie over the cells of the chunk's columns */
        if (p->a == TF32)
            put_metadata(p, row, 2 * chunk + b / 2, b % 2, code >> b & 1);
        else if (p->a == FP4)
            put_metadata(p, row, 8 * chunk + 2 * b, 0, code >> b & 1);
        else
            put_metadata(p, row, 4 * chunk + b, 0, code >> b & 1);
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

/* The lane and column of a sum. */
static unsigned sum_place(const struct product *p, unsigned r, unsigned c)
{
    if (p->m == 128)
        return r * 128 + c;
    if (p->ws)
        return (r + c / (p->n * p->m / 128) * p->m) * 128 + c % (p->n * p->m / 128);
    return (r / 16 * 32 + r % 16) * 128 + c;
}

static bool product(const struct product *p)
{
    const unsigned per = 128 / bits_in[p->a], k = 2 * per << p->sparse, keep = p->a == TF32 ? 1 : p->a == FP4 ? 4 : 2;
    const bool whole = p->a == S8 || p->a == U8;
    struct args a = {result, words, 0};
    for (unsigned x = 0; x < SMEM; x++)
        shared[x] = (uint8_t)any(256);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned c = 0; c < 128; c++) {
            float f = (float)((int)any(65) - 32);
            uint32_t u;
            memcpy(&u, &f, 4);
            words[t * 128 + c] = whole ? any(1000) : p->f16 ? 0xabcd0000u | (any(8) << 10) | 0x3c00 : u;
        }
    memset(fa, 0, sizeof fa);
    unsigned column[4] = {0};
    for (unsigned r = 0; r < p->m; r++)
        for (unsigned c = 0; c < 2 * per; c++) {
            uint32_t bits;
            if (!p->sparse)
                column[c % keep] = c;
            else if (c % keep == 0)
                draw_chunk(p, r, c / keep, column);
            fa[r][column[c % keep]] = number(p->a, &bits);
            uint8_t *chunk = shared + chunk_place(A_AT, p->swizzle, p->m, r, c / per);
            put_element(chunk, p->a, c % per, bits);
        }
    const unsigned shift = p->zero >> 56, rows = p->n + (shift ? 32 : 0);
    for (unsigned r = 0; r < rows; r++)
        for (unsigned c = 0; c < k; c++) {
            uint32_t bits;
            fb[r][c] = number(p->b, &bits);
            put_element(shared + chunk_place(B_AT, p->swizzle, rows, r, c / per), p->b, c % per, bits);
        }
    /* scales: row r of A is row r % 32 of the r / 32-th group of 32 rows, words of 4 bytes, 16 bytes a row */
    for (unsigned r = 0; r < 128; r++)
        for (unsigned q = 0; q < 4; q++) {
            sa[r][q] = scale_number(p->ue8m0, &shared[S_AT + r % 32 * 16 + r / 32 * 4 + q]);
            sb[r][q] = scale_number(p->ue8m0, &shared[S_AT + 512 + r % 32 * 16 + r / 32 * 4 + q]);
        }
    memcpy(words + 128 * 128, shared, SMEM);
    length = 0;
    PUT(BEGIN, HEAD_100 ENTRY("k"));
    for (unsigned c = 0; c < 128; c++)
        PUT("ld.global.u32 %%z%u, [%%rd3+%u];\n", c, 4 * c);
    PUT("tcgen05.st.sync.aligned.32x32b.x128.b32 [%%r13], ");
    registers(128);
    if (p->sparse) /* a thread's two words to its lane */
        PUT(";\nadd.u32 %%r30, %%r2, %%r3; add.u32 %%r30, %%r30, %%r3; ld.shared.v2.b32 {%%z0, %%z1}, [%%r30+%u];\n"
            "tcgen05.st.sync.aligned.32x32b.x2.b32 [%%r13+410], {%%z0, %%z1}",
            E_AT);
    PUT(";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
        "tcgen05.fence::after_thread_sync; add.u32 %%r25, %%r11, 410; @%%p4 bra M; mov.u64 %%rd5, 0x%llx; mov.u64 %%rd6, 0x%llx;\n"
        "mov.u64 %%rd7, 0x%llx; mov.u64 %%rd8, 0x%llx; add.u32 %%r20, %%r11, 400; add.u32 %%r21, %%r11, 404;\n",
        (unsigned long long)descriptor(A_AT, p->swizzle, p->m), (unsigned long long)descriptor(B_AT, p->swizzle, rows),
        (unsigned long long)(descriptor(S_AT, 0, 0)), (unsigned long long)(descriptor(S_AT + 512, 0, 0)));
    PUT("mov.b64 %%rd9, 0x%llx;\n", (unsigned long long)p->zero);
    if (p->scales)
        PUT("tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r20], %%rd7;\n"
            "tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r21], %%rd8;\n");
    PUT("mov.u32 %%r22, 0x%x; setp.ne.u32 %%p5, %u, 0; mov.u32 %%r23, 0;\n", instruction_descriptor(p), p->add);
    if (p->tensor_a) /* A as it lies in shared memory without a swizzle: rows of 16 bytes */
        PUT("add.u32 %%r24, %%r11, 300; tcgen05.cp.cta_group::1.128x256b [%%r24], %%rd5;\n");
    PUT("tcgen05.mma%s%s.cta_group::1.kind::%s [%%r11], %s, %%rd6, %s%%r22, %s%%p5%s;\n", p->ws ? ".ws" : "",
        p->sparse ? ".sp" : "", p->kind, p->tensor_a ? "[%r24]" : "%rd5", p->sparse ? "[%r25], " : "",
        p->scales          ? "[%r20], [%r21], "
        : !p->ws && any(2) ? "{%r23, %r23, %r23, %r23}, "
                           : "",
        p->zero           ? ", %rd9"
        : p->ws && any(2) ? ", 0"
                          : "");
    PUT("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
        "M: mbarrier.try_wait.parity.shared::cta.b64 %%p6, [bar], 0; @!%%p6 bra M;\n"
        "tcgen05.ld.sync.aligned.32x32b.x128.b32 ");
    registers(128); /* without a lane: each warp's own */
    PUT(", [%%r%u];\ntcgen05.wait::ld.sync.aligned;\n", p->add ? 11 : 13);
    for (unsigned c = 0; c < 128; c++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * c, c);
    PUT(FINISH);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return false;
    for (unsigned r = 0; r < p->m; r++)
        for (unsigned c = 0; c < p->n; c++) {
            const unsigned at = sum_place(p, r, c);
            double sum = 0;
            float old, got;
            for (unsigned e = 0; e < k; e++) {
                const unsigned q = p->scales ? e / (k / p->scales) : 0;
                sum += (zeroed(p, c) ? 0 : (double)fa[r][e] * (double)fb[c + shift][e]) *
                       (p->scales ? (double)(sa[r][q] * sb[c][q]) : 1);
            }
            if (whole) {
                const int32_t want = (int32_t)sum + (p->add ? (int32_t)words[at] : 0);
                if ((int32_t)result[at] != want)
                    return check(false, "row %u column %u is %d, want %d", r, c, (int32_t)result[at], want), false;
                continue;
            }
            memcpy(&old, &words[at], 4);
            memcpy(&got, &result[at], 4);
            if (p->f16) {
                old = half_value(words[at] & 0xffff);
                got = half_value(result[at] & 0xffff);
            }
            sum += p->add ? (double)old : 0;
            if (fabs((double)got - sum) > (p->f16 ? 0.51 : 0))
                return check(false, "row %u column %u is %g, want %g (%s %s m %u n %u swizzle %u)", r, c, (double)got,
                             sum, type_names[p->a], type_names[p->b], p->m, p->n, p->swizzle),
                       false;
        }
    return true;
}

static void kind(const char *name, const char *kind, unsigned low, unsigned high, unsigned scales, bool sparse, bool ws)
{
    static const uint8_t swizzles[] = {0, 2, 4, 6};
    unsigned good = 0, tried = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct product p = {.kind = kind, .scales = scales, .sparse = sparse, .ws = ws};
        p.a = low + any(high - low + 1);
        p.b = p.a <= TF32 ? p.a : low + any(high - low + 1);
        p.m = scales || round % 2 ? 128 : ws ? 32u << any(3) : sparse ? 128 : 64;
        p.n = ws ? 64u << any(2) : scales || sparse ? 16 * (1 + any(8)) : 8 * (1 + any(16));
        p.selector = sparse && p.a <= TF32 ? any(2) : 0;
        p.ue8m0 = scales && (scales < 4 || any(2));
        p.f16 = p.a == F16 && any(2);
        p.add = any(2);
        p.swizzle = swizzles[any(sparse ? 3 : 4)];                 /* 64 bytes of B are more than a line of 32 */
        for (unsigned x = 0; ws && round % 4 == 3 && x < 4; x++) { /* starts within the first span */
            const uint64_t both = x ? p.zero >> 40 & 0xffff : any(20) | any(20) << 8, first = any(2);
            p.zero |= both << 40 | 1ull << 39 | first << (32 + x);
            p.zero |= (uint64_t)any(1 + (both >> (first ? 0 : 8) & 255)) << 8 * x;
            p.zero |= !x && p.n == 64 ? (uint64_t)any(p.m == 32 ? 17 : 33) << 56 : 0;
        }
        p.tensor_a = round % 3 == 1 && p.m == 128 && p.a <= BF16;
        tried++;
        good += product(&p);
    }
    check(good == tried, "%s%s%s: %u of %u random products", name, ws ? ", weights stay" : "", sparse ? ", sparse" : "",
          good, tried);
}

/* A product of two blocks: each has half of the rows of A and of the columns of B; the even one asks for it. */
static void pair(unsigned m)
{
    enum { N = 64, K = 16 };
    struct product p = {.kind = "f16", .m = m, .n = N};
    struct args a = {result, words, 0};
    struct t0t t;
    struct t0_fault f = {0};
    unsigned bad = 0;
    static float fm[256][K];
    for (unsigned block = 0; block < 2; block++) {
        for (unsigned r = 0; r < m / 2; r++)
            for (unsigned c = 0; c < K; c++) {
                uint32_t bits;
                fm[block * (m / 2) + r][c] = number(F16, &bits);
                put_element(shared + chunk_place(A_AT, 2, m / 2, r, c / 8), F16, c % 8, bits);
            }
        for (unsigned r = 0; r < N / 2; r++)
            for (unsigned c = 0; c < K; c++) {
                uint32_t bits;
                fb[block * (N / 2) + r][c] = number(F16, &bits);
                put_element(shared + chunk_place(B_AT, 2, N / 2, r, c / 8), F16, c % 8, bits);
            }
        memcpy((uint8_t *)(words + 128 * 128) + block * SMEM, shared, SMEM);
    }
    length = 0;
    PUT("%smul.wide.u32 %%rd20, %%r50, 40960; add.u64 %%rd31, %%rd31, %%rd20; mul.wide.u32 %%rd20, %%r50, 65536;\n"
        "add.u64 %%rd30, %%rd30, %%rd20;\n",
        HEAD_100 ENTRY("k"));
    PUT(BEGIN "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.ne.u32 %%p7, %%r50, 0;\n"
              "or.pred %%p7, %%p7, %%p4; @%%p7 bra M; mov.u32 %%r22, 0x%x; mov.u64 %%rd5, 0x%llx;\n"
              "mov.u64 %%rd6, 0x%llx; mov.b16 %%h1, 3;\n"
              "tcgen05.mma.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd6, %%r22, 0;\n"
              "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %%h1;\n"
              "M: mbarrier.try_wait.parity.shared::cta.b64 %%p6, [bar], 0; @!%%p6 bra M;\n"
              "tcgen05.ld.sync.aligned.32x32b.x64.b32 ",
        "", instruction_descriptor(&p), (unsigned long long)descriptor(A_AT, 2, m / 2),
        (unsigned long long)descriptor(B_AT, 2, N / 2));
    registers(64);
    PUT(", [%%r13];\ntcgen05.wait::ld.sync.aligned; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n");
    for (unsigned c = 0; c < 64; c++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * c, c);
    PUT(FINISH);
    for (char *at = text_of; (at = strstr(at, "cta_group::1")); at += 12)
        at[11] = '2';
    if (!t0t_open(&t, text_of, "k")) {
        check(false, "pair: %s", t.why);
        return;
    }
    memcpy(t0t_cluster, (uint32_t[3]){2, 1, 1}, sizeof t0t_cluster);
    t0t_run(&t, (uint32_t[3]){2, 1, 1}, (uint32_t[3]){THREADS, 1, 1}, 0, &a, &f);
    memset(t0t_cluster, 0, sizeof t0t_cluster);
    t0t_close(&t);
    for (unsigned r = 0; r < m; r++)
        for (unsigned c = 0; c < N; c++) {
            const unsigned block = r / (m / 2), row = r % (m / 2), right = m == 128 && c >= N / 2;
            const unsigned at = (block * 128 + row + (right ? 64 : 0)) * 128 + (right ? c - N / 2 : c);
            float sum = 0, got;
            for (unsigned e = 0; e < K; e++)
                sum += fm[r][e] * fb[c][e];
            memcpy(&got, &result[at], 4);
            bad += got != sum;
        }
    check(!bad && f.kind == T0_OK, "two blocks, %u rows: %u wrong (fault %d: %s)", m, bad, f.kind, f.text);
}

int main(void)
{
    static const struct {
        const char *name, *body;
        enum t0_fault_kind kind;
    } wrong[] = {
        {"sparse descriptor of a dense product",
         "mov.u32 %%r22, 0x8040494; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"dense descriptor of a sparse product",
         "mov.u32 %%r22, 0x8040490; mov.u64 %%rd5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "[%%r11], %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"sparse product of 64 rows",
         "mov.u32 %%r22, 0x4040494; mov.u64 %%rd5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "[%%r11], %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"a selector that there is not",
         "mov.u32 %%r22, 0x8040496; mov.u64 %%rd5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "[%%r11], %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"A of 4 bits in tensor memory",
         "mov.u32 %%r22, 0x8041690; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%%r11], [%%r11], %%rd5, "
         "%%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"columns of zeros by reserved bits",
         "mov.u32 %%r22, 0x8100490; mov.u64 %%rd5, 0; tcgen05.mma.ws.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "%%r22, 1, 0x1000000000;\n",
         T0_FAULT_INSTRUCTION},
        {"32 columns of weights that stay",
         "mov.u32 %%r22, 0x8080490; mov.u64 %%rd5, 0; tcgen05.mma.ws.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "%%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"lanes of another warp",
         "add.u32 %%r13, %%r11, 0x200000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%z0}, [%%r13];\n",
         T0_FAULT_INSTRUCTION},
        {"columns that are not there", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%z0}, [%%r13+600];\n",
         T0_FAULT_ADDRESS},
        {"columns given back twice",
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r11, 512;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r11, 512;\n",
         T0_FAULT_INSTRUCTION}};
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
    }
    pair(256);
    pair(128);
    for (unsigned k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct args a = {result, words, 0};
        struct t0_fault f = {0};
        length = 0;
        PUT(BEGIN, HEAD_100 ENTRY("k"));
        PUT(wrong[k].body, 0);
        PUT(FINISH);
        t0t_once(text_of, "k", 1, 32, &a, &f);
        check(f.kind == wrong[k].kind && f.line, "%s (kind %d line %u: %s)", wrong[k].name, f.kind, f.line, f.text);
    }
    return t0t_done();
}
