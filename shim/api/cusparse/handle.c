/* cuSPARSE: what it tells of itself, and its logger. */
#include <stdio.h>

#include "api/cusparse/spmat.h"
#include "api/release.h"

#include "abi/text.h"
#include "cuda_texts.h"

/* Library releases that the facades stand for: CUDA 11.8's and 13.5's. */
static const struct cumu_release releases[] = {{11, 7, 5}, {12, 9, 4}};
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

static const struct cumu_text statuses[] = {CUMU_TEXTS_cusparseStatus_t};

const char *wrap_cusparseGetErrorName(int status)
{
    const struct cumu_text *s = CUMU_TEXT_FIND(statuses, status);
    return s ? s->name : "unrecognized error code";
}

const char *wrap_cusparseGetErrorString(int status)
{
    const struct cumu_text *s = CUMU_TEXT_FIND(statuses, status);
    return s ? s->text : "unrecognized error code";
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
