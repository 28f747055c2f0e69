/* Inside of the CPU muBLAS: what its files share. It stands on OpenBLAS and the exported MUSA functions.
 *
 * A call is checked on the caller's thread, copied, and run by a callback of the handle's stream. BLAS is
 * called by its Fortran names: there all four types of a function have the same parameters, so that one table
 * of four serves them. */
#ifndef CUMU_HOST_MUBLAS_H
#define CUMU_HOST_MUBLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/mublas.h"
#include "musa_enums.h"

enum { S, D, C, Z }; /* float, double, and complex of them */

union mublas_scalar {
    float s;
    double d, z[2], five[5]; /* five: the parameters of rotm */
    int i;
    mublas_half h;
};

/* One operand: a matrix with its leading dimension, or a vector with its increment. In a batch, `stride`
 * elements lie between two of them, or `at` is an array of their addresses. */
struct mublas_operand {
    const void *at;
    int ld;
    long long stride;
    int type; /* musaDataType_t, of the calls that name one */
};

struct mublas_call {
    void (*run)(const struct mublas_call *);
    const void *blas;            /* the Fortran function, for run */
    int type;                    /* S, D, C or Z */
    char t[2], side, uplo, diag; /* letters of BLAS */
    int m, n, k, kl, ku;
    struct mublas_operand a, b, c;
    const void *alpha_at, *beta_at; /* of device pointer mode, else NULL */
    union mublas_scalar alpha, beta;
    void *result; /* or another output */
    int *ints, *info;
    int batch;
    bool pointers; /* a, b, c are arrays of addresses */
    int compute;   /* mublasComputeType_t */
    size_t alpha_size, beta_size;
};

static inline const void *mublas_alpha(const struct mublas_call *c) { return c->alpha_at ? c->alpha_at : &c->alpha; }
static inline const void *mublas_beta(const struct mublas_call *c) { return c->beta_at ? c->beta_at : &c->beta; }
/* A product's work for maths_submit: OpenBLAS does 32 multiplications while memory brings an element. */
static inline double mublas_product(int type, double m, double n, double k)
{
    return (type < C ? 0.25 : 1.0) * m * n * k + 8 * (m * n + m * k + k * n);
}
static inline size_t mublas_size(int type)
{
    static const unsigned char size[] = {4, 8, 8, 16};
    return size[type];
}
static inline void *mublas_out(const struct mublas_operand *o)
{
    union {
        const void *in;
        void *out;
    } u = {o->at};
    return u.out;
}

/* Letters of BLAS; 0 for values that are none. */
char mublas_op(mublasOperation_t op);
char mublas_fill(mublasFillMode_t uplo);
char mublas_diag(mublasDiagType_t diag);
char mublas_side(mublasSideMode_t side);

bool mublas_live(mublasHandle_t h);
musaStream_t mublas_stream(mublasHandle_t h);
bool mublas_on_device(mublasHandle_t h); /* scalars and results lie there */

/* Reads or notes the scalars (NULL: none), each of `size` bytes. INVALID_POINTER if one is missing. */
mublasStatus_t mublas_scalars(mublasHandle_t h, struct mublas_call *c, const void *alpha, size_t alpha_size,
                              const void *beta, size_t beta_size);
/* Puts the call on the stream. `work` is a rough number of operations, an element that memory has to bring counted
 * as eight: little of it on an idle stream is done at once. */
mublasStatus_t mublas_submit(mublasHandle_t h, const struct mublas_call *c, double work);
/* The same; waits for it in host pointer mode, where a result is ready when the function returns. */
mublasStatus_t mublas_submit_result(mublasHandle_t h, const struct mublas_call *c, double work);

/* Runs `one` for each member of the batch. */
void mublas_each(const struct mublas_call *c, const size_t size[3], void (*one)(const struct mublas_call *));

#define MUBLAS_LIVE(h) \
    do { \
        if (!mublas_live(h)) \
            return MUBLAS_STATUS_INVALID_HANDLE; \
    } while (0)

/* A Fortran function of each type, with the same parameters. */
#define MUBLAS_FORTRAN(name, ...) \
    void s##name##_(__VA_ARGS__), d##name##_(__VA_ARGS__), c##name##_(__VA_ARGS__), z##name##_(__VA_ARGS__); \
    static void (*const name[])(__VA_ARGS__) = {s##name##_, d##name##_, c##name##_, z##name##_}

#endif
