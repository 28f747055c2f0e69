/* Random kernels, run in several ways that must leave the same memory: by the reference, by tier 0
 * with the handlers of every CPU level, and by tier 1. A difference is reduced to few instructions.
 *
 * RANDOM_SECONDS=n searches for that long, from seed RANDOM_SEED on; RANDOM_COUNT=n runs so many
 * programs; RANDOM_FLAGS=n adds to what all of them contain; RANDOM_KEEP=folder keeps the reduced
 * PTX; RANDOM_TIER1=0 leaves tier 1 out. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ptx/base/base.h"
#include "ptx/tier0/handler.h"
#include "ptx/tier1/tier1.h"
#include "random/random.h"
#include "sanitize.h"

/* ---- memory ---- */

static uint32_t *input;      /* IN_WORDS, between pages that must not be touched */
static uint8_t *border[3];   /* the ends of memory before such pages: places, their order, their addresses */
static struct layout layout; /* of the program in work */

/* Pages for that many bytes, none before and behind them. */
static uint8_t *map_between(size_t bytes, uint8_t **end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page * page;
    uint8_t *p = mmap(NULL, n + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, n, PROT_READ | PROT_WRITE)) {
        printf("not ok no memory\n");
        exit(1);
    }
    *end = p + page + n;
    return p + page;
}

static void fill_input(void)
{
    uint8_t *end;
    map_between(IN_WORDS * sizeof *input, &end);
    input = (uint32_t *)(void *)end - IN_WORDS;
    map_between(sizeof((struct memory *)0)->lay, &border[0]);
    map_between(GRID * MAX_THREADS * 4, &border[1]);
    map_between(GRID * MAX_THREADS * 8, &border[2]);
    uint64_t x = 88172645463325252ull;
    for (unsigned i = 0; i < IN_WORDS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        switch (i % 5) { /* small numbers, any bits, floats near 1, small negatives, pairs of halves */
        case 0: input[i] = (uint32_t)x & 63; break;
        case 1: input[i] = (uint32_t)(x >> 20); break;
        case 2: input[i] = 0x3f800000u + ((uint32_t)(x >> 9) & 0x80ffffffu); break;
        case 3: input[i] = 0u - ((uint32_t)x & 255); break;
        default: input[i] = 0x3c003c00u ^ ((uint32_t)(x >> 17) & 0x87ff87ffu);
        }
    }
}

/* The array of places that are threads' own, its order and its addresses, each up to the border. The first half of the
 * order goes straight on, so that rows of lanes are found there; the rest is mixed. */
static void places_init(struct args *a, uint32_t threads)
{
    const uint32_t n = GRID * threads;
    uint32_t *order = (uint32_t *)(void *)border[1] - n, x = 12345;
    uint64_t *pointer = (uint64_t *)(void *)border[2] - n;
    uint8_t *lay = border[0] - n * layout.stride * layout.columns;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > n / 2; i--) {
        x = x * 1664525u + 1013904223u;
        const uint32_t j = n / 2 + (x >> 8) % (i - n / 2 + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (uint32_t i = 0; i < n; i++)
        pointer[i] = (uintptr_t)lay + order[i] * layout.stride;
    for (uint8_t *p = border[0] - sizeof((struct memory *)0)->lay, *q = p; q < border[0]; q++)
        *q = (uint8_t)((q - p) * 41 >> 2);
    a->lay = (uintptr_t)lay;
    a->order = (uintptr_t)order;
    a->pointers = (uintptr_t)pointer;
    a->words = layout.stride / 4;
    a->stride = layout.stride;
    for (unsigned i = 0; i < sizeof a->big; i++)
        a->big[i] = (uint8_t)(i * 53 + 7);
}

static void memory_init(struct memory *m, struct args *a, uint32_t threads)
{
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < sizeof m->own; i++)
        m->own[i] = (uint8_t)(i * 37 >> 3);
    *a = (struct args){.out = (uintptr_t)m->out,
                       .in = (uintptr_t)input,
                       .acc = (uintptr_t)m->acc,
                       .own = (uintptr_t)m->own,
                       .n = 1234567};
    places_init(a, threads);
}

static bool is_nan(unsigned pool, uint64_t v)
{
    switch (pool) {
    case POOL_F32: return (v & 0x7fffffff) > 0x7f800000;
    case POOL_F64: return (v & ~(1ull << 63)) > 0x7ff0000000000000ull;
    case POOL_F16: return (v & 0x7fff) > 0x7c00;
    case POOL_BF16: return (v & 0x7fff) > 0x7f80;
    default: return false;
    }
}
static bool same(unsigned pool, uint64_t x, uint64_t y)
{
    if (pool == POOL_F16X2 || pool == POOL_BF16X2) {
        unsigned half = pool == POOL_F16X2 ? POOL_F16 : POOL_BF16;
        return same(half, x & 0xffff, y & 0xffff) && same(half, x >> 16, y >> 16);
    }
    return x == y || (is_nan(pool, x) && is_nan(pool, y));
}

static unsigned size_of(unsigned pool)
{
    const char *bits = pool < NPOOLS ? strpbrk(pools[pool].type, "0123456789") : "64";
    return bits ? (unsigned)strtoul(bits, NULL, 10) / 8 : 4;
}

static bool threads_differ(const struct memory *a, const struct memory *b, unsigned n, char *why, size_t size)
{
    unsigned place = 0;
    for (unsigned k = 0; k <= NPOOLS; k++) /* the last: what was read back from local and shared */
        for (unsigned r = 0; r < (k < NPOOLS ? pools[k].n : 1); r++, place += COLUMN)
            for (unsigned i = 0; i < GRID * MAX_THREADS; i++) {
                uint64_t x = 0, y = 0;
                memcpy(&x, a->out + place + i * size_of(k), size_of(k));
                memcpy(&y, b->out + place + i * size_of(k), size_of(k));
                if (i % MAX_THREADS >= n || same(k, x, y))
                    continue;
                snprintf(why, size, "block %u thread %u: %%%s%u is %llx and %llx", i / MAX_THREADS, i % MAX_THREADS,
                         k < NPOOLS ? pools[k].name : "(own memory)", r, (unsigned long long)x, (unsigned long long)y);
                return true;
            }
    return false;
}

static bool memory_differ(const struct memory *a, const struct memory *b, unsigned n, char *why, size_t size)
{
    if (threads_differ(a, b, n, why, size))
        return true;
    for (unsigned i = 0; i < sizeof a->own; i++)
        if (a->own[i] != b->own[i]) {
            snprintf(why, size, "own memory of thread %u, byte %u: %x and %x", i / SLOT, i % SLOT, a->own[i],
                     b->own[i]);
            return true;
        }
    for (unsigned i = 0; i < sizeof a->acc; i++)
        if (a->acc[i] != b->acc[i]) {
            snprintf(why, size, "sum %u, byte %u: %x and %x", i / 128, i % 128, a->acc[i], b->acc[i]);
            return true;
        }
    for (unsigned i = 0; i < sizeof a->lay; i++)
        if (a->lay[i] != b->lay[i]) {
            snprintf(why, size, "byte %u from the end of places: %x and %x", (unsigned)sizeof a->lay - i, a->lay[i],
                     b->lay[i]);
            return true;
        }
    return false;
}

/* ---- one program, two ways ---- */

static const uint32_t shapes[][3] = {
    {64, 1, 1},  {32, 4, 1}, {100, 1, 1}, {64, 2, 1}, {1, 1, 1}, /* linear */
    {16, 8, 1},  {48, 2, 1}, {16, 5, 1},                         /* halves */
    {10, 10, 1}, {8, 4, 4},  {7, 1, 9},   {33, 2, 1}             /* any */
};
static const unsigned class_from[] = {0, 5, 8, 12};

enum way { REFERENCE, TIER0, TIER0_V1, TIER0_V3, TIER0_V4, TIER0_PORTABLE, BASELINE, TIER1, TIER1_AVX2, TIER1_PLAIN };
static const char *const way_name[] = {
    "the reference", "tier 0", "tier 0, x86-64-v1", "tier 0, x86-64-v3", "tier 0, x86-64-v4", "tier 0, portable",
    "baseline",      "tier 1", "tier 1, AVX2",      "tier 1, plain"};
static bool possible(enum way w)
{
    switch (w) {
    case TIER0_V3: return t0_alu_level() > 3;
    case TIER0_V4: return t0_alu_level() > 4;
    case BASELINE: return base_possible();
    case TIER1_AVX2: return t1_isa_here() > T1_AVX2;
    case TIER1_PLAIN: return t1_isa_here() > T1_PLAIN;
    default: return true;
    }
}

/* 1 ran, 0 failed, -1 tier 1 refuses. */
static int run(enum way w, const char *text, const uint32_t block[3], struct memory *m, char *why, size_t size)
{
    static const int level[] = {
        [TIER0_V1] = 1, [TIER0_V3] = 3, [TIER0_V4] = 4, [TIER0_PORTABLE] = -1, [BASELINE] = BASE_LEVEL};
    struct args a;
    int r, isa = w == TIER1 ? (int)t1_isa_here() : w == TIER1_AVX2 ? T1_AVX2 : T1_PLAIN;
    memory_init(m, &a, block[0] * block[1] * block[2]);
    if (w == REFERENCE)
        r = reference_run(text, block, &a, why, size);
    else if (w < TIER1)
        r = tier0_run(text, block, &a, level[w], why, size);
    else
        r = tier1_run(text, block, &a, isa, why, size);
    memcpy(m->lay, border[0] - sizeof m->lay, sizeof m->lay);
    return r;
}

static struct memory memory_a, memory_b;

static uint64_t option(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* 1 the same, 0 different or failed (*why), -1 refused. */
static int compare(enum way x, enum way y, const char *text, const uint32_t block[3], char *why, size_t size)
{
    int r = run(x, text, block, &memory_a, why, size);
    if (r > 0)
        r = run(y, text, block, &memory_b, why, size);
    if (r > 0 && memory_differ(&memory_a, &memory_b, block[0] * block[1] * block[2], why, size))
        r = 0;
    return r;
}

/* What a failure is, so that the minimiser does not wander from one to another. */
static unsigned kind(const char *why)
{
    return strstr(why, "front end") || strstr(why, "line") == why ? 1
           : strstr(why, "fault")                                 ? 2
           : strstr(why, "compile")                               ? 3
           : !strncmp(why, "tier 0: line", 12)                    ? 4
           : strstr(why, "reference: ")                           ? 5
                                                                  : 6;
}

static void minimise(struct program *p, enum way x, enum way y, const uint32_t block[3], char *why, size_t size)
{
    static bool drop[MAX_ITEMS];
    unsigned was = kind(why), tried = 0, most = y >= TIER1 ? 60 : 3000;
    memset(drop, 0, sizeof drop);
    for (unsigned chunk = p->nitem / 2; chunk && tried<most; chunk = chunk> 1 ? chunk / 2 : 0)
        for (unsigned i = 0; i < p->nitem && tried < most; i += chunk) {
            bool before[MAX_ITEMS], any = false;
            char now[800] = "";
            memcpy(before, drop, sizeof before);
            for (unsigned k = i; k < i + chunk && k < p->nitem; k++) {
                any |= !drop[k];
                drop[k] = true;
            }
            if (!any)
                continue;
            program_close(p, drop);
            char *text = program_text(p, drop);
            struct ptx_diag diag;
            struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
            bool parses = m && ptx_func_parse(ptx_module_func(m, "k"), &diag) == 0;
            ptx_module_close(m);
            tried += parses;
            if (!parses || compare(x, y, text, block, now, sizeof now) || kind(now) != was)
                memcpy(drop, before, sizeof before);
            else
                snprintf(why, size, "%s", now);
            free(text);
        }
    char *text = program_text(p, drop);
    const char *keep = getenv("RANDOM_KEEP");
    printf("# %s\n# reduced to:\n", why);
    for (unsigned i = 0; i < p->nitem; i++)
        for (char *s = drop[i] ? NULL : strtok(p->item[i], "\n"); s; s = strtok(NULL, "\n"))
            printf("#   %s\n", s);
    if (keep) {
        char path[512];
        snprintf(path, sizeof path, "%s/%llu.ptx", keep, (unsigned long long)p->seed);
        FILE *f = fopen(path, "w");
        if (f) {
            fprintf(f, "// %s against %s, block %u x %u x %u: %s\n%s", way_name[x], way_name[y], block[0], block[1],
                    block[2], why, text);
            fclose(f);
        }
    }
    free(text);
}

/* ---- the search ---- */

static struct {
    uint64_t programs, runs[TIER1_PLAIN + 1], refused, failed;
} total;
static struct {
    char why[120];
    unsigned n;
} refusals[40];

static void note_refusal(const char *why)
{
    total.refused++;
    for (unsigned i = 0; i < 40; i++)
        if (!refusals[i].n || !strncmp(refusals[i].why, why, sizeof refusals[i].why - 1)) {
            snprintf(refusals[i].why, sizeof refusals[i].why, "%.119s", why);
            refusals[i].n++;
            return;
        }
}

static bool check_pair(struct program *p, enum way x, enum way y, const uint32_t block[3])
{
    char why[800] = "";
    if (!possible(x) || !possible(y))
        return true;
    char *text = program_text(p, NULL);
    int r = compare(x, y, text, block, why, sizeof why);
    free(text);
    total.runs[y] += r > 0;
    if (r < 0)
        note_refusal(why);
    if (r)
        return true;
    total.failed++;
    printf("not ok program %llu (flags %u) in blocks of %u x %u x %u: %s and %s: %s\n", (unsigned long long)p->seed,
           p->flags, block[0], block[1], block[2], way_name[x], way_name[y], why);
    minimise(p, x, y, block, why, sizeof why);
    fflush(stdout);
    return false;
}

enum { EACH = 71, EACH_PLACES = 160, PLACES = 36 }; /* of a short run one program in so many is compiled */

/* All comparisons of one program; which shapes and features follows from the seed. */
static void check_program(uint64_t seed, bool tier1)
{
    static struct program p;
    enum { ALL = GEN_CROSS | GEN_JUMPS | GEN_CALLS | GEN_ATOMICS };
    static const unsigned flags[] = {GEN_KNOWN,
                                     GEN_KNOWN | GEN_JUMPS | GEN_CALLS | GEN_ODD,
                                     GEN_KNOWN | GEN_CROSS | GEN_ATOMICS,
                                     GEN_KNOWN | ALL,
                                     GEN_JUMPS,
                                     GEN_KNOWN | ALL | GEN_ODD,
                                     ALL,
                                     GEN_CROSS | GEN_ATOMICS};
    unsigned f = flags[(seed + seed / 8) % 8], s = (unsigned)(seed * 7 % 12);
    bool good = true;
    if (tier1 && seed % 5) /* compiling costs most of the time */
        f |= GEN_SMALL;
    if (seed % 3 == 0 && !tier1)
        f |= GEN_PLACES;
    if (seed % EACH_PLACES == PLACES) /* of those that are compiled, so that nothing is refused there */
        f = (f | GEN_PLACES | GEN_SMALL) & ~(unsigned)GEN_ODD;
    f |= (unsigned)option("RANDOM_FLAGS", 0);
    generate(&p, seed, f);
    layout = p.layout[0];
    total.programs++;
    if (f & GEN_KNOWN)
        for (unsigned k = 0; k < 3 && good; k++)
            good = check_pair(&p, REFERENCE, TIER0, shapes[(s + 5 * k) % 12]);
    for (enum way w = TIER0_V1; w <= BASELINE && good; w++)
        good = check_pair(&p, TIER0, w, shapes[(s + (unsigned)w) % 12]);
    if (tier1 && good) { /* an instruction set and a class of shapes: one object */
        enum way w = seed % 4 == 1 ? TIER1_AVX2 : seed % 4 == 2 ? TIER1_PLAIN : TIER1;
        unsigned c = (unsigned)(seed / 3) % 3;
        for (unsigned k = class_from[c]; k < class_from[c + 1] && good; k++)
            good = check_pair(&p, TIER0, possible(w) ? w : TIER1, shapes[k]);
    }
    program_free(&p);
}

#if CUMU_ASAN || CUMU_TSAN
enum { PROGRAMS = 240 };
#else
enum { PROGRAMS = 640 };
#endif

int main(void)
{
    unsigned nops, refused, known = 0;
    const struct opcode *ops = catalogue(&nops, &refused);
    uint64_t seed = option("RANDOM_SEED", 1), seconds = option("RANDOM_SECONDS", 0);
    uint64_t count = option("RANDOM_COUNT", seconds ? ~0ull : PROGRAMS), tier1 = option("RANDOM_TIER1", 1);
    time_t end = time(NULL) + (time_t)seconds;
    for (unsigned i = 0; i < nops; i++)
        known += ops[i].known;
    bool enough = nops > 2000 && known > 900;
    printf("%s %u instruction forms, %u in the reference, %u spellings are none\n", enough ? "ok" : "not ok", nops,
           known, refused);
    setvbuf(stdout, NULL, _IOLBF, 0);
    fill_input();
    for (uint64_t i = 0; i < count && total.failed < 20 && (!seconds || time(NULL) < end); i++)
        check_program(seed + i, tier1 && (seconds || i % EACH == 0 || (seed + i) % EACH_PLACES == PLACES));
    for (enum way w = TIER0; w <= TIER1_PLAIN; w++)
        printf("# %s: %llu runs alike\n", way_name[w], (unsigned long long)total.runs[w]);
    for (unsigned i = 0; i < 40 && refusals[i].n; i++)
        printf("# tier 1 refuses %u times: %s\n", refusals[i].n, refusals[i].why);
    printf("%s %llu random programs, %llu refused by tier 1\n", total.failed ? "not ok" : "ok",
           (unsigned long long)total.programs, (unsigned long long)total.refused);
    return total.failed || !enough;
}
