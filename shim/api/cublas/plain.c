/* cuBLAS's interface of CUDA 3: one handle for the process, made by cublasInit; an error that waits to be read. Most
 * of its functions are generated (`conv NAME > NAME_v2` of the map) and come here for the handle, the letters and the
 * error. */
#include <stdatomic.h>

#include "api/api.h"
#include "api/cublas/release.h"

#include "conv.h"
#include "cuda_enums.h"
#include "wraps.h"

static _Atomic(void *) handle;
static atomic_int last;

void *cumu_cublas_handle(void);
void cumu_cublas_done(const char *symbol, int status);
int cumu_cublasOperation_t_of(char letter);
int cumu_cublasFillMode_t_of(char letter);
int cumu_cublasDiagType_t_of(char letter);
int cumu_cublasSideMode_t_of(char letter);

void *cumu_cublas_handle(void) { return handle; }

void cumu_cublas_done(const char *symbol, int status)
{
    if (!status)
        return;
    cumu_debug("cublas", symbol, "status %d", status);
    last = status;
}

/* As BLAS takes them; what is none becomes a value that is refused. */
static int letter_of(char letter, const char *letters)
{
    for (int i = 0; letters[i]; i++)
        if (letters[i] == (letter & ~0x20))
            return i;
    return 99;
}
int cumu_cublasOperation_t_of(char letter) { return letter_of(letter, "NTC"); }
int cumu_cublasFillMode_t_of(char letter) { return letter_of(letter, "LU"); }
int cumu_cublasDiagType_t_of(char letter) { return letter_of(letter, "NU"); }
int cumu_cublasSideMode_t_of(char letter) { return letter_of(letter, "LR"); }

int wrap_cublasInit(void)
{
    void *made, *none = NULL;
    if (handle)
        return CUBLAS_STATUS_SUCCESS;
    int r = conv_cublasCreate_v2(&made);
    if (!r && !atomic_compare_exchange_strong(&handle, &none, made))
        wrap_cublasDestroy_v2(made);
    return r;
}

int wrap_cublasShutdown(void)
{
    void *was = atomic_exchange(&handle, NULL);
    return was ? wrap_cublasDestroy_v2(was) : CUBLAS_STATUS_NOT_INITIALIZED;
}

int wrap_cublasGetError(void) { return atomic_exchange(&last, CUBLAS_STATUS_SUCCESS); }

int wrap_cublasAlloc(int n, int size, void *to)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (n <= 0 || size <= 0 || !to)
        return CUBLAS_STATUS_INVALID_VALUE;
    return mu.musaMalloc(to, (size_t)n * (size_t)size) ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

int wrap_cublasFree(void *at)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return mu.musaFree(at) ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

int wrap_cublasSetKernelStream(cudaStream_t stream) { return conv_cublasSetStream_v2(handle, stream); }

static int tell(void *out, int release)
{
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *(int *)out = cumu_cublas_version(release);
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasGetVersion_v11(void *out) { return tell(out, V11); }
int wrap_cublasGetVersion_v12(void *out) { return tell(out, V12); }
int wrap_cublasGetVersion(void *out) { return tell(out, V13); }

/* In place, where the newer function has a third matrix. */
#define TRMM(X, T) \
    void wrap_cublas##X##trmm(char side, char uplo, char op, char diag, int m, int n, T alpha, const void *a, int lda, \
                              void *b, int ldb) \
    { \
        cumu_cublas_done("cublas" #X "trmm", \
                         conv_cublas##X##trmm_v2(handle, cumu_cublasSideMode_t_of(side), \
                                                 cumu_cublasFillMode_t_of(uplo), cumu_cublasOperation_t_of(op), \
                                                 cumu_cublasDiagType_t_of(diag), m, n, &alpha, a, lda, b, ldb, b, \
                                                 ldb)); \
    }
TRMM(S, float)
TRMM(D, double)
TRMM(C, struct cumu_f8)
TRMM(Z, struct cumu_f16)
