/* What the distributed workloads share: a rank with its device, streams and cuBLAS handle, and matrices. All numbers
 * are small integers in f64, so that every sum is exact in whatever order it is made, and results are compared for
 * equality. Matrices lie by columns without gaps. */
#ifndef CUMU_TESTS_DISTRIBUTED_RANKS_H
#define CUMU_TESTS_DISTRIBUTED_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char internal[128];
} ncclUniqueId;
typedef void *ncclComm_t;

#include "cuda_functions.h"

enum { F64 = 8, INT32 = 2, SUM = 0, SMALL = 12 };

struct rank {
    int me, n;
    unsigned seed; /* the same on all ranks */
    ncclComm_t comm;
    void *stream, *side, *blas;
    void *held[4096]; /* freed after each workload */
    int nheld, wrong;
};

/* The next number of a sequence that all ranks draw alike. */
unsigned draw(struct rank *r);
/* One of [low, high]. */
int between(struct rank *r, int low, int high);
/* -1, 0 or 1: element i of the matrix that `salt` names. */
double element(unsigned salt, size_t i);

/* Memory that lives until the workload ends; the first two on the device. From the host; zeroed; on the host. */
double *put(struct rank *r, const double *from, size_t n);
double *room(struct rank *r, size_t n);
double *host(struct rank *r, size_t n);
/* A matrix of elements, on the host. */
double *matrix(struct rank *r, unsigned salt, size_t n);
/* To the host, once the stream has come there. */
void get(struct rank *r, double *to, const double *from, size_t n);
double *got(struct rank *r, const double *from, size_t n);

/* c (rows x columns) = op(a) op(b), or c += ... */
void multiply(struct rank *r, bool ta, bool tb, int rows, int columns, int inner, const double *a, const double *b,
              double *c, bool add);
/* y += factor * x */
void add(struct rank *r, size_t n, double factor, const double *x, double *y);
/* rows [row, row + rows) of columns [column, column + columns) of a matrix with `height` rows, on the host. */
double *cut(struct rank *r, const double *from, int height, int row, int rows, int column, int columns);

/* Counts what is not so. */
void must(struct rank *r, bool good, const char *what, int line);
#define MUST(r, what) must(r, what, #what, __LINE__)
/* Are n elements on the device those on the host? */
void same(struct rank *r, const char *what, const double *device, const double *want, size_t n);

typedef void workload(struct rank *r);
workload data_parallel, tensor_parallel, pipeline, interleaved, swapped_activations, hierarchical, ring_both_ways,
    mixture_of_experts, products;

#endif
