/* cuSPARSE's SpMV on an SDK of the older shape (older_sdk.c): each call arrives in it, and none of the errors that the
 * SDK leaves behind is seen. */
#include <dlfcn.h>
#include <stdint.h>
#include "../check.h"

#include "older.h"
#include "cuda_functions.h"

int main(void)
{
    void *handle, *a, *x, *y, *sdk = dlopen("libmusparse.so", RTLD_NOW | RTLD_NOLOAD);
    float alpha = 1, beta = 0, values[2], buffer;
    int index[2];
    size_t size = 0;
    EXPECT(cusparseCreate(&handle) == 0, "a handle");
    sdk = sdk ? sdk : dlopen("libmusparse.so", RTLD_NOW | RTLD_NOLOAD);
    struct seen *seen = sdk ? (struct seen *)dlsym(sdk, "older_seen") : NULL;
    EXPECT(seen != NULL, "the library below is the test's");
    if (!seen)
        return 1;
    EXPECT(cusparseCreateCsr(&a, 1, 1, 1, index, index, values, 2, 2, 0, 0) == 0, "a matrix");
    EXPECT(cusparseCreateDnVec(&x, 1, &values[0], 0) == 0 && cusparseCreateDnVec(&y, 1, &values[1], 0) == 0, "vectors");
    EXPECT(cudaGetLastError() == 0, "no error of the library's own is seen after objects were made");
#define ARRIVED(b) \
    (seen->handle && seen->op == 112 && seen->alpha == &alpha && seen->matrix && seen->x == &values[0] && \
     seen->beta == &beta && seen->y == &values[1] && seen->compute == 1 && seen->alg == 0 && seen->size && \
     seen->buffer == (b))
    EXPECT(cusparseSpMV_bufferSize(handle, 1, &alpha, a, x, &beta, y, 1, 2, &size) == 0 && seen->calls == 1 &&
               ARRIVED(NULL) && size == 1234,
           "a query has no buffer, and its size comes back");
    EXPECT(cusparseSpMV(handle, 1, &alpha, a, x, &beta, y, 1, 2, &buffer) == 0 && seen->calls == 2 && ARRIVED(&buffer),
           "the product has the program's buffer");
    EXPECT(cusparseSpMV(handle, 1, &alpha, a, x, &beta, y, 1, 2, NULL) == 0 && seen->calls == 3 && seen->buffer,
           "a product without a buffer is no query");
    EXPECT(cudaGetLastError() == 0, "no error of the library's own is seen after a product");
    EXPECT(cudaSetDevice(99) == 101, "an error of the program's");
    cusparseSpMV(handle, 1, &alpha, a, x, &beta, y, 1, 2, &buffer);
    EXPECT(cudaGetLastError() == 101 && cudaGetLastError() == 0, "the program's own error stays");
    EXPECT(cusparseDestroySpMat(a) == 0 && cusparseDestroy(handle) == 0, "objects go");
    return check_end("an SDK of the older shape gets its form of SpMV, and its errors are not seen");
}
