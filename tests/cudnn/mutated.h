/* In front of a test of cuDNN's graphs (cc -include): of each graph one attribute at most is another than the test
 * meant, which fits or does not: a shorter dimension, a smaller step, another type of no more bytes, another operand,
 * none, any mode, number or padding. The test's own verdicts mean nothing then; it must not crash, hang or go beyond
 * memory, which is the C library's, for sanitizers to see. What would describe more than there is is not among the
 * changes, nor what makes indices of other numbers. */
#ifndef CUMU_TESTS_MUTATED_H
#define CUMU_TESTS_MUTATED_H

#include <stdlib.h>
#include <string.h>

#include "cuda_enums.h"
#include "cuda_functions.h"

static inline int mutated_malloc(void **p, size_t size)
{
    *p = malloc(size ? size : 1);
    return *p ? 0 : 2;
}
static inline int mutated_free(void *p)
{
    const int r = cudaDeviceSynchronize();
    free(p);
    return r;
}
static inline int mutated_copy(void *to, const void *from, size_t size)
{
    const int r = cudaDeviceSynchronize();
    memcpy(to, from, size);
    return r;
}
#define cudaMalloc(p, size) mutated_malloc((void **)(p), size)
#define cudaFree mutated_free
#define cudaMemcpy(to, from, size, kind) mutated_copy(to, from, size)

#include "dnn.h"

#ifndef PACKED
#define PACKED false /* true: ragged tensors have no more memory than rows, whose number their steps tell */
#endif

enum { MUTATED_ONE_OF = 24, MUTATED_OPERANDS = 64 };
static unsigned mutated_seed = 1; /* not the test's */
static bool mutated_yet;
static long mutated_graphs, mutated_runs;
static __attribute__((constructor)) void mutated_begin(void)
{
    const char *s = getenv("MUTATED");
    mutated_seed = s ? (unsigned)atoi(s) : 1;
}
static __attribute__((destructor)) void mutated_end(void)
{
    printf("# mutated %ld, of which ran %ld\n", mutated_graphs, mutated_runs);
}
static inline unsigned mutated_upto(unsigned n)
{
    mutated_seed = mutated_seed * 1664525u + 1013904223u;
    return (mutated_seed >> 8) % n;
}

/* Tensors of numbers that are no indices: those that may stand for one another. */
static void *mutated_tensor[MUTATED_OPERANDS];
static int mutated_tensors;
static void *mutated_integer[MUTATED_OPERANDS]; /* descriptors of integers */
static int mutated_integers;
static inline bool mutated_is(void *const *all, int n, const void *d)
{
    for (int i = 0; i < n && i < MUTATED_OPERANDS; i++)
        if (all[i] == d)
            return true;
    return false;
}

static inline int mutated_set(void *d, int name, int type, long long count, const void *v)
{
    union {
        long long l[16];
        double d[16];
        float f[16];
        int i[16];
        bool b[16];
        void *p[16];
    } to;
    const bool integers = type == CUDNN_TYPE_DATA_TYPE && (*(const int *)v == I32 || *(const int *)v == I64);
    if (name == CUDNN_ATTR_TENSOR_DATA_TYPE && integers)
        mutated_integer[mutated_integers++ % MUTATED_OPERANDS] = d;
    if (name == CUDNN_ATTR_TENSOR_DIMENSIONS && !mutated_is(mutated_integer, mutated_integers, d))
        mutated_tensor[mutated_tensors++ % MUTATED_OPERANDS] = d;
    const size_t bytes_of = type == CUDNN_TYPE_BOOLEAN ? 1
                            : type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE ||
                                    type == CUDNN_TYPE_BACKEND_DESCRIPTOR
                                ? 8
                            : type == CUDNN_TYPE_FRACTION ? 16
                                                          : 4;
    const bool of_memory = name == CUDNN_ATTR_TENSOR_UNIQUE_ID || name == CUDNN_ATTR_TENSOR_VECTOR_COUNT ||
                           name == CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION ||
                           name == CUDNN_ATTR_TENSOR_REORDERING_MODE ||
                           name == CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER || type == CUDNN_TYPE_VOID_PTR ||
                           type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_CHAR ||
                           name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS || name == CUDNN_ATTR_OPERATIONGRAPH_OPS ||
                           name / 100 == 2 || name / 100 == 3 || name / 100 == 4 ||
                           name == CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC ||
                           (PACKED && name == CUDNN_ATTR_TENSOR_STRIDES);
    /* indices, lengths and offsets that were others would lead anywhere */
    const bool index = integers || mutated_is(mutated_integer, mutated_integers, d);
    if (mutated_yet || of_memory || index || count < 1 || (size_t)count * bytes_of > sizeof to ||
        mutated_upto(MUTATED_ONE_OF))
        return cudnnBackendSetAttribute(d, name, type, count, v);
    memcpy(&to, v, (size_t)count * bytes_of);
    const unsigned k = mutated_upto((unsigned)count);
    const int given = to.i[0];
    if (name == CUDNN_ATTR_TENSOR_DIMENSIONS) {
        if (to.l[k] < 2)
            return cudnnBackendSetAttribute(d, name, type, count, v);
        to.l[k] = 1 + mutated_upto((unsigned)to.l[k] - 1);
    } else if (name == CUDNN_ATTR_TENSOR_STRIDES) {
        to.l[k] = to.l[k] > 1 ? mutated_upto((unsigned)to.l[k]) : to.l[k];
    } else if (type == CUDNN_TYPE_DATA_TYPE && d && name == CUDNN_ATTR_TENSOR_DATA_TYPE) {
        static const int all[] = {F32, F64, F16, I8, I32, U8, BF16, I64, BOOL, E4M3, E5M2, CUDNN_DATA_FP4_E2M1};
        to.i[0] = all[mutated_upto(12)];
        if (bytes(to.i[0]) > bytes(given) || to.i[0] == I32 || to.i[0] == I64)
            to.i[0] = given;
    } else if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        const bool tensor = mutated_is(mutated_tensor, mutated_tensors, to.p[k]);
        if (!mutated_upto(4) || !tensor) {
            mutated_yet = true, mutated_graphs++;
            return 0; /* it is left out */
        }
        to.p[k] = mutated_tensor[mutated_upto(
            (unsigned)(mutated_tensors < MUTATED_OPERANDS ? mutated_tensors : MUTATED_OPERANDS))];
    } else if (type == CUDNN_TYPE_INT64) {
        to.l[k] += (long long)mutated_upto(5) - 2;
    } else if (type == CUDNN_TYPE_FRACTION) {
        to.l[2 * (k % 2)] += (long long)mutated_upto(5) - 2;
    } else if (type == CUDNN_TYPE_DOUBLE) {
        to.d[k] = mutated_upto(3) ? (double)mutated_upto(5) - 2 : NAN;
    } else if (type == CUDNN_TYPE_FLOAT) {
        to.f[k] = mutated_upto(3) ? (float)mutated_upto(5) - 2 : INFINITY;
    } else if (type == CUDNN_TYPE_BOOLEAN) {
        to.b[k] = !to.b[k];
    } else {
        to.i[k] = (int)mutated_upto(mutated_upto(2) ? 60 : 8);
    }
    if (!memcmp(&to, v, (size_t)count * bytes_of))
        return cudnnBackendSetAttribute(d, name, type, count, v);
    mutated_yet = true, mutated_graphs++;
    return cudnnBackendSetAttribute(d, name, type, count, &to);
}
static inline int mutated_execute(void *h, void *plan, void *pack)
{
    const int r = cudnnBackendExecute(h, plan, pack);
    mutated_runs += mutated_yet && !r;
    return r;
}
/* A graph's descriptors are gone, or another's begin. */
static inline int mutated_destroy(void *d)
{
    mutated_yet = false, mutated_tensors = mutated_integers = 0;
    return cudnnBackendDestroyDescriptor(d);
}
#define cudnnBackendSetAttribute mutated_set
#define cudnnBackendExecute mutated_execute
#define cudnnBackendDestroyDescriptor mutated_destroy

#endif
