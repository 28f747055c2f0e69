/* What the benches of the maths libraries share: functions of a library by name, and seconds. */
#ifndef CUMU_TESTS_BENCH_LIBRARY_H
#define CUMU_TESTS_BENCH_LIBRARY_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the bench where there is none. */
static inline void *in(const char *soname, const char *name)
{
    void *lib = dlopen(soname, RTLD_NOW), *f = lib ? dlsym(lib, name) : NULL;
    if (!f) {
        fprintf(stderr, "%s in %s: %s\n", name, soname, dlerror());
        exit(1);
    }
    return f;
}

/* Of CLOCK_MONOTONIC, or of CLOCK_PROCESS_CPUTIME_ID: the time of all threads. */
static inline double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
