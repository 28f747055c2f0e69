/* Every operation and type of atom, red, red.async and cp.reduce.async.bulk, in global and in shared memory, on drawn
 * values and extremes, against C: what is left, and what atom gives back. */
#include "tier0/kernels.h"
#include "xorshift.h"

#include <math.h>

enum { THREADS = 128, CELLS = 64, OLD_AT = 2048 }; /* out: cells; from OLD_AT on what atom gave back. in: values */

static uint64_t seed = 20261124;
static uint64_t any(void) { return xorshift(&seed) >> 8; }

static const struct type {
    const char *name, *reg;
    char kind; /* of the elements: unsigned, signed, bits, float */
    unsigned bytes, bits;
} types[] = {{"u32", "%r", 'u', 4, 32},  {"s32", "%r", 's', 4, 32},   {"b32", "%r", 'b', 4, 32},
             {"u64", "%rd", 'u', 8, 64}, {"s64", "%rd", 's', 8, 64},  {"b64", "%rd", 'b', 8, 64},
             {"f32", "%f", 'f', 4, 32},  {"f64", "%d", 'f', 8, 64},   {"f16", "%h", 'f', 2, 16},
             {"bf16", "%h", 'f', 2, 16}, {"f16x2", "%r", 'f', 4, 16}, {"bf16x2", "%r", 'f', 4, 16}};

/* Operations with their types, by the ISA; "add.noftz" as it is spelled. */
#define BITS32 "and b32; or b32; xor b32; "
#define WORDS "add u32 s32 u64; inc u32; dec u32; min u32 s32; max u32 s32; " BITS32
#define LONGS "min u64 s64; max u64 s64; and b64; or b64; xor b64; "
#define ATOMS WORDS LONGS "add f32 f64; add.noftz f16 f16x2 bf16 bf16x2; "
static const struct path {
    const char *name, *body, *operations;
    bool shared; /* the cells are copied to shared memory, and back */
} paths[] = {
    {"atom", "@%p3 bra N; atom.global.# $9, [%rd5], $8; st.global.& [%rd5+2048], $9;\nN:", ATOMS "exch b32 b64; ",
     false},
    {"atom of shared memory", "@%p3 bra N; atom.acq_rel.cta.shared.# $9, [%r5], $8; st.global.& [%rd5+2048], $9;\nN:",
     ATOMS "exch b32 b64; ", true},
    {"red", "@%p3 bra N; red.relaxed.gpu.global.# [%rd5], $8;\nN:", ATOMS, false},
    {"red of shared memory", "@%p3 bra N; red.shared.# [%r5], $8;\nN:", ATOMS, true},
    {"red.async of shared memory",
     "@%p3 bra W; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.# [%r5], $8, [%r4];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], 0; @!%p4 bra W;\n",
     WORDS "add s64; ", true},
    {"red.async", "@%p3 bra N; red.async.release.gpu.global.# [%rd5], $8;\nN:", WORDS "add s64; ", false},
    {"cp.reduce.async.bulk to shared memory",
     "@%p2 bra W; cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.# [%r3], [%r2], %r7, [%r4];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], 0; @!%p4 bra W;\n",
     WORDS, true},
    {"cp.reduce.async.bulk",
     "@%p2 bra N; cp.reduce.async.bulk.global.shared::cta.bulk_group.# [%rd30], [%r2], %r7;\n"
     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nN:",
     WORDS LONGS "add f32 f64; add.noftz f16 bf16; min f16 bf16; max f16 bf16; ", false},
};

/* %r2 values and %r3 cells in shared memory, %r4 the mbarrier, %r5 and %rd5 this thread's cell there and in global
 * memory, %r6 where its word is, %r7 bytes of all; %p1 no word, %p2 not the first thread, %p3 no cell. */
static const char *text(const struct path *p, const struct type *t, const char *operation)
{
    static char whole[6000];
    char body[1500];
    size_t n = 0;
    for (const char *s = p->body; *s; s++)
        n += (size_t)(*s == '#'   ? snprintf(body + n, sizeof body - n, "%s.%s", operation, t->name)
                      : *s == '$' ? snprintf(body + n, sizeof body - n, "%s", t->reg)
                      : *s == '&' ? snprintf(body + n, sizeof body - n, "b%u", 8 * t->bytes)
                                  : snprintf(body + n, sizeof body - n, "%c", *s));
    snprintf(whole, sizeof whole,
             ".version 8.7\n.target sm_100a\n.address_size 64\n%s"
             ".shared .align 128 .b8 s[512]; .shared .align 128 .b8 c[512]; .shared .align 8 .b64 bar;\n"
             "mov.u32 %%r2, s; mov.u32 %%r3, c; mov.u32 %%r4, bar; mov.u32 %%r7, %u; shl.b32 %%r6, %%r1, 2;\n"
             "setp.ge.u32 %%p1, %%r6, %%r7; setp.ne.u32 %%p2, %%r1, 0; setp.ge.u32 %%p3, %%r1, %u;\n"
             "mad.lo.u32 %%r5, %%r1, %u, %%r3; mul.wide.u32 %%rd4, %%r1, %u; add.u64 %%rd5, %%rd30, %%rd4;\n"
             "add.u64 %%rd6, %%rd31, %%rd4; add.u32 %%r10, %%r2, %%r6; add.u32 %%r11, %%r3, %%r6;\n"
             "@%%p1 bra I; ld.global.u32 %%r12, [%%rd1]; st.shared.u32 [%%r10], %%r12;\n"
             "ld.global.u32 %%r12, [%%rd0]; st.shared.u32 [%%r11], %%r12;\nI: @%%p2 bra J;\n"
             "mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %%r7;\n"
             "J: bar.sync 0; @%%p3 bra K; ld.global.b%u %s8, [%%rd6];\nK: %s\nbar.sync 0;\n%s%s",
             ENTRY("k"), CELLS * t->bytes, CELLS, t->bytes, t->bytes, 8 * t->bytes, t->reg, body,
             p->shared ? "@%p1 bra E; ld.shared.u32 %r12, [%r11]; st.global.u32 [%rd0], %r12;\nE: " : "", END);
    return whole;
}

/* ---- in C ------------------------------------------------------------------------------------ */

static double value_of(const struct type *t, uint64_t v)
{
    if (t->bits == 64) {
        double d;
        memcpy(&d, &v, 8);
        return d;
    }
    if (t->bits == 32 || t->name[0] == 'b') {
        const uint32_t u = t->bits == 32 ? (uint32_t)v : (uint32_t)(v << 16);
        float f;
        memcpy(&f, &u, 4);
        return (double)f;
    }
    const int e = (int)(v >> 10 & 31);
    const double m = (double)(v & 0x3ff);
    const double x = e == 31 ? (m != 0 ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return v >> 15 & 1 ? -x : x;
}

/* The nearest of 16 bits, of two as near the even one; exact sums of halves fit a double. */
static uint64_t half_of(const struct type *t, double x)
{
    const uint64_t sign = signbit(x) ? 0x8000 : 0, infinite = t->name[0] == 'b' ? 0x7f80 : 0x7c00;
    uint64_t low = 0, high = infinite;
    x = fabs(x);
    while (high - low > 1) { /* codes of one sign are in the order of their values */
        const uint64_t middle = (low + high) / 2;
        *(value_of(t, middle) <= x ? &low : &high) = middle;
    }
    const double most = t->name[0] == 'b' ? ldexp(1, 128) : 65536, above = high == infinite ? most : value_of(t, high);
    const double a = x - value_of(t, low), b = above - x;
    return sign | (a < b || (a == b && !(low & 1)) ? low : high);
}

static uint64_t float_op(const struct type *t, const char *op, uint64_t a, uint64_t b)
{
    const double x = value_of(t, a), y = value_of(t, b);
    if (op[0] == 'm')
        return (op[1] == 'i') == (x < y || (x == y && signbit(x))) ? a : b;
    if (t->bits == 64) {
        const double s = x + y;
        uint64_t u;
        memcpy(&u, &s, 8);
        return u;
    }
    if (t->bits == 32) {
        const float s = (float)x + (float)y;
        uint32_t u;
        memcpy(&u, &s, 4);
        return u;
    }
    return isnan(x + y) ? 0x7fff : half_of(t, x + y);
}

static uint64_t whole_op(const struct type *t, const char *op, uint64_t a, uint64_t b)
{
    const uint64_t mask = t->bits == 64 ? UINT64_MAX : ((uint64_t)1 << t->bits) - 1;
    const int64_t x = (int64_t)(a << (64 - t->bits)), y = (int64_t)(b << (64 - t->bits));
    const bool less = t->kind == 's' ? x < y : a < b;
    switch (op[0]) {
    case 'a': return op[1] == 'd' ? (a + b) & mask : a & b;
    case 'o': return a | b;
    case 'x': return a ^ b;
    case 'e': return b;
    case 'i': return a >= b ? 0 : a + 1;
    case 'd': return !a || a > b ? b : a - 1;
    default: return (op[1] == 'i') == less ? a : b;
    }
}

static bool is_nan(const struct type *t, uint64_t v) { return t->kind == 'f' && isnan(value_of(t, v)); }

/* An element: extremes, neighbours, anything; of floats no NaN where the least is looked for, and no f32 that may count
 * as zero. */
static uint64_t element(const struct type *t, const char *op)
{
    static const uint64_t some[] = {0, 1, 2, 5, 100, UINT64_MAX, UINT64_MAX - 1};
    const uint64_t top = (uint64_t)1 << (t->bits - 1), mask = top | (top - 1);
    for (;;) {
        uint64_t v = any() << 20 ^ any();
        if (t->kind != 'f')
            v = any() % 3 ? v : any() % 2 ? some[any() % 7] : top - any() % 2;
        v &= mask;
        if (t->kind != 'f')
            return v;
        if (any() % 4 == 0) { /* of like size, that sums have ties and cancel */
            const uint64_t one = t->bits == 64       ? 0x3ffull << 52
                                 : t->bits == 32     ? 0x3f800000
                                 : t->name[0] == 'b' ? 0x3f80
                                                     : 0x3c00;
            v = (one + any() % 4096) | (any() % 2 ? top : 0);
        }
        if (op[0] == 'm' && is_nan(t, v))
            continue;
        if (t->bits == 32 && fabs(value_of(t, v)) < ldexp(1, -90))
            continue;
        return v;
    }
}

static uint64_t load(const void *p, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

static void check_one(const struct path *p, const struct type *t, const char *op)
{
    static uint8_t before[CELLS * 8], values[CELLS * 8];
    const unsigned size = t->bits / 8, n = CELLS * t->bytes / size;
    unsigned bad = 0;
    for (unsigned k = 0; k < n; k++) {
        const uint64_t a = element(t, op), b = element(t, op);
        memcpy(before + k * size, &a, size);
        memcpy(values + k * size, &b, size);
    }
    memset(out, 0xee, sizeof out);
    memcpy(out, before, CELLS * t->bytes);
    memcpy(in, values, CELLS * t->bytes);
    if (!run(text(p, t, op), 1, THREADS, NULL))
        return;
    for (unsigned k = 0; k < n; k++) {
        const uint64_t a = load(before + k * size, size), b = load(values + k * size, size);
        const uint64_t want = t->kind == 'f' ? float_op(t, op, a, b) : whole_op(t, op, a, b);
        const uint64_t got = load((uint8_t *)out + k * size, size),
                       old = load((uint8_t *)out + OLD_AT + k * size, size);
        const bool good = is_nan(t, want) || (t->kind == 'f' && (is_nan(t, a) || is_nan(t, b))) ? is_nan(t, got)
                                                                                                : got == want;
        if (!good && !bad++)
            printf("# %s.%s: 0x%llx and 0x%llx are 0x%llx, not 0x%llx\n", op, t->name, (unsigned long long)a,
                   (unsigned long long)b, (unsigned long long)got, (unsigned long long)want);
        if (p->name[0] == 'a' && old != a && !bad++)
            printf("# %s.%s: gave back 0x%llx, not 0x%llx\n", op, t->name, (unsigned long long)old,
                   (unsigned long long)a);
    }
    check(!bad, "%s.%s.%s: %u of %u wrong", p->name, op, t->name, bad, n);
}

int main(void)
{
    for (size_t k = 0; k < sizeof paths / sizeof paths[0]; k++)
        for (const char *s = paths[k].operations; *s; s += strcspn(s, ";") + 2) {
            char op[16], type[16];
            int at;
            if (sscanf(s, "%15s%n", op, &at) != 1)
                break;
            for (const char *w = s + at; sscanf(w, " %15[a-z0-9]%n", type, &at) == 1; w += at)
                for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
                    if (!strcmp(types[t].name, type))
                        check_one(&paths[k], &types[t], op);
        }
    return t0t_done();
}
