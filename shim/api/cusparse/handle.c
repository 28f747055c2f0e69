/* cuSPARSE: what it tells of itself, and its logger. */
#include <stdio.h>

#include "api/cusparse/spmat.h"
#include "api/release.h"

/* Library releases that the facades stand for: CUDA 11.8's and 13.0's. */
static const struct cumu_release releases[] = {{11, 7, 5}, {12, 6, 3}};
enum { V11, V12 };

static int version(void *handle, void *out, int release)
{
    int below;
    int r = CUSPARSE(mu.musparseGetVersion(handle, &below)); /* muSPARSE knows whether a handle is one */
    if (r)
        return r;
    CUSPARSE_CHECK(out);
    struct cumu_release l = releases[release];
    *(int *)out = l.major * 1000 + l.minor * 100 + l.patch;
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseGetVersion_v11(void *handle, void *out) { return version(handle, out, V11); }
int wrap_cusparseGetVersion(void *handle, void *out) { return version(handle, out, V12); }

static int property(int which, void *out, int release)
{
    return cumu_release_property(releases[release], which, out) ? CUSPARSE_STATUS_SUCCESS
                                                                : CUSPARSE_STATUS_INVALID_VALUE;
}
int wrap_cusparseGetProperty_v11(int which, void *out) { return property(which, out, V11); }
int wrap_cusparseGetProperty(int which, void *out) { return property(which, out, V12); }

static const struct {
    const char *name, *text;
} statuses[] = {
    [CUSPARSE_STATUS_SUCCESS] = {"CUSPARSE_STATUS_SUCCESS", "success"},
    [CUSPARSE_STATUS_NOT_INITIALIZED] = {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    [CUSPARSE_STATUS_ALLOC_FAILED] = {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    [CUSPARSE_STATUS_INVALID_VALUE] = {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    [CUSPARSE_STATUS_ARCH_MISMATCH] = {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    [CUSPARSE_STATUS_MAPPING_ERROR] = {"CUSPARSE_STATUS_MAPPING_ERROR", "texture mapping error"},
    [CUSPARSE_STATUS_EXECUTION_FAILED] = {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    [CUSPARSE_STATUS_INTERNAL_ERROR] = {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    [CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED] = {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                                   "matrix type not supported"},
    [CUSPARSE_STATUS_ZERO_PIVOT] = {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    [CUSPARSE_STATUS_NOT_SUPPORTED] = {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    [CUSPARSE_STATUS_INSUFFICIENT_RESOURCES] = {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};
static bool known(int status) { return status >= 0 && status < (int)(sizeof statuses / sizeof *statuses); }
const char *wrap_cusparseGetErrorName(int status)
{
    return known(status) ? statuses[status].name : "unrecognized error code";
}
const char *wrap_cusparseGetErrorString(int status)
{
    return known(status) ? statuses[status].text : "unrecognized error code";
}

/* cumu has a log of its own (CUMU_LOG): what is asked of cuSPARSE's is taken and nothing is written to it. */
int wrap_cusparseLoggerSetCallback(void *callback)
{
    (void)callback;
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLoggerSetFile(void *file)
{
    (void)file;
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLoggerOpenFile(const void *path)
{
    CUSPARSE_CHECK(path);
    FILE *f = fopen(path, "w"); /* a file that cannot be opened is an error, as there */
    CUSPARSE_CHECK(f);
    fclose(f);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLoggerSetLevel(int level)
{
    CUSPARSE_CHECK(level >= 0 && level <= 5);
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLoggerSetMask(int mask)
{
    (void)mask;
    return CUSPARSE_STATUS_SUCCESS;
}
int wrap_cusparseLoggerForceDisable(void) { return CUSPARSE_STATUS_SUCCESS; }
