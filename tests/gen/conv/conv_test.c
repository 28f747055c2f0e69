/* Generated conversions at work: values in, status out, unknown ones, structs and handles untouched. */
#include "conv.h"
#include "core/log.h"
#include "mu.h"
#include "../../check.h"

#include <stdio.h>
#include <string.h>

static int said, op_seen, status = 0;
static musaExtent extent_seen;
static void *pointer_seen, *stream_seen, *library_seen;

bool cumu_log_on(enum cumu_level level, const char *channel) { return level == CUMU_GAP && !strcmp(channel, "conv"); }

void cumu_log(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
              const char *format, ...)
{
    (void)site, (void)level, (void)channel, (void)symbol, (void)format;
    said++;
}

static int gemm(void *library, int op, double d, musaExtent extent, int *ops, struct MUstream_st *stream)
{
    library_seen = library;
    op_seen = d == 2.5 ? op : -1;
    extent_seen = extent;
    pointer_seen = ops;
    stream_seen = stream;
    return status;
}

static void nothing(int op) { op_seen = op; }

/* What the older form leans on. */
static int kept;
void *cumu_toy_handle(void) { return &kept; }
void cumu_toy_done(const char *symbol, int code) { kept = strcmp(symbol, "toyOlder") ? -1 : code; }
int cumu_toyOp_of(char letter) { return letter == 'T'; }
int cumu_toyStatus_of(char letter) { return letter; }
int cumu_cudaError_of(char letter) { return letter; }

static int newer(void *handle, int op, const void *scalar, int n, int *out)
{
    op_seen = handle == &kept && *(const double *)scalar == 1.5 ? op : -1;
    *out = n + 1;
    return status;
}

struct cumu_mu mu = {.muGemm = gemm, .muVoid = nothing, .muNewer = newer};

int main(void)
{
    struct cumu_s24 extent = {{11, 22, 33}};
    int ops[2] = {1, 1};
    CUlibrary library = (CUlibrary)&said;
    struct CUstream_st *stream = (struct CUstream_st *)&status;
    check(conv_toyGemm(library, 1, 2.5, extent, ops, stream) == 0 && op_seen == 112, "value in");
    check(extent_seen.width == 11 && extent_seen.height == 22 && extent_seen.depth == 33, "struct by value");
    check(pointer_seen == ops && ops[0] == 1, "pointer to values stays the caller's");
    check(library_seen == library && stream_seen == (void *)stream, "handles");
    status = 5;
    check(conv_toyGemm(library, 0, 2.5, extent, ops, stream) == 3 && op_seen == 111 && !said, "status out");
    conv_toyVoid(9);
    check(op_seen == 111 && said == 1, "a value without a peer becomes the default and is said");
    status = 77;
    check(conv_toyGemm(library, 0, 2.5, extent, ops, stream) == 14 && said == 2, "unknown status");
    conv_toyGemm(library, 0, 2.5, extent, ops, stream);
    check(said == 2, "is said once");
    status = 78;
    check(conv_toyGemm(library, 0, 2.5, extent, ops, stream) == 14 && said == 3, "and each by its number");
    status = 5;
    check(conv_toyOlder('T', 1.5, 40) == 41 && op_seen == 112 && kept == 3, "the form of an older interface");
    return check_end("gen/conv");
}
