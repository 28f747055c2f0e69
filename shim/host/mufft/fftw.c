/* Finds the functions of FFTW's interface in FFTW's own libraries, or in MKL. */
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

static bool all(struct mufft_fftw *f, void *from, const char *prefix)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *at = symbol(from, prefix, table[i].name);
        if (!at)
            return false;
        memcpy((char *)f + table[i].offset, &at, sizeof at);
    }
    return true;
}

/* The program's own use of FFTW may plan at the same time: FFTW's lock is for all of the process. */
static bool of_fftw(struct mufft_fftw *f, const char *prefix, const char *library, const char *threads)
{
    void *safe = symbol(dlopen(threads, RTLD_NOW | RTLD_LOCAL), prefix, "make_planner_thread_safe");
    void (*make_safe)(void);
    if (!safe || !all(f, dlopen(library, RTLD_NOW | RTLD_LOCAL), prefix))
        return false;
    memcpy(&make_safe, &safe, sizeof safe);
    make_safe();
    return true;
}

/* MKL plans in any thread. Threads of its own are not wanted, and their run-time library may be missing, which MKL
 * ends a process for: unless the program has it already, and has decided. */
static void *mkl(void)
{
    static const char *const names[] = {"libmkl_rt.so.3", "libmkl_rt.so.2"};
    enum { SEQUENTIAL = 1 }; /* MKL_THREADING_SEQUENTIAL of its reference, Support Functions */
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *at = library ? dlsym(library, "MKL_Set_Threading_Layer") : NULL;
        int (*layer)(int);
        memcpy(&layer, &at, sizeof at);
        if (layer)
            (void)layer(SEQUENTIAL);
    }
    return library;
}

static void find_both(void)
{
    if (mufft_may_use("fftw")) {
        found[0] = of_fftw(&functions[0], "fftwf", "libfftw3f.so.3", "libfftw3f_threads.so.3");
        found[1] = of_fftw(&functions[1], "fftw", "libfftw3.so.3", "libfftw3_threads.so.3");
    }
    if (!(found[0] && found[1]) && mufft_may_use("mkl")) {
        void *from = mkl();
        found[0] = all(&functions[0], from, "fftwf");
        found[1] = all(&functions[1], from, "fftw");
    }
}

const struct mufft_fftw *mufft_fftw(int precise)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_both);
    return found[precise] ? &functions[precise] : NULL;
}
