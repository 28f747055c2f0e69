/* Finds FFTW's functions in its own libraries. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "host/mufft/fftw.h"

static struct mufft_fftw functions[2];
static bool found[2];

static const struct {
    const char *name;
    size_t offset;
} table[] = {
#define F(name) \
    { \
#name, offsetof(struct mufft_fftw, name) \
    }
    F(plan_guru64_dft), F(plan_guru64_dft_r2c), F(plan_guru64_dft_c2r), F(execute_dft),
    F(execute_dft_r2c), F(execute_dft_c2r),     F(destroy_plan),        F(alignment_of),
#undef F
};

static void *symbol(void *library, const char *prefix, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s_%s", prefix, name);
    return library ? dlsym(library, whole) : NULL;
}

static bool find(struct mufft_fftw *f, const char *prefix, const char *library, const char *threads)
{
    void *from = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *safe = symbol(dlopen(threads, RTLD_NOW | RTLD_LOCAL), prefix, "make_planner_thread_safe");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *at = symbol(from, prefix, table[i].name);
        if (!at)
            return false;
        memcpy((char *)f + table[i].offset, &at, sizeof at);
    }
    /* The program's own use of FFTW may plan at the same time: FFTW's lock is for all of the process. */
    void (*make_safe)(void);
    memcpy(&make_safe, &safe, sizeof safe);
    if (make_safe)
        make_safe();
    return make_safe;
}

static void find_both(void)
{
    found[0] = find(&functions[0], "fftwf", "libfftw3f.so.3", "libfftw3f_threads.so.3");
    found[1] = find(&functions[1], "fftw", "libfftw3.so.3", "libfftw3_threads.so.3");
}

const struct mufft_fftw *mufft_fftw(int precise)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_both);
    return found[precise] ? &functions[precise] : NULL;
}
