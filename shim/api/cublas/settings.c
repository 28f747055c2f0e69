/* What a cuBLAS handle keeps and muBLAS has no place for: wishes that change speed, the precision of emulated
 * arithmetic, which muBLAS computes as it is (set and told back, away from every product), and constants. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/cublas/blas.h"
#include "api/cublas/half.h"
#include "kernel/graph.h"

#include "wraps.h"

enum setting { PROCESSORS, STRATEGY, SPECIAL, CONTROL, MOST_BITS, BIT_OFFSET, EMULATED_MATH, SETTINGS };
struct kept {
    struct kept *next;
    void *handle, *bits;
    struct cublas_constants *constants; /* on the device */
    int value[SETTINGS];
};
static const struct kept fresh = {.value = {[SPECIAL] = 0xffff}};
static struct kept *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held; NULL: none, and none could be made. */
static struct kept *find(void *handle, bool make)
{
    struct kept *k = all;
    while (k && k->handle != handle)
        k = k->next;
    if (k || !make || !(k = malloc(sizeof *k)))
        return k;
    *k = fresh;
    k->handle = handle;
    k->next = all;
    return all = k;
}

static int set(void *handle, enum setting which, int value, int least)
{
    int r = cublas_live(handle);
    if (r || value < least)
        return r ? r : CUBLAS_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct kept *k = find(handle, true);
    if (k)
        k->value[which] = value;
    pthread_mutex_unlock(&lock);
    return k ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static int get(void *handle, enum setting which, void *out)
{
    int r = cublas_live(handle);
    if (r || !out)
        return r ? r : CUBLAS_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    const struct kept *k = find(handle, false);
    *(int *)out = (k ? k : &fresh)->value[which];
    pthread_mutex_unlock(&lock);
    return CUBLAS_STATUS_SUCCESS;
}

/* On a stream of its own: the call that asks first may be one that the program captures. */
static void *new_constants(void)
{
    static const struct cublas_constants values = {.f16 = 0x3c00, .bf16 = 0x3f80, .one = 1};
    int mode = cumu_capture_relax();
    musaStream_t s = NULL;
    void *at = NULL;
    if (!mu.musaMalloc(&at, sizeof values)) {
        int r = mu.musaStreamCreateWithFlags(&s, musaStreamNonBlocking);
        if (!r)
            r = mu.musaMemcpyAsync(at, &values, sizeof values, musaMemcpyHostToDevice, s);
        if (!r)
            r = mu.musaStreamSynchronize(s);
        if (s)
            (void)mu.musaStreamDestroy(s);
        if (r) {
            (void)mu.musaFree(at);
            at = NULL;
        }
    }
    cumu_capture_restore(mode);
    return at;
}

struct cublas_constants *cublas_constants(void *handle)
{
    pthread_mutex_lock(&lock);
    struct kept *k = find(handle, true);
    if (k && !k->constants)
        k->constants = new_constants();
    struct cublas_constants *found = k ? k->constants : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

int wrap_cublasDestroy_v2(void *handle)
{
    cumu_finish_work();
    pthread_mutex_lock(&lock);
    for (struct kept **k = &all; *k; k = &(*k)->next)
        if ((*k)->handle == handle) {
            struct kept *gone = *k;
            *k = gone->next;
            if (gone->constants)
                (void)mu.musaFree(gone->constants);
            free(gone);
            break;
        }
    pthread_mutex_unlock(&lock);
    return CUBLAS(mu.mublasDestroy(handle));
}

#define SETTING(name, which, least) \
    int wrap_cublasSet##name(void *handle, int value) { return set(handle, which, value, least); } \
    int wrap_cublasGet##name(void *handle, void *out) { return get(handle, which, out); }
SETTING(SmCountTarget, PROCESSORS, 0)
SETTING(EmulationStrategy, STRATEGY, 0)
SETTING(EmulationSpecialValuesSupport, SPECIAL, 0)
SETTING(FixedPointEmulationMantissaControl, CONTROL, 0)
SETTING(FixedPointEmulationMaxMantissaBitCount, MOST_BITS, 0)
SETTING(FixedPointEmulationMantissaBitOffset, BIT_OFFSET, -1024)

/* That f32 or f64 may be emulated is kept, muBLAS gets the rest. Programs set the mode around each product: most never
 * ask for emulation and take no lock. */
enum { EMULATED = CUBLAS_FP32_EMULATED_BF16X9_MATH | CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH };
static atomic_bool emulated;
int wrap_cublasSetMathMode(void *handle, int mode)
{
    int r = CUBLAS(mu.mublasSetMathMode(handle, mode & ~EMULATED));
    if (r || (!(mode & EMULATED) && !emulated))
        return r;
    emulated = true;
    return set(handle, EMULATED_MATH, mode & EMULATED, 0);
}
int wrap_cublasGetMathMode(void *handle, int *mode)
{
    int kept = 0, r = CUBLAS(mu.mublasGetMathMode(handle, mode));
    if (!r && emulated && !(r = get(handle, EMULATED_MATH, &kept)))
        *mode |= kept;
    return r;
}

/* Where the bits that a product kept would be written: none are dropped, nothing is. */
int wrap_cublasSetFixedPointEmulationMantissaBitCountPointer(void *handle, void *bits)
{
    int r = cublas_live(handle);
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    struct kept *k = find(handle, true);
    if (k)
        k->bits = bits;
    pthread_mutex_unlock(&lock);
    return k ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
int wrap_cublasGetFixedPointEmulationMantissaBitCountPointer(void *handle, void *out)
{
    int r = cublas_live(handle);
    if (r || !out)
        return r ? r : CUBLAS_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    const struct kept *k = find(handle, false);
    *(void **)out = k ? k->bits : NULL;
    pthread_mutex_unlock(&lock);
    return CUBLAS_STATUS_SUCCESS;
}

/* muBLAS writes no log of its own; cumu's names what is missing. */
static void *_Atomic callback;
int wrap_cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char *file)
{
    (void)on, (void)to_stdout, (void)to_stderr, (void)file;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasSetLoggerCallback(void *function)
{
    callback = function;
    return CUBLAS_STATUS_SUCCESS;
}
int wrap_cublasGetLoggerCallback(void *out)
{
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *(void **)out = callback;
    return CUBLAS_STATUS_SUCCESS;
}
