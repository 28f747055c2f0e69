/* What cuSOLVER's sparse functions share: handles, and matrices and vectors as the program hands them in. */
#ifndef CUMU_API_CUSOLVER_SP_H
#define CUMU_API_CUSOLVER_SP_H

#include "api/cusolver/sparse.h"

static inline bool cumu_sp_single(int type) { return type == S || type == C; }
static inline const struct cumu_sparse *cumu_sp_of(int type)
{
    return type == S || type == D ? &cumu_sparse_real : &cumu_sparse_complex;
}

/* A number of each type that is passed by value. */
static inline struct cumu_f16 cumu_sp_S(float x) { return (struct cumu_f16){{(double)x, 0}}; }
static inline struct cumu_f16 cumu_sp_D(double x) { return (struct cumu_f16){{x, 0}}; }
static inline struct cumu_f16 cumu_sp_C(struct cumu_f8 x)
{
    return (struct cumu_f16){{(double)x.at[0], (double)x.at[1]}};
}
static inline struct cumu_f16 cumu_sp_Z(struct cumu_f16 x) { return x; }

/* NOT_INITIALIZED for what is no handle. */
int cumu_sp_stream(void *h, musaStream_t *stream);

/* A program's matrix, on the host or the device. */
struct cumu_sp {
    void *h;
    int type, m, n, nnz;
    bool device;
    const void *descr, *val, *row, *col; /* val NULL: the pattern alone */
};
/* Type, sizes and the descriptor; not what the pointers point to. */
int cumu_sp_check(const struct cumu_sp *from, int *base);
/* As cumu_csr, to be freed. */
int cumu_sp_take(const struct cumu_sp *from, struct cumu_csr *out);
/* Rows and columns in a new order. */
int cumu_sp_permuted(const struct cumu_csr *a, const struct cumu_sparse *of, const int *order, struct cumu_csr *out);

/* Memory for the host's copy of n elements of `size`; NULL when there is none. */
void *cumu_sp_fetch(void *h, bool device, const void *from, size_t n, size_t size);
int cumu_sp_store(void *h, bool device, void *to, const void *from, size_t n, size_t size);
/* The same in the arithmetic's numbers. */
int cumu_sp_numbers(void *h, int type, bool device, const void *from, size_t n, void **out);
int cumu_sp_results(void *h, int type, bool device, void *to, const void *numbers, size_t n);

/* x = the answer to Ax = b, both of the program. */
int cumu_sp_solve(void *h, int type, bool device, const struct cumu_factor *f, int m, int n, const void *b, void *x);

#endif
