/* In front of a test of cuDNN's graphs (cc -include): whatever it does to a descriptor is first done wrong, in drawn
 * ways: to no descriptor, to another object, by another type, with counts that cannot be, with descriptors that are
 * foreign, destroyed, not finalised or of another kind, with noise in place of numbers; and again behind finalising.
 * What is wrong has an error, and nothing of it is left: the test's own results are right as before. */
#ifndef CUMU_TESTS_HOSTILE_H
#define CUMU_TESTS_HOSTILE_H

#include "cuda_enums.h"
#include "dnn.h"

static long long hostile_noise[64] = {0x1234567812345678, -1, 77};
static unsigned hostile_seed = 1; /* not the test's: it draws the same as ever */
static inline unsigned hostile_upto(unsigned n)
{
    hostile_seed = hostile_seed * 1664525u + 1013904223u;
    return (hostile_seed >> 8) % n;
}
#define HOSTILE_REFUSED(call) \
    do { \
        int status_ = (call); \
        EXPECT(status_ / 1000 == 2 || status_ / 1000 == 3 || status_ == NOT_INITIALIZED, "%s: %d", #call, status_); \
    } while (0)

/* A descriptor of a kind, not finalised; destroyed if that is wanted. */
static inline void *hostile_descriptor(int kind, bool gone)
{
    void *d = NULL;
    OK(cudnnBackendCreateDescriptor(kind, &d));
    if (gone)
        OK(cudnnBackendDestroyDescriptor(d));
    return d;
}
static inline void *hostile_none(void) /* no descriptor */
{
    void *const all[] = {NULL, hostile_noise, handle, hostile_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, true)};
    return all[hostile_upto(4)];
}

static inline int hostile_set(void *d, int name, int type, long long count, const void *v)
{
    HOSTILE_REFUSED(cudnnBackendSetAttribute(hostile_none(), name, type, count, v));
    HOSTILE_REFUSED(cudnnBackendSetAttribute(d, name, type, count, NULL));
    HOSTILE_REFUSED(cudnnBackendSetAttribute(d, name, type, hostile_upto(2) ? -1 : 1LL << 40, v));
    HOSTILE_REFUSED(cudnnBackendSetAttribute(d, name, hostile_upto(2) ? -1 : 99, count, v));
    if (type != CUDNN_TYPE_HANDLE)
        HOSTILE_REFUSED(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_HANDLE, count, v));
    HOSTILE_REFUSED(cudnnBackendSetAttribute(d, hostile_upto(2) ? -1 : 99999, type, count, v));
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && count > 0 && count < 64) {
        void *all[64], *fresh = hostile_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, false);
        void *const wrong[] = {hostile_none(), hostile_none(), fresh, d};
        memcpy(all, v, (size_t)count * sizeof *all);
        all[hostile_upto((unsigned)count)] = wrong[hostile_upto(4)];
        HOSTILE_REFUSED(cudnnBackendSetAttribute(d, name, type, count, all));
        OK(cudnnBackendDestroyDescriptor(fresh));
    } else if (type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE || type == CUDNN_TYPE_FLOAT ||
               type == CUDNN_TYPE_DATA_TYPE) {
        long long noise[64]; /* numbers are looked at when all are there */
        for (int i = 0; i < 64; i++)
            noise[i] = (long long)((unsigned long long)hostile_upto(1u << 24) << hostile_upto(41)) - 5;
        if (count <= 64 && name != CUDNN_ATTR_TENSOR_CONSTANT_VALUE)
            (void)cudnnBackendSetAttribute(d, name, type, count, noise);
    }
    return cudnnBackendSetAttribute(d, name, type, count, v);
}

static inline int hostile_finalize(void *d)
{
    long long count = 0, out[64] = {0};
    HOSTILE_REFUSED(cudnnBackendFinalize(hostile_none()));
    HOSTILE_REFUSED(cudnnBackendGetAttribute(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &count, out));
    int r = cudnnBackendFinalize(d);
    if (!r) {
        const int type = F32;
        HOSTILE_REFUSED(cudnnBackendSetAttribute(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
        (void)cudnnBackendFinalize(d);
    }
    return r;
}

static inline int hostile_get(void *d, int name, int type, long long wanted, long long *count, void *to)
{
    HOSTILE_REFUSED(cudnnBackendGetAttribute(hostile_none(), name, type, wanted, count, to));
    HOSTILE_REFUSED(cudnnBackendGetAttribute(d, name, type, -1, count, to));
    HOSTILE_REFUSED(cudnnBackendGetAttribute(d, hostile_upto(2) ? -1 : 99999, type, wanted, count, to));
    HOSTILE_REFUSED(cudnnBackendGetAttribute(d, name, hostile_upto(2) ? -1 : 99, wanted, count, to));
    if (to && type == CUDNN_TYPE_BACKEND_DESCRIPTOR && wanted > 0) {
        void *wrong[64] = {hostile_none()}, *other = hostile_descriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR, false);
        HOSTILE_REFUSED(cudnnBackendGetAttribute(d, name, type, 1, count, wrong));
        wrong[0] = other;
        HOSTILE_REFUSED(cudnnBackendGetAttribute(d, name, type, 1, count, wrong));
        OK(cudnnBackendDestroyDescriptor(other));
    }
    return cudnnBackendGetAttribute(d, name, type, wanted, count, to);
}

static inline int hostile_execute(void *h, void *plan, void *pack)
{
    void *fresh = hostile_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, false);
    HOSTILE_REFUSED(cudnnBackendExecute(hostile_noise, plan, pack));
    HOSTILE_REFUSED(cudnnBackendExecute(NULL, plan, pack));
    HOSTILE_REFUSED(cudnnBackendExecute(h, hostile_none(), pack));
    HOSTILE_REFUSED(cudnnBackendExecute(h, plan, hostile_none()));
    HOSTILE_REFUSED(cudnnBackendExecute(h, pack, plan));
    HOSTILE_REFUSED(cudnnBackendExecute(h, fresh, pack));
    HOSTILE_REFUSED(cudnnBackendExecute(h, plan, fresh));
    OK(cudnnBackendDestroyDescriptor(fresh));
    return cudnnBackendExecute(h, plan, pack);
}

#define cudnnBackendSetAttribute hostile_set
#define cudnnBackendFinalize hostile_finalize
#define cudnnBackendGetAttribute hostile_get
#define cudnnBackendExecute hostile_execute

#endif
