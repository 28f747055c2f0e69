/* cumu cache: what is in the cache of compiled kernels, and what fills and empties it. */
#include "cli/cli.h"
#include "cli/warm.h"
#include "compile/cache.h"
#include "compile/compile.h"
#include "ptx/tier1/tier1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const isas[T1_NISA] = {"plain", "avx2", "avx512"};

struct total {
    unsigned long entries;
    double bytes;
};

static bool show(void *ctx, const char *name, const struct cumu_entry *e)
{
    static const char *const shapes[T1_NSHAPES] = {"linear", "half", "flat", "any"};
    struct total *t = ctx;
    char when[32] = "", arch[16];
    (void)snprintf(arch, sizeof arch, "mp_%u", e->isa % 100);
    struct tm tm;
    if (localtime_r(&e->used, &tm))
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    if (e->good)
        printf("%.12s  %s  %7zu  %-6s  %-6s  %5u ms  %s\n", name, when, e->size, e->isa < T1_NISA ? isas[e->isa] : arch,
               e->shape < T1_NSHAPES ? shapes[e->shape] : "?", e->compile_ms, e->kernel);
    else
        printf("%.12s  %s  %7zu  will be made again: %s\n", name, when, e->size, e->kernel);
    t->entries++;
    t->bytes += (double)e->size;
    return true;
}

static int no_cache(void) { return *cumu_cache_path() ? 0 : cumu_fail(CUMU_EXIT_CANNOT_RUN, "no folder for a cache"); }

static int list(void)
{
    struct total t = {0};
    if (cumu_cache_each(show, &t) != 0 && !*cumu_cache_path())
        return no_cache();
    printf("%lu kernels, %.1f MB in %s\n", t.entries, t.bytes / 1e6, cumu_cache_path());
    return 0;
}

static int clear(void)
{
    long n = cumu_cache_clear();
    if (n < 0)
        n = 0; /* there is nothing yet */
    printf("%ld kernels removed\n", n);
    return no_cache();
}

/* --target mp_31 */
static int warm_for(const char *target, unsigned n, char **programs)
{
    char *end = NULL;
    unsigned long arch = strncmp(target, "mp_", 3) == 0 ? strtoul(target + 3, &end, 10) : 0;
    if (!end || *end || arch > 99 || !cumu_arch_known((unsigned)arch))
        return cumu_usage(&cumu_verb_cache, "\"%s\" is none of mp_21, mp_22, mp_31 and above", target);
    return cumu_warm(n, programs, (unsigned)arch, T1_PLAIN);
}

/* --isa avx2 */
static int warm_with(const char *isa, unsigned n, char **programs)
{
    for (unsigned i = 0; i < T1_NISA; i++)
        if (strcmp(isa, isas[i]) == 0)
            return cumu_warm(n, programs, 0, (enum t1_isa)i);
    return cumu_usage(&cumu_verb_cache, "\"%s\" is none of plain, avx2, avx512", isa);
}

static int cache(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "list") == 0 && argc == 2)
        return list();
    if (strcmp(what, "clear") == 0 && argc == 2)
        return clear();
    if (strcmp(what, "path") == 0 && argc == 2) {
        puts(cumu_cache_path());
        return no_cache();
    }
    if (strcmp(what, "warm") == 0 && argc > 4 && strcmp(argv[2], "--target") == 0)
        return warm_for(argv[3], (unsigned)argc - 4, argv + 4);
    if (strcmp(what, "warm") == 0 && argc > 4 && strcmp(argv[2], "--isa") == 0)
        return warm_with(argv[3], (unsigned)argc - 4, argv + 4);
    if (strcmp(what, "warm") == 0 && argc > 2 && argv[2][0] != '-')
        return cumu_warm((unsigned)argc - 2, argv + 2, 0, cumu_object_isa());
    return cumu_usage(&cumu_verb_cache, "list, clear, path, or warm with programs");
}

const struct cumu_verb_entry cumu_verb_cache = {
    "cache", "list, empty or fill the cache of compiled kernels",
    "usage: cumu cache list | clear | path\n"
    "       cumu cache warm [--isa avx2 | --target mp_31] program...\n"
    "\n"
    "list: name, last use, size, instruction set, block shapes, time to compile and kernel of each entry,\n"
    "the latest first. warm: compiles every kernel of the programs and of the libraries they need, for the\n"
    "block shapes it may be launched with (1-D ones, or 2-D ones if it uses a second index); what is there\n"
    "already is not made again; with --isa (plain, avx2, avx512) for CPUs with these vectors, to which the cache\n"
    "is carried, and runs with CUMU_ISA; with --target, for a MUSA device of that architecture by mcc or MTRTC.\n"
    "Exit status 0: all are there, 1: some are not, which is said (on the CPU they stay with the interpreter),\n"
    "125 to 127: as of `cumu run`.\n"
    "CUMU_CACHE_DIR and CUMU_CACHE_SIZE say where it is and how large it may grow.\n",
    cache};
