/* cuBLAS: what it tells of itself, and workspaces. */
#include "api/cublas/blas.h"
#include "api/cublas/release.h"

#include "abi/text.h"
#include "cuda_texts.h"

static int version(void *out, int release)
{
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *(int *)out = cumu_cublas_version(release);
    return CUBLAS_STATUS_SUCCESS;
}

int wrap_cublasGetVersion_v2_v11(void *handle, void *out) { return (void)handle, version(out, V11); }
int wrap_cublasGetVersion_v2_v12(void *handle, void *out) { return (void)handle, version(out, V12); }
int wrap_cublasGetVersion_v2(void *handle, void *out) { return (void)handle, version(out, V13); }

static int property(int which, void *out, int release)
{
    return cumu_release_property(cumu_cublas_releases[release].library, which, out) ? CUBLAS_STATUS_SUCCESS
                                                                                    : CUBLAS_STATUS_INVALID_VALUE;
}

int wrap_cublasGetProperty_v11(int which, void *out) { return property(which, out, V11); }
int wrap_cublasGetProperty_v12(int which, void *out) { return property(which, out, V12); }
int wrap_cublasGetProperty(int which, void *out) { return property(which, out, V13); }

size_t wrap_cublasGetCudartVersion_v11(void) { return (size_t)cumu_cublas_releases[V11].cudart; }
size_t wrap_cublasGetCudartVersion_v12(void) { return (size_t)cumu_cublas_releases[V12].cudart; }
size_t wrap_cublasGetCudartVersion(void) { return (size_t)cumu_cublas_releases[V13].cudart; }

static const struct cumu_text statuses[] = {CUMU_TEXTS_cublasStatus_t};

const char *wrap_cublasGetStatusName(int status)
{
    const struct cumu_text *s = CUMU_TEXT_FIND(statuses, status);
    return s ? s->name : "unknown cublasStatus_t";
}

const char *wrap_cublasGetStatusString(int status)
{
    const struct cumu_text *s = CUMU_TEXT_FIND(statuses, status);
    return s ? s->text : "unknown cublasStatus_t";
}

/* muBLAS keeps its workspace to itself; a program's own is only checked. */
int wrap_cublasSetWorkspace_v2(void *handle, void *workspace, size_t size)
{
    int r = cublas_live(handle);
    if (r)
        return r;
    bool bad = (size_t)workspace % 256 || (size && !workspace);
    return bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

/* A 64-bit result: the low half is muBLAS's int, which is never negative; the high half is zero. */
typedef mublasStatus_t index_function(mublasHandle_t, int, const void *, int, int *);

static int find_index(index_function *find, void *handle, long n, const void *x, long incx, void *result)
{
    mublasPointerMode_t mode;
    int narrow = 0;
    if (n != (int)n || incx != (int)incx) {
        cumu_gap("cublas", "cublasI..am.._64", "a size above 2147483647");
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    int r = cublas_mode(handle, &mode);
    if (r)
        return r;
    if (!result)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (mode == MUBLAS_POINTER_MODE_HOST) {
        r = CUBLAS(find(handle, (int)n, x, (int)incx, &narrow));
        if (!r)
            *(long *)result = narrow;
        return r;
    }
    musaStream_t stream;
    if (mu.mublasGetStream(handle, &stream) || mu.musaMemsetAsync(result, 0, sizeof(long), stream))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    return CUBLAS(find(handle, (int)n, x, (int)incx, result));
}

#define INDEX(name, T) \
    static mublasStatus_t call_##name(mublasHandle_t h, int n, const void *x, int incx, int *result) \
    { \
        return mu.mublas##name(h, n, (const T *)x, incx, result); \
    } \
    int wrap_cublas##name##_v2_64(void *handle, long n, const void *x, long incx, void *result) \
    { \
        return find_index(call_##name, handle, n, x, incx, result); \
    }
INDEX(Isamax, float)
INDEX(Idamax, double)
INDEX(Icamax, muComplex)
INDEX(Izamax, muDoubleComplex)
INDEX(Isamin, float)
INDEX(Idamin, double)
INDEX(Icamin, muComplex)
INDEX(Izamin, muDoubleComplex)
