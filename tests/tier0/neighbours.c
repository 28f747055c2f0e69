/* Loads of neighbouring bytes and words at one address, in random order, types and masks: a compiler may fetch them
 * together, but not across what writes, and lanes that are not there stay untouched. */
#include <stdlib.h>

#include "tier0/kernels.h"

enum { LOADS = 12 };
struct one {
    unsigned type, offset; /* of the loads; a store of the lane's sum so far stands before it if */
    bool store;
};
static const struct {
    const char *name;
    unsigned size;
    bool sign;
} types[] = {{"u8", 1, false}, {"s8", 1, true}, {"u16", 2, false}, {"s16", 2, true}, {"u32", 4, false}};

static uint32_t value_at(const uint8_t *p, unsigned type)
{
    uint32_t v = 0;
    memcpy(&v, p, types[type].size);
    const unsigned up = 32 - 8 * types[type].size;
    return types[type].sign ? (uint32_t)((int32_t)(v << up) >> up) : v;
}

/* Lane i reads 16 bytes at place (i * mul) % 61, or the lane's own place in the order (step 1); lanes whose number
 * has a bit of `off` do nothing. Sums are hashes: each load counts by its place. */
static bool random_kernel(unsigned seed)
{
    struct one load[LOADS];
    static uint8_t bytes[MOST * 4];
    char text[8000];
    unsigned n = 0;
    srand(seed);
    const unsigned mul = seed % 3 ? 7 : 1, off = seed % 4 == 0 ? 4 : 0, range = seed % 2 ? 8 : 16;
    n += (unsigned)snprintf(text, sizeof text,
                            "%sand.b32 %%r2, %%r1, %u; setp.ne.u32 %%p1, %%r2, 0; @%%p1 bra E;\n"
                            "mul.lo.u32 %%r3, %%r1, %u; rem.u32 %%r3, %%r3, 61; mul.wide.u32 %%rd5, %%r3, 16;\n"
                            "add.s64 %%rd6, %%rd31, %%rd5; mov.u32 %%r10, 1;\n",
                            HEAD ENTRY("k"), off, mul);
    for (unsigned k = 0; k < LOADS; k++) {
        load[k].type = (unsigned)rand() % 5;
        load[k].offset = (unsigned)rand() % range / types[load[k].type].size * types[load[k].type].size;
        load[k].store = rand() % 6 == 0;
        if (load[k].store)
            n += (unsigned)snprintf(text + n, sizeof text - n, "st.global.u8 [%%rd6+%u], %%r10;\n", load[k].offset);
        n += (unsigned)snprintf(text + n, sizeof text - n,
                                "ld.global.%s %%r11, [%%rd6+%u]; mad.lo.u32 %%r10, %%r10, 31, %%r11;\n",
                                types[load[k].type].name, load[k].offset);
    }
    snprintf(text + n, sizeof text - n, "%sE: %s", STORE("%r10"), END);
    for (unsigned i = 0; i < MOST; i++)
        in[i] = (uint32_t)rand() * 2654435761u;
    memcpy(bytes, in, sizeof bytes);
    memset(out, 0xee, sizeof out);
    if (!run(text, 1, 61, NULL)) /* 61: no two lanes at one place */
        return false;
    for (uint32_t i = 0; i < 61; i++) {
        uint8_t *p = bytes + i * mul % 61 * 16;
        uint32_t sum = 1;
        for (unsigned k = 0; k < LOADS && !(i & off); k++) {
            if (load[k].store)
                p[load[k].offset] = (uint8_t)sum;
            sum = sum * 31 + value_at(p + load[k].offset, load[k].type);
        }
        if (out[i] != (i & off ? 0xeeeeeeee : sum))
            return false;
    }
    return !memcmp(in, bytes, sizeof bytes);
}

/* Lanes that load and store words of 4 or 8 bytes at a stride that is a parameter: one behind the other, as tiers may
 * find out, or not; blocks that fill no warp, lanes that are not there. */
static unsigned strides(unsigned *n)
{
    unsigned wrong = 0;
    *n = 0;
    for (unsigned size = 4; size <= 8; size += 4)
        for (unsigned off = 0; off < 2; off++) {
            char text[4000];
            snprintf(text, sizeof text,
                     "%sand.b32 %%r2, %%r1, %u; setp.ne.u32 %%p1, %%r2, 0; @%%p1 bra E; ld.param.u32 %%r3, [pn];\n"
                     "cvt.u64.u32 %%rd5, %%r3; cvt.u64.u32 %%rd6, %%r1; mul.lo.s64 %%rd7, %%rd5, %%rd6;\n"
                     "add.s64 %%rd8, %%rd31, %%rd7; add.s64 %%rd9, %%rd30, %%rd7; ld.global.u%u %s10, [%%rd8+8];\n"
                     "mul.lo.u%u %s10, %s10, 3; st.global.u%u [%%rd9+16], %s10;\nE: %s",
                     HEAD ENTRY("k"), 8 * off, 8 * size, size == 8 ? "%rd" : "%r", 8 * size, size == 8 ? "%rd" : "%r",
                     size == 8 ? "%rd" : "%r", 8 * size, size == 8 ? "%rd" : "%r", END);
            for (unsigned stride = 0; stride <= 24; stride += size)
                for (unsigned threads = 61; threads <= 64; threads += 3, ++*n) {
                    static uint32_t want[MOST];
                    struct args a = {out, in, stride};
                    memset(out, 0xee, sizeof out);
                    memset(want, 0xee, sizeof want);
                    for (unsigned i = 0; i < threads; i++) {
                        uint64_t v = 0;
                        memcpy(&v, (uint8_t *)in + i * stride + 8, size);
                        v *= 3;
                        if (!(i & 8 * off))
                            memcpy((uint8_t *)want + i * stride + 16, &v, size);
                    }
                    wrong += !t0t_once(text, "k", 1, threads, &a, NULL) || memcmp(out, want, sizeof out);
                }
        }
    return wrong;
}

/* Loads and stores of words of a lane's own structure, in random order, in shared or global memory: its place is the
 * lane's number times its size, or that of another lane. Addresses are sums of the place and constants, some accesses
 * are guarded or volatile. A compiler may move neighbouring words together; what each load reads, and what is left,
 * must be as if it did not. */
enum { WORDS = 12, ACCESSES = 28 };
struct access {
    unsigned word, width; /* words of a vector, 1, 2 or 4 */
    bool store, guard;
};

static bool words_kernel(unsigned seed)
{
    static uint32_t want[MOST];
    struct access a[ACCESSES];
    char text[16000];
    unsigned n = 0;
    srand(seed * 977 + 5);
    const bool shared = seed % 2, own = seed % 3, upwards = seed % 5 == 0;
    const char *const space = shared ? "shared" : "global", *const base = shared ? "%r40" : "%rd10";
    const unsigned words = seed % 3 == 1 ? 8 : 1 + (unsigned)rand() % WORDS, off = seed % 4 == 0 ? 8 : 0,
                   bits = shared ? 32 : 64;
    n += (unsigned)snprintf(
        text, sizeof text,
        "%s.shared .align 16 .b8 memory[%u];\n%sand.b32 %%r2, %%r1, %u; setp.ne.u32 %%p1, %%r2, 0;\n"
        "@%%p1 bra E; mul.lo.u32 %%r3, %%r1, %u; %s\n"
        "mul.lo.u32 %%r3, %%r3, %u; mul.wide.u32 %%rd5, %%r3, 4; add.s64 %%rd10, %%rd31, %%rd5;\n"
        "mov.u32 %%r40, memory; mad.lo.u32 %%r40, %%r3, 4, %%r40; mov.u32 %%r10, 1;\n"
        "and.b32 %%r4, %%r1, 1; setp.ne.u32 %%p2, %%r4, 0;\n",
        HEAD, 61 * WORDS * 4, ENTRY("k"), off, own ? 1 : 7, own ? "" : "rem.u32 %r3, %r3, 61;", words);
    for (unsigned k = 0; k < words && shared; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n,
                                "ld.global.u32 %%r5, [%%rd10+%u]; st.shared.u32 [%%r40+%u], %%r5;\n", 4 * k, 4 * k);
    for (unsigned k = 0; k < ACCESSES; k++) {
        static const char *const vectors[] = {"u32", "v2.u32", "", "v4.u32"};
        static const char *const from[] = {"%r10", "{%r10, %r12}", "", "{%r10, %r12, %r13, %r14}"};
        static const char *const to[] = {"%r11", "{%r11, %r12}", "", "{%r11, %r12, %r13, %r14}"};
        a[k] = (struct access){upwards ? k / 2 % words : (unsigned)rand() % words, 1u << rand() % 3, k / words % 2,
                               rand() % 9 == 0};
        a[k].width = words % a[k].width ? 1 : a[k].width;
        a[k].word -= a[k].word % a[k].width;
        const unsigned add = (unsigned)rand() % 3 * 4, which = a[k].width - 1; /* of it, by instructions */
        const char *address = base, *const guard = a[k].guard ? "@%p2 " : "";
        const char *const order = rand() % 11 ? "" : ".volatile";
        for (unsigned i = 0; i < add; i += 4, address = shared ? "%r41" : "%rd11")
            n += (unsigned)snprintf(text + n, sizeof text - n, "add.s%u %s, %s, 4;\n", bits, shared ? "%r41" : "%rd11",
                                    address);
        const int at = 4 * (int)a[k].word - (int)add;
        if (a[k].store)
            n += (unsigned)snprintf(text + n, sizeof text - n,
                                    "mul.lo.u32 %%r10, %%r10, 5; add.u32 %%r12, %%r10, 1; add.u32 %%r13, %%r10, 2;\n"
                                    "add.u32 %%r14, %%r10, 3;\n%sst%s.%s.%s [%s+%d], %s;\n",
                                    guard, order, space, vectors[which], address, at, from[which]);
        else
            n += (unsigned)snprintf(text + n, sizeof text - n,
                                    "mov.u32 %%r11, 77; mov.u32 %%r12, 77; mov.u32 %%r13, 77; mov.u32 %%r14, 77;\n"
                                    "%sld%s.%s.%s %s, [%s+%d];\n",
                                    guard, order, space, vectors[which], to[which], address, at);
        for (unsigned i = 0; i < a[k].width && !a[k].store; i++)
            n += (unsigned)snprintf(text + n, sizeof text - n, "mad.lo.u32 %%r10, %%r10, 31, %%r%u;\n", 11 + i);
    }
    for (unsigned k = 0; k < words && shared; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n,
                                "ld.shared.u32 %%r5, [%%r40+%u]; st.global.u32 [%%rd10+%u], %%r5;\n", 4 * k, 4 * k);
    snprintf(text + n, sizeof text - n, "%sE: %s", STORE("%r10"), END);
    for (unsigned i = 0; i < MOST; i++)
        want[i] = in[i] = (uint32_t)rand() * 2654435761u;
    memset(out, 0xee, sizeof out);
    if (!run(text, 1, 61, NULL))
        return false;
    for (uint32_t i = 0; i < 61; i++) {
        uint32_t sum = 1, *const w = want + i * (own ? 1 : 7) % 61 * words;
        for (unsigned k = 0; k < ACCESSES && !(i & off); k++) {
            const bool on = !a[k].guard || i & 1;
            if (a[k].store) {
                sum *= 5;
                for (unsigned v = 0; v < a[k].width && on; v++)
                    w[a[k].word + v] = sum + v;
            } else {
                for (unsigned v = 0; v < a[k].width; v++)
                    sum = sum * 31 + (on ? w[a[k].word + v] : 77);
            }
        }
        if (out[i] != (i & off ? 0xeeeeeeee : sum))
            return false;
    }
    return !memcmp(in, want, sizeof want);
}

/* Two neighbours are stored, one again behind a vector that has the other: what the vector wrote there stays. */
static bool overlapping_stores(void)
{
    static const char text[] = HEAD ENTRY(
        "k") "mul.lo.u32 %r3, %r1, 7; rem.u32 %r3, %r3, 61; mul.wide.u32 %rd5, %r3, 32; add.s64 %rd10, %rd31, %rd5;\n"
             "add.u32 %r10, %r1, 100; add.u32 %r11, %r1, 200; add.u32 %r12, %r1, 300; add.u32 %r13, %r1, 400;\n"
             "st.global.u32 [%rd10+4], %r10; st.global.u32 [%rd10+8], %r11; st.global.v2.u32 [%rd10], {%r12, %r13};\n"
             "st.global.u32 [%rd10+8], %r12;\n" END;
    bool good;
    memset(in, 0, sizeof in);
    good = run(text, 1, 61, NULL);
    for (uint32_t i = 0; i < 61; i++) {
        const uint32_t *w = in + 8 * (i * 7 % 61);
        good = good && w[0] == i + 300 && w[1] == i + 400 && w[2] == i + 300 && !w[3];
    }
    return good;
}

/* Behind seven pairs of neighbours two more, each stored with the other pair's between, and a vector over both. */
static bool crossing_stores(void)
{
    enum { BYTES = 136 };
    char text[4000];
    unsigned n = (unsigned)snprintf(
        text, sizeof text,
        "%smul.lo.u32 %%r3, %%r1, 7; rem.u32 %%r3, %%r3, 61;\nmul.wide.u32 %%rd5, %%r3, %u;"
        "add.s64 %%rd10, %%rd31, %%rd5; add.u32 %%r10, %%r1, 100; add.u32 %%r11, %%r1, 200;\n",
        HEAD ENTRY("k"), BYTES);
    for (unsigned k = 0; k < 7; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n,
                                "st.global.u32 [%%rd10+%u], %%r10; st.global.u32 [%%rd10+%u], %%r11;\n", 20 + 16 * k,
                                24 + 16 * k);
    snprintf(text + n, sizeof text - n,
             "st.global.u32 [%%rd10+4], %%r10; st.global.u32 [%%rd10+12], %%r10; st.global.u32 [%%rd10+8], %%r10;\n"
             "st.global.v2.u32 [%%rd10+8], {%%r11, %%r10};\n" END);
    memset(in, 0, sizeof in);
    bool good = run(text, 1, 61, NULL);
    for (uint32_t i = 0; i < 61; i++) {
        const uint32_t *w = in + BYTES / 4 * (i * 7 % 61);
        good = good && !w[0] && w[1] == i + 100 && w[2] == i + 200 && w[3] == i + 100;
        for (unsigned k = 0; k < 7; k++)
            good = good && w[5 + 4 * k] == i + 100 && w[6 + 4 * k] == i + 200;
    }
    return good;
}

/* A stride that is a parameter, and shared memory up to its last word, in a kernel long enough to be parsed into other
 * memory the second time, if it is written twice. */
static bool stride_and_shared(unsigned fillers)
{
    static char text[40000];
    struct args a = {out, in, 4};
    unsigned n = (unsigned)snprintf(
        text, sizeof text,
        "%s.shared .align 16 .b8 s[45056]; ld.param.u32 %%r3, [pn]; cvt.u64.u32 %%rd5, %%r3;\n"
        "cvt.u64.u32 %%rd6, %%r1; mul.lo.s64 %%rd7, %%rd5, %%rd6; add.s64 %%rd8, %%rd31, %%rd7;\n"
        "ld.global.u32 %%r10, [%%rd8]; mov.u32 %%r11, s; mad.lo.u32 %%r11, %%r1, 4, %%r11;\n"
        "mov.u32 %%r12, 0;\n",
        HEAD ENTRY("k"));
    for (unsigned k = 0; k < fillers; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n, "xor.b32 %%r12, %%r12, %%r10; add.u32 %%r12, %%r12, %u;\n",
                                k);
    snprintf(text + n, sizeof text - n,
             "st.shared.u32 [%%r11+44800], %%r10; ld.shared.u32 %%r13, [%%r11+44800]; xor.b32 %%r13, %%r13, %%r12;\n"
             "xor.b32 %%r13, %%r13, %%r12;\n%s%s",
             STORE("%r13"), END);
    memset(out, 0, sizeof out);
    bool good = t0t_once(text, "k", 1, 64, &a, NULL);
    for (uint32_t i = 0; i < 64; i++)
        good = good && out[i] == in[i];
    return good;
}

int main(void)
{
    const char *seeds = getenv("NEIGHBOURS_SEEDS");
    const unsigned n = seeds ? (unsigned)atoi(seeds) : 12;
    unsigned wrong = 0, ran;
    for (unsigned seed = 1; seed <= n; seed++)
        if (!random_kernel(seed)) {
            printf("# wrong: seed %u\n", seed);
            wrong++;
        }
    check(!wrong, "neighbouring loads of %u kernels, %u wrong", n, wrong);
    wrong = 0;
    for (unsigned seed = 1; seed <= n; seed++)
        if (!words_kernel(seed)) {
            printf("# wrong: words, seed %u\n", seed);
            wrong++;
        }
    check(!wrong, "words of structures in %u kernels, %u wrong", n, wrong);
    wrong = strides(&ran);
    check(!wrong, "strides that are parameters, %u launches, %u wrong", ran, wrong);
    check(overlapping_stores(), "a vector of words stored between two stores of one");
    check(crossing_stores(), "stores of two pairs in turn, behind seven other pairs");
    for (unsigned fillers = 0; fillers <= 256; fillers += 128)
        check(stride_and_shared(fillers), "a stride and shared memory, %u instructions more", 2 * fillers);
    return t0t_done();
}
