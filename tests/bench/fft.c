/* cuFFT on the CPU muFFT beside FFTW called directly, with the same planning (FFTW_ESTIMATE), on the same memory in
 * the same process, waited for one by one: as ratios of times; and what a small call costs more. */
#include "library.h"

#include <string.h>

typedef int make_f(int *, int, int *, int *, int, int, int *, int, int, int, int);
typedef int exec_f(int, void *, void *, int);
typedef void *fftw_make(int, const int *, int, void *, const int *, int, int, void *, const int *, int, int, int,
                        unsigned);
typedef void fftw_exec(void *, void *, void *);
enum { C2C = 0x29, Z2Z = 0x69, ESTIMATE = 1 << 6, ROUNDS = 9 };

static double now(void) { return seconds(CLOCK_MONOTONIC); }

static int (*synchronize)(void *);

/* Times in seconds of one call: FFTW's and ours. Of the rounds the ones that others disturbed least. */
static void compare(int precise, int rank, int n, int batch, double work, double best[2])
{
    const char *fftw = precise ? "libfftw3.so.3" : "libfftw3f.so.3";
    char name[2][32];
    snprintf(name[0], sizeof *name, "fftw%s_plan_many_dft", precise ? "" : "f");
    snprintf(name[1], sizeof *name, "fftw%s_execute_dft", precise ? "" : "f");
    fftw_make *direct_make = in(fftw, name[0]);
    fftw_exec *direct = in(fftw, name[1]);
    make_f *make = in("libcufft.so.11", "cufftPlanMany");
    exec_f *exec = in("libcufft.so.11", precise ? "cufftExecZ2Z" : "cufftExecC2C");
    int (*destroy)(int) = in("libcufft.so.11", "cufftDestroy");
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc"), ns[3] = {n, n, n}, plan;
    int (*release)(void *) = in("libcudart.so.12", "cudaFree");
    size_t points = (size_t)batch;
    for (int i = 0; i < rank; i++)
        points *= (size_t)n;
    void *data[2];
    if (allocate(&data[0], points * 16) || allocate(&data[1], points * 16) ||
        make(&plan, rank, ns, NULL, 1, 1, NULL, 1, 1, precise ? Z2Z : C2C, batch))
        exit(1);
    memset(data[0], 0, points * 16);
    int distance = (int)(points / (size_t)batch);
    void *d = direct_make(rank, ns, batch, data[0], NULL, 1, distance, data[1], NULL, 1, distance, -1, ESTIMATE);
    int calls = (int)(work / (20.0 * (double)points));
    calls = calls > 1 ? calls : 1;
    best[0] = best[1] = 1e9;
    for (int r = -1; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < calls; i++)
            direct(d, data[0], data[1]);
        double half = now();
        for (int i = 0; i < calls; i++)
            if (exec(plan, data[0], data[1], -1) || synchronize(NULL))
                exit(1);
        double took[2] = {(half - t) / calls, (now() - half) / calls};
        for (int k = 0; k < 2 && r >= 0; k++)
            best[k] = took[k] < best[k] ? took[k] : best[k];
    }
    destroy(plan);
    release(data[0]);
    release(data[1]);
}

int main(void)
{
    int (*create)(int *) = in("libcufft.so.11", "cufftCreate"), plan;
    synchronize = in("libcudart.so.12", "cudaStreamSynchronize");
    if (create(&plan)) {
        printf("# fft: built without FFTW\n");
        return 0;
    }
    static const struct {
        int precise, rank, n, batch;
        const char *name;
    } cases[] = {{0, 1, 1024, 64, "c2c_1024x64"}, {0, 1, 65536, 1, "c2c_65536"}, {1, 1, 4096, 16, "z2z_4096x16"},
                 {0, 2, 256, 1, "c2c_2d_256"},    {0, 2, 512, 1, "c2c_2d_512"},  {0, 2, 1024, 1, "c2c_2d_1024"},
                 {1, 2, 500, 1, "z2z_2d_500"},    {1, 3, 64, 1, "z2z_3d_64"},    {0, 3, 128, 1, "c2c_3d_128"}};
    double t[2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compare(cases[i].precise, cases[i].rank, cases[i].n, cases[i].batch, 1e8, t);
        printf("# %s: FFTW %.1f us, cuFFT %.1f us\n", cases[i].name, t[0] * 1e6, t[1] * 1e6);
        printf("bench mufft.%s_vs_fftw %.3f ratio\n", cases[i].name, t[1] / t[0]);
    }
    compare(0, 1, 16, 1, 4e6, t);
    printf("# c2c of 16: FFTW %.1f ns, cuFFT %.1f ns with its synchronisation\n", t[0] * 1e9, t[1] * 1e9);
    printf("bench mufft.small_call_added %.1f ns\n", (t[1] - t[0]) * 1e9);
    return 0;
}
