/* cuSPARSE's SpMV on an SDK of the older shape (older_sdk.c): each call arrives in it, and none of the errors that the
 * SDK leaves behind is seen. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "older.h"

extern int cusparseCreate(void **), cusparseDestroy(void *), cusparseDestroySpMat(const void *);
extern int cusparseCreateCsr(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
extern int cusparseCreateDnVec(void **, int64_t, void *, int);
extern int cusparseSpMV_bufferSize(void *, int, const void *, const void *, const void *, const void *, void *, int,
                                   int, size_t *);
extern int cusparseSpMV(void *, int, const void *, const void *, const void *, const void *, void *, int, int, void *);
extern int cudaGetLastError(void), cudaSetDevice(int);

static int failed;
static void check(int good, const char *what)
{
    if (!good)
        printf("not ok an SDK of the older shape: %s\n", what);
    failed |= !good;
}

int main(void)
{
    void *handle, *a, *x, *y, *sdk = dlopen("libmusparse.so", RTLD_NOW | RTLD_NOLOAD);
    float alpha = 1, beta = 0, values[2], buffer;
    int index[2];
    size_t size = 0;
    check(cusparseCreate(&handle) == 0, "a handle");
    sdk = sdk ? sdk : dlopen("libmusparse.so", RTLD_NOW | RTLD_NOLOAD);
    struct seen *seen = sdk ? (struct seen *)dlsym(sdk, "older_seen") : NULL;
    check(seen != NULL, "the library below is the test's");
    if (!seen)
        return 1;
    check(cusparseCreateCsr(&a, 1, 1, 1, index, index, values, 2, 2, 0, 0) == 0, "a matrix");
    check(cusparseCreateDnVec(&x, 1, &values[0], 0) == 0 && cusparseCreateDnVec(&y, 1, &values[1], 0) == 0, "vectors");
    check(cudaGetLastError() == 0, "no error of the library's own is seen after objects were made");
#define ARRIVED(b) \
    (seen->handle && seen->op == 112 && seen->alpha == &alpha && seen->matrix && seen->x == &values[0] && \
     seen->beta == &beta && seen->y == &values[1] && seen->compute == 1 && seen->alg == 0 && seen->size && \
     seen->buffer == (b))
    check(cusparseSpMV_bufferSize(handle, 1, &alpha, a, x, &beta, y, 1, 2, &size) == 0 && seen->calls == 1 &&
              ARRIVED(NULL) && size == 1234,
          "a query has no buffer, and its size comes back");
    check(cusparseSpMV(handle, 1, &alpha, a, x, &beta, y, 1, 2, &buffer) == 0 && seen->calls == 2 && ARRIVED(&buffer),
          "the product has the program's buffer");
    check(cusparseSpMV(handle, 1, &alpha, a, x, &beta, y, 1, 2, NULL) == 0 && seen->calls == 3 && seen->buffer,
          "a product without a buffer is no query");
    check(cudaGetLastError() == 0, "no error of the library's own is seen after a product");
    check(cudaSetDevice(99) == 101, "an error of the program's");
    cusparseSpMV(handle, 1, &alpha, a, x, &beta, y, 1, 2, &buffer);
    check(cudaGetLastError() == 101 && cudaGetLastError() == 0, "the program's own error stays");
    check(cusparseDestroySpMat(a) == 0 && cusparseDestroy(handle) == 0, "objects go");
    if (!failed)
        printf("ok an SDK of the older shape gets its form of SpMV, and its errors are not seen\n");
    return failed;
}
