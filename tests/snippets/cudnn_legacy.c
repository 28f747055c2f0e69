/* cuDNN's layers of earlier versions: every wrapper once. What they compute is in tests/cudnn/legacy.c. */
#include "snippet.h"

static _Thread_local void *handle, *tensor;
static _Thread_local float *memory[4];
static const float one = 1, zero;

static float first(const float *at)
{
    float value = -1;
    OK(M(cudaMemcpy, musaMemcpy)(&value, at, 4, 2));
    return value;
}

/* One time, classes 0 and 1 equally probable: the cost of label 1 is ln 2. */
static void loses(void)
{
    void *ctc, *probs;
    int v[4], label = 1, length = 1, *device = (int *)memory[2];
    size_t size = 0;
    OK(C(cudnnCreateCTCLossDescriptor)(&ctc));
    OK(C(cudnnCreateTensorDescriptor)(&probs));
    OK(C(cudnnSetTensorNdDescriptor)(probs, 0, 3, (const int[]){1, 1, 2}, (const int[]){2, 2, 1}));
    OK(C(cudnnSetCTCLossDescriptor)(ctc, 0));
    OK(C(cudnnGetCTCLossDescriptor)(ctc, v));
    OK(C(cudnnSetCTCLossDescriptorEx)(ctc, 0, 1, 1));
    OK(C(cudnnGetCTCLossDescriptorEx)(ctc, v, v + 1, v + 2));
    EXPECT(v[1] == 1 && v[2] == 1);
    OK(C(cudnnSetCTCLossDescriptor_v9)(ctc, 0, 1, 0, 8));
    OK(C(cudnnGetCTCLossDescriptor_v9)(ctc, v, v + 1, v + 2, v + 3));
    IS(v[3], 8);
    OK(C(cudnnSetCTCLossDescriptor_v8)(ctc, 0, 1, 0, 4));
    OK(C(cudnnGetCTCLossDescriptor_v8)(ctc, v, v + 1, v + 2, v + 3));
    IS(v[3], 4);
    OK(C(cudnnSetTensor)(handle, probs, memory[0], &zero));
    OK(C(cudnnGetCTCLossWorkspaceSize)(handle, probs, probs, &label, &length, &length, 0, ctc, &size));
    EXPECT(size > 0 && size <= 4096);
    OK(C(cudnnCTCLoss)(handle, probs, memory[0], &label, &length, &length, memory[1], probs, memory[1] + 8, 0, ctc,
                       memory[3], size));
    EXPECT(first(memory[1]) > 0.69f && first(memory[1]) < 0.7f && first(memory[1] + 8) == 0.5f);
    OK(C(cudnnGetCTCLossWorkspaceSize_v8)(handle, 0, ctc, probs, probs, &size));
    EXPECT(size > 0 && size <= 4096);
    OK(M(cudaMemcpy, musaMemcpy)(device, (const int[]){1, 1}, 8, 1));
    OK(C(cudnnCTCLoss_v8)(handle, 0, ctc, probs, memory[0], device, device + 1, device + 1, memory[1], probs,
                          memory[1] + 8, size, memory[3]));
    EXPECT(first(memory[1] + 8) == 0.5f);
    OK(C(cudnnDestroyTensorDescriptor)(probs));
    OK(C(cudnnDestroyCTCLossDescriptor)(ctc));
}

/* Of ones: 1 / (1 + 3 / 3). */
static void responds(void)
{
    void *lrn;
    unsigned n;
    double alpha, beta, k;
    OK(C(cudnnCreateLRNDescriptor)(&lrn));
    OK(C(cudnnSetLRNDescriptor)(lrn, 1, 1, 1, 1));
    OK(C(cudnnGetLRNDescriptor)(lrn, &n, &alpha, &beta, &k));
    EXPECT(n == 1 && alpha == 1 && beta == 1 && k == 1);
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], &one));
    OK(C(cudnnLRNCrossChannelForward)(handle, lrn, 0, &one, tensor, memory[0], &zero, tensor, memory[1]));
    EXPECT(first(memory[1]) == 0.5f);
    OK(C(cudnnLRNCrossChannelBackward)(handle, lrn, 0, &one, tensor, memory[1], tensor, memory[0], tensor, memory[0],
                                       &zero, tensor, memory[2]));
    EXPECT(first(memory[2]) == 0);
    OK(C(cudnnDivisiveNormalizationForward)(handle, lrn, 0, &one, tensor, memory[0], NULL, memory[2], memory[3], &zero,
                                            tensor, memory[1]));
    EXPECT(first(memory[1]) == 0.5f);
    OK(C(cudnnDivisiveNormalizationBackward)(handle, lrn, 0, &one, tensor, memory[0], NULL, memory[0], memory[2],
                                             memory[3], &zero, tensor, memory[1], NULL));
    EXPECT(first(memory[1]) == 0);
    OK(C(cudnnDestroyLRNDescriptor)(lrn));
}

/* The map of all places to one in the middle. */
static void places(void)
{
    void *spatial;
    OK(C(cudnnCreateSpatialTransformerDescriptor)(&spatial));
    OK(C(cudnnSetSpatialTransformerNdDescriptor)(spatial, 0, 0, 4, (const int[]){1, 2, 2, 2}));
    OK(M(cudaMemset, musaMemset)(memory[1], 0, 24));
    OK(C(cudnnSpatialTfGridGeneratorForward)(handle, spatial, memory[1], memory[2]));
    EXPECT(first(memory[2]) == 0);
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], &one));
    OK(C(cudnnSpatialTfSamplerForward)(handle, spatial, &one, tensor, memory[0], memory[2], &zero, tensor, memory[3]));
    EXPECT(first(memory[3]) == 1);
    OK(C(cudnnSpatialTfSamplerBackward)(handle, spatial, &one, tensor, memory[0], &zero, tensor, memory[3], &one,
                                        tensor, memory[0], memory[2], &zero, memory[2] + 64));
    EXPECT(first(memory[3]) == 1 && first(memory[2] + 64) == 0);
    OK(C(cudnnSpatialTfGridGeneratorBackward)(handle, spatial, memory[2] + 64, memory[1]));
    EXPECT(first(memory[1]) == 0);
    OK(C(cudnnDestroySpatialTransformerDescriptor)(spatial));
}

static void pads(void)
{
    void *transform, *wide, *filter, *conv;
    int format, direction;
    size_t size = 0;
    OK(C(cudnnCreateTensorTransformDescriptor)(&transform));
    OK(C(cudnnCreateTensorDescriptor)(&wide));
    OK(C(cudnnCreateFilterDescriptor)(&filter));
    OK(C(cudnnCreateConvolutionDescriptor)(&conv));
    OK(C(cudnnSetTensorTransformDescriptor)(transform, 4, 0, (const int[]){0, 0, 0, 1}, NULL, NULL, 0));
    OK(C(cudnnGetTensorTransformDescriptor)(transform, 4, &format, NULL, NULL, NULL, &direction));
    OK(C(cudnnInitTransformDest)(transform, tensor, wide, &size));
    IS(size, 12 * 4);
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], &one));
    OK(C(cudnnTransformTensorEx)(handle, transform, &one, tensor, memory[0], &zero, wide, memory[1]));
    EXPECT(first(memory[1]) == 0 && first(memory[1] + 1) == 1);
    OK(C(cudnnSetTensorTransformDescriptor)(transform, 4, 0, NULL, NULL, NULL, 0));
    OK(C(cudnnSetFilter4dDescriptor)(filter, 0, 0, 1, 2, 2, 2));
    OK(C(cudnnTransformFilter)(handle, transform, &one, filter, memory[0], &zero, filter, memory[1]));
    EXPECT(first(memory[1]) == 1);
    OK(C(cudnnSetConvolution2dDescriptor)(conv, 0, 0, 1, 1, 1, 1, 1, 0));
    OK(C(cudnnIm2Col)(handle, tensor, memory[0], filter, conv, memory[1]));
    EXPECT(first(memory[1] + 7) == 1);
    void *conv2, *filter2, *t[4], *diff;
    OK(C(cudnnCreateTensorDescriptor)(&diff));
    OK(C(cudnnCreateFilterDescriptor)(&filter2));
    OK(C(cudnnCreateConvolutionDescriptor)(&conv2));
    for (int i = 0; i < 4; i++)
        OK(C(cudnnCreateTensorTransformDescriptor)(&t[i]));
    OK(C(cudnnSetTensor4dDescriptor)(diff, 0, 0, 1, 1, 1, 1));
    OK(C(cudnnGetFoldedConvBackwardDataDescriptors)(handle, filter, diff, conv, tensor, 0, filter2, wide, conv2, wide,
                                                    t[0], t[1], t[2], t[3]));
    OK(C(cudnnGetFilterSizeInBytes)(filter2, &size));
    IS(size, 8 * 8 * 4 * 4);
    for (int i = 0; i < 4; i++)
        OK(C(cudnnDestroyTensorTransformDescriptor)(t[i]));
    OK(C(cudnnDestroyConvolutionDescriptor)(conv2));
    OK(C(cudnnDestroyFilterDescriptor)(filter2));
    OK(C(cudnnDestroyTensorDescriptor)(diff));
    OK(C(cudnnSetFilter4dDescriptor)(filter, 8, 2, 1, 32, 1, 1)); /* vectors of 32 bytes */
    OK(C(cudnnReorderFilterAndBias)(handle, filter, 0, memory[0], memory[1] + 16, 0, NULL, NULL));
    EXPECT(first(memory[1] + 16) == 1);
    OK(C(cudnnDestroyConvolutionDescriptor)(conv));
    OK(C(cudnnDestroyFilterDescriptor)(filter));
    OK(C(cudnnDestroyTensorDescriptor)(wide));
    OK(C(cudnnDestroyTensorTransformDescriptor)(transform));
}

static void normalises(void)
{
    void *s, *v, *act = NULL;
    size_t size = 9;
    OK(C(cudnnCreateTensorDescriptor)(&s));
    OK(C(cudnnCreateTensorDescriptor)(&v));
    OK(C(cudnnDeriveNormTensorDescriptor)(s, v, tensor, 1, 1));
    OK(C(cudnnGetNormalizationForwardTrainingWorkspaceSize)(handle, 1, 0, 0, tensor, NULL, tensor, s, act, v, &size,
                                                            1));
    IS(size, 0);
    OK(C(cudnnGetNormalizationBackwardWorkspaceSize)(handle, 1, 0, 0, tensor, tensor, tensor, NULL, tensor, s, act, v,
                                                     &size, 1));
    OK(C(cudnnGetNormalizationTrainingReserveSpaceSize)(handle, 1, 0, 0, act, tensor, &size, 1));
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], &one));
    OK(C(cudnnSetTensor)(handle, tensor, memory[1], &one));
    OK(C(cudnnNormalizationForwardTraining)(handle, 1, 0, 0, &one, &zero, tensor, memory[0], s, memory[1],
                                            memory[1] + 2, 1, v, memory[3], memory[3] + 8, 0.5, NULL, NULL, act, NULL,
                                            NULL, tensor, memory[2], NULL, 0, NULL, 0, 1));
    EXPECT(first(memory[2]) == 1 && first(memory[3]) == 1);
    OK(C(cudnnNormalizationForwardInference)(handle, 1, 0, 0, &one, &zero, tensor, memory[0], s, memory[1],
                                             memory[1] + 2, v, memory[3], memory[3] + 8, NULL, NULL, act, tensor,
                                             memory[2], 0.5, 1));
    EXPECT(first(memory[2]) == 1);
    OK(C(cudnnNormalizationBackward)(handle, 1, 0, 0, &one, &zero, &one, &zero, tensor, memory[0], NULL, NULL, tensor,
                                     memory[2], NULL, NULL, tensor, memory[3], s, memory[1], memory[1] + 2,
                                     memory[1] + 8, memory[1] + 12, 0.5, v, NULL, NULL, act, NULL, 0, NULL, 0, 1));
    EXPECT(first(memory[1] + 12) == 4);
    OK(C(cudnnDestroyTensorDescriptor)(v));
    OK(C(cudnnDestroyTensorDescriptor)(s));
}

/* One key that all queries see: each gets its value. */
static void attends(void)
{
    static const int dims[] = {2, 1, 1, 2}, axes[] = {0, 1, 2, 3}, length[] = {2}, lo[] = {0, 0}, hi[] = {1, 1};
    void *attn, *sequence, *weight;
    int n = 0, *device = (int *)memory[3];
    unsigned mode = 9;
    double scale = 0;
    size_t size[3] = {9, 0, 0};
    OK(C(cudnnCreateAttnDescriptor)(&attn));
    OK(C(cudnnCreateSeqDataDescriptor)(&sequence));
    OK(C(cudnnCreateTensorDescriptor)(&weight));
    OK(C(cudnnSetAttnDescriptor)(attn, 0, 1, 0.5, 0, 0, 0, NULL, NULL, 2, 2, 2, 0, 0, 0, 2, 2, 2, 1, 1));
    OK(C(cudnnGetAttnDescriptor)(attn, &mode, &n, &scale, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(mode == 0 && n == 1 && scale == 0.5);
    OK(C(cudnnSetSeqDataDescriptor)(sequence, 0, 4, dims, axes, 1, length, NULL));
    OK(C(cudnnGetSeqDataDescriptor)(sequence, NULL, &n, 0, NULL, NULL, NULL, 0, NULL, NULL));
    IS(n, 4);
    OK(C(cudnnGetMultiHeadAttnBuffers)(handle, attn, &size[0], &size[1], &size[2]));
    EXPECT(size[0] == 16 && size[1] <= 2048 && size[2] <= 2048);
    void *at = NULL;
    OK(C(cudnnGetMultiHeadAttnWeights)(handle, attn, 3, size[0], memory[2], weight, &at));
    EXPECT(at == memory[2]);
    OK(M(cudaMemcpy, musaMemcpy)(memory[2], (const float[]){1, 0, 0, 1}, 16, 1));
    OK(M(cudaMemcpy, musaMemcpy)(memory[0], (const float[]){3, 4, 5, 6}, 16, 1));
    OK(M(cudaMemcpy, musaMemcpy)(device, length, 4, 1));
    OK(C(cudnnMultiHeadAttnForward)(handle, attn, -1, lo, hi, device, device, sequence, memory[0], NULL, sequence,
                                    memory[0], sequence, memory[0], sequence, memory[1], size[0], memory[2], 0, NULL,
                                    size[2], memory[3] + 512));
    EXPECT(first(memory[1]) == 3 && first(memory[1] + 3) == 4);
    OK(C(cudnnMultiHeadAttnBackwardData)(handle, attn, lo, hi, device, device, sequence, memory[0], sequence, memory[1],
                                         memory[0], sequence, memory[1] + 8, memory[0], sequence, memory[1] + 16,
                                         memory[0], size[0], memory[2], 0, NULL, size[2], memory[3] + 512));
    EXPECT(first(memory[1]) == 0 && first(memory[1] + 16) == 8);
    OK(C(cudnnMultiHeadAttnBackwardWeights)(handle, attn, 1, sequence, memory[0], sequence, memory[0], sequence,
                                            memory[0], sequence, memory[0], size[0], memory[2], memory[1], 0, NULL,
                                            size[2], memory[3] + 512));
    EXPECT(first(memory[1]) == 24);
    OK(C(cudnnDestroyTensorDescriptor)(weight));
    OK(C(cudnnDestroySeqDataDescriptor)(sequence));
    OK(C(cudnnDestroyAttnDescriptor)(attn));
}

/* y = 1 x, and its bits; of a pack what was set in it. */
static void fuses(void)
{
    void *plan, *constants, *variants, *at = NULL, *again;
    int there = 1, none = 9;
    size_t size = 9;
    OK(C(cudnnCreateTensorDescriptor)(&again));
    OK(C(cudnnCreateFusedOpsPlan)(&plan, 5));
    OK(C(cudnnCreateFusedOpsConstParamPack)(&constants, 5));
    OK(C(cudnnCreateFusedOpsVariantParamPack)(&variants, 5));
    OK(C(cudnnSetFusedOpsConstParamPackAttribute)(constants, 0, tensor));
    OK(C(cudnnSetFusedOpsConstParamPackAttribute)(constants, 12, tensor));
    OK(C(cudnnSetFusedOpsConstParamPackAttribute)(constants, 1, &there));
    OK(C(cudnnSetFusedOpsConstParamPackAttribute)(constants, 13, &there));
    OK(C(cudnnSetFusedOpsConstParamPackAttribute)(constants, 2, &there));
    OK(C(cudnnGetFusedOpsConstParamPackAttribute)(constants, 0, again, &none));
    IS(none, 0);
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], &one));
    OK(C(cudnnSetFusedOpsVariantParamPackAttribute)(variants, 0, memory[0]));
    OK(C(cudnnSetFusedOpsVariantParamPackAttribute)(variants, 5, memory[1]));
    OK(C(cudnnGetFusedOpsVariantParamPackAttribute)(variants, 5, &at));
    EXPECT(at == memory[1]);
    OK(C(cudnnMakeFusedOpsPlan)(handle, plan, constants, &size));
    IS(size, 0);
    OK(C(cudnnFusedOpsExecute)(handle, plan, variants));
    EXPECT(first(memory[1]) == 1);
    OK(C(cudnnDestroyFusedOpsVariantParamPack)(variants));
    OK(C(cudnnDestroyFusedOpsConstParamPack)(constants));
    OK(C(cudnnDestroyFusedOpsPlan)(plan));
    OK(C(cudnnDestroyTensorDescriptor)(again));
}

void snippet_cudnn_legacy(void)
{
    if (!snippet_below("mudnnHostPointwise"))
        return;
    OK(C(cudnnCreate)(&handle));
    OK(C(cudnnCreateTensorDescriptor)(&tensor));
    OK(C(cudnnSetTensor4dDescriptor)(tensor, 0, 0, 1, 2, 2, 2));
    for (int i = 0; i < 4; i++)
        OK(M(cudaMalloc, musaMalloc)((void **)&memory[i], 4096));
    loses();
    responds();
    places();
    pads();
    normalises();
    attends();
    fuses();
    for (int i = 0; i < 4; i++)
        OK(M(cudaFree, musaFree)(memory[i]));
    OK(C(cudnnDestroyTensorDescriptor)(tensor));
    OK(C(cudnnDestroy)(handle));
}
