/* cuFile's driver: how often it was opened, its properties and parameters. */
#include "api/cufile/cufile.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    VERSION = 1140, /* 1.14 */
    CONTROL_POLL = 1 << 0,
    CONTROL_COMPATIBLE = 1 << 1, /* without NVIDIA's kernel module */
    FEATURE_BATCH = 1 << 1,
    FEATURE_STREAMS = 1 << 2,
};

struct properties { /* CUfileDrvProps_t; sizes in KiB */
    unsigned major, minor;
    size_t poll_threshold, max_direct;
    unsigned status, control;
    unsigned features, max_cache, per_buffer_cache, max_pinned, max_batch, batch_timeout_ms;
};
_Static_assert(sizeof(struct properties) == 56, "as the ABI has it");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long long opened;
/* The defaults of NVIDIA's library, as its documentation of cufile.json gives them. */
static struct properties now = {.poll_threshold = 4,
                                .max_direct = 16384,
                                .control = CONTROL_COMPATIBLE,
                                .features = FEATURE_BATCH | FEATURE_STREAMS,
                                .max_cache = 131072,
                                .per_buffer_cache = 1024,
                                .max_pinned = 33554432,
                                .max_batch = 128};

void cufile_ensure_open(void)
{
    pthread_mutex_lock(&lock);
    opened += opened == 0;
    pthread_mutex_unlock(&lock);
}

unsigned long wrap_cuFileDriverOpen(void)
{
    pthread_mutex_lock(&lock);
    opened++;
    pthread_mutex_unlock(&lock);
    return CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileDriverClose_v2(void)
{
    pthread_mutex_lock(&lock);
    const bool was = opened > 0;
    opened -= was;
    pthread_mutex_unlock(&lock);
    return was ? CU_FILE_SUCCESS : cufile_error(CU_FILE_DRIVER_NOT_INITIALIZED);
}
unsigned long wrap_cuFileDriverClose(void) { return wrap_cuFileDriverClose_v2(); }

long long wrap_cuFileUseCount(void)
{
    pthread_mutex_lock(&lock);
    const long long n = opened;
    pthread_mutex_unlock(&lock);
    return n;
}

unsigned long wrap_cuFileGetVersion(int *version)
{
    if (!version)
        return cufile_error(CU_FILE_INVALID_VALUE);
    *version = VERSION;
    return CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileDriverGetProperties(void *out)
{
    if (!out)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    memcpy(out, &now, sizeof now);
    pthread_mutex_unlock(&lock);
    return CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileDriverSetPollMode(unsigned char poll, size_t threshold)
{
    pthread_mutex_lock(&lock);
    now.control = poll ? now.control | CONTROL_POLL : now.control & ~(unsigned)CONTROL_POLL;
    now.poll_threshold = threshold;
    pthread_mutex_unlock(&lock);
    return CU_FILE_SUCCESS;
}

/* Sizes of caches that do not exist: kept, told, without effect. */
static unsigned long set_size(size_t kib, unsigned *cache, size_t *direct)
{
    if (kib == 0 || kib > UINT32_MAX || kib % 4)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    if (cache)
        *cache = (unsigned)kib;
    if (direct)
        *direct = kib;
    pthread_mutex_unlock(&lock);
    return CU_FILE_SUCCESS;
}
unsigned long wrap_cuFileDriverSetMaxDirectIOSize(size_t kib) { return set_size(kib, NULL, &now.max_direct); }
unsigned long wrap_cuFileDriverSetMaxCacheSize(size_t kib) { return set_size(kib, &now.max_cache, NULL); }
unsigned long wrap_cuFileDriverSetMaxPinnedMemSize(size_t kib) { return set_size(kib, &now.max_pinned, NULL); }

/* ---- parameters: taken before the driver is opened, told at any time ---- */

enum { SIZES = 12, BOOLS = 12, STRINGS = 3, LONGEST = 256 };
static size_t size_parameter[SIZES] = {0, 128, 4, 8192, 4, 16384, 131072, 1024, 33554432, 128, 4, 0};
static unsigned char bool_parameter[BOOLS] = {[1] = 1 /* compatibility mode is allowed */};
static char string_parameter[STRINGS][LONGEST] = {"ERROR"};

unsigned long wrap_cuFileGetParameterSizeT(int parameter, size_t *value)
{
    if (parameter < 0 || parameter >= SIZES || !value)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    *value = size_parameter[parameter];
    pthread_mutex_unlock(&lock);
    return CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileGetParameterBool(int parameter, void *value)
{
    if (parameter < 0 || parameter >= BOOLS || !value)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    *(unsigned char *)value = bool_parameter[parameter];
    pthread_mutex_unlock(&lock);
    return CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileGetParameterString(int parameter, void *text, int size)
{
    if (parameter < 0 || parameter >= STRINGS || !text || size <= 0)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    const bool fits = strlen(string_parameter[parameter]) < (size_t)size;
    if (fits)
        strcpy(text, string_parameter[parameter]);
    pthread_mutex_unlock(&lock);
    return fits ? CU_FILE_SUCCESS : cufile_error(CU_FILE_INVALID_VALUE);
}

/* Lock held. */
static unsigned long may_set(bool valid)
{
    return !valid       ? cufile_error(CU_FILE_INVALID_VALUE)
           : opened > 0 ? cufile_error(CU_FILE_DRIVER_ALREADY_OPEN)
                        : CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileSetParameterSizeT(int parameter, size_t value)
{
    pthread_mutex_lock(&lock);
    const unsigned long err = may_set(parameter >= 0 && parameter < SIZES);
    if (!err)
        size_parameter[parameter] = value;
    pthread_mutex_unlock(&lock);
    return err;
}

unsigned long wrap_cuFileSetParameterBool(int parameter, unsigned char value)
{
    pthread_mutex_lock(&lock);
    const unsigned long err = may_set(parameter >= 0 && parameter < BOOLS);
    if (!err)
        bool_parameter[parameter] = value != 0;
    pthread_mutex_unlock(&lock);
    return err;
}

unsigned long wrap_cuFileSetParameterString(int parameter, const char *value)
{
    pthread_mutex_lock(&lock);
    const unsigned long err = may_set(parameter >= 0 && parameter < STRINGS && value && strlen(value) < LONGEST);
    if (!err)
        strcpy(string_parameter[parameter], value);
    pthread_mutex_unlock(&lock);
    return err;
}
