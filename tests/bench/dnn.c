/* cuDNN on the CPU muDNN beside oneDNN called directly: convolutions, of floats and, where oneDNN has it, of bfloat16,
 * batch normalisations of floats in the order N, C, H, W, and LSTMs, on the same memory in the same process, waited for
 * one by one. The direct calls keep their primitives and make the layouts that oneDNN likes of the program's, as a
 * program would that has these tensors; times as ratios, and what a small call costs more. */
#include "library.h"

#include <stdbool.h>
#include <string.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DNNL_ARG_SHIFT) && DNNL_VERSION_MAJOR == 2

enum { ROUNDS = 7, FORWARD = 0, DATA, FILTER, F32 = 0, BF16 = 9 };
static double now(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); } /* of all threads: true on a busy machine, too */
static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        exit(1);
    }
}
#define ONE(name) ((__typeof__(dnnl_##name) *)in("libdnnl.so.2", "dnnl_" #name))
#define DNN(name) ((int (*)())in("libcudnn.so.9", "cudnn" #name))

/* A direct call: the convolution and the changes of layouts around it. */
struct direct {
    dnnl_primitive_t step[4];
    dnnl_exec_arg_t args[4][3];
    int count[4], steps;
};
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void reorder(struct direct *d, const dnnl_memory_desc_t *from, dnnl_memory_t from_at,
                    const dnnl_memory_desc_t *to, dnnl_memory_t to_at)
{
    dnnl_primitive_desc_t pd;
    must(ONE(reorder_primitive_desc_create)(&pd, from, engine, to, engine, NULL), "reorder");
    must(ONE(primitive_create)(&d->step[d->steps], pd), "reorder");
    d->args[d->steps][0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, from_at};
    d->args[d->steps][1] = (dnnl_exec_arg_t){DNNL_ARG_TO, to_at};
    d->count[d->steps++] = 2;
}

/* False: oneDNN has none of that type here. */
static bool make_direct(struct direct *d, int way, int type, const dnnl_dim_t dim[3][4], int pad, int stride,
                        void *const at[3])
{
    static const int args[][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                  {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    static const dnnl_query_t query[][3] = {{dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
                                            {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
                                            {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
    const int result = way == FORWARD ? 2 : way == DATA ? 0 : 1;
    dnnl_memory_desc_t any[3], plain[3];
    dnnl_memory_t given[3], used[3];
    dnnl_convolution_desc_t c;
    dnnl_primitive_desc_t pd;
    dnnl_dims_t strides = {stride, stride}, none = {0, 0}, pads = {pad, pad};
    const dnnl_data_type_t numbers = type == BF16 ? dnnl_bf16 : dnnl_f32;
    for (int i = 0; i < 3; i++) {
        ONE(memory_desc_init_by_tag)(&any[i], 4, dim[i], numbers, dnnl_format_tag_any);
        ONE(memory_desc_init_by_tag)(&plain[i], 4, dim[i], numbers, dnnl_abcd);
    }
    if (way == FORWARD)
        must(ONE(dilated_convolution_forward_desc_init)(&c, dnnl_forward_training, dnnl_convolution_direct, &any[0],
                                                        &any[1], NULL, &any[2], strides, none, pads, pads),
             "forward");
    else if (way == DATA)
        must(ONE(dilated_convolution_backward_data_desc_init)(&c, dnnl_convolution_direct, &any[0], &any[1], &any[2],
                                                              strides, none, pads, pads),
             "data");
    else
        must(ONE(dilated_convolution_backward_weights_desc_init)(&c, dnnl_convolution_direct, &any[0], &any[1], NULL,
                                                                 &any[2], strides, none, pads, pads),
             "filter");
    if (ONE(primitive_desc_create)(&pd, &c, NULL, engine, NULL))
        return false;
    d->steps = 0;
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *best = ONE(primitive_desc_query_md)(pd, query[way][i], 0);
        must(ONE(memory_create)(&given[i], &plain[i], engine, at[i]), "memory");
        used[i] = given[i];
        if (!ONE(memory_desc_equal)(best, &plain[i]))
            must(ONE(memory_create)(&used[i], best, engine, DNNL_MEMORY_ALLOCATE), "memory");
        if (used[i] != given[i] && i != result)
            reorder(d, &plain[i], given[i], best, used[i]);
    }
    must(ONE(primitive_create)(&d->step[d->steps], pd), "convolution");
    for (int i = 0; i < 3; i++)
        d->args[d->steps][i] = (dnnl_exec_arg_t){args[way][i], used[i]};
    d->count[d->steps++] = 3;
    if (used[result] != given[result])
        reorder(d, ONE(primitive_desc_query_md)(pd, query[way][result], 0), used[result], &plain[result],
                given[result]);
    return true;
}

/* Seconds of a call: oneDNN's and ours, of the rounds those that others disturbed least. False: oneDNN has none. */
static bool compare(int way, int type, int n, int c, int size, int k, int window, int stride, double best[2])
{
    static const float one = 1, zero = 0;
    int pad = window / 2, out = (size + 2 * pad - window) / stride + 1;
    const dnnl_dim_t dim[3][4] = {{n, c, size, size}, {k, c, window, window}, {n, k, out, out}};
    void *at[3], *x, *w, *y, *conv, *handle;
    struct direct d;
    __typeof__(dnnl_primitive_execute) *execute = ONE(primitive_execute);
    __typeof__(dnnl_stream_wait) *wait = ONE(stream_wait);
    int (*synchronize)(void *) = in("libcudart.so.12", "cudaStreamSynchronize");
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc"), (*release)(void *);
    int (*call[])() = {DNN(ConvolutionForward), DNN(ConvolutionBackwardData), DNN(ConvolutionBackwardFilter)};
    release = in("libcudart.so.12", "cudaFree");
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)(dim[i][0] * dim[i][1] * dim[i][2] * dim[i][3]) * (type == BF16 ? 2 : sizeof(float));
        must(allocate(&at[i], bytes), "cudaMalloc");
        memset(at[i], 0, bytes);
    }
    must(DNN(Create)(&handle), "cudnnCreate");
    DNN(CreateTensorDescriptor)(&x), DNN(CreateTensorDescriptor)(&y), DNN(CreateFilterDescriptor)(&w);
    DNN(CreateConvolutionDescriptor)(&conv);
    must(DNN(SetTensor4dDescriptor)(x, 0, type, n, c, size, size), "x");
    must(DNN(SetTensor4dDescriptor)(y, 0, type, n, k, out, out), "y");
    must(DNN(SetFilter4dDescriptor)(w, type, 0, k, c, window, window), "w");
    must(DNN(SetConvolution2dDescriptor)(conv, pad, pad, stride, stride, 1, 1, 1, 0), "convolution");
    const bool both = make_direct(&d, way, type, dim, pad, stride, at);
    double work = 2.0 * n * k * out * out * c * window * window;
    int calls = (int)(3e9 / (work + 1e6));
    calls = calls > 1 ? calls : 1;
    best[0] = best[1] = 1e9;
    for (int r = -1; both && r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < calls; i++) {
            for (int s = 0; s < d.steps; s++)
                execute(d.step[s], stream, d.count[s], d.args[s]);
            wait(stream);
        }
        double half = now();
        for (int i = 0; i < calls; i++) {
            int bad = way == FORWARD
                          ? call[way](handle, &one, x, at[0], w, at[1], conv, 1, NULL, (size_t)0, &zero, y, at[2])
                      : way == DATA
                          ? call[way](handle, &one, w, at[1], y, at[2], conv, 1, NULL, (size_t)0, &zero, x, at[0])
                          : call[way](handle, &one, x, at[0], y, at[2], conv, 1, NULL, (size_t)0, &zero, w, at[1]);
            if (bad || synchronize(NULL))
                exit(1);
        }
        double took[2] = {(half - t) / calls, (now() - half) / calls};
        for (int i = 0; i < 2 && r >= 0; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    for (int i = 0; i < 3; i++)
        release(at[i]);
    DNN(DestroyTensorDescriptor)(x), DNN(DestroyTensorDescriptor)(y), DNN(DestroyFilterDescriptor)(w);
    DNN(DestroyConvolutionDescriptor)(conv), DNN(Destroy)(handle);
    return both;
}

/* The same of a batch normalisation over channels while training, and of its gradients. */
static void compare_norm(int backward, int n, int c, int size, double best[2])
{
    static const float one = 1, zero = 0;
    const dnnl_dims_t dim = {n, c, size, size}, features = {c};
    const int args[] = {DNNL_ARG_SRC,       backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST,
                        DNNL_ARG_DIFF_SRC,  DNNL_ARG_SCALE,
                        DNNL_ARG_SHIFT,     DNNL_ARG_MEAN,
                        DNNL_ARG_VARIANCE,  DNNL_ARG_DIFF_SCALE,
                        DNNL_ARG_DIFF_SHIFT};
    enum { TENSORS = 3, ALL = 9 };
    size_t count = (size_t)n * (size_t)c * (size_t)(size * size);
    float *at[ALL], *more[2];
    void *x, *s, *handle;
    dnnl_memory_desc_t md, fd;
    dnnl_batch_normalization_desc_t d;
    dnnl_primitive_desc_t hint, pd;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t exec[ALL];
    __typeof__(dnnl_primitive_execute) *execute = ONE(primitive_execute);
    __typeof__(dnnl_stream_wait) *wait = ONE(stream_wait);
    int (*synchronize)(void *) = in("libcudart.so.12", "cudaStreamSynchronize");
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc");
    int (*forward)() = DNN(BatchNormalizationForwardTraining), (*back)() = DNN(BatchNormalizationBackward);
    ONE(memory_desc_init_by_tag)(&md, 4, dim, dnnl_f32, dnnl_abcd);
    ONE(memory_desc_init_by_tag)(&fd, 1, features, dnnl_f32, dnnl_a);
    for (int i = 0; i < ALL + 2; i++) {
        size_t numbers = i < TENSORS ? count : (size_t)c;
        float **to = i < ALL ? &at[i] : &more[i - ALL];
        must(allocate((void **)to, numbers * sizeof(float)), "cudaMalloc");
        for (size_t k = 0; k < numbers; k++)
            (*to)[k] = (float)(k % 7) + 1;
        if (i < ALL) {
            exec[i].arg = args[i];
            must(ONE(memory_create)(&exec[i].memory, i < TENSORS ? &md : &fd, engine, *to), "memory");
        }
    }
    const unsigned flags = dnnl_use_scale | dnnl_use_shift;
    ONE(batch_normalization_forward_desc_init)(&d, dnnl_forward_training, &md, 1e-5f, flags);
    must(ONE(primitive_desc_create)(&hint, &d, NULL, engine, NULL), "normalisation");
    pd = hint;
    if (backward) {
        ONE(batch_normalization_backward_desc_init)(&d, dnnl_backward, &md, &md, 1e-5f, flags);
        must(ONE(primitive_desc_create)(&pd, &d, NULL, engine, hint), "normalisation");
    }
    must(ONE(primitive_create)(&primitive, pd), "normalisation");
    must(DNN(Create)(&handle), "cudnnCreate");
    DNN(CreateTensorDescriptor)(&x), DNN(CreateTensorDescriptor)(&s);
    must(DNN(SetTensor4dDescriptor)(x, 0, 0, n, c, size, size), "x");
    must(DNN(DeriveBNTensorDescriptor)(s, x, 1), "features");
    best[0] = best[1] = 1e9;
    for (int r = -1; r < ROUNDS; r++) {
        double t = now();
        execute(primitive, stream, ALL, exec);
        wait(stream);
        double half = now();
        int bad = backward ? back(handle, 1, &one, &zero, &one, &zero, x, at[0], x, at[1], x, at[2], s, at[3], at[7],
                                  at[8], 1e-5, at[5], at[6])
                           : forward(handle, 1, &one, &zero, x, at[0], x, at[1], s, at[3], at[4], 0.1, more[0], more[1],
                                     1e-5, at[5], at[6]);
        if (bad || synchronize(NULL))
            exit(1);
        double took[2] = {half - t, now() - half};
        for (int i = 0; i < 2 && r >= 0; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    int (*release)(void *) = in("libcudart.so.12", "cudaFree");
    for (int i = 0; i < ALL + 2; i++)
        release(i < ALL ? at[i] : more[i - ALL]);
    DNN(DestroyTensorDescriptor)(x), DNN(DestroyTensorDescriptor)(s), DNN(Destroy)(handle);
}

/* One layer of an LSTM that reads sequences of one length: oneDNN with its weights in its own order beforehand, oneDNN
 * with the program's, which it brings into that order in each call as cuDNN has to, and cuDNN. */
static void compare_lstm(int time, int batch, int width, double best[3])
{
    const dnnl_dims_t data = {time, batch, width}, matrix = {1, 1, width, 4, width}, bias = {1, 1, 4, width};
    const size_t square = (size_t)4 * (size_t)width * (size_t)width, ends = (size_t)8 * (size_t)width;
    const size_t bytes[] = {(size_t)time * (size_t)batch * (size_t)width * sizeof(float),
                            (size_t)time * (size_t)batch * (size_t)width * sizeof(float),
                            (2 * square + ends) * sizeof(float)};
    void *at[3], *handle, *rnn, *x;
    int (*synchronize)(void *) = in("libcudart.so.12", "cudaStreamSynchronize"), *lengths = calloc((size_t)batch, 4);
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc");
    int (*release)(void *) = in("libcudart.so.12", "cudaFree");
    dnnl_memory_desc_t tensor, none = {0}, weights, ends_desc, plain;
    dnnl_memory_t m[5], from[2];
    dnnl_rnn_desc_t d;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t lstm;
    for (int i = 0; i < 3; i++) {
        must(allocate(&at[i], bytes[i]), "cudaMalloc");
        for (size_t k = 0; k < bytes[i] / sizeof(float); k++)
            ((float *)at[i])[k] = (float)(k % 37) / 100 - 0.18f;
    }
    for (int i = 0; i < batch; i++)
        lengths[i] = time;
    must(DNN(Create)(&handle), "cudnnCreate");
    DNN(CreateRNNDescriptor)(&rnn), DNN(CreateRNNDataDescriptor)(&x);
    must(DNN(SetRNNDescriptor_v8)(rnn, 0, 2, 2, 0, 0, 0, 0, 0, width, width, width, 1, NULL, 0), "rnn");
    must(DNN(SetRNNDataDescriptor)(x, 0, 0, time, batch, width, lengths, NULL), "x");
    must(ONE(memory_desc_init_by_tag)(&tensor, 3, data, dnnl_f32, dnnl_tnc), "x");
    must(ONE(memory_desc_init_by_tag)(&weights, 5, matrix, dnnl_f32, dnnl_format_tag_any), "weights");
    must(ONE(memory_desc_init_by_tag)(&plain, 5, matrix, dnnl_f32, dnnl_ldgoi), "weights");
    must(ONE(memory_desc_init_by_tag)(&ends_desc, 4, bias, dnnl_f32, dnnl_ldgo), "bias");
    must(ONE(lstm_forward_desc_init)(&d, dnnl_forward_inference, dnnl_unidirectional_left2right, &tensor, &none, &none,
                                     &weights, &weights, &ends_desc, &tensor, &none, &none, 0),
         "lstm");
    must(ONE(primitive_desc_create)(&pd, &d, NULL, engine, NULL), "lstm");
    must(ONE(primitive_create)(&lstm, pd), "lstm");
    must(ONE(memory_create)(&m[0], &tensor, engine, at[0]), "x");
    must(ONE(memory_create)(&m[1], &tensor, engine, at[1]), "y");
    must(ONE(memory_create)(&m[2], &ends_desc, engine, (float *)at[2] + 2 * square), "bias");
    struct direct change = {.steps = 0};
    for (int i = 0; i < 2; i++) {
        const dnnl_memory_desc_t *own = ONE(primitive_desc_query_md)(pd, dnnl_query_weights_md, i);
        must(ONE(memory_create)(&from[i], &plain, engine, (float *)at[2] + (size_t)i * square), "weights");
        must(ONE(memory_create)(&m[3 + i], own, engine, DNNL_MEMORY_ALLOCATE), "weights");
        reorder(&change, &plain, from[i], own, m[3 + i]);
    }
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC_LAYER, m[0]},
                                    {DNNL_ARG_DST_LAYER, m[1]},
                                    {DNNL_ARG_BIAS, m[2]},
                                    {DNNL_ARG_WEIGHTS_LAYER, m[3]},
                                    {DNNL_ARG_WEIGHTS_ITER, m[4]}};
    best[0] = best[1] = best[2] = 1e9;
    for (int r = -1; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < 2; i++)
            ONE(primitive_execute)(change.step[i], stream, 2, change.args[i]);
        ONE(primitive_execute)(lstm, stream, 5, args);
        ONE(stream_wait)(stream);
        double packed = now();
        ONE(primitive_execute)(lstm, stream, 5, args);
        ONE(stream_wait)(stream);
        double half = now();
        if (DNN(RNNForward)(handle, rnn, 0, NULL, x, at[0], x, at[1], NULL, NULL, NULL, NULL, NULL, NULL, bytes[2],
                            at[2], (size_t)0, NULL, (size_t)0, NULL) ||
            synchronize(NULL))
            exit(1);
        double took[3] = {half - packed, packed - t, now() - half};
        for (int i = 0; i < 3 && r >= 0; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    for (int i = 0; i < 3; i++)
        release(at[i]);
    free(lengths);
}

int main(void)
{
    static const char *const ways[] = {"forward", "data", "filter"};
    static const struct {
        int n, c, size, k, window, stride;
    } cases[] = {{8, 64, 56, 64, 3, 1}, {8, 128, 28, 128, 3, 1}, {4, 256, 14, 1024, 1, 1}, {4, 3, 224, 64, 7, 2}};
    double t[3];
    must(ONE(engine_create)(&engine, dnnl_cpu, 0), "engine");
    must(ONE(stream_create)(&stream, engine, dnnl_stream_default_flags), "stream");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = FORWARD; way < 2 * (FILTER + 1); way++) {
            const int type = way > FILTER ? BF16 : F32, of = way % (FILTER + 1);
            const char *name = type == BF16 ? "_bf16" : "";
            if (!compare(of, type, cases[i].n, cases[i].c, cases[i].size, cases[i].k, cases[i].window, cases[i].stride,
                         t))
                continue;
            printf("# convolution%s %dx%dx%d to %d, window %d, %s: oneDNN %.2f ms, cuDNN %.2f ms\n", name, cases[i].n,
                   cases[i].c, cases[i].size, cases[i].k, cases[i].window, ways[of], t[0] * 1e3, t[1] * 1e3);
            printf("bench mudnn.conv%d_%dx%d_%s%s_vs_onednn %.3f ratio\n", cases[i].window, cases[i].c, cases[i].size,
                   ways[of], name, t[1] / t[0]);
        }
    for (int backward = 0; backward < 2; backward++) {
        compare_norm(backward, 16, 64, 56, t);
        printf("# batch normalisation 16x64x56, %s: oneDNN %.2f ms, cuDNN %.2f ms\n",
               backward ? "backward" : "training", t[0] * 1e3, t[1] * 1e3);
        printf("bench mudnn.bn_64x56_%s_vs_onednn %.3f ratio\n", backward ? "backward" : "training", t[1] / t[0]);
    }
    compare_lstm(32, 16, 256, t);
    printf("# LSTM, 32 times, batch 16, width 256: oneDNN %.2f ms, with the program's weights %.2f ms, cuDNN %.2f ms\n",
           t[0] * 1e3, t[1] * 1e3, t[2] * 1e3);
    printf("bench mudnn.lstm_256_vs_onednn %.3f ratio\n", t[2] / t[1]);
    printf("bench mudnn.lstm_256_vs_onednn_packed %.3f ratio\n", t[2] / t[0]);
    compare(FORWARD, F32, 1, 8, 4, 8, 1, 1, t);
    printf("# convolution of 8 x 4 x 4: oneDNN %.1f us, cuDNN %.1f us with its synchronisation\n", t[0] * 1e6,
           t[1] * 1e6);
    printf("bench mudnn.small_call_added %.1f ns\n", (t[1] - t[0]) * 1e9);
    return 0;
}

#else

int main(void)
{
    printf("# dnn: built without oneDNN 2's headers\n");
    return 0;
}

#endif
