/* cuSPARSELt with one thing wrong, made of right calls: each argument is nothing, noise, of another kind, gone, or
 * at an odd address; attributes of every name, size and drawn value, whose sizes must be arithmetic's. What is wrong
 * has an error and writes nothing, nothing is written behind any memory, and the right product is right behind all of
 * it. */
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "../xorshift.h"
#include "cuda_functions.h"

enum { R32F = 0, R16F = 2, ROW = 2, N = 32, GUARD = 64, INVALID = 3, UNSUPPORTED = 10, UNINITIALIZED = 1 };
typedef struct {
    _Alignas(16) char data[512];
} opaque;
static opaque lt, a, b, c, matmul, choice, plan, gone, none;
static uint64_t seed = 18;
static unsigned upto(unsigned n) { return (unsigned)(xorshift(&seed) % n); }

enum { A, B, C, D, PACKED, VALID, MEMORY };
static char *at[MEMORY];
static size_t size[MEMORY] = {N * N * 2, N *N * 2, N *N * 2, N *N * 2, 0, 4};
static char before[MEMORY][N * N * 2 + GUARD];

static void note(void)
{
    for (int i = 0; i < MEMORY; i++)
        OK(cudaMemcpy(before[i], at[i], size[i] + GUARD, 2));
}
static void unchanged(const char *what)
{
    char now[N * N * 2 + GUARD];
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < MEMORY; i++) {
        OK(cudaMemcpy(now, at[i], size[i] + GUARD, 2));
        EXPECT(!memcmp(now, before[i], size[i] + GUARD), "%s: memory %d was written", what, i);
    }
}
static void guarded(void)
{
    char now[GUARD];
    for (int i = 0; i < MEMORY; i++) {
        OK(cudaMemcpy(now, at[i] + size[i], GUARD, 2));
        for (int k = 0; k < GUARD; k++)
            EXPECT(now[k] == 0x5a, "written behind memory %d", i);
    }
}
static void refused(int r, const char *what, int i)
{
    EXPECT(r == INVALID || r == UNSUPPORTED || r == UNINITIALIZED, "%s, %d: %d", what, i, r);
    unchanged(what);
}

/* ---- calls, by their arguments ----------------------------------------------------------------- */

static const float one = 1;
enum { ARGS = 9 };
static void *arg[ARGS];
struct call {
    const char *name;
    int n;
    int (*run)(void);
    struct {
        void *p;
        int unit; /* 0: an object; 1: any address; else addresses are its multiples */
    } arg[ARGS];
};
static int run_prune(void) { return cusparseLtSpMMAPrune(arg[0], arg[1], arg[2], arg[3], 0, NULL); }
static int run_prune2(void) { return cusparseLtSpMMAPrune2(arg[0], arg[1], 1, 0, arg[2], arg[3], 1, NULL); }
static int run_check(void) { return cusparseLtSpMMAPruneCheck(arg[0], arg[1], arg[2], arg[3], NULL); }
static int run_check2(void) { return cusparseLtSpMMAPruneCheck2(arg[0], arg[1], 1, 0, arg[2], arg[3], NULL); }
static int run_compress(void) { return cusparseLtSpMMACompress(arg[0], arg[1], arg[2], arg[3], NULL, NULL); }
static int run_compress2(void) { return cusparseLtSpMMACompress2(arg[0], arg[1], 1, 0, arg[2], arg[3], NULL, NULL); }
static int run_matmul(void)
{
    return cusparseLtMatmul(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6], arg[7], NULL, NULL, 0);
}
static int run_search(void)
{
    return cusparseLtMatmulSearch(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6], arg[7], NULL, NULL, 0);
}

static void one_wrong(const struct call *k)
{
    static const long long noise[64] = {0x1234567812345678, -1, 77};
    for (int i = 0; i < k->n; i++)
        arg[i] = k->arg[i].p;
    int r = k->run();
    EXPECT(!r, "%s: %d", k->name, r);
    OK(cudaDeviceSynchronize());
    guarded();
    note();
    for (int i = 0; i < k->n; i++) {
        void *const right = arg[i];
        arg[i] = NULL;
        refused(k->run(), k->name, i);
        if (k->arg[i].unit == 0) {
            void *const wrong[] = {(void *)noise, &none, &gone, i ? &lt : &matmul, &choice};
            for (int w = 0; w < 5; w++) {
                arg[i] = wrong[w];
                refused(k->run(), k->name, 10 * i + w);
            }
        } else if (k->arg[i].unit > 1) {
            arg[i] = (char *)right + 1;
            refused(k->run(), "an odd address", i);
        }
        arg[i] = right;
    }
}

/* ---- attributes -------------------------------------------------------------------------------- */

static int64_t any(void)
{
    static const int64_t odd[] = {0,         -1,        INT64_MIN,        INT64_MAX,
                                  INT32_MAX, INT32_MIN, (int64_t)1 << 40, (int64_t)1 << 33};
    return upto(3) ? 32 * (1 + upto(4)) : odd[upto(8)];
}
static void numbers(void)
{
    opaque m;
    size_t packed, space;
    int taken = 0;
    for (int i = 0; i < 20000; i++) {
        const int64_t rows = any(), columns = any(), ld = any(), stride = any();
        const int type = upto(2) ? R16F : R32F, batches = (int)any();
        int r = cusparseLtStructuredDescriptorInit(&lt, &m, rows, columns, ld, 16, type, 1 + (int)upto(3),
                                                   (int)upto(2) * 0);
        EXPECT(!r || r == INVALID || r == UNSUPPORTED, "%d", r);
        if (r)
            continue;
        int many = cusparseLtMatDescSetAttribute(&lt, &m, 0, &batches, sizeof batches);
        int apart = many ? many : cusparseLtMatDescSetAttribute(&lt, &m, 1, &stride, sizeof stride);
        EXPECT(!apart || apart == INVALID || apart == UNSUPPORTED, "%d", apart);
        OK(cusparseLtSpMMACompressedSize2(&lt, &m, &packed, &space));
        if (!apart) {
            const double bytes = type == R16F ? 2 : 4, all = (double)rows * (double)columns * (stride ? batches : 1);
            const double want = all / 2 * bytes + all / 8;
            taken++;
            EXPECT((double)packed >= 0.99 * want && (double)packed <= 1.01 * want, "%zu bytes, not %g", packed, want);
        }
        OK(cusparseLtMatDescriptorDestroy(&m));
    }
    EXPECT(taken > 100, "%d matrices", taken);
    /* names, sizes, drawn values: of copies, which may take them */
    for (int i = 0; i < 20000; i++) {
        opaque of[] = {a, matmul, choice};
        char data[64], out[64 + GUARD];
        const int name = (int)upto(24) - 2, which = (int)upto(3);
        const size_t n = upto(17);
        for (int k = 0; k < 64; k++)
            data[k] = (char)(upto(2) ? upto(256) : 0);
        memset(out, 0x5a, sizeof out);
        int r = which == 0   ? cusparseLtMatDescSetAttribute(&lt, &of[0], name, data, n)
                : which == 1 ? cusparseLtMatmulDescSetAttribute(&lt, &of[1], name, data, n)
                             : cusparseLtMatmulAlgSetAttribute(&lt, &of[2], name, data, n);
        EXPECT(!r || r == INVALID || r == UNSUPPORTED, "attribute %d: %d", name, r);
        int g = which == 0   ? cusparseLtMatDescGetAttribute(&lt, &of[0], name, out, n)
                : which == 1 ? cusparseLtMatmulDescGetAttribute(&lt, &of[1], name, out, n)
                             : cusparseLtMatmulAlgGetAttribute(&lt, &of[2], name, out, n);
        EXPECT(r || (!g && !memcmp(out, data, n)), "attribute %d of %d is not what was set: %d", name, which, g);
        for (int k = 0; k < GUARD; k++)
            EXPECT(out[n + (size_t)k] == 0x5a, "attribute %d: written behind %zu bytes", name, n);
    }
}

int main(void)
{
    size_t space;
    void *odd;
    float *bias;
    int on = 1;
    MUST(cusparseLtInit(&lt));
    OK(cusparseLtStructuredDescriptorInit(&lt, &a, N, N, N, 16, R16F, ROW, 0));
    OK(cusparseLtDenseDescriptorInit(&lt, &b, N, N, N, 16, R16F, ROW));
    OK(cusparseLtDenseDescriptorInit(&lt, &c, N, N, N, 16, R16F, ROW));
    OK(cusparseLtMatmulDescriptorInit(&lt, &matmul, 0, 0, &a, &b, &c, &c, 2));
    OK(cusparseLtMatmulAlgSelectionInit(&lt, &choice, &matmul, 0));
    OK(cusparseLtMatmulPlanInit(&lt, &plan, &matmul, &choice));
    OK(cusparseLtMatmulPlanInit(&lt, &gone, &matmul, &choice));
    OK(cusparseLtMatmulPlanDestroy(&gone));
    OK(cusparseLtSpMMACompressedSize(&lt, &plan, &size[PACKED], &space));
    for (int i = 0; i < MEMORY; i++) {
        unsigned short host[N * N];
        MUST(cudaMalloc((void **)&at[i], size[i] + GUARD));
        OK(cudaMemset(at[i], 0x5a, size[i] + GUARD));
        for (int k = 0; k < N * N; k++)
            host[k] = (unsigned short)(0x3c00 + 256 * upto(3)); /* 1 to 1.5 */
        if (i < PACKED)
            OK(cudaMemcpy(at[i], host, size[i], 1));
    }
    const struct call calls[] = {
        {"Prune", 4, run_prune, {{&lt, 0}, {&matmul, 0}, {at[A], 2}, {at[D], 2}}},
        {"Prune2", 4, run_prune2, {{&lt, 0}, {&a, 0}, {at[A], 2}, {at[A], 2}}},
        {"PruneCheck", 4, run_check, {{&lt, 0}, {&matmul, 0}, {at[A], 2}, {at[VALID], 4}}},
        {"PruneCheck2", 4, run_check2, {{&lt, 0}, {&a, 0}, {at[A], 2}, {at[VALID], 4}}},
        {"Compress", 4, run_compress, {{&lt, 0}, {&plan, 0}, {at[A], 2}, {at[PACKED], 2}}},
        {"Compress2", 4, run_compress2, {{&lt, 0}, {&a, 0}, {at[A], 2}, {at[PACKED], 2}}},
        {"Matmul",
         8,
         run_matmul,
         {{&lt, 0},
          {&plan, 0},
          {(void *)&one, 1},
          {at[PACKED], 2},
          {at[B], 2},
          {(void *)&one, 1},
          {at[C], 2},
          {at[D], 2}}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        one_wrong(&calls[i]);
    struct call search = calls[sizeof calls / sizeof *calls - 1];
    search.name = "MatmulSearch";
    search.run = run_search;
    one_wrong(&search);
    numbers();
    /* a bias at an odd address, and strides of it that are none: of a plan of its own */
    opaque with = matmul, other;
    MUST(cudaMalloc((void **)&bias, 4096));
    for (int i = 0; i < 3; i++) {
        const int64_t stride = i == 1 ? -1 : i == 2 ? INT64_MAX : 0;
        odd = (char *)bias + (i == 0);
        OK(cusparseLtMatmulDescSetAttribute(&lt, &with, 8, &odd, sizeof odd));
        OK(cusparseLtMatmulDescSetAttribute(&lt, &with, 7, &stride, sizeof stride));
        OK(cusparseLtMatmulPlanInit(&lt, &other, &with, &choice));
        note();
        refused(cusparseLtMatmul(&lt, &other, &one, at[PACKED], at[B], &one, at[C], at[D], NULL, NULL, 0), "a bias", i);
    }
    OK(cusparseLtMatmulDescSetAttribute(&lt, &with, 8, &(void *){NULL}, sizeof(void *)));
    OK(cusparseLtMatmulDescSetAttribute(&lt, &with, 7, &(int64_t){0}, sizeof(int64_t)));
    OK(cusparseLtMatmulDescSetAttribute(&lt, &with, 5, &on, sizeof on)); /* alpha is a vector then */
    OK(cusparseLtMatmulPlanInit(&lt, &other, &with, &choice));
    refused(cusparseLtMatmul(&lt, &other, (char *)bias + 2, at[PACKED], at[B], &one, at[C], at[D], NULL, NULL, 0),
            "alphas at an odd address", 0);
    char right[N * N * 2], again[N * N * 2];
    OK(cudaMemcpy(right, at[D], sizeof right, 2));
    OK(cudaMemset(at[D], 0, sizeof right));
    OK(cusparseLtMatmul(&lt, &plan, &one, at[PACKED], at[B], &one, at[C], at[D], NULL, NULL, 0));
    OK(cudaMemcpy(again, at[D], sizeof again, 2));
    EXPECT(!memcmp(right, again, sizeof right), "the product is another at the end");
    guarded();
    OK(cudaFree(bias));
    for (int i = 0; i < MEMORY; i++)
        OK(cudaFree(at[i]));
    OK(cusparseLtDestroy(&lt));
    return check_end("structured sparsity with one thing wrong");
}
