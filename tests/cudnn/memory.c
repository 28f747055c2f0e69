/* Attention, fused operations and divisive normalisation while memory runs out: each allocation of our libraries fails
 * once, and then a call or the wait for it answers an error, or the results are those of a run in which none failed. */
#define _GNU_SOURCE
#include "failing.h"

#include "dnn.h"

enum { WORDS = 1 << 14 };
static float *at[6], want[6][64];

#define DO(call) \
    do { \
        int r_ = (int)(call); \
        r = r ? r : r_; \
    } while (0)

static int attention(void)
{
    static const int dims[] = {4, 1, 1, 3}, axes[] = {0, 1, 2, 3}, length[] = {4}, lo[4] = {0}, hi[] = {4, 4, 4, 4};
    void *d = NULL, *s = NULL;
    size_t w = 0, space = 0, reserve = 0;
    int r = 0;
    DO(cudnnCreateAttnDescriptor(&d));
    DO(cudnnCreateSeqDataDescriptor(&s));
    DO(cudnnSetAttnDescriptor(d, 2, 2, 0.5, F32, F32, 0, NULL, NULL, 3, 3, 3, 2, 2, 2, 3, 4, 4, 1, 1));
    DO(cudnnSetSeqDataDescriptor(s, F32, 4, dims, axes, 1, length, NULL));
    DO(cudnnGetMultiHeadAttnBuffers(handle, d, &w, &space, &reserve));
    EXPECT(r || (w < WORDS * 4 && reserve < WORDS * 4), "%zu %zu", w, reserve);
    DO(cudnnMultiHeadAttnForward(handle, d, -1, lo, hi, (int *)at[3], (int *)at[3], s, at[0], NULL, s, at[0], s, at[0],
                                 s, at[1], w, at[2], 0, NULL, reserve, at[5]));
    DO(cudnnMultiHeadAttnBackwardData(handle, d, lo, hi, (int *)at[3], (int *)at[3], s, at[0], s, at[4], at[0], s,
                                      at[4] + 16, at[0], s, at[4] + 32, at[0], w, at[2], 0, NULL, reserve, at[5]));
    cudnnDestroyAttnDescriptor(d);
    cudnnDestroySeqDataDescriptor(s);
    return r;
}

static int fused(void)
{
    void *plan = NULL, *constants = NULL, *variants = NULL, *t = NULL, *w = NULL, *conv = NULL, *sums = NULL;
    size_t size = 0;
    int r = 0, there = 1;
    DO(cudnnCreateTensorDescriptor(&t));
    DO(cudnnCreateTensorDescriptor(&sums));
    DO(cudnnCreateFilterDescriptor(&w));
    DO(cudnnCreateConvolutionDescriptor(&conv));
    DO(cudnnCreateFusedOpsPlan(&plan, 0));
    DO(cudnnCreateFusedOpsConstParamPack(&constants, 0));
    DO(cudnnCreateFusedOpsVariantParamPack(&variants, 0));
    DO(cudnnSetTensor4dDescriptor(t, NCHW, F32, 1, 1, 4, 4));
    DO(cudnnSetTensor4dDescriptor(sums, NCHW, F32, 1, 1, 1, 1));
    DO(cudnnSetFilter4dDescriptor(w, F32, NCHW, 1, 1, 1, 1));
    DO(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, 1, F32));
    const struct {
        int label;
        const void *value;
    } params[] = {{0, t},      {7, conv},    {8, w},       {12, t},      {16, sums}, {1, &there},
                  {9, &there}, {13, &there}, {17, &there}, {18, &there}, {3, sums},  {4, &there}};
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        DO(cudnnSetFusedOpsConstParamPackAttribute(constants, params[i].label, params[i].value));
    const int pointers[][2] = {{0, 0}, {1, 2}, {3, 2}, {5, 1}, {7, 4}, {9, 5}};
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        DO(cudnnSetFusedOpsVariantParamPackAttribute(variants, pointers[i][0], at[pointers[i][1]]));
    DO(cudnnSetFusedOpsVariantParamPackAttribute(variants, 8, at[4] + 4));
    DO(cudnnMakeFusedOpsPlan(handle, plan, constants, &size));
    DO(cudnnSetFusedOpsVariantParamPackAttribute(variants, 100, &size));
    DO(cudnnFusedOpsExecute(handle, plan, variants));
    cudnnDestroyFusedOpsVariantParamPack(variants);
    cudnnDestroyFusedOpsConstParamPack(constants);
    cudnnDestroyFusedOpsPlan(plan);
    cudnnDestroyTensorDescriptor(t);
    cudnnDestroyTensorDescriptor(sums);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyConvolutionDescriptor(conv);
    return r;
}

static int divisive(void)
{
    static const float one = 1, zero = 0;
    void *d = NULL, *t = NULL;
    int r = 0;
    DO(cudnnCreateLRNDescriptor(&d));
    DO(cudnnCreateTensorDescriptor(&t));
    DO(cudnnSetLRNDescriptor(d, 3, 1.0, 0.5, 2.0));
    DO(cudnnSetTensor4dDescriptor(t, NCHW, F32, 1, 1, 4, 4));
    DO(cudnnDivisiveNormalizationForward(handle, d, 0, &one, t, at[0], at[2], at[5], at[5], &zero, t, at[1]));
    DO(cudnnDivisiveNormalizationBackward(handle, d, 0, &one, t, at[0], at[2], at[0], at[5], at[5], &zero, t, at[4],
                                          at[4] + 16));
    cudnnDestroyLRNDescriptor(d);
    cudnnDestroyTensorDescriptor(t);
    return r;
}

static void fill(void)
{
    float v[WORDS];
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < WORDS; i++)
            v[i] = k == 1 || k > 3 ? -9 : (float)((i * 7 + k) % 11) / 4;
        if (k == 3)
            memcpy(v, (const int[]){4}, sizeof(int));
        OK(cudaMemcpy(at[k], v, sizeof v, 1));
    }
}

/* Each allocation fails once. */
static void without_memory(int (*run)(void), long least)
{
    float got[64];
    fill();
    OK(run());
    OK(cudaDeviceSynchronize());
    libraries = 0;
    dl_iterate_phdr(note_library, NULL); /* the one below is here since then */
    for (int k = 1; k < 5; k += 3)
        OK(cudaMemcpy(want[k], at[k], sizeof got, 2));
    for (long n = 1;; n++) {
        fill();
        counted = 0;
        failing = n;
        int r = run(), later = cudaDeviceSynchronize();
        bool done = counted < n;
        failing = 0;
        for (int k = 1; k < 5; k += 3) {
            OK(cudaMemcpy(got, at[k], sizeof got, 2));
            EXPECT(r || later || !memcmp(got, want[k], sizeof got), "allocation %ld", n);
        }
        if (done) {
            EXPECT(n > least, "%ld allocations", n);
            EXPECT(!r && !later, "%d %d with all memory", r, later);
            return;
        }
    }
}

int main(void)
{
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 6; i++)
        MUST(cudaMalloc((void **)&at[i], WORDS * sizeof(float)));
    without_memory(attention, 2);
    without_memory(fused, 1);
    without_memory(divisive, 4);
    for (int i = 0; i < 6; i++)
        OK(cudaFree(at[i]));
    OK(cudnnDestroy(handle));
    return check_end("without memory");
}
