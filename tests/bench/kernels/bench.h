/* One kernel of the bench: how its data are made, how it is launched, and the plain C beside it. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum role { IN, OUT, INOUT };

/* A run of one kernel at one size. The buffers are its first parameters; those not IN are compared. */
struct work {
    size_t n;
    struct buffer {
        enum role role;
        char type;          /* f float, d double, i 32-bit integer, s floats whose sum counts, - workspace */
        size_t size, shift; /* shift: bytes from an aligned address to where the kernel begins */
        void *data;         /* as made; the native run reads and writes native */
        void *native;
        uint64_t device;
    } buf[6];
    unsigned bufs;
    int scalars[3]; /* parameters after the buffers; a float by its bits */
    unsigned nscalars;
    unsigned grid[2], block[2];
};

struct bench_case {
    const char *name, *file;
    size_t full, tiny; /* n for the figures; n for a first launch */
    unsigned repeats;  /* launches and native calls a timing */
    double tolerance;  /* greatest difference over greatest value, or share of wrong integers */
    bool compute;      /* bound by arithmetic: must scale over cores */
    void (*make)(struct work *w);
    void (*native)(struct work *w);
};

extern const struct bench_case bench_cases[]; /* ends with name NULL */

/* kernels.c: what the questions share. All end the program with a message when CUDA fails. */
enum { CASES = 40 }; /* room for results by case */
double now_ms(clockid_t clock);
double median(double *v, unsigned n);                  /* sorts */
void set_one_cpu(void);                                /* this process and its later threads stay on the CPU it is on */
bool chosen(const struct bench_case *c, char **names); /* no names: all whose PTX is there */
char *read_ptx(const char *name);                      /* malloc'ed */
void upload(struct work *w);                           /* device buffers; those INOUT as they were made */
void launch(struct work *w, void *kernel, unsigned repeats); /* and waits */
void drop(struct work *w);

/* launches.c: questions about single launches; each prints its number, 0 */
int ask_first(char **names);
int ask_instruction(char **names);
int ask_launch(char **names);

/* native.c: what a programmer would write without a GPU. */
void native_saxpy(float *restrict y, const float *restrict x, float a, int n);
void native_sgemm(float *restrict c, const float *restrict a, const float *restrict b, int n);
float native_sum(const float *x, int n);
void native_mandelbrot(int *out, int n, int limit);
void native_collatz(int *out, int n);
void native_histogram(unsigned *bins, const unsigned char *x, int n);
void native_nbody(float *restrict acc, const float *restrict body, int n);
void native_softmax(float *restrict out, const float *restrict in, int rows, int cols);
void native_spmv(float *restrict y, const int *start, const int *col, const float *val, const float *x, int rows);
void native_jacobi(double *restrict out, const double *restrict in, int n);
void native_transpose(float *restrict out, const float *restrict in, int n);
void native_sort_runs(int *data, int n);
void native_radix(unsigned *data, int n);
void native_scan(int *restrict out, const int *restrict in, int n);
void native_spmm(float *restrict y, const int *start, const int *col, const float *val, const float *x, int rows);
void native_kmeans(int *restrict nearest, float *restrict sums, int *restrict counts, const float *restrict points,
                   const float *restrict centres, int n);

/* native_models.c: halves are their bits; rows of weights of 4 bits are blocks of a half and 16 bytes. */
void native_mma_f16(float *restrict c, const uint16_t *restrict a, const uint16_t *restrict b, int n);
void native_mma_s8(int *restrict c, const int8_t *restrict a, const int8_t *restrict b, int n);
void native_attention(float *restrict out, const uint16_t *q, const uint16_t *k, const uint16_t *v, int length,
                      int heads);
void native_layernorm(float *restrict out, const float *restrict in, const float *restrict gain,
                      const float *restrict bias, int rows, int cols);
void native_topk(float *restrict value, int *restrict column, const float *restrict in, int rows);
void native_rope(float *restrict x, const int *position, int tokens, int heads);
void native_matvec_q4(float *restrict y, const uint8_t *restrict w, const int8_t *restrict x,
                      const float *restrict scale, int rows, int cols);

#endif
