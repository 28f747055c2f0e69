/* Stands for MKL where that is not: the names of FFTW's interface that libmkl_rt.so has, done by FFTW, and as MKL does
 * them: a plan repeats a transform along one dimension at most, and no name makes planning safe for threads. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct dim {
    ptrdiff_t n, is, os;
};

static void find(void *function, const char *library, const char *name)
{
    void *at = dlsym(dlopen(library, RTLD_NOW | RTLD_LOCAL), name);
    memcpy(function, &at, sizeof at);
}

/* Called once, before anything is planned; what is below plans in several threads. */
int MKL_Set_Threading_Layer(int layer);
int MKL_Set_Threading_Layer(int layer)
{
    void (*safe)(void);
    find(&safe, "libfftw3_threads.so.3", "fftw_make_planner_thread_safe");
    safe();
    find(&safe, "libfftw3f_threads.so.3", "fftwf_make_planner_thread_safe");
    safe();
    return layer;
}

#define NAMES(P, LIBRARY) \
    void *P##_plan_guru64_dft(int, const struct dim *, int, const struct dim *, void *, void *, int, unsigned); \
    void *P##_plan_guru64_dft(int r, const struct dim *d, int b, const struct dim *e, void *in, void *out, int sign, \
                              unsigned flags) \
    { \
        void *(*f)(int, const struct dim *, int, const struct dim *, void *, void *, int, unsigned); \
        find(&f, LIBRARY, #P "_plan_guru64_dft"); \
        return b > 1 ? NULL : f(r, d, b, e, in, out, sign, flags); \
    } \
    REAL(P, LIBRARY, r2c) \
    REAL(P, LIBRARY, c2r) \
    EXECUTE(P, LIBRARY, dft) \
    EXECUTE(P, LIBRARY, dft_r2c) \
    EXECUTE(P, LIBRARY, dft_c2r) \
    void P##_destroy_plan(void *); \
    void P##_destroy_plan(void *plan) \
    { \
        void (*f)(void *); \
        find(&f, LIBRARY, #P "_destroy_plan"); \
        f(plan); \
    } \
    int P##_alignment_of(void *); \
    int P##_alignment_of(void *data) { return (int)((size_t)data % 64); }
#define REAL(P, LIBRARY, KIND) \
    void *P##_plan_guru64_dft_##KIND(int, const struct dim *, int, const struct dim *, void *, void *, unsigned); \
    void *P##_plan_guru64_dft_##KIND(int r, const struct dim *d, int b, const struct dim *e, void *in, void *out, \
                                     unsigned flags) \
    { \
        void *(*f)(int, const struct dim *, int, const struct dim *, void *, void *, unsigned); \
        find(&f, LIBRARY, #P "_plan_guru64_dft_" #KIND); \
        return b > 1 ? NULL : f(r, d, b, e, in, out, flags); \
    }
#define EXECUTE(P, LIBRARY, KIND) \
    void P##_execute_##KIND(void *, void *, void *); \
    void P##_execute_##KIND(void *plan, void *in, void *out) \
    { \
        void (*f)(void *, void *, void *); \
        find(&f, LIBRARY, #P "_execute_" #KIND); \
        f(plan, in, out); \
    }

NAMES(fftw, "libfftw3.so.3")
NAMES(fftwf, "libfftw3f.so.3")
