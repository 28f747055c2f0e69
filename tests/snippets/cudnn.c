/* cuDNN: every wrapper once, with what it must answer. What they compute is in tests/cudnn. */
#include "snippet.h"

enum { DNN_FLOAT, DNN_DOUBLE };

static _Thread_local void *handle, *tensor, *other, *filter;
static _Thread_local float *memory[4];
static const float one = 1, zero;

static void tells_of_itself(void)
{
    int value = 0, status = 1;
    unsigned mask = 1;
    void *data, *function;
    char text[64] = "x";
    cudaStream_t stream = (cudaStream_t)1;
    EXPECT(C(cudnnGetVersion)() / 10000 == 9);
    EXPECT(C(cudnnGetMaxDeviceVersion)() >= 500);
    EXPECT(C(cudnnGetCudartVersion)() >= 12000);
    OK(C(cudnnGetProperty)(0, &value));
    IS(value, 9);
    IS(C(cudnnGetProperty)(7, &value), CUDNN_STATUS_INVALID_VALUE);
    OK(C(cudnnAdvVersionCheck)());
    OK(C(cudnnCnnVersionCheck)());
    OK(C(cudnnGraphVersionCheck)());
    OK(C(cudnnOpsVersionCheck)());
    EXPECT(!strcmp(C(cudnnGetErrorString)(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM"));
    EXPECT(C(cudnnGetErrorString)(123456) != NULL);
    C(cudnnGetLastErrorString)(text, sizeof text);
    EXPECT(!text[0]);
    OK(C(cudnnSetCallback)(0, NULL, NULL));
    OK(C(cudnnGetCallback)(&mask, &data, &function));
    EXPECT(!mask && !data && !function);
    OK(C(cudnnQueryRuntimeError)(handle, &status, 0, NULL));
    IS(status, 0);
    OK(C(cudnnSetStream)(handle, NULL));
    OK(C(cudnnGetStream)(handle, &stream));
    EXPECT(!stream);
    IS(C(cudnnGetStream)(NULL, &stream), CUDNN_STATUS_NOT_INITIALIZED);
}

/* The names that only the libraries of version 8 have, and the numbers that differ there. */
#define EIGHT(name) ((__typeof__(wrap_##name) *)snippet_versioned(11, #name))
static void tells_of_eight(void)
{
    int value = 0;
    void *none = NULL;
    EXPECT(((__typeof__(wrap_cudnnGetVersion_v8) *)snippet_versioned(11, "cudnnGetVersion"))() / 1000 == 8);
    EXPECT(((__typeof__(wrap_cudnnGetCudartVersion_v8) *)snippet_versioned(11, "cudnnGetCudartVersion"))() > 0);
    OK(((__typeof__(wrap_cudnnGetProperty_v8) *)snippet_versioned(11, "cudnnGetProperty"))(0, &value));
    IS(value, 8);
    EXPECT(!strcmp(((__typeof__(wrap_cudnnGetErrorString_v8) *)snippet_versioned(11, "cudnnGetErrorString"))(3),
                   "CUDNN_STATUS_BAD_PARAM"));
    IS(EIGHT(cudnnDestroyTensorDescriptor)(filter), 3);
    IS(EIGHT(cudnnCreate)(NULL), 3);
    IS(EIGHT(cudnnSetStream)(none, NULL), 1);
    OK(EIGHT(cudnnAdvInferVersionCheck)());
    OK(EIGHT(cudnnAdvTrainVersionCheck)());
    OK(EIGHT(cudnnCnnInferVersionCheck)());
    OK(EIGHT(cudnnCnnTrainVersionCheck)());
    OK(EIGHT(cudnnOpsInferVersionCheck)());
    OK(EIGHT(cudnnOpsTrainVersionCheck)());
}

static void describes_tensors(void)
{
    int type, format, n, d[8], s[8];
    size_t size = 0;
    OK(C(cudnnSetTensor4dDescriptor)(tensor, 0, DNN_FLOAT, 2, 3, 4, 5));
    OK(C(cudnnGetTensor4dDescriptor)(tensor, &type, d, d + 1, d + 2, d + 3, s, s + 1, s + 2, s + 3));
    EXPECT(type == DNN_FLOAT && d[3] == 5 && s[0] == 60 && s[1] == 20 && s[3] == 1);
    OK(C(cudnnSetTensor4dDescriptorEx)(tensor, DNN_FLOAT, 2, 3, 4, 5, 100, 1, 15, 3));
    OK(C(cudnnGetTensorNdDescriptor)(tensor, 8, &type, &n, d, s));
    EXPECT(n == 4 && d[1] == 3 && s[0] == 100);
    OK(C(cudnnGetTensorSizeInBytes)(tensor, &size));
    IS(size, 160 * 4);
    OK(C(cudnnSetTensorNdDescriptorEx)(tensor, 1, DNN_FLOAT, 4, (const int[]){2, 3, 4, 5}));
    OK(C(cudnnGetTensorNdDescriptor)(tensor, 8, &type, &n, d, s));
    EXPECT(s[1] == 1 && s[3] == 3);
    OK(C(cudnnSetTensorNdDescriptor)(tensor, DNN_FLOAT, 4, (const int[]){1, 2, 4, 4}, (const int[]){32, 16, 4, 1}));
    OK(C(cudnnSetTensor4dDescriptor)(other, 0, DNN_FLOAT, 1, 2, 4, 4));
    OK(C(cudnnSetFilterNdDescriptor)(filter, DNN_FLOAT, 0, 4, (const int[]){2, 2, 1, 1}));
    OK(C(cudnnGetFilterNdDescriptor)(filter, 4, &type, &format, &n, d));
    EXPECT(n == 4 && d[0] == 2 && format == 0);
    OK(C(cudnnSetFilter4dDescriptor)(filter, DNN_FLOAT, 0, 2, 2, 1, 1));
    OK(C(cudnnGetFilter4dDescriptor)(filter, &type, &format, d, d + 1, d + 2, d + 3));
    EXPECT(d[1] == 2);
    OK(C(cudnnGetFilterSizeInBytes)(filter, &size));
    IS(size, 16);
}

static void fills(float *at, int n, float value)
{
    float host[64];
    for (int i = 0; i < n; i++)
        host[i] = value;
    OK(M(cudaMemcpy, musaMemcpy)(at, host, (size_t)n * 4, 1));
}
static float first(const float *at)
{
    float value = -1;
    OK(M(cudaMemcpy, musaMemcpy)(&value, at, 4, 2));
    return value;
}

static void convolves(void)
{
    void *conv, *act, *bias;
    int v[8], n = 0, mode, type, d[4];
    size_t size = 9;
    char results[10][64];
    OK(C(cudnnCreateConvolutionDescriptor)(&conv));
    OK(C(cudnnCreateActivationDescriptor)(&act));
    OK(C(cudnnCreateTensorDescriptor)(&bias));
    OK(C(cudnnSetTensor4dDescriptor)(bias, 0, DNN_FLOAT, 1, 2, 1, 1));
    OK(C(cudnnSetActivationDescriptor)(act, 1, 0, 0));
    OK(C(cudnnSetConvolutionNdDescriptor)(conv, 2, (const int[]){0, 0}, (const int[]){1, 1}, (const int[]){1, 1}, 1,
                                          DNN_FLOAT));
    OK(C(cudnnGetConvolutionNdDescriptor)(conv, 2, &n, v, v + 2, v + 4, &mode, &type));
    EXPECT(n == 2 && mode == 1);
    OK(C(cudnnSetConvolution2dDescriptor)(conv, 0, 0, 1, 1, 1, 1, 1, DNN_FLOAT));
    OK(C(cudnnGetConvolution2dDescriptor)(conv, v, v + 1, v + 2, v + 3, v + 4, v + 5, &mode, &type));
    EXPECT(v[2] == 1);
    OK(C(cudnnSetConvolutionGroupCount)(conv, 1));
    OK(C(cudnnGetConvolutionGroupCount)(conv, &n));
    OK(C(cudnnSetConvolutionMathType)(conv, 0));
    OK(C(cudnnGetConvolutionMathType)(conv, &n));
    OK(C(cudnnSetConvolutionReorderType)(conv, 0));
    OK(C(cudnnGetConvolutionReorderType)(conv, &n));
    OK(C(cudnnGetConvolution2dForwardOutputDim)(conv, tensor, filter, d, d + 1, d + 2, d + 3));
    EXPECT(d[1] == 2 && d[3] == 4);
    OK(C(cudnnGetConvolutionNdForwardOutputDim)(conv, tensor, filter, 4, d));
    OK(C(cudnnGetConvolutionForwardAlgorithmMaxCount)(handle, &n));
    OK(C(cudnnGetConvolutionBackwardDataAlgorithmMaxCount)(handle, &n));
    OK(C(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount)(handle, &n));
    OK(C(cudnnGetConvolutionForwardAlgorithm_v7)(handle, tensor, filter, conv, other, 8, &n, results));
    OK(C(cudnnGetConvolutionBackwardDataAlgorithm_v7)(handle, filter, other, conv, tensor, 8, &n, results));
    OK(C(cudnnGetConvolutionBackwardFilterAlgorithm_v7)(handle, tensor, other, conv, filter, 8, &n, results));
    OK(C(cudnnFindConvolutionForwardAlgorithm)(handle, tensor, filter, conv, other, 8, &n, results));
    OK(C(cudnnFindConvolutionBackwardDataAlgorithm)(handle, filter, other, conv, tensor, 8, &n, results));
    OK(C(cudnnFindConvolutionBackwardFilterAlgorithm)(handle, tensor, other, conv, filter, 8, &n, results));
    OK(C(cudnnFindConvolutionForwardAlgorithmEx)(handle, tensor, memory[0], filter, memory[1], conv, other, memory[2],
                                                 8, &n, results, NULL, 0));
    OK(C(cudnnFindConvolutionBackwardDataAlgorithmEx)(handle, filter, memory[1], other, memory[2], conv, tensor,
                                                      memory[0], 8, &n, results, NULL, 0));
    OK(C(cudnnFindConvolutionBackwardFilterAlgorithmEx)(handle, tensor, memory[0], other, memory[2], conv, filter,
                                                        memory[1], 8, &n, results, NULL, 0));
    IS(n, 1);
    OK(C(cudnnGetConvolutionForwardWorkspaceSize)(handle, tensor, filter, conv, other, 1, &size));
    OK(C(cudnnGetConvolutionBackwardDataWorkspaceSize)(handle, filter, other, conv, tensor, 1, &size));
    OK(C(cudnnGetConvolutionBackwardFilterWorkspaceSize)(handle, tensor, other, conv, filter, 1, &size));
    fills(memory[0], 32, 2);
    fills(memory[1], 4, 3);
    OK(C(cudnnConvolutionForward)(handle, &one, tensor, memory[0], filter, memory[1], conv, 1, NULL, 0, &zero, other,
                                  memory[2]));
    EXPECT(first(memory[2]) == 12);
    OK(C(cudnnConvolutionBackwardData)(handle, &one, filter, memory[1], other, memory[2], conv, 1, NULL, 0, &zero,
                                       tensor, memory[0]));
    EXPECT(first(memory[0]) == 72);
    OK(C(cudnnConvolutionBackwardFilter)(handle, &one, tensor, memory[0], other, memory[2], conv, 1, NULL, 0, &zero,
                                         filter, memory[1]));
    EXPECT(first(memory[1]) == 16 * 72 * 12);
    OK(C(cudnnConvolutionBackwardBias)(handle, &one, other, memory[2], &zero, bias, memory[3]));
    EXPECT(first(memory[3]) == 16 * 12);
    fills(memory[0], 32, 1);
    fills(memory[1], 4, -1);
    OK(C(cudnnConvolutionBiasActivationForward)(handle, &one, tensor, memory[0], filter, memory[1], conv, 1, NULL, 0,
                                                &zero, other, memory[2], bias, memory[3], act, other, memory[2]));
    EXPECT(first(memory[2]) == 190);
    OK(C(cudnnDestroyTensorDescriptor)(bias));
    OK(C(cudnnDestroyActivationDescriptor)(act));
    OK(C(cudnnDestroyConvolutionDescriptor)(conv));
}

static void moves(void)
{
    void *act, *op, *transform;
    int a, b, c;
    double d;
    OK(C(cudnnCreateActivationDescriptor)(&act));
    OK(C(cudnnSetActivationDescriptor)(act, 1, 0, 5));
    OK(C(cudnnGetActivationDescriptor)(act, &a, &b, &d));
    EXPECT(a == 1 && d == 5);
    OK(C(cudnnSetActivationDescriptorSwishBeta)(act, 2));
    OK(C(cudnnGetActivationDescriptorSwishBeta)(act, &d));
    EXPECT(d == 2);
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], (const float[]){4}));
    OK(C(cudnnScaleTensor)(handle, tensor, memory[0], (const float[]){0.5f}));
    EXPECT(first(memory[0]) == 2);
    OK(C(cudnnActivationForward)(handle, act, &one, tensor, memory[0], &zero, other, memory[1]));
    EXPECT(first(memory[1]) == 2);
    OK(C(cudnnActivationBackward)(handle, act, &one, other, memory[1], other, memory[1], tensor, memory[0], &zero,
                                  other, memory[2]));
    EXPECT(first(memory[2]) == 2);
    OK(C(cudnnAddTensor)(handle, &one, tensor, memory[0], &one, other, memory[2]));
    EXPECT(first(memory[2]) == 4);
    OK(C(cudnnTransformTensor)(handle, &one, tensor, memory[0], &zero, other, memory[2]));
    EXPECT(first(memory[2]) == 2);
    OK(C(cudnnCreateOpTensorDescriptor)(&op));
    OK(C(cudnnSetOpTensorDescriptor)(op, 1, DNN_FLOAT, 0));
    OK(C(cudnnGetOpTensorDescriptor)(op, &a, &b, &c));
    IS(a, 1);
    OK(C(cudnnOpTensor)(handle, op, &one, tensor, memory[0], &one, tensor, memory[0], &zero, other, memory[2]));
    EXPECT(first(memory[2]) == 4);
    OK(C(cudnnCreateTensorTransformDescriptor)(&transform));
    OK(C(cudnnSetTensorTransformDescriptor)(transform, 4, 0, NULL, NULL, NULL, 0));
    OK(C(cudnnDestroyTensorTransformDescriptor)(transform));
    OK(C(cudnnDestroyOpTensorDescriptor)(op));
    OK(C(cudnnDestroyActivationDescriptor)(act));
}

static void pools(void)
{
    void *pool, *reduce, *small;
    int v[8], d[4];
    size_t size = 9;
    OK(C(cudnnCreatePoolingDescriptor)(&pool));
    OK(C(cudnnCreateReduceTensorDescriptor)(&reduce));
    OK(C(cudnnCreateTensorDescriptor)(&small));
    OK(C(cudnnSetPoolingNdDescriptor)(pool, 0, 0, 2, (const int[]){2, 2}, (const int[]){0, 0}, (const int[]){2, 2}));
    OK(C(cudnnGetPoolingNdDescriptor)(pool, 2, v, v + 1, v + 2, d, d + 2, v + 3));
    IS(d[0], 2);
    OK(C(cudnnSetPooling2dDescriptor)(pool, 1, 0, 2, 2, 0, 0, 2, 2));
    OK(C(cudnnGetPooling2dDescriptor)(pool, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7));
    IS(v[0], 1);
    OK(C(cudnnGetPoolingNdForwardOutputDim)(pool, tensor, 4, d));
    OK(C(cudnnGetPooling2dForwardOutputDim)(pool, tensor, d, d + 1, d + 2, d + 3));
    EXPECT(d[2] == 2 && d[3] == 2);
    OK(C(cudnnSetTensor4dDescriptor)(small, 0, DNN_FLOAT, 1, 2, 2, 2));
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], (const float[]){4}));
    OK(C(cudnnPoolingForward)(handle, pool, &one, tensor, memory[0], &zero, small, memory[1]));
    EXPECT(first(memory[1]) == 4);
    OK(C(cudnnPoolingBackward)(handle, pool, &one, small, memory[1], small, memory[1], tensor, memory[0], &zero, tensor,
                               memory[2]));
    EXPECT(first(memory[2]) == 1);
    OK(C(cudnnSoftmaxForward)(handle, 1, 1, &one, tensor, memory[0], &zero, other, memory[1]));
    EXPECT(first(memory[1]) == 0.5f);
    OK(C(cudnnSoftmaxBackward)(handle, 1, 1, &one, other, memory[1], other, memory[1], &zero, tensor, memory[2]));
    EXPECT(first(memory[2]) == 0);
    OK(C(cudnnSetReduceTensorDescriptor)(reduce, 0, DNN_FLOAT, 0, 0, 0));
    OK(C(cudnnGetReduceTensorDescriptor)(reduce, v, v + 1, v + 2, v + 3, v + 4));
    OK(C(cudnnSetTensor4dDescriptor)(small, 0, DNN_FLOAT, 1, 1, 1, 1));
    OK(C(cudnnGetReductionWorkspaceSize)(handle, reduce, tensor, small, &size));
    IS(size, 0);
    OK(C(cudnnGetReductionIndicesSize)(handle, reduce, tensor, small, &size));
    OK(C(cudnnReduceTensor)(handle, reduce, NULL, 0, NULL, 0, &one, tensor, memory[0], &zero, small, memory[1]));
    EXPECT(first(memory[1]) == 128);
    OK(C(cudnnDestroyTensorDescriptor)(small));
    OK(C(cudnnDestroyReduceTensorDescriptor)(reduce));
    OK(C(cudnnDestroyPoolingDescriptor)(pool));
}

static void normalises(void)
{
    void *features, *act;
    size_t size = 9;
    OK(C(cudnnCreateTensorDescriptor)(&features));
    OK(C(cudnnCreateActivationDescriptor)(&act));
    OK(C(cudnnSetActivationDescriptor)(act, 1, 0, 0));
    OK(C(cudnnDeriveBNTensorDescriptor)(features, tensor, 1));
    OK(C(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize)(handle, 1, 1, tensor, NULL, other, features, act,
                                                                   &size));
    OK(C(cudnnGetBatchNormalizationBackwardExWorkspaceSize)(handle, 1, 1, tensor, other, other, NULL, tensor, features,
                                                            act, &size));
    OK(C(cudnnGetBatchNormalizationTrainingExReserveSpaceSize)(handle, 1, 1, act, tensor, &size));
    IS(size, 0);
    OK(C(cudnnSetTensor)(handle, tensor, memory[0], (const float[]){4}));
    fills(memory[1], 8, 1);
    OK(C(cudnnBatchNormalizationForwardTraining)(handle, 1, &one, &zero, tensor, memory[0], other, memory[2], features,
                                                 memory[1], memory[1] + 2, 1, memory[3], memory[3] + 8, 0.5, NULL,
                                                 NULL));
    EXPECT(first(memory[2]) == 1 && first(memory[3]) == 4);
    OK(C(cudnnBatchNormalizationForwardTrainingEx)(handle, 1, 1, &one, &zero, tensor, memory[0], NULL, NULL, other,
                                                   memory[2], features, memory[1], memory[1] + 2, 1, NULL, NULL, 0.5,
                                                   NULL, NULL, act, NULL, 0, NULL, 0));
    OK(C(cudnnBatchNormalizationForwardInference)(handle, 1, &one, &zero, tensor, memory[0], other, memory[2], features,
                                                  memory[1], memory[1] + 2, memory[3], memory[3] + 8, 0.5));
    EXPECT(first(memory[2]) == 1);
    OK(C(cudnnBatchNormalizationBackward)(handle, 1, &one, &zero, &one, &zero, tensor, memory[0], other, memory[2],
                                          other, memory[3], features, memory[1], memory[1] + 8, memory[1] + 12, 0.5,
                                          NULL, NULL));
    EXPECT(first(memory[1] + 12) == 16);
    OK(C(cudnnBatchNormalizationBackwardEx)(handle, 1, 1, &one, &zero, &one, &zero, tensor, memory[0], other, memory[2],
                                            other, memory[2], NULL, NULL, other, memory[3], features, memory[1],
                                            memory[1] + 2, memory[1] + 8, memory[1] + 12, 0.5, NULL, NULL, act, NULL, 0,
                                            NULL, 0));
    EXPECT(first(memory[1] + 12) == 16);
    OK(C(cudnnDestroyActivationDescriptor)(act));
    OK(C(cudnnDestroyTensorDescriptor)(features));
}

static void drops(void)
{
    void *drop, *state;
    float rate;
    unsigned long long seed;
    size_t size = 0;
    OK(C(cudnnCreateDropoutDescriptor)(&drop));
    OK(C(cudnnDropoutGetStatesSize)(handle, &size));
    OK(C(cudnnDropoutGetReserveSpaceSize)(tensor, &size));
    IS(size, 32);
    OK(C(cudnnSetDropoutDescriptor)(drop, handle, 0, memory[3], 64, 7));
    OK(C(cudnnRestoreDropoutDescriptor)(drop, handle, 0, memory[3], 64, 7));
    OK(C(cudnnGetDropoutDescriptor)(drop, handle, &rate, &state, &seed));
    EXPECT(rate == 0 && state == memory[3] && seed == 7);
    OK(C(cudnnDropoutForward)(handle, drop, tensor, memory[0], other, memory[1], memory[2], 32));
    EXPECT(first(memory[1]) == 4);
    OK(C(cudnnDropoutBackward)(handle, drop, other, memory[1], tensor, memory[0], memory[2], 32));
    EXPECT(first(memory[0]) == 4);
    OK(C(cudnnDestroyDropoutDescriptor)(drop));
}

/* One step of a network of one number: tanh(w x), w and x 0. */
static void recurs(void)
{
    void *rnn, *x, *m, *b, *at;
    int v[16];
    unsigned flags;
    double low, high;
    size_t size = 0, reserve = 0;
    OK(C(cudnnCreateRNNDescriptor)(&rnn));
    OK(C(cudnnCreateRNNDataDescriptor)(&x));
    OK(C(cudnnSetRNNDescriptor_v8)(rnn, 0, 1, 0, 0, 0, DNN_FLOAT, DNN_FLOAT, 0, 1, 1, 1, 1, NULL, 0));
    OK(C(cudnnGetRNNDescriptor_v8)(rnn, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9, v + 10,
                                   v + 11, &at, &flags));
    EXPECT(v[1] == 1 && v[9] == 1);
    OK(C(cudnnRNNSetClip_v9)(rnn, 1, -1, 1));
    OK(C(cudnnRNNGetClip_v9)(rnn, v, &low, &high));
    EXPECT(v[0] == 1 && low == -1);
    OK(C(cudnnRNNSetClip_v8)(rnn, 0, 0, -1, 1));
    OK(C(cudnnRNNGetClip_v8)(rnn, v, v + 1, &low, &high));
    OK(C(cudnnBuildRNNDynamic)(handle, rnn, 1));
    OK(C(cudnnSetRNNDataDescriptor)(x, DNN_FLOAT, 0, 1, 1, 1, (const int[]){1}, NULL));
    OK(C(cudnnGetRNNDataDescriptor)(x, v, v + 1, v + 2, v + 3, v + 4, 1, v + 5, NULL));
    EXPECT(v[4] == 1 && v[5] == 1);
    OK(C(cudnnGetRNNWeightSpaceSize)(handle, rnn, &size));
    IS(size, 8);
    OK(C(cudnnCreateTensorDescriptor)(&m));
    OK(C(cudnnGetRNNWeightParams)(handle, rnn, 0, size, memory[0], 1, m, &at, m, &b));
    EXPECT(at == memory[0] + 1 && !b);
    OK(C(cudnnGetRNNTempSpaceSizes)(handle, rnn, 1, x, &size, &reserve));
    EXPECT(size == 0 && reserve > 0 && reserve <= 4096);
    fills(memory[0], 64, 0);
    fills(memory[1], 64, 3);
    OK(C(cudnnRNNForward)(handle, rnn, 1, NULL, x, memory[0], x, memory[1], NULL, NULL, NULL, NULL, NULL, NULL, 8,
                          memory[0] + 8, 0, NULL, reserve, memory[3]));
    EXPECT(first(memory[1]) == 0);
    OK(C(cudnnRNNBackwardData_v8)(handle, rnn, NULL, x, memory[1], memory[0], x, memory[2], NULL, NULL, NULL, NULL,
                                  NULL, NULL, NULL, NULL, 8, memory[0] + 8, 0, NULL, reserve, memory[3]));
    OK(C(cudnnRNNBackwardWeights_v8)(handle, rnn, 1, NULL, x, memory[0], NULL, NULL, x, memory[1], 8, memory[2], 0,
                                     NULL, reserve, memory[3]));
    EXPECT(first(memory[2]) == 0);
    OK(C(cudnnDestroyTensorDescriptor)(m));
    OK(C(cudnnDestroyRNNDataDescriptor)(x));
    OK(C(cudnnDestroyRNNDescriptor)(rnn));
}

/* The same, by the interface before version 8, through objects of that version's facade. */
static void recurs_of_old(void)
{
    void *eight, *rnn, *x, *w, *out, *data, *at = NULL, *drop = NULL;
    int v[8];
    unsigned mode = 0;
    double low, high;
    size_t size = 0, reserve = 0;
    OK(EIGHT(cudnnCreate)(&eight));
    OK(EIGHT(cudnnCreateRNNDescriptor)(&rnn));
    OK(EIGHT(cudnnCreateTensorDescriptor)(&x));
    OK(EIGHT(cudnnCreateFilterDescriptor)(&w));
    OK(EIGHT(cudnnCreateFilterDescriptor)(&out));
    OK(EIGHT(cudnnCreateRNNDataDescriptor)(&data));
    OK(EIGHT(cudnnSetTensorNdDescriptor)(x, DNN_FLOAT, 3, (const int[]){1, 1, 1}, (const int[]){1, 1, 1}));
    OK(EIGHT(cudnnSetRNNDataDescriptor)(data, DNN_FLOAT, 0, 1, 1, 1, (const int[]){1}, NULL));
    OK(EIGHT(cudnnSetRNNDescriptor_v6)(eight, rnn, 1, 1, NULL, 0, 0, 1, 0, DNN_FLOAT));
    OK(EIGHT(cudnnGetRNNDescriptor_v6)(eight, rnn, v, v + 1, &drop, v + 2, v + 3, v + 4, v + 5, v + 6));
    EXPECT(v[0] == 1 && v[4] == 1);
    OK(EIGHT(cudnnSetRNNBiasMode)(rnn, 0));
    OK(EIGHT(cudnnGetRNNBiasMode)(rnn, v));
    OK(EIGHT(cudnnSetRNNMatrixMathType)(rnn, 1));
    OK(EIGHT(cudnnGetRNNMatrixMathType)(rnn, v + 1));
    OK(EIGHT(cudnnSetRNNPaddingMode)(rnn, 1));
    OK(EIGHT(cudnnGetRNNPaddingMode)(rnn, &mode));
    OK(EIGHT(cudnnSetRNNProjectionLayers)(eight, rnn, 1, 0));
    OK(EIGHT(cudnnGetRNNProjectionLayers)(eight, rnn, v + 2, v + 3));
    OK(EIGHT(cudnnRNNSetClip)(eight, rnn, 0, 0, -1, 1));
    OK(EIGHT(cudnnRNNGetClip)(eight, rnn, v + 4, v + 5, &low, &high));
    EXPECT(v[0] == 0 && v[1] == 1 && mode == 1 && v[2] == 1 && v[3] == 0 && v[4] == 0 && low == -1 && high == 1);
    OK(EIGHT(cudnnGetRNNWorkspaceSize)(eight, rnn, 1, &x, &size));
    OK(EIGHT(cudnnGetRNNTrainingReserveSize)(eight, rnn, 1, &x, &reserve));
    EXPECT(size == 0 && reserve > 0 && reserve <= 4096);
    OK(EIGHT(cudnnGetRNNParamsSize)(eight, rnn, x, &size, DNN_FLOAT));
    IS(size, 8);
    OK(EIGHT(cudnnSetFilterNdDescriptor)(w, DNN_FLOAT, 0, 3, (const int[]){2, 1, 1}));
    OK(EIGHT(cudnnGetRNNLinLayerMatrixParams)(eight, rnn, 0, x, w, memory[0], 1, out, &at));
    EXPECT(at == memory[0] + 1);
    OK(EIGHT(cudnnGetRNNLinLayerBiasParams)(eight, rnn, 0, x, w, memory[0], 1, out, &at));
    EXPECT(!at);
    float *net = memory[0] + 8;
    void *none = NULL;
    for (int extended = 0; extended < 2; extended++) {
        fills(memory[0], 64, 0);
        fills(memory[1], 64, 3);
        OK(extended ? EIGHT(cudnnRNNForwardInferenceEx)(eight, rnn, data, memory[0], none, none, none, none, w, net,
                                                        data, memory[1], none, none, none, none, none, none, none, none,
                                                        none, none, none, none, none, 0)
                    : EIGHT(cudnnRNNForwardInference)(eight, rnn, 1, &x, memory[0], none, none, none, none, w, net, &x,
                                                      memory[1], none, none, none, none, none, 0));
        EXPECT(first(memory[1]) == 0);
        OK(extended ? EIGHT(cudnnRNNForwardTrainingEx)(eight, rnn, data, memory[0], none, none, none, none, w, net,
                                                       data, memory[1], none, none, none, none, none, none, none, none,
                                                       none, none, none, none, none, 0, memory[3], reserve)
                    : EIGHT(cudnnRNNForwardTraining)(eight, rnn, 1, &x, memory[0], none, none, none, none, w, net, &x,
                                                     memory[1], none, none, none, none, none, 0, memory[3], reserve));
        OK(extended ? EIGHT(cudnnRNNBackwardDataEx)(eight, rnn, data, memory[1], data, memory[0], none, none, none,
                                                    none, none, none, w, net, none, none, none, none, data, memory[2],
                                                    none, none, none, none, none, none, none, 0, memory[3], reserve)
                    : EIGHT(cudnnRNNBackwardData)(eight, rnn, 1, &x, memory[1], &x, memory[0], none, none, none, none,
                                                  w, net, none, none, none, none, &x, memory[2], none, none, none, none,
                                                  none, 0, memory[3], reserve));
        OK(extended ? EIGHT(cudnnRNNBackwardWeightsEx)(eight, rnn, data, memory[0], none, none, data, memory[1], none,
                                                       0, w, memory[2], memory[3], reserve)
                    : EIGHT(cudnnRNNBackwardWeights)(eight, rnn, 1, &x, memory[0], none, none, &x, memory[1], none, 0,
                                                     w, memory[2], memory[3], reserve));
        EXPECT(first(memory[2]) == 0);
    }
    void *algorithm, *perf, *plan;
    char saved[16];
    int count = 0, algo = 9;
    OK(EIGHT(cudnnCreateAlgorithmPerformance)(&perf, 1));
    OK(EIGHT(cudnnCreateAlgorithmDescriptor)(&algorithm));
    OK(EIGHT(cudnnFindRNNForwardInferenceAlgorithmEx)(eight, rnn, 1, &x, memory[0], none, none, none, none, w, net, &x,
                                                      memory[1], none, none, none, none, 0, 1, &count, &perf, none, 0));
    OK(EIGHT(cudnnFindRNNForwardTrainingAlgorithmEx)(eight, rnn, 1, &x, memory[0], none, none, none, none, w, net, &x,
                                                     memory[1], none, none, none, none, 0, 1, &count, &perf, none, 0,
                                                     memory[3], reserve));
    OK(EIGHT(cudnnFindRNNBackwardDataAlgorithmEx)(eight, rnn, 1, &x, memory[1], &x, memory[0], none, none, none, none,
                                                  w, net, none, none, none, none, &x, memory[2], none, none, none, none,
                                                  0, 1, &count, &perf, none, 0, memory[3], reserve));
    OK(EIGHT(cudnnFindRNNBackwardWeightsAlgorithmEx)(eight, rnn, 1, &x, memory[0], none, none, &x, memory[1], 0, 1,
                                                     &count, &perf, none, 0, w, memory[2], memory[3], reserve));
    IS(count, 1);
    OK(EIGHT(cudnnGetAlgorithmPerformance)(perf, &algorithm, &count, NULL, NULL));
    IS(count, 0);
    OK(EIGHT(cudnnGetAlgorithmDescriptor)(algorithm, &algo));
    IS(algo, 0);
    OK(EIGHT(cudnnSetAlgorithmDescriptor)(algorithm, 2));
    OK(EIGHT(cudnnCopyAlgorithmDescriptor)(algorithm, algorithm));
    OK(EIGHT(cudnnSetAlgorithmPerformance)(perf, algorithm, 0, 1, 2));
    OK(EIGHT(cudnnGetAlgorithmSpaceSize)(eight, algorithm, &size));
    OK(EIGHT(cudnnSaveAlgorithm)(eight, algorithm, saved, sizeof saved));
    OK(EIGHT(cudnnRestoreAlgorithm)(eight, saved, sizeof saved, algorithm));
    OK(EIGHT(cudnnSetRNNAlgorithmDescriptor)(eight, rnn, algorithm));
    OK(EIGHT(cudnnGetRNNForwardInferenceAlgorithmMaxCount)(eight, rnn, &count));
    OK(EIGHT(cudnnGetRNNForwardTrainingAlgorithmMaxCount)(eight, rnn, &count));
    OK(EIGHT(cudnnGetRNNBackwardDataAlgorithmMaxCount)(eight, rnn, &count));
    OK(EIGHT(cudnnGetRNNBackwardWeightsAlgorithmMaxCount)(eight, rnn, &count));
    IS(count, 1);
    OK(EIGHT(cudnnCreatePersistentRNNPlan)(rnn, 1, DNN_FLOAT, &plan));
    OK(EIGHT(cudnnSetPersistentRNNPlan)(rnn, plan));
    OK(EIGHT(cudnnDestroyPersistentRNNPlan)(plan));
    OK(EIGHT(cudnnDestroyAlgorithmDescriptor)(algorithm));
    OK(EIGHT(cudnnDestroyAlgorithmPerformance)(&perf, 1));
    OK(EIGHT(cudnnDestroyRNNDataDescriptor)(data));
    OK(EIGHT(cudnnDestroyFilterDescriptor)(out));
    OK(EIGHT(cudnnDestroyFilterDescriptor)(w));
    OK(EIGHT(cudnnDestroyTensorDescriptor)(x));
    OK(EIGHT(cudnnDestroyRNNDescriptor)(rnn));
    OK(EIGHT(cudnnDestroy)(eight));
}

/* y = |x|, as a graph of one operation, through all descriptors that lead to its plan. */
static void *backend(int kind)
{
    void *d = NULL;
    OK(C(cudnnBackendCreateDescriptor)(kind, &d));
    return d;
}
static void says(void *d, int name, int type, int64_t n, const void *v)
{
    OK(C(cudnnBackendSetAttribute)(d, name, type, n, v));
}
static void builds_graphs(void)
{
    enum { X, Y, MODE, OPERATION, GRAPH, HEURISTICS, CONFIG, PLAN, PACK, ALL };
    static const int kinds[] = {17, 17, 0, 13, 15, 4, 3, 5, 16};
    void *d[ALL], *at[] = {memory[0], memory[1]};
    const int64_t four = 4, one_step = 1, uids[] = {1, 2};
    const int dnn_float = DNN_FLOAT, absolute = CUDNN_POINTWISE_ABS, instant = 0;
    long long count = 0;
    void *nodes = NULL;
    for (int i = 0; i < ALL; i++)
        d[i] = backend(kinds[i]);
    for (int i = X; i <= Y; i++) {
        says(d[i], CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &dnn_float);
        says(d[i], CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, &four);
        says(d[i], CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, &one_step);
        says(d[i], CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uids[i]);
        says(d[i], CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &four);
        OK(C(cudnnBackendFinalize)(d[i]));
    }
    says(d[MODE], CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &absolute);
    OK(C(cudnnBackendFinalize)(d[MODE]));
    says(d[OPERATION], CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d[MODE]);
    says(d[OPERATION], CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d[X]);
    says(d[OPERATION], CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d[Y]);
    OK(C(cudnnBackendFinalize)(d[OPERATION]));
    says(d[GRAPH], CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d[OPERATION]);
    OK(C(cudnnBackendFinalize)(d[GRAPH]));
    says(d[HEURISTICS], CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d[GRAPH]);
    says(d[HEURISTICS], CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &instant);
    OK(C(cudnnBackendFinalize)(d[HEURISTICS]));
    OK(C(cudnnBackendGetAttribute)(d[HEURISTICS], CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                   &count, &d[CONFIG]));
    IS(count, 1);
    says(d[PLAN], CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d[CONFIG]);
    OK(C(cudnnBackendFinalize)(d[PLAN]));
    says(d[PACK], CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 2, uids);
    says(d[PACK], CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 2, at);
    OK(C(cudnnBackendFinalize)(d[PACK]));
    fills(memory[0], 4, -3);
    OK(C(cudnnBackendExecute)(handle, d[PLAN], d[PACK]));
    EXPECT(first(memory[1]) == 3);
    size_t workspace = 1;
    OK(C(cudnnGetExecutionPlanWorkspaceSize)(handle, d[PLAN], d[PACK], &workspace));
    IS(workspace, 0);
    OK(M(cudaGraphCreate, musaGraphCreate)((void *)&nodes, 0));
    OK(C(cudnnBackendPopulateCudaGraph)(handle, d[PLAN], d[PACK], nodes));
    OK(C(cudnnBackendUpdateCudaGraph)(handle, d[PLAN], d[PACK], nodes));
    OK(M(cudaGraphDestroy, musaGraphDestroy)(nodes));
    IS(C(cudnnBackendSetAttribute)(d[PACK], CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 2, uids),
       CUDNN_STATUS_NOT_INITIALIZED);
    OK(C(cudnnBackendInitialize)(d[PACK]));
    IS(C(cudnnBackendFinalize)(d[PACK]), CUDNN_STATUS_BAD_PARAM);
    for (int i = 0; i < ALL; i++)
        OK(C(cudnnBackendDestroyDescriptor)(d[i]));
}

/* A tap of 2, a bias of 1. */
static void convolves_causally(void)
{
    fills(memory[0], 4, 3);
    fills(memory[1], 1, 2);
    fills(memory[2], 1, 1);
    OK(C(cudnnCausalConv1dForward)(NULL, memory[0], memory[1], memory[2], memory[3], 1, 1, 4, 1, CUDNN_DATA_FLOAT,
                                   CUDNN_CAUSAL_CONV1D_ACTIVATION_IDENTITY));
    EXPECT(first(memory[3]) == 7);
    OK(C(cudnnCausalConv1dBackward)(NULL, memory[0], memory[1], memory[2], memory[0], memory[3], memory[3] + 64,
                                    memory[2], 1, 1, 4, 1, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                                    CUDNN_CAUSAL_CONV1D_ACTIVATION_IDENTITY));
    EXPECT(first(memory[3]) == 6 && first(memory[2]) == 13);
}

static void snippet_run(void)
{
    tells_of_itself();
    tells_of_eight();
    describes_tensors();
    for (int i = 0; i < 4; i++)
        OK(M(cudaMalloc, musaMalloc)((void **)&memory[i], 4096));
    convolves();
    convolves_causally();
    moves();
    pools();
    normalises();
    drops();
    recurs();
    recurs_of_old();
    builds_graphs();
    for (int i = 0; i < 4; i++)
        OK(M(cudaFree, musaFree)(memory[i]));
}

void snippet_cudnn(void)
{
    if (!snippet_below("mudnnHostPointwise"))
        return;
    OK(C(cudnnCreate)(&handle));
    OK(C(cudnnCreateTensorDescriptor)(&tensor));
    OK(C(cudnnCreateTensorDescriptor)(&other));
    OK(C(cudnnCreateFilterDescriptor)(&filter));
    snippet_run();
    OK(C(cudnnDestroyFilterDescriptor)(filter));
    OK(C(cudnnDestroyTensorDescriptor)(other));
    OK(C(cudnnDestroyTensorDescriptor)(tensor));
    OK(C(cudnnDestroy)(handle));
}
