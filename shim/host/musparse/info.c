/* The objects that muSPARSE's legacy calls leave their findings in: made, asked for zero pivots, told of boosts. */
#include <stdlib.h>

#include "host/musparse/legacy.h"

#define OBJECT(name) \
    musparseStatus_t musparseCreate##name(musparseInfo_t *info) \
    { \
        POINTERS(info); \
        *info = calloc(1, sizeof **info); \
        CHECK(*info, MEMORY_ERROR); \
        (*info)->structural = (*info)->numeric = -1; \
        return MUSPARSE_STATUS_SUCCESS; \
    } \
    musparseStatus_t musparseDestroy##name(musparseInfo_t info) \
    { \
        POINTERS(info); \
        free(info->kept); \
        free(info); \
        return MUSPARSE_STATUS_SUCCESS; \
    }
OBJECT(Csrilu02Info)
OBJECT(Csric02Info)
OBJECT(Csrsv2Info)
OBJECT(Csrsm2Info)
OBJECT(Bsrilu02Info)
OBJECT(Bsric02Info)
OBJECT(Bsrsv2Info)
OBJECT(Bsrsm2Info)
OBJECT(Csrgemm2Info)
OBJECT(Csru2csrInfo)
OBJECT(PruneInfo)
OBJECT(ColorInfo)

/* ---- zero pivots */
struct pivots {
    musparseInfo_t info;
    int *position;
    int answer;
};

static void run_pivot(const void *call)
{
    const struct pivots *p = call;
    *p->position = p->info->structural >= 0 ? p->info->structural : p->info->numeric;
}

/* Waits, as cuSPARSE's does: the status depends on what has run. */
static musparseStatus_t zero_pivot(musparseHandle_t h, musparseInfo_t info, int *position)
{
    LIVE(h);
    POINTERS(info && position);
    struct pivots p = {.info = info, .position = position};
    musparseStatus_t r = musparse_submit_wait(h, run_pivot, &p, sizeof p);
    if (r)
        return r;
    return info->structural >= 0 || info->numeric >= 0 ? MUSPARSE_STATUS_ZERO_PIVOT : MUSPARSE_STATUS_SUCCESS;
}
#define PIVOT(name) \
    musparseStatus_t musparse##name##_zeroPivot(musparseHandle_t h, musparseInfo_t info, int *position) \
    { \
        return zero_pivot(h, info, position); \
    }
PIVOT(Xcsrilu02)
PIVOT(Xcsric02)
PIVOT(Xcsrsv2)
PIVOT(Xcsrsm2)
PIVOT(Xbsrilu02)
PIVOT(Xbsric02)
PIVOT(Xbsrsv2)
PIVOT(Xbsrsm2)

/* ---- boosts */
#define BOOST(X, T, W, name) \
    musparseStatus_t musparse##X##name##_numericBoost(musparseHandle_t h, musparseInfo_t info, int enable, \
                                                      double *tolerance, T *value) \
    { \
        LIVE(h); \
        POINTERS(info && (!enable || (tolerance && value))); \
        info->boost = enable; \
        if (enable) { \
            info->tolerance = *tolerance; \
            musparse_widen(&info->value, Z, value, work_type(W), 1); \
        } \
        return MUSPARSE_STATUS_SUCCESS; \
    }
#define BOOSTS(X, T, W) BOOST(X, T, W, csrilu02) BOOST(X, T, W, bsrilu02)
FOUR(BOOSTS)
