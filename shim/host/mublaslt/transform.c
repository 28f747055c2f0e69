/* Matrix transformation of the CPU muBLASLt: c = alpha op(a) + beta op(b), between element types and orders. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/mublaslt/mublaslt.h"

struct operand {
    struct mublasLtMatrixLayout layout;
    const void *at;
    int op;
    const void *factor_at; /* NULL: the value */
    double factor[2];
};
struct transform {
    struct operand in[2];
    struct mublasLtMatrixLayout layout;
    void *at;
    int scale;
};

static void add(double *sum, const struct operand *o, const double factor[2], double *line, int member, bool down,
                size_t index, size_t n)
{
    bool plain = o->op == MUBLAS_OP_N, complex = lt_complex(o->layout.type);
    if (factor[0] == 0 && factor[1] == 0)
        return; /* not read */
    lt_load_line(line, lt_member(o->at, &o->layout, member), &o->layout, plain == down, index, n);
    for (size_t i = 0; i < n && !complex; i++)
        sum[i] += factor[0] * line[i];
    double sign = o->op == MUBLAS_OP_C ? -1 : 1;
    for (size_t i = 0; i < n && complex; i++) {
        double re = line[2 * i], im = sign * line[2 * i + 1];
        sum[2 * i] += factor[0] * re - factor[1] * im;
        sum[2 * i + 1] += factor[0] * im + factor[1] * re;
    }
}

static void run(const void *call)
{
    const struct transform *t = call;
    const struct mublasLtMatrixLayout *l = &t->layout;
    bool down = l->order != MUBLASLT_ORDER_ROW;
    size_t lines = down ? l->cols : l->rows, n = down ? l->rows : l->cols, room = 2 * n * sizeof(double);
    double *sum = maths_alloc(room), *line = maths_alloc(room), factor[2][2];
    for (int k = 0; k < 2; k++) {
        memcpy(factor[k], t->in[k].factor, sizeof factor[k]);
        if (t->in[k].factor_at)
            lt_load(factor[k], t->in[k].factor_at, lt_real(t->scale), 0, 1, lt_complex(t->scale) ? 2 : 1);
    }
    for (int member = 0; sum && line && member < l->batch; member++)
        for (size_t i = 0; i < lines; i++) {
            memset(sum, 0, room);
            add(sum, &t->in[0], factor[0], line, member, down, i, n);
            add(sum, &t->in[1], factor[1], line, member, down, i, n);
            lt_store_line((void *)(uintptr_t)lt_member(t->at, l, member), sum, l, down, i, n);
        }
    free(sum);
    free(line);
}

/* false: refused, *r says how. */
static bool take(struct operand *o, const struct transform *t, const struct mublasLtMatrixLayout *l, bool device,
                 mublasStatus_t *r)
{
    bool plain = o->op == MUBLAS_OP_N;
    bool used = device ? o->at != NULL : o->factor[0] != 0 || o->factor[1] != 0;
    *r = MUBLAS_STATUS_SUCCESS;
    if (!used) {
        o->factor_at = NULL;
        o->factor[0] = o->factor[1] = 0;
        return true;
    }
    *r = MUBLAS_STATUS_INVALID_VALUE;
    if (!l || !o->at || !lt_layout_good(l) || l->batch != t->layout.batch || o->op < MUBLAS_OP_N ||
        o->op > MUBLAS_OP_C || (plain ? l->rows : l->cols) != t->layout.rows ||
        (plain ? l->cols : l->rows) != t->layout.cols)
        return false;
    *r = MUBLAS_STATUS_NOT_IMPLEMENTED;
    o->layout = *l;
    return lt_complex(l->type) == lt_complex(t->layout.type) && !l->plane && !lt_packed(l->type);
}

mublasStatus_t mublasLtMatrixTransform(mublasLtHandle_t handle, mublasLtMatrixTransformDesc_t desc, const void *alpha,
                                       const void *a, mublasLtMatrixLayout_t a_layout, const void *beta, const void *b,
                                       mublasLtMatrixLayout_t b_layout, void *c, mublasLtMatrixLayout_t c_layout,
                                       musaStream_t stream)
{
    mublasStatus_t r;
    if (!lt_live(handle))
        return MUBLAS_STATUS_INVALID_HANDLE;
    if (!desc || !c_layout || !lt_layout_good(c_layout) || c_layout->batch < 1 || desc->pointers < 0 ||
        desc->pointers > MUBLASLT_POINTER_MODE_DEVICE)
        return MUBLAS_STATUS_INVALID_VALUE;
    struct transform t = {.layout = *c_layout, .at = maths_operand(c), .scale = desc->scale};
    const void *factor[] = {alpha, beta}, *at[] = {a, b};
    const struct mublasLtMatrixLayout *layout[] = {a_layout, b_layout};
    bool device = desc->pointers == MUBLASLT_POINTER_MODE_DEVICE;
    if (!lt_size(desc->scale) || lt_complex(desc->scale) != lt_complex(c_layout->type) || c_layout->plane ||
        lt_packed(c_layout->type))
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    for (int i = 0; i < 2; i++) {
        struct operand *o = &t.in[i];
        o->at = maths_operand(at[i]);
        o->op = desc->op[i];
        if (device)
            o->factor_at = factor[i];
        else if (factor[i])
            lt_load(o->factor, factor[i], lt_real(desc->scale), 0, 1, lt_complex(desc->scale) ? 2 : 1);
        if (!factor[i] && o->at)
            return MUBLAS_STATUS_INVALID_POINTER;
        if (!take(o, &t, layout[i], device, &r))
            return r;
    }
    if (!c_layout->rows || !c_layout->cols)
        return MUBLAS_STATUS_SUCCESS;
    if (!c)
        return MUBLAS_STATUS_INVALID_POINTER;
    double work = 64.0 * (double)c_layout->rows * (double)c_layout->cols * c_layout->batch;
    return lt_submit(stream, run, &t, sizeof t, work);
}
