/* What a call costs through a facade: a jump, a conversion and a wrapper, each beside the PLT call of the
 * function below that it leads to, which is trivial. The facade is real output of gen (toy.map). Prints
 * `bench hotpath.FIGURE VALUE UNIT` lines: medians of interleaved rounds on one CPU. */
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int toyGetDevice(int *), muGetDevice(int *);
int toyGemm(void *, int, int, int, int, void *, void *), muGemm(void *, int, int, int, int, void *, void *);
int toyMalloc(void **, size_t), muMalloc(void **, size_t);

enum { ROUNDS = 61, CALLS = 100000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

/* Each loop is its own function, so that the compiler sees all six alike. */
#define LOOP(name, ...) \
    static double time_##name(void) \
    { \
        int device, out = 0; \
        void *p = &out; \
        (void)device, (void)p; \
        double start = now_ns(); \
        for (int i = 0; i < CALLS; i++) \
            if (name(__VA_ARGS__)) \
                exit(1); \
        return (now_ns() - start) / CALLS; \
    }
LOOP(muGetDevice, &device)
LOOP(toyGetDevice, &device)
LOOP(muGemm, NULL, 111, 112, i, 1, p, &out)
LOOP(toyGemm, NULL, 0, 1, i, 1, p, &out)
LOOP(muMalloc, &p, (size_t)i)
LOOP(toyMalloc, &p, (size_t)i)

static void compare(const char *name, double (*direct)(void), double (*facade)(void))
{
    double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
    direct();
    facade();
    for (int r = 0; r < ROUNDS; r++) {
        a[r] = direct();
        b[r] = facade();
        ratio[r] = b[r] / a[r];
    }
    printf("bench hotpath.%s_direct %.2f ns\n", name, median(a));
    printf("bench hotpath.%s %.2f ns\n", name, median(b));
    printf("bench hotpath.%s_vs_direct %.2f ratio\n", name, median(ratio));
}

int main(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    compare("jump", time_muGetDevice, time_toyGetDevice);
    compare("conv", time_muGemm, time_toyGemm);
    compare("wrap", time_muMalloc, time_toyMalloc);
    return 0;
}
