/* Algorithms of recurrent layers as cuDNN 7 chose them: descriptors, what was measured of them, searches, persistent
 * plans. The library below has one way of computing them, so a search measures the algorithm that the layer has. */
#include <string.h>
#include <time.h>

#include "api/cudnn/rnn.h"

struct dnn_algorithm {
    struct dnn_object object;
    int algo;
};
struct dnn_performance {
    struct dnn_object object;
    int algo, status;
    float time; /* milliseconds */
    size_t memory;
};
struct dnn_persistent {
    struct dnn_object object;
    int batch, type;
};

int wrap_cudnnCreateAlgorithmDescriptor(void **d) { return dnn_create(DNN_ALGORITHM, sizeof(struct dnn_algorithm), d); }
int wrap_cudnnDestroyAlgorithmDescriptor(void *d) { return dnn_destroy(DNN_ALGORITHM, d); }

/* cudnnAlgorithm_t is a union of enums. */
int wrap_cudnnSetAlgorithmDescriptor(void *d, int algo)
{
    DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, d));
    ((struct dnn_algorithm *)d)->algo = algo;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetAlgorithmDescriptor(void *d, int *algo)
{
    DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, d) && algo);
    *algo = ((const struct dnn_algorithm *)d)->algo;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnCopyAlgorithmDescriptor(void *from, void *to)
{
    DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, from) && dnn_is(DNN_ALGORITHM, to));
    ((struct dnn_algorithm *)to)->algo = ((const struct dnn_algorithm *)from)->algo;
    return CUDNN_STATUS_SUCCESS;
}

/* Performances come as arrays. */
int wrap_cudnnDestroyAlgorithmPerformance(void **p, int n)
{
    DNN_BAD_UNLESS(n >= 0 && (p || !n));
    for (int i = 0; i < n; i++)
        DNN_BAD_UNLESS(!dnn_destroy(DNN_PERFORMANCE, p[i]));
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnCreateAlgorithmPerformance(void **p, int n)
{
    DNN_BAD_UNLESS(n > 0 && p);
    for (int i = 0; i < n; i++) {
        int r = dnn_create(DNN_PERFORMANCE, sizeof(struct dnn_performance), p + i);
        if (r) {
            wrap_cudnnDestroyAlgorithmPerformance(p, i);
            return r;
        }
    }
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSetAlgorithmPerformance(void *perf, void *algorithm, int status, float time, size_t memory)
{
    struct dnn_performance *p = perf;
    DNN_BAD_UNLESS(dnn_is(DNN_PERFORMANCE, p) && dnn_is(DNN_ALGORITHM, algorithm));
    p->algo = ((const struct dnn_algorithm *)algorithm)->algo;
    p->status = status;
    p->time = time;
    p->memory = memory;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetAlgorithmPerformance(void *perf, void **algorithm, int *status, float *time, size_t *memory)
{
    const struct dnn_performance *p = perf;
    DNN_BAD_UNLESS(dnn_is(DNN_PERFORMANCE, p));
    if (algorithm) {
        DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, *algorithm));
        ((struct dnn_algorithm *)*algorithm)->algo = p->algo;
    }
    if (status)
        *status = p->status;
    if (time)
        *time = p->time;
    if (memory)
        *memory = p->memory;
    return CUDNN_STATUS_SUCCESS;
}

/* An algorithm in memory of the host, to be found again by a later process. */
struct saved {
    char mark[4];
    int algo;
};
static const char mark[4] = {'c', 'u', 'm', 'u'};
int wrap_cudnnGetAlgorithmSpaceSize(void *handle, void *d, size_t *size)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, d) && size);
    *size = sizeof(struct saved);
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnSaveAlgorithm(void *handle, void *d, void *space, size_t size)
{
    struct saved s;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, d) && space && size >= sizeof s);
    memcpy(s.mark, mark, sizeof mark);
    s.algo = ((const struct dnn_algorithm *)d)->algo;
    memcpy(space, &s, sizeof s);
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnRestoreAlgorithm(void *handle, void *space, size_t size, void *d)
{
    struct saved s;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_ALGORITHM, d) && space && size >= sizeof s);
    memcpy(&s, space, sizeof s);
    DNN_BAD_UNLESS(!memcmp(s.mark, mark, sizeof mark));
    ((struct dnn_algorithm *)d)->algo = s.algo;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- recurrent layers -------------------------------------------------------------------------- */

static struct dnn_rnn *layer(void *desc)
{
    return dnn_is(DNN_RNN, desc) && ((struct dnn_rnn *)desc)->set ? desc : NULL;
}

int wrap_cudnnSetRNNAlgorithmDescriptor(void *handle, void *desc, void *algorithm)
{
    struct dnn_rnn *d = layer(desc);
    const struct dnn_algorithm *a = algorithm;
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(d && dnn_is(DNN_ALGORITHM, a) && a->algo >= 0 && a->algo < CUDNN_RNN_ALGO_COUNT);
    d->algo = a->algo;
    return CUDNN_STATUS_SUCCESS;
}

/* A plan has nothing to keep. */
int wrap_cudnnCreatePersistentRNNPlan(void *desc, int batch, int type, void **plan)
{
    const struct dnn_rnn *d = layer(desc);
    DNN_BAD_UNLESS(d && batch > 0 && dnn_size(type) && plan);
    if (d->algo != CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
        return CUDNN_STATUS_NOT_SUPPORTED;
    int r = dnn_create(DNN_PERSISTENT, sizeof(struct dnn_persistent), plan);
    if (!r) {
        ((struct dnn_persistent *)*plan)->batch = batch;
        ((struct dnn_persistent *)*plan)->type = type;
    }
    return r;
}
int wrap_cudnnSetPersistentRNNPlan(void *desc, void *plan)
{
    const struct dnn_rnn *d = layer(desc);
    DNN_BAD_UNLESS(d && dnn_is(DNN_PERSISTENT, plan) && d->algo == CUDNN_RNN_ALGO_PERSIST_DYNAMIC);
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnDestroyPersistentRNNPlan(void *plan) { return dnn_destroy(DNN_PERSISTENT, plan); }

static int most(void *handle, void *desc, int *count)
{
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(layer(desc) && count);
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
}
int wrap_cudnnGetRNNForwardInferenceAlgorithmMaxCount(void *h, void *d, int *n) { return most(h, d, n); }
int wrap_cudnnGetRNNForwardTrainingAlgorithmMaxCount(void *h, void *d, int *n) { return most(h, d, n); }
int wrap_cudnnGetRNNBackwardDataAlgorithmMaxCount(void *h, void *d, int *n) { return most(h, d, n); }
int wrap_cudnnGetRNNBackwardWeightsAlgorithmMaxCount(void *h, void *d, int *n) { return most(h, d, n); }

/* A search: runs the pass, which writes its results, and times it. */
struct search {
    void *handle;
    struct dnn_rnn *d;
    struct timespec start;
};
static int start_search(struct search *s, void *handle, void *desc, int wanted, const int *found, void *const *results)
{
    DNN_HANDLE_OR_LEAVE(handle);
    *s = (struct search){.handle = handle, .d = layer(desc)};
    DNN_BAD_UNLESS(s->d && wanted > 0 && found && results && dnn_is(DNN_PERFORMANCE, results[0]));
    if (mu.musaStreamSynchronize(dnn_stream(handle)))
        return CUDNN_STATUS_EXECUTION_FAILED;
    clock_gettime(CLOCK_MONOTONIC, &s->start);
    return CUDNN_STATUS_SUCCESS;
}
static int end_search(const struct search *s, int status, int *found, void *const *results)
{
    struct dnn_performance *p = results[0];
    struct timespec end;
    if (!status && mu.musaStreamSynchronize(dnn_stream(s->handle)))
        status = CUDNN_STATUS_EXECUTION_FAILED;
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (status)
        return status;
    p->algo = s->d->algo;
    p->status = CUDNN_STATUS_SUCCESS;
    p->memory = 0;
    p->time = (float)((double)(end.tv_sec - s->start.tv_sec) * 1e3 + (double)(end.tv_nsec - s->start.tv_nsec) * 1e-6);
    *found = 1;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnFindRNNForwardInferenceAlgorithmEx(void *handle, void *desc, int time, void **xd, const void *x,
                                                 void *hxd, const void *hx, void *cxd, const void *cx, void *wd,
                                                 const void *w, void **yd, void *y, void *hyd, void *hy, void *cyd,
                                                 void *cy, float intensity, int wanted, int *found, void **results,
                                                 void *space, size_t size)
{
    struct search s;
    int r = start_search(&s, handle, desc, wanted, found, results);
    (void)intensity;
    return r ? r
             : end_search(&s,
                          wrap_cudnnRNNForwardInference(handle, desc, time, xd, x, hxd, hx, cxd, cx, wd, w, yd, y, hyd,
                                                        hy, cyd, cy, space, size),
                          found, results);
}
int wrap_cudnnFindRNNForwardTrainingAlgorithmEx(void *handle, void *desc, int time, void **xd, const void *x, void *hxd,
                                                const void *hx, void *cxd, const void *cx, void *wd, const void *w,
                                                void **yd, void *y, void *hyd, void *hy, void *cyd, void *cy,
                                                float intensity, int wanted, int *found, void **results, void *space,
                                                size_t size, void *reserve, size_t reserve_size)
{
    struct search s;
    int r = start_search(&s, handle, desc, wanted, found, results);
    (void)intensity;
    return r ? r
             : end_search(&s,
                          wrap_cudnnRNNForwardTraining(handle, desc, time, xd, x, hxd, hx, cxd, cx, wd, w, yd, y, hyd,
                                                       hy, cyd, cy, space, size, reserve, reserve_size),
                          found, results);
}
int wrap_cudnnFindRNNBackwardDataAlgorithmEx(void *handle, void *desc, int time, void **yd, const void *y, void **dyd,
                                             const void *dy, void *dhyd, const void *dhy, void *dcyd, const void *dcy,
                                             void *wd, const void *w, void *hxd, const void *hx, void *cxd,
                                             const void *cx, void **dxd, void *dx, void *dhxd, void *dhx, void *dcxd,
                                             void *dcx, float intensity, int wanted, int *found, void **results,
                                             void *space, size_t size, void *reserve, size_t reserve_size)
{
    struct search s;
    int r = start_search(&s, handle, desc, wanted, found, results);
    (void)intensity;
    return r ? r
             : end_search(&s,
                          wrap_cudnnRNNBackwardData(handle, desc, time, yd, y, dyd, dy, dhyd, dhy, dcyd, dcy, wd, w,
                                                    hxd, hx, cxd, cx, dxd, dx, dhxd, dhx, dcxd, dcx, space, size,
                                                    reserve, reserve_size),
                          found, results);
}
int wrap_cudnnFindRNNBackwardWeightsAlgorithmEx(void *handle, void *desc, int time, void **xd, const void *x, void *hxd,
                                                const void *hx, void **yd, const void *y, float intensity, int wanted,
                                                int *found, void **results, const void *space, size_t size, void *dwd,
                                                void *dw, const void *reserve, size_t reserve_size)
{
    struct search s;
    int r = start_search(&s, handle, desc, wanted, found, results);
    (void)intensity;
    return r ? r
             : end_search(&s,
                          wrap_cudnnRNNBackwardWeights(handle, desc, time, xd, x, hxd, hx, yd, y, space, size, dwd, dw,
                                                       reserve, reserve_size),
                          found, results);
}
