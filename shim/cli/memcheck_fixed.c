/* cumu memcheck: options of compute-sanitizer whose one value is what is done here anyway, or whose value makes no
 * difference here. What cannot be had is refused with its reason, rather than passed over. */
#include "cli/cli.h"
#include "cli/memcheck_reports.h"

#include <string.h>

static const struct fixed {
    const char *name;
    const char *values; /* by |; #: any number; empty: a word of its own; NULL: it is not here in any form */
    const char *why;    /* other values are refused */
} fixed[] = {
    {"--check-device-heap", "yes", "blocks of the device heap are always looked at"},
    {"--check-bulk-copy", "yes", "copies in bulk are always looked at"},
    {"--check-warpgroup-mma", "no", "what wgmma reads of shared memory is not looked at"},
    {"--check-cache-control", "no", "addresses of prefetches and other cache hints are not looked at"},
    {"--check-optix", "no", "there is no OptiX here"},
    {"--check-optix-leaks", "no", "there is no OptiX here"},
    {"--demangle", "full", "names are always written in full"},
    {"--ignore-getprocaddress-notfound", "yes", "who asks for a function that is not there has got an answer"},
    {"--initcheck-address-space", "global", "initcheck looks at global memory only"},
    {"--missing-barrier-init-is-fatal", "no", "the kernel goes on behind a missing init"},
    {"--racecheck-memcpy-async", "yes", "asynchronous copies are always looked at"},
    {"--racecheck-report", "analysis", "races are reported by pairs of places, not byte by byte"},
    {"--report-device-side-allocation-failure", "no", "malloc that returns NULL is no report"},
    {"--require-cuda-init", "no", "whether the program used CUDA is not asked"},
    {"--track-stream-ordered-races", "all", "uses outside of an allocation's life are always reported"},
    {"--support-32bit", "no", "32-bit programs cannot be looked at"},
    {"--language", "c", "Fortran has no behaviour of its own here"},
    {"--mode", "launch|launch-and-attach", "a program that runs already cannot be looked at"},
    {"--num-cuda-barriers", "#", "a number is wanted"},
    {"--racecheck-num-workers", "#", "a number is wanted"},
    {"--force-synchronization-limit", "#", "a number is wanted"},
    {"--launch-timeout", "#", "a number is wanted"},
    {"--max-connections", "#", "a number is wanted"},
    {"--port", "#", "a number is wanted"},
    {"--force-blocking-launches", "", "no value follows"},
    {"--kill", "", "no value follows"},
    {"--read", NULL, "what --save writes is text: read it as it is"},
    {"--generate-coredump", "no", "there are no core dumps of devices"},
    {"--coredump-name", NULL, "there are no core dumps of devices"},
    {"--coredump-behavior", NULL, "there are no core dumps of devices"},
    {"--preload-library", NULL, "set LD_PRELOAD in front of it: what is there is kept"},
    {"--injection-path", NULL, "nothing is injected: the libraries are those next to this tool"},
    {"--injection-path-32bit", NULL, "32-bit programs cannot be looked at"},
    {"--backtrace-short", NULL, "--num-callers-host says how long a stack is"},
    {"--quiet", NULL, "--print-level says what is printed"},
    {"--print-session-details", NULL, "nothing is noted of a session but its reports"},
    {"--save-session-details", NULL, "nothing is noted of a session but its reports"},
    {"--racecheck-deadlock-timeout", NULL, "a kernel that waits for ever is not looked for"},
    {"--dump-kernel-launches", NULL, "cumu trace lists launches"},
    {"--target-processes-filter", NULL, "--target-processes application-only is what there is"},
};

static bool is_number(const char *s) { return *s && !s[strspn(s, "0123456789")]; }

static bool is_among(const char *list, const char *value)
{
    const size_t size = strlen(value);
    for (const char *s = list; *s; s += strcspn(s, "|"), s += *s == '|')
        if (strcspn(s, "|") == size && !strncmp(s, value, size))
            return size != 0;
    return false;
}

int cumu_memcheck_fixed(int argc, char **argv, int *i)
{
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) {
        const struct fixed *f = &fixed[k];
        const size_t n = strlen(f->name);
        const char *a = argv[*i];
        if (strncmp(a, f->name, n) != 0 || (a[n] && a[n] != '='))
            continue;
        const char *value = f->values && !*f->values ? a + n : cumu_option_value(f->name, argc, argv, i);
        const bool good = f->values && (!*f->values         ? !*value
                                        : *f->values == '#' ? is_number(value)
                                                            : is_among(f->values, value));
        return good ? 0 : cumu_usage(&cumu_verb_memcheck, "%s: %s", a, f->why);
    }
    return -1;
}
