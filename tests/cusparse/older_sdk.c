/* A muSPARSE as SDK 3.1 has it, as far as a product with a vector needs it: SpMV has one argument more and no
 * _bufferSize beside it. What arrives is kept for older.c; every call leaves an error of its own launches behind. */
#include <stddef.h>
#include <stdint.h>

#include "older.h"

extern int musaSetDevice(int);
static int leave(void)
{
    musaSetDevice(12345);
    return 0;
}

struct seen older_seen;
static int object[3];

int musparseCreate(void **handle)
{
    *handle = &object[0];
    return leave();
}
int musparseDestroy(void *handle)
{
    (void)handle;
    return leave();
}
int musparseCreateCsr(void **a, int64_t rows, int64_t cols, int64_t nnz, void *ptr, void *ind, void *val, int otype,
                      int itype, int base, int type)
{
    (void)rows, (void)cols, (void)nnz, (void)ptr, (void)ind, (void)val;
    (void)otype, (void)itype, (void)base, (void)type;
    *a = &object[1];
    return leave();
}
int musparseDestroySpMat(const void *a)
{
    (void)a;
    return leave();
}
int musparseCreateDnVec(void **x, int64_t n, void *values, int type)
{
    (void)n, (void)type;
    *x = values; /* as good as any address */
    return leave();
}
int musparseDestroyDnVec(const void *x)
{
    (void)x;
    return leave();
}
int musparseSpMV(void *h, int op, const void *alpha, const void *a, const void *x, const void *beta, void *y,
                 int compute, int alg, size_t *size, void *buffer)
{
    older_seen = (struct seen){
        older_seen.calls + 1, h == &object[0], op, alpha, a == &object[1], x, beta, y, compute, alg, size, buffer};
    if (!buffer)
        *size = 1234;
    return leave();
}
