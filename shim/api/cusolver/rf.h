/* cuSOLVER Rf's handle: what the program set and handed in, and the factors. */
#ifndef CUMU_API_CUSOLVER_RF_H
#define CUMU_API_CUSOLVER_RF_H

#include "api/cusolver/sparse.h"
#include "api/object.h"

struct rf {
    int format, unit, factor, solve, fast;
    double zero, boost;
    bool batched, analysed, factored, boosted;
    int n, nnz, batch;
    int *row, *col, *p, *q;            /* of each of A's elements; orders: P[new] = old */
    double *a;                         /* batch times nnz */
    int nnz_l, nnz_u, *l_at, *u_at;    /* rows, then columns, of the factors' elements */
    int *from, *at, *diagonal, *place; /* M = L + U by rows; where each element of A goes in it */
    double *m;                         /* batch times from[n] */
    int *position;                     /* batch: where a pivot was zero */
    void *device[3];                   /* M, as AccessBundledFactorsDevice showed it */
};
static inline struct rf *cumu_rf(void *h) { return cumu_object(CUMU_RF, h); }

/* A copy on the host of what lies there or on the device. */
void *cumu_rf_fetched(bool device, const void *from, size_t bytes);
bool cumu_rf_permutation(const int *p, int n);

#endif
