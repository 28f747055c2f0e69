/* atom and red: every operation and type against C, results and final values, and contention
 * between threads of the host. */
#include <pthread.h>

#include "tier0/kernels.h"

/* One warp applies an operation to one word; the lanes' operands are i * 3 + 1. The old values that
 * lanes got must chain: applying the operations in lane order from the start value gives each of
 * them. */
static void one(const char *op, const char *type, unsigned bits, uint64_t start,
                uint64_t (*next)(uint64_t old, uint64_t v))
{
    char text[4000];
    const char *r = bits == 64 ? "%rd" : "%r";
    uint64_t v = start;
    bool good;
    snprintf(text, sizeof text,
             "%smad.lo.u32 %%r2, %%r1, 3, 1; cvt.u64.u32 %%rd2, %%r2;\n"
             "atom.global.%s.%s %s5, [%%rd31], %s2; %s %s%s",
             HEAD ENTRY("k"), op, type, r, r, bits == 64 ? "cvt.u32.u64 %r5, %rd5;" : "", STORE("%r5"), END);
    memcpy(in, &start, 8);
    if (!run(text, 1, 32, NULL))
        return;
    good = true;
    for (uint32_t i = 0; i < 32; i++) {
        good &= out[i] == (uint32_t)v;
        v = next(v, i * 3 + 1);
        if (bits == 32)
            v = (uint32_t)v;
    }
    good &= !memcmp(in, &v, bits / 8);
    check(good, "atom.%s.%s", op, type);
}

static uint64_t add(uint64_t o, uint64_t v) { return o + v; }
static uint64_t and (uint64_t o, uint64_t v) { return o & v; }
static uint64_t or (uint64_t o, uint64_t v) { return o | v; }
static uint64_t xor (uint64_t o, uint64_t v) { return o ^ v; } static uint64_t exch(uint64_t o, uint64_t v)
{
    (void)o;
    return v;
}
static uint64_t minu(uint64_t o, uint64_t v) { return o < v ? o : v; }
static uint64_t maxu(uint64_t o, uint64_t v) { return o > v ? o : v; }
static uint64_t mins(uint64_t o, uint64_t v) { return (int32_t)o < (int32_t)v ? o : v; }
static uint64_t maxs64(uint64_t o, uint64_t v) { return (int64_t)o > (int64_t)v ? o : v; }
static uint64_t inc(uint64_t o, uint64_t v) { return o >= v ? 0 : o + 1; }
static uint64_t dec(uint64_t o, uint64_t v) { return o == 0 || o > v ? v : o - 1; }

static void floats(void)
{
    static const char text[] = KERNEL(
        "cvt.rn.f32.u32 %f1, %r1; red.global.add.f32 [%rd31], %f1; cvt.f64.f32 %d1, %f1;\n"
        "red.global.add.f64 [%rd31+8], %d1; cvt.rn.f16.f32 %h1, 0f3F800000; atom.global.add.noftz.f16 %h2, [%rd31+16], %h1;\n"
        "mov.b32 %r2, {%h1, %h1}; atom.global.add.noftz.f16x2 %r3, [%rd31+20], %r2;\n"
        "mov.u16 %h3, 0x3f80; atom.global.add.noftz.bf16 %h4, [%rd31+24], %h3;\n"
        "mov.u16 %h5, 5; atom.global.cas.b16 %h6, [%rd31+26], %h5, %h3;\n");
    float f;
    double d;
    memset(in, 0, 32);
    in[6] = 5u << 16;
    if (!run(text, 2, 64, NULL))
        return;
    memcpy(&f, in, 4);
    memcpy(&d, in + 2, 8);
    check(f == 2 * 2016, "red.add.f32: %g", (double)f);
    check(d == 2 * 2016, "red.add.f64: %g", d);
    check((in[4] & 0xffff) == 0x5800, "atom.add.f16: 0x%x, want 128", in[4]);
    check(in[5] == 0x58005800, "atom.add.f16x2: 0x%x", in[5]);
    check((in[6] & 0xffff) == 0x4300, "atom.add.bf16: 0x%x", in[6]);
    check(in[6] >> 16 == 0x3f80, "atom.cas.b16: 0x%x", in[6]);
}

static void swaps(void)
{
    static const char text[] = KERNEL(
        "atom.global.cas.b32 %r2, [%rd31], %r1, 1000; mov.u64 %rd5, 77; cvt.u64.u32 %rd6, %r1;\n"
        "atom.global.cas.b64 %rd7, [%rd31+8], %rd6, %rd5; mov.b128 %q1, {%rd6, %rd5}; mov.b128 %q2, {%rd5, %rd6};\n"
        "atom.global.exch.b128 %q3, [%rd31+16], %q1; atom.global.cas.b128 %q4, [%rd31+32], %q1, %q2;\n" STORE("%r2"));
    memset(in, 0, 64);
    in[0] = 9;
    in[2] = 20;
    in[8] = 3;
    in[10] = 77;
    if (!run(text, 1, 32, NULL))
        return;
    check(in[0] == 1000 && out[9] == 9 && out[10] == 1000 && out[0] == 9, "atom.cas.b32");
    check(in[2] == 77, "atom.cas.b64");
    check(in[4] == 31 && in[6] == 77, "atom.exch.b128");
    check(in[8] == 77 && in[10] == 3, "atom.cas.b128");
}

static void vectors(void)
{
    static const char text[] = KERNEL(
        "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; red.global.add.v2.f32 [%rd31], {%f1, %f2};\n"
        "atom.global.add.v2.f32 {%f3, %f4}, [%rd31+8], {%f2, %f1}; cvt.rzi.u32.f32 %r2, %f3; " STORE("%r2"));
    static const float want[4] = {32, 64, 64, 32};
    bool good = true;
    memset(in, 0, 16);
    if (!run(text, 1, 32, NULL))
        return;
    for (uint32_t i = 0; i < 32; i++)
        good &= out[i] == 2 * i;
    check(good && !memcmp(in, want, 16), "vectors of f32");
}

/* vectors of halves, element by element: sums, and the least and greatest over all threads */
static void half_vectors(void)
{
    static const char text[] = KERNEL(
        "cvt.rn.f32.u32 %f1, %r1; cvt.rn.f16.f32 %h1, %f1; cvt.rn.bf16.f32 %h2, %f1; neg.f16 %h3, %h1; neg.bf16 %h4, %h2;\n"
        "mov.b32 %r2, {%h1, %h3}; mov.b32 %r3, 0x3c003c00;\n"
        "red.relaxed.gpu.global.add.noftz.v2.f16x2 [%rd31], {%r3, %r2};\n"
        "atom.global.v4.bf16.max.noftz {%h5, %h6, %h7, %h8}, [%rd31+8], {%h2, %h4, %h2, %h4};\n"
        "red.global.v8.f16.min.noftz [%rd31+16], {%h1, %h3, %h1, %h3, %h1, %h3, %h1, %h3};\n"
        "atom.global.v4.f32.add {%f2, %f3, %f4, %f5}, [%rd31+32], {%f1, %f1, 0f3F800000, %f1};\n");
    static const float sums[4] = {496, 496, 32, 496};
    memset(in, 0, 64);
    for (uint32_t k = 2; k < 4; k++)
        in[k] = 0xff7fff7f; /* the least bf16 */
    for (uint32_t k = 4; k < 8; k++)
        in[k] = 0x7bff7bff; /* the greatest f16 */
    if (!run(text, 1, 32, NULL))
        return;
    check(in[0] == 0x50005000 && in[1] == 0xdfc05fc0, "red.add.v2.f16x2: 0x%x 0x%x", in[0], in[1]);
    check(in[2] == 0x800041f8 && in[3] == 0x800041f8, "atom.max.v4.bf16: 0x%x 0x%x", in[2], in[3]);
    bool least = true;
    for (uint32_t k = 4; k < 8; k++)
        least &= in[k] == 0xcfc00000;
    check(least, "red.min.v8.f16: 0x%x", in[4]);
    check(!memcmp(in + 8, sums, 16), "atom.add.v4.f32");
}

/* shared memory: a histogram with many conflicts */
static const char bins[] = KERNEL(
    ".shared .align 4 .b32 h[8]; setp.lt.u32 %p1, %r1, 8; mov.u32 %r2, h; shl.b32 %r3, %r1, 2;\n"
    "add.u32 %r3, %r3, %r2; @%p1 st.shared.u32 [%r3], 0; bar.sync 0; mul.lo.u32 %r4, %r1, %r1; and.b32 %r4, %r4, 7;\n"
    "shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2; red.shared.add.u32 [%r4], 1; mov.u64 %rd5, h; cvta.shared.u64 %rd5, %rd5;\n"
    "atom.max.u32 %r5, [%rd5+8], 0; bar.sync 0; and.b32 %r6, %r1, 7; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r2;\n"
    "ld.shared.u32 %r7, [%r6]; " STORE("%r7"));
static uint32_t bins_want(uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < 200; k++)
        n += (k * k & 7) == (i % 200 & 7);
    return n;
}

/* Histograms of an array in memory, 200 threads over 600 elements: how an element becomes an address, in %r4, and
 * what is added there. %r8: the element's number, %r2: where the bins are, 600 words. */
#define BINS(size, step) \
    KERNEL(".shared .align 4 .b32 h[600]; mov.u32 %r2, h; shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2;\n" \
           "st.shared.u32 [%r3], 0; st.shared.u32 [%r3+800], 0; st.shared.u32 [%r3+1600], 0; mov.u32 %r8, %r1;\n" \
           "bar.sync 0;\n" \
           "L: mul.wide.s32 %rd5, %r8, " #size "; add.s64 %rd6, %rd31, %rd5;\n" step "\n" \
           "add.s32 %r8, %r8, 200; setp.lt.s32 %p2, %r8, 600; @%p2 bra L;\n" \
           "bar.sync 0; mul.wide.u32 %rd7, %r1, 4; add.s64 %rd7, %rd30, %rd7;\n" \
           "ld.shared.u32 %r7, [%r3]; st.global.u32 [%rd7], %r7; ld.shared.u32 %r7, [%r3+800];\n" \
           "st.global.u32 [%rd7+800], %r7; ld.shared.u32 %r7, [%r3+1600]; st.global.u32 [%rd7+1600], %r7;\n")
#define AND_ADD "add.u32 %r4, %r4, %r2; red.shared.add.u32 [%r4], 1;"
static const struct {
    const char *name, *text;
    uint8_t size, low, bits; /* of an element, and of the bin's number in it; bit `sign` of that is one, 0: none */
    uint8_t sign, offset;
    enum { ONE, VALUE, NUMBER, ODD, OLD, SWAP } adds; /* the last two: what was there is added to the last word */
} histograms[] = {
    {"u8", BINS(1, "ld.global.u8 %h1, [%rd6]; mul.wide.u16 %r4, %h1, 4; " AND_ADD), 1, 0, 8, 0, 0, ONE},
    {"u8, shl", BINS(1, "ld.global.u8 %r4, [%rd6]; shl.b32 %r4, %r4, 2; " AND_ADD), 1, 0, 8, 0, 0, ONE},
    {"u8, offset",
     BINS(1, "ld.global.nc.u8 %r4, [%rd6]; shl.b32 %r4, %r4, 2; add.u32 %r4, %r2, %r4;\n"
             "atom.shared.add.u32 %r5, [%r4+16], 1;"),
     1, 0, 8, 0, 4, ONE},
    {"s8",
     BINS(1, "ld.global.s8 %r4, [%rd6]; shl.b32 %r4, %r4, 2; add.s32 %r4, %r4, %r2;\n"
             "red.shared.add.u32 [%r4+512], 1;"),
     1, 0, 8, 8, 128, ONE},
    {"s8 as s16",
     BINS(1, "ld.global.s8 %h1, [%rd6]; mul.wide.s16 %r4, %h1, 4; add.s32 %r4, %r4, %r2;\n"
             "red.shared.add.u32 [%r4+512], 1;"),
     1, 0, 8, 8, 128, ONE},
    {"s8 as u16", BINS(1, "ld.global.s8 %h1, [%rd6]; shr.u16 %h1, %h1, 15; mul.wide.u16 %r4, %h1, 4; " AND_ADD), 1, 7,
     1, 0, 0, ONE},
    {"u16", BINS(2, "ld.global.u16 %r4, [%rd6]; and.b32 %r4, %r4, 511; shl.b32 %r4, %r4, 2; " AND_ADD), 2, 0, 9, 0, 0,
     ONE},
    {"u16 that wraps",
     BINS(2, "ld.global.u16 %h1, [%rd6]; mul.lo.s16 %h2, %h1, 1024; shr.u16 %h2, %h2, 10;\n"
             "mul.wide.u16 %r4, %h2, 4; red.shared.add.u32 [%r4], 1;"),
     2, 0, 6, 0, 0, ONE},
    {"s16, offset below",
     BINS(2, "ld.global.s16 %r4, [%rd6]; and.b32 %r4, %r4, 255; shl.b32 %r4, %r4, 2;\n"
             "add.s32 %r4, %r4, 64; red.shared.add.u32 [%r4+-64], 1;"),
     2, 0, 8, 0, 0, ONE},
    {"u32 that wraps",
     BINS(4, "ld.global.u32 %r4, [%rd6]; shl.b32 %r4, %r4, 27; shr.u32 %r4, %r4, 27; shl.b32 %r4, %r4, 2;\n"
             "red.shared.add.u32 [%r4], 1;"),
     4, 0, 5, 0, 0, ONE},
    {"u32 times what wraps",
     BINS(4, "ld.global.u32 %r4, [%rd6]; mul.lo.s32 %r4, %r4, 0x10000000; shr.u32 %r4, %r4, 28;\n"
             "mul.lo.s32 %r4, %r4, 4; red.shared.add.u32 [%r4], 1;"),
     4, 0, 4, 0, 0, ONE},
    {"the high bits of s32",
     BINS(4, "ld.global.s32 %r4, [%rd6]; shr.s32 %r4, %r4, 28; shl.b32 %r4, %r4, 2; add.s32 %r4, %r4, %r2;\n"
             "red.shared.add.u32 [%r4+32], 1;"),
     4, 28, 4, 4, 8, ONE},
    {"an address that is tested",
     BINS(4, "ld.global.u32 %r4, [%rd6]; shl.b32 %r4, %r4, 27; shr.u32 %r4, %r4, 25;\n" AND_ADD), 4, 0, 5, 0, 0, ONE},
    {"the value twice",
     BINS(1, "ld.global.u8 %r5, [%rd6]; shl.b32 %r4, %r5, 2; add.u32 %r4, %r4, %r2;\n"
             "red.shared.add.u32 [%r4], %r5;"),
     1, 0, 8, 0, 0, VALUE},
    {"varying addend",
     BINS(1, "ld.global.u8 %r4, [%rd6]; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
             "red.shared.add.u32 [%r4], %r8;"),
     1, 0, 8, 0, 0, NUMBER},
    {"odd lanes",
     BINS(1, "ld.global.u8 %r4, [%rd6]; and.b32 %r9, %r1, 1; setp.ne.u32 %p1, %r9, 0;\n"
             "shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2; @%p1 red.shared.add.u32 [%r4], 1;"),
     1, 0, 8, 0, 0, ODD},
    {"what was there",
     BINS(1, "ld.global.u8 %r4, [%rd6]; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
             "atom.shared.add.u32 %r5, [%r4], 1; red.shared.add.u32 [%r2+2396], %r5;"),
     1, 0, 8, 0, 0, OLD},
    {"what was swapped",
     BINS(1, "ld.global.u8 %r4, [%rd6]; mad.lo.s32 %r4, %r4, 4, 64; and.b32 %r4, %r4, -4;\n"
             "mov.u32 %r9, 7; atom.shared.cas.b32 %r5, [%r4+-64], 0, %r9; red.shared.add.u32 [%r2+2396], %r5;"),
     1, 0, 8, 0, 0, SWAP},
    {"a store between",
     BINS(1, "ld.global.u8 %r4, [%rd6]; mov.u32 %r9, 0; st.global.u8 [%rd6], %r9; shl.b32 %r4, %r4, 2;\n" AND_ADD), 1,
     0, 8, 0, 0, ONE},
    {"a meeting between",
     BINS(1, "ld.global.u8 %r4, [%rd6]; activemask.b32 %r9; bar.warp.sync %r9; shl.b32 %r4, %r4, 2;\n" AND_ADD), 1, 0,
     8, 0, 0, ONE},
};

static void bins_of_memory(void)
{
    enum { ELEMENTS = 600, THREADS = 200 };
    for (size_t c = 0; c < sizeof histograms / sizeof *histograms; c++) {
        uint32_t want[ELEMENTS] = {0}, seed = 1;
        for (uint32_t i = 0; i < ELEMENTS; i++) {
            seed = seed * 1664525 + 1013904223;
            in[i] = seed ^ seed >> 13;
        }
        for (uint32_t i = 0; i < ELEMENTS; i++) {
            uint32_t x = 0;
            memcpy(&x, (const uint8_t *)in + i * histograms[c].size, histograms[c].size);
            uint32_t bin = x >> histograms[c].low & ((1u << histograms[c].bits) - 1);
            const bool negative = histograms[c].sign && bin >> (histograms[c].sign - 1);
            bin += histograms[c].offset - (negative ? 1u << histograms[c].sign : 0);
            const uint32_t add[] = {1, x, i, i & 1, 1, want[bin] ? 0 : 7};
            want[ELEMENTS - 1] += histograms[c].adds >= OLD ? want[bin] : 0;
            want[bin] += add[histograms[c].adds];
        }
        memset(out, 0xee, sizeof out);
        if (run(histograms[c].text, 1, THREADS, NULL))
            check(!memcmp(out, want, sizeof want), "histogram of memory: %s", histograms[c].name);
    }
}

static const char contended[] = KERNEL(
    "mov.u32 %r2, 0;\n"
    "L: red.global.add.u32 [%rd31], 1; atom.global.inc.u32 %r3, [%rd31+4], 0xffffffff; red.global.add.u64 [%rd31+8], 3;\n"
    "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 50; @%p1 bra L;\n");
static struct t0t shared;

static void *worker(void *first)
{
    struct args a = {out, in, 0};
    struct t0_fault f;
    struct t0_grid g = {.kernel = shared.kernel,
                        .grid = {40, 1, 1},
                        .block = {64, 1, 1},
                        .params = &a,
                        .env = &t0t_env,
                        .grid_id = 9,
                        .nsm = 2};
    struct t0_worker *w = t0_worker_new(1);
    for (uint64_t b = (uintptr_t)first; b < 40; b += 2)
        if (t0_block_run(w, &g, b, &f) != T0_OK)
            in[0] = 0;
    t0_worker_free(w);
    return NULL;
}

static void contention(void)
{
    pthread_t t[2];
    uint64_t sum;
    memset(in, 0, 64);
    if (!t0t_open(&shared, contended, "k")) {
        check(false, "contention: %s", shared.why);
        return;
    }
    for (uintptr_t k = 0; k < 2; k++)
        pthread_create(&t[k], NULL, worker, (void *)k);
    for (unsigned k = 0; k < 2; k++)
        pthread_join(t[k], NULL);
    memcpy(&sum, in + 2, 8);
    check(in[0] == 128000 && in[1] == 128000 && sum == 384000, "two host threads: %u %u %llu", in[0], in[1],
          (unsigned long long)sum);
    t0t_close(&shared);
}

int main(void)
{
    one("add", "u32", 32, 0xfffffff0, add);
    one("add", "s32", 32, 5, add);
    one("add", "u64", 64, 0xfffffff0, add);
    one("and", "b32", 32, 0xffff, and);
    one("or", "b64", 64, 0x10, or);
    one("xor", "b32", 32, 0x12345, xor);
    one("exch", "b32", 32, 99, exch);
    one("exch", "b64", 64, 99, exch);
    one("min", "u32", 32, 0x80000001, minu);
    one("min", "s32", 32, 0x80000001, mins);
    one("max", "u64", 64, 1ull << 40, maxu);
    one("max", "s64", 64, ~0ull << 40, maxs64);
    one("max", "u32", 32, 7, maxu);
    one("inc", "u32", 32, 7, inc);
    one("dec", "u32", 32, 7, dec);
    floats();
    swaps();
    vectors();
    half_vectors();
    expect("histogram in shared memory", bins, 1, 200, bins_want);
    bins_of_memory();
    contention();
    return t0t_done();
}
