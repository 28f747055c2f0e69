/* multimem: all types, vectors, operations and accumulations on random and edge values of three devices' memory,
 * against sums made of exact numbers and searched roundings; stores, updates, copies in bulk with what is bound in
 * pieces, addresses that are none, and forms that the ISA lacks. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { DEVICES = 3, ROOM = 4096, THREADS = 64, PIECE = 256, GUARD = 0x5a };
static uint8_t multi[ROOM] __attribute__((aligned(4096))); /* whose addresses are the multicast ones */
static uint8_t memory[DEVICES][ROOM] __attribute__((aligned(64)));
static unsigned devices = DEVICES;

static unsigned copies(void *ctx, uint64_t address, bool write, uint8_t **at, uint64_t *extent)
{
    const uint64_t offset = address - (uint64_t)(uintptr_t)multi;
    (void)ctx;
    if (offset >= ROOM || (write && offset >= ROOM - PIECE)) /* the last piece may be read only */
        return 0;
    for (unsigned k = 0; k < devices; k++)
        at[k] = memory[k] + offset;
    *extent = PIECE - offset % PIECE;
    return devices;
}
#undef T0T_COPIES
#define T0T_COPIES copies
#include "tier0/kernels.h"
#include "xorshift.h"

static uint64_t seed = 88172645463325252u;
static uint32_t any(void) { return (uint32_t)(xorshift(&seed) >> 20); }

/* ---- numbers --------------------------------------------------------------------------------- */

struct format { /* of a float */
    const char *name;
    int exponent, fraction; /* bits */
    bool saturates, no_infinity;
};
static const struct format half = {"f16", 5, 10, false, false}, brain = {"bf16", 8, 7, false, false},
                           e4m3 = {"e4m3", 4, 3, true, true}, e5m2 = {"e5m2", 5, 2, true, false},
                           single = {"f32", 8, 23, false, false};

static double value_of(const struct format *f, uint32_t code)
{
    const uint32_t e = code >> f->fraction & ((1u << f->exponent) - 1), m = code & ((1u << f->fraction) - 1);
    const int bias = (1 << (f->exponent - 1)) - 1;
    const bool top = e == (1u << f->exponent) - 1, minus = code >> (f->exponent + f->fraction) & 1;
    double v = e ? ldexp(1 + ldexp(m, -f->fraction), (int)e - bias) : ldexp(m, 1 - bias - f->fraction);
    if (top && (f->no_infinity ? m + 1 == 1u << f->fraction : m != 0))
        return NAN;
    if (top && !f->no_infinity)
        v = INFINITY;
    return minus ? -v : v;
}

/* The code nearest to a number, of two the even one: by search among all. */
static uint32_t code_of(const struct format *f, double v)
{
    const uint32_t minus = signbit(v) ? 1u << (f->exponent + f->fraction) : 0;
    uint32_t low = 0, most = (1u << (f->exponent + f->fraction)) - 1;
    if (isnan(v))
        return most;
    most -= f->no_infinity ? 1 : 1u << f->fraction; /* the largest finite one */
    uint32_t high = most;
    v = fabs(v);
    if (v > value_of(f, most)) {
        const double step = value_of(f, most) - value_of(f, most - 1);
        return minus | (f->saturates || v < value_of(f, most) + step / 2 ? most : most + 1);
    }
    while (low < high) { /* the largest that is not above it */
        const uint32_t middle = (low + high + 1) / 2;
        if (value_of(f, middle) <= v)
            low = middle;
        else
            high = middle - 1;
    }
    const double below = v - value_of(f, low), above = low == most ? INFINITY : value_of(f, low + 1) - v;
    return minus | (below < above || (below == above && !(low & 1)) ? low : low + 1);
}

static double float_reduce(const struct format *f, const struct format *sums, const char *op, const double *x)
{
    double v = x[0];
    for (unsigned k = 1; k < devices; k++) {
        if (!strcmp(op, "add"))
            v = value_of(sums, code_of(sums, v + x[k]));
        else if (isnan(v) || isnan(x[k]))
            v = isnan(v) ? x[k] : v;
        else if (v == x[k])
            v = (!strcmp(op, "min")) == (signbit(v) != 0) ? v : x[k];
        else
            v = (!strcmp(op, "min")) == (v < x[k]) ? v : x[k];
    }
    (void)f;
    return v;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const char *const letters[] = {[1] = "c", [2] = "h", [4] = "r", [8] = "rd"};

/* Registers of `size` bytes in braces, if more than one. */
static const char *list(unsigned size, unsigned n)
{
    static char t[128];
    char *p = t + sprintf(t, "%s", n > 1 ? "{" : "");
    for (unsigned k = 0; k < n; k++)
        p += sprintf(p, "%s%%%s%u", k ? ", " : "", letters[size], k + 10);
    sprintf(p, "%s", n > 1 ? "}" : "");
    return t;
}

/* Each thread has 16 bytes of the multicast memory, and of out and in. */
static const char *text(const char *body, unsigned size, unsigned n, bool load, bool store)
{
    static char t[4096];
    static const char *const type[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
    char *p = t + sprintf(t,
                          "%s.reg .b8 %%c<20>; .reg .b64 %%at, %%to;\nmul.wide.u32 %%rd5, %%r1, 16;\n"
                          "ld.global.u64 %%at, [%%rd31]; add.u64 %%at, %%at, %%rd5;\n"
                          "add.u64 %%to, %%rd31, %%rd5; add.u64 %%to, %%to, 1024;\n",
                          ".version 9.2\n.target sm_100a\n.address_size 64\n" ENTRY("k"));
    for (unsigned k = 0; load && k < n; k++)
        p += sprintf(p, "ld.global.%s %%%s%u, [%%to+%u];\n", type[size], letters[size], k + 10, k * size);
    p += sprintf(p, "add.u64 %%to, %%rd30, %%rd5;\n%s\n", body);
    for (unsigned k = 0; store && k < n; k++)
        p += sprintf(p, "st.global.%s [%%to+%u], %%%s%u;\n", type[size], k * size, letters[size], k + 10);
    sprintf(p, "%s", END);
    return t;
}

static bool go(const char *now)
{
    const uint64_t address = (uint64_t)(uintptr_t)multi;
    memcpy(in, &address, 8);
    memset(out, 0xee, sizeof out);
    memset(multi, GUARD, sizeof multi);
    return run(now, 1, THREADS, NULL);
}

static bool untouched(void)
{
    for (unsigned k = 0; k < ROOM; k++)
        if (multi[k] != GUARD)
            return false;
    return true;
}

/* Random bits, and of floats often special ones. */
static void fill(uint8_t *to, const struct format *f, unsigned bytes)
{
    const unsigned bits = f ? (unsigned)(1 + f->exponent + f->fraction) : 32, size = bits / 8;
    for (unsigned k = 0; k < bytes; k += size) {
        uint32_t v = any();
        const uint32_t top = f ? ((1u << f->exponent) - 1) << f->fraction : 0, sign = any() & 1u ? 1u << (bits - 1) : 0;
        if (f)
            switch (any() % 16) {
            case 0: v = sign; break;
            case 1: v = sign | top; break;
            case 2: v = sign | (top - 1); break;
            case 3: v = sign | (any() & ((1u << f->fraction) - 1)); break;
            case 4: v = sign | top | 1; break;
            case 5: v = sign | 1; break;
            case 6:
            case 7:
            case 8: /* near one another, so that sums cancel and round */
                v = sign | (top / 2 & top) | (any() & ((1u << (f->fraction + 2)) - 1));
                break;
            default: break;
            }
        else if (any() % 8 == 0)
            v = any() % 2 ? 0x80000000u : any() % 2 ? 0x7fffffffu : ~0u;
        memcpy(to + k, &v, size);
    }
}

/* ---- ld_reduce of floats --------------------------------------------------------------------- */

static void loads_floats(const struct format *f, unsigned pack, unsigned vec, const char *op, const struct format *acc)
{
    const unsigned bytes = (unsigned)(1 + f->exponent + f->fraction) / 8, size = bytes * pack, all = size * vec;
    char body[300], type[32], vector[32] = "", note[160];
    uint32_t bad = 0;
    snprintf(type, sizeof type, pack > 1 ? "%sx%u" : "%s", f->name, pack);
    if (vec > 1)
        snprintf(vector, sizeof vector, ".v%u", vec);
    snprintf(body, sizeof body, "multimem.ld_reduce.relaxed.sys.global.%s%s%s%s.%s %s, [%%at];", op,
             acc ? ".acc::" : "", acc ? acc->name : "", vector, type, list(size, vec));
    snprintf(note, sizeof note, "ld_reduce.%s%s%s%s.%s", op, acc ? ".acc::" : "", acc ? acc->name : "", vector, type);
    for (unsigned k = 0; k < DEVICES; k++)
        fill(memory[k], f, ROOM);
    if (!go(text(body, size, vec, false, true)))
        return;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned at = 0; at < all; at += bytes) {
            double x[DEVICES];
            uint32_t got = 0;
            for (unsigned k = 0; k < DEVICES; k++) {
                uint32_t code = 0;
                memcpy(&code, memory[k] + t * 16 + at, bytes);
                x[k] = value_of(f, code);
            }
            memcpy(&got, (uint8_t *)out + t * 16 + at, bytes);
            const double want = float_reduce(f, acc ? acc : f, op, x);
            const uint32_t code = code_of(f, want);
            const double have = value_of(f, got);
            bad += isnan(want) ? !isnan(have) : got != code;
        }
    check(!bad && untouched(), "%s: %u wrong", note, bad);
}

/* ---- ld_reduce of integers and f64, stores, updates -------------------------------------------- */

static uint64_t word(const void *p, unsigned size)
{
    uint64_t v = 0;
    memcpy(&v, p, size);
    return v;
}

static uint64_t int_op(const char *op, bool is_signed, unsigned size, uint64_t a, uint64_t b)
{
    const unsigned shift = 64 - 8 * size;
    const bool less = is_signed ? (int64_t)(a << shift) < (int64_t)(b << shift) : a < b;
    if (!strcmp(op, "add"))
        return (a + b) << shift >> shift;
    if (!strcmp(op, "min"))
        return less ? a : b;
    if (!strcmp(op, "max"))
        return less ? b : a;
    return !strcmp(op, "and") ? a & b : !strcmp(op, "or") ? a | b : a ^ b;
}

static void words(const char *type, const char *op)
{
    const unsigned size = type[1] == '6' ? 8 : 4;
    char body[300];
    uint32_t bad = 0;
    static uint8_t before[DEVICES][ROOM];
    for (unsigned k = 0; k < DEVICES; k++)
        fill(memory[k], NULL, ROOM);
    memcpy(before, memory, sizeof before);
    snprintf(body, sizeof body, "multimem.ld_reduce.%s.%s %s, [%%at];", op, type, list(size, 1));
    if (!go(text(body, size, 1, false, true)))
        return;
    for (unsigned t = 0; t < THREADS; t++) {
        uint64_t v = word(memory[0] + 16 * t, size);
        for (unsigned k = 1; k < DEVICES; k++)
            v = int_op(op, type[0] == 's', size, v, word(memory[k] + 16 * t, size));
        bad += v != word((uint8_t *)out + 16 * t, size);
    }
    check(!bad && untouched(), "ld_reduce.%s.%s: %u wrong", op, type, bad);
    for (unsigned k = 0; k < 1024; k++)
        in[256 + k] = any();
    snprintf(body, sizeof body, "multimem.red.release.gpu.global.%s.%s [%%at+0], %s;", op, type, list(size, 1));
    if (!go(text(body, size, 1, true, false)))
        return;
    bad = 0;
    for (unsigned k = 0; k < DEVICES; k++)
        for (unsigned t = 0; t < THREADS; t++) {
            const uint64_t v = int_op(op, type[0] == 's', size, word(before[k] + 16 * t, size),
                                      word((uint8_t *)in + 1024 + 16 * t, size));
            bad += v != word(memory[k] + 16 * t, size) ||
                   memcmp(before[k] + 16 * t + size, memory[k] + 16 * t + size, 16 - size) != 0;
        }
    check(!bad && untouched(), "red.%s.%s: %u wrong", op, type, bad);
}

static void doubles(void)
{
    static const double some[] = {0, -0.0, 1, -1, 1e300, -1e300, 1e308, INFINITY, -INFINITY, 4.9e-324, 1e-16, 3.7};
    uint32_t bad = 0;
    double x[DEVICES];
    for (unsigned k = 0; k < DEVICES; k++)
        for (unsigned t = 0; t < THREADS; t++)
            memcpy(memory[k] + 16 * t, &some[any() % 12], 8);
    if (!go(text("multimem.ld_reduce.weak.add.f64 %rd10, [%at];", 8, 1, false, true)))
        return;
    for (unsigned t = 0; t < THREADS; t++) {
        double have;
        for (unsigned k = 0; k < DEVICES; k++)
            memcpy(&x[k], memory[k] + 16 * t, 8);
        volatile double sum = x[0] + x[1];
        sum += x[2];
        memcpy(&have, (uint8_t *)out + 16 * t, 8);
        bad += isnan(sum) ? !isnan(have) : memcmp(&have, (const void *)&sum, 8) != 0;
    }
    check(!bad, "ld_reduce.add.f64: %u wrong", bad);
    memset(memory, 0, sizeof memory);
    const double one = 0.5;
    for (unsigned t = 0; t < THREADS; t++)
        memcpy((uint8_t *)in + 1024 + 16 * t, &one, 8);
    if (!go(text("sub.u64 %at, %at, %rd5; multimem.red.add.f64 [%at], %rd10;", 8, 1, true, false)))
        return;
    for (unsigned k = 0; k < DEVICES; k++) {
        memcpy(&x[k], memory[k], 8);
        bad += x[k] != 0.5 * THREADS;
    }
    check(!bad, "red.add.f64 of all threads to one place");
}

static void stores(const char *type, unsigned size, unsigned vec)
{
    char body[300], vector[32] = "";
    uint32_t bad = 0;
    memset(memory, GUARD, sizeof memory);
    for (unsigned k = 0; k < 1024; k++)
        in[256 + k] = any();
    if (vec > 1)
        snprintf(vector, sizeof vector, ".v%u", vec);
    snprintf(body, sizeof body, "multimem.st.relaxed.cta%s.%s [%%at], %s;", vector, type, list(size, vec));
    if (!go(text(body, size, vec, true, false)))
        return;
    for (unsigned k = 0; k < DEVICES; k++)
        for (unsigned at = 0; at < ROOM; at++) {
            const bool written = at < 16 * THREADS && at % 16 < size * vec;
            bad += memory[k][at] != (written ? ((uint8_t *)in)[1024 + at] : GUARD);
        }
    check(!bad && untouched(), "st%s.%s: %u wrong", vector, type, bad);
}

/* red of floats: each thread has its own place, so that the sum is one rounding. */
static void updates_floats(const struct format *f, unsigned pack, unsigned vec)
{
    const unsigned bytes = (unsigned)(1 + f->exponent + f->fraction) / 8, size = bytes * pack, all = size * vec;
    char body[300], type[32], vector[32] = "";
    static uint8_t before[DEVICES][ROOM];
    uint32_t bad = 0;
    snprintf(type, sizeof type, pack > 1 ? "%sx%u" : "%s", f->name, pack);
    if (vec > 1)
        snprintf(vector, sizeof vector, ".v%u", vec);
    for (unsigned k = 0; k < DEVICES; k++)
        fill(memory[k], f, ROOM);
    memcpy(before, memory, sizeof before);
    fill((uint8_t *)in + 1024, f, 16 * THREADS);
    snprintf(body, sizeof body, "multimem.red.relaxed.sys.add%s.%s [%%at], %s;", vector, type, list(size, vec));
    if (!go(text(body, size, vec, true, false)))
        return;
    for (unsigned k = 0; k < DEVICES; k++)
        for (unsigned t = 0; t < THREADS; t++)
            for (unsigned at = 0; at < 16; at += bytes) {
                const double old = value_of(f, (uint32_t)word(before[k] + 16 * t + at, bytes));
                const double add = value_of(f, (uint32_t)word((uint8_t *)in + 1024 + 16 * t + at, bytes));
                const uint32_t got = (uint32_t)word(memory[k] + 16 * t + at, bytes);
                if (at >= all)
                    bad += got != (uint32_t)word(before[k] + 16 * t + at, bytes);
                else
                    bad += isnan(old + add) ? !isnan(value_of(f, got)) : got != code_of(f, old + add);
            }
    check(!bad && untouched(), "red.add%s.%s: %u wrong", vector, type, bad);
}

/* ---- bulk ------------------------------------------------------------------------------------ */

#define BULK(copy) \
    ".shared .align 128 .b8 s[1024];\n" \
    "mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;\n" \
    "st.shared.u32 [%r4], %r10; st.shared.u32 [%r4+4], %r11; st.shared.u32 [%r4+8], %r12;\n" \
    "st.shared.u32 [%r4+12], %r13;\n" \
    "bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra X; mov.b16 %h1, 0x8421;\n" copy \
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nX:\n"

static void bulk(void)
{
    static uint8_t before[DEVICES][ROOM];
    const uint8_t *from = (const uint8_t *)in + 1024;
    uint32_t bad = 0;
    for (unsigned k = 0; k < 1024; k++)
        in[256 + k] = any();
    memset(memory, GUARD, sizeof memory);
    if (go(text(BULK("multimem.cp.async.bulk.global.shared::cta.bulk_group [%at+208], [s], 720;\n"), 4, 4, true,
                false)))
        for (unsigned k = 0; k < DEVICES; k++)
            for (unsigned at = 0; at < ROOM; at++)
                bad += memory[k][at] != (at >= 208 && at < 928 ? from[at - 208] : GUARD);
    check(!bad && untouched(), "cp.async.bulk over pieces: %u wrong", bad);
    memset(memory, GUARD, sizeof memory);
    if (go(text(BULK("multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%at], [%r2+16], 512, %h1;\n"), 4, 4,
                true, false)))
        for (unsigned k = 0; k < DEVICES; k++)
            for (unsigned at = 0; at < ROOM; at++)
                bad += memory[k][at] != (at < 512 && 0x8421 >> at % 16 & 1 ? from[at + 16] : GUARD);
    check(!bad, "multimem.cp.async.bulk.cp_mask: %u wrong", bad);
    if (go(text(BULK("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd30+64], [%r2+16], 512, %h1;\n"), 4, 4,
                true, false)))
        for (unsigned at = 0; at < sizeof out; at++)
            bad += ((uint8_t *)out)[at] != (at >= 64 && at < 576 && 0x8421 >> at % 16 & 1 ? from[at - 64 + 16] : 0xee);
    check(!bad, "cp.async.bulk.cp_mask: %u wrong", bad);
    for (unsigned k = 0; k < DEVICES; k++)
        fill(memory[k], NULL, ROOM);
    memcpy(before, memory, sizeof before);
    if (go(text(BULK("multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%at+240], [s], 512;\n"), 4,
                4, true, false)))
        for (unsigned k = 0; k < DEVICES; k++)
            for (unsigned at = 0; at < ROOM; at += 4) {
                const uint64_t old = word(before[k] + at, 4);
                const bool in_it = at >= 240 && at < 752;
                bad += word(memory[k] + at, 4) != (in_it ? int_op("min", true, 4, old, word(from + at - 240, 4)) : old);
            }
    check(!bad, "cp.reduce.async.bulk.min.s32: %u wrong", bad);
    for (unsigned k = 0; k < DEVICES; k++)
        fill(memory[k], &half, ROOM);
    fill((uint8_t *)in + 1024, &half, 1024);
    memcpy(before, memory, sizeof before);
    if (go(text(BULK("multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%at], [s], 1024;\n"),
                4, 4, true, false)))
        for (unsigned k = 0; k < DEVICES; k++)
            for (unsigned at = 0; at < 1024; at += 2) {
                const double sum = value_of(&half, (uint32_t)word(before[k] + at, 2)) +
                                   value_of(&half, (uint32_t)word(from + at, 2));
                const uint32_t got = (uint32_t)word(memory[k] + at, 2);
                bad += isnan(sum) ? !isnan(value_of(&half, got)) : got != code_of(&half, sum);
            }
    check(!bad, "cp.reduce.async.bulk.add.noftz.f16: %u wrong", bad);
}

/* ---- wrong ones ------------------------------------------------------------------------------ */

static void fault(const char *name, const char *body, enum t0_fault_kind kind)
{
    struct t0_fault f = {0};
    const uint64_t address = (uint64_t)(uintptr_t)multi;
    memcpy(in, &address, 8);
    run(text(body, 4, 1, false, false), 1, THREADS, &f);
    check(f.kind == kind && (!kind || f.line), "%s (kind %d, line %u: %s)", name, f.kind, f.line, f.text);
}

static void faults(void)
{
    fault("no multicast address", "multimem.st.u32 [%rd30], %r1;", T0_FAULT_ADDRESS);
    fault("null", "mov.u64 %at, 0; multimem.ld_reduce.add.u32 %r3, [%at];", T0_FAULT_ADDRESS);
    fault("behind what is bound", "multimem.red.add.u32 [%at+4096], %r1;", T0_FAULT_ADDRESS);
    fault("what may be read only", "multimem.red.add.u32 [%at+3840], %r1;", T0_FAULT_ADDRESS);
    fault("what may be read", "multimem.ld_reduce.add.u32 %r3, [%at+3072];", T0_OK);
    fault("misaligned", "multimem.st.u32 [%at+2], %r1;", T0_FAULT_MISALIGNED);
    fault("misaligned vector", "multimem.st.v4.f32 [%at+8], {%r1, %r1, %r1, %r1};", T0_FAULT_MISALIGNED);
    fault("misaligned bulk",
          ".shared .align 16 .b8 s[64];\nmultimem.cp.async.bulk.global.shared::cta.bulk_group [%at], [s], 24;",
          T0_FAULT_MISALIGNED);
    fault("bulk to no multicast address",
          ".shared .align 16 .b8 s[64];\nmultimem.cp.async.bulk.global.shared::cta.bulk_group [%rd30], [s], 32;",
          T0_FAULT_ADDRESS);
    fault("bulk of shared memory that is not there",
          ".shared .align 16 .b8 s[64];\nmultimem.cp.async.bulk.global.shared::cta.bulk_group [%at], [s], 4096;",
          T0_FAULT_SHARED);
}

/* Each of these is an error of ptxas 13.0, too. */
static void refused(void)
{
    static const char *const bodies[] = {"multimem.ld_reduce.min.acc::f32.v2.f16x2 {%r2, %r3}, [%at];",
                                         "multimem.ld_reduce.add.f16 %h1, [%at];",
                                         "multimem.ld_reduce.min.f32 %f0, [%at];",
                                         "multimem.ld_reduce.add.s64 %rd3, [%at];",
                                         "multimem.ld_reduce.add.b32 %r3, [%at];",
                                         "multimem.ld_reduce.add.v2.f64 {%d1, %d2}, [%at];",
                                         "multimem.red.relaxed.gpu.max.f64 [%at], %d1;",
                                         "multimem.red.min.f16x2 [%at], %r2;",
                                         "multimem.red.relaxed.add.u32 [%at], %r2;",
                                         "multimem.red.gpu.add.u32 [%at], %r2;",
                                         "multimem.red.weak.add.u32 [%at], %r2;",
                                         "multimem.red.add.e4m3x4 [%at], %r2;",
                                         "multimem.st.relaxed.f32 [%at], %f1;",
                                         "multimem.st.v2.u32 [%at], {%r2, %r3};",
                                         "multimem.st.v2.f32 [%at], {%f2};",
                                         "multimem.st.v8.f32 [%at], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};",
                                         "multimem.st.weak.gpu.f32 [%at], %f1;",
                                         "multimem.st.add.f32 [%at], %f1;",
                                         "multimem.ld_reduce.add.acc::f16.f16x2 %r2, [%at];",
                                         "multimem.ld_reduce.add.acc::f32.e4m3x4 %r2, [%at];",
                                         "multimem.ld_reduce.add.shared.u32 %r2, [%at];",
                                         "multimem.ld_reduce.release.gpu.add.u32 %r2, [%at];",
                                         "multimem.ld_reduce.u32 %r2, [%at];",
                                         "multimem.ld_reduce.add %r2, [%at];",
                                         "multimem.ld_reduce.add.u32 %rd2, [%at];",
                                         "multimem.ld.add.u32 %r2, [%at];"};
    for (unsigned k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        struct t0t t;
        const bool opened = t0t_open(&t, text(bodies[k], 4, 1, false, false), "k");
        check(!opened && strstr(t.why, "multimem"), "refused: %s (%s)", bodies[k], opened ? "it is not" : t.why);
        t0t_close(&t);
    }
}

int main(void)
{
    static const char *const sub[] = {"add", "min", "max"};
    static const struct {
        const struct format *f, *acc;
        unsigned pack, vec;
    } floats[] = {{&half, &single, 2, 1},  {&half, &single, 1, 2},  {&half, &single, 2, 2},  {&half, &single, 1, 4},
                  {&half, &single, 2, 4},  {&half, &single, 1, 8},  {&brain, &single, 2, 1}, {&brain, &single, 1, 2},
                  {&brain, &single, 2, 2}, {&brain, &single, 1, 4}, {&brain, &single, 2, 4}, {&brain, &single, 1, 8},
                  {&e4m3, &half, 4, 1},    {&e4m3, &half, 2, 2},    {&e4m3, &half, 4, 2},    {&e4m3, &half, 1, 4},
                  {&e4m3, &half, 2, 4},    {&e4m3, &half, 4, 4},    {&e4m3, &half, 1, 8},    {&e4m3, &half, 2, 8},
                  {&e5m2, &half, 4, 1},    {&e5m2, &half, 2, 2},    {&e5m2, &half, 4, 2},    {&e5m2, &half, 1, 4},
                  {&e5m2, &half, 2, 4},    {&e5m2, &half, 4, 4},    {&e5m2, &half, 1, 8},    {&e5m2, &half, 2, 8}};
    for (unsigned k = 0; k < sizeof floats / sizeof *floats; k++) {
        for (unsigned s = 0; s < 3; s++)
            loads_floats(floats[k].f, floats[k].pack, floats[k].vec, sub[s], NULL);
        loads_floats(floats[k].f, floats[k].pack, floats[k].vec, "add", floats[k].acc);
        if (floats[k].acc == &single)
            updates_floats(floats[k].f, floats[k].pack, floats[k].vec);
        char type[32];
        const unsigned bytes = floats[k].acc == &half ? 1 : 2;
        snprintf(type, sizeof type, floats[k].pack > 1 ? "%sx%u" : "%s", floats[k].f->name, floats[k].pack);
        stores(type, bytes * floats[k].pack, floats[k].vec);
    }
    for (unsigned vec = 1; vec <= 4; vec *= 2) {
        loads_floats(&single, 1, vec, "add", NULL);
        updates_floats(&single, 1, vec);
        stores("f32", 4, vec);
    }
    static const char *const ints[] = {"b32", "b64", "u32", "u64", "s32", "s64", "f64"};
    for (unsigned k = 0; k < 7; k++)
        stores(ints[k], ints[k][1] == '6' ? 8 : 4, 1);
    static const char *const pairs[][2] = {
        {"u32", "add"}, {"s32", "add"}, {"u64", "add"}, {"b32", "and"}, {"b32", "or"},  {"b32", "xor"},
        {"b64", "and"}, {"b64", "or"},  {"b64", "xor"}, {"u32", "min"}, {"s32", "min"}, {"u64", "min"},
        {"s64", "min"}, {"u32", "max"}, {"s32", "max"}, {"u64", "max"}, {"s64", "max"}};
    for (unsigned k = 0; k < sizeof pairs / sizeof *pairs; k++)
        words(pairs[k][0], pairs[k][1]);
    doubles();
    devices = 1;
    loads_floats(&half, 2, 4, "add", &single);
    devices = DEVICES;
    bulk();
    faults();
    refused();
    return t0t_done();
}
