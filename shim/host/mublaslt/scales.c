/* Scales of the factors of a product by vectors or blocks of their elements: which products have them, where they
 * lie, and what they make of a line of a factor. Layouts are those of cuBLAS's documentation and of what PyTorch gives
 * it. */
#include <math.h>

#include "host/maths/element.h"
#include "host/mublaslt/mublaslt.h"

static bool eight(int type) { return type == MUSA_R_8F_E4M3 || type == MUSA_R_8F_E5M2; }
static size_t blocks_of(size_t n, size_t of) { return (n + of - 1) / of; }

/* Elements of a mode's scales along k. */
static size_t along(int mode)
{
    return mode == MUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3   ? 16
           : mode == MUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 ? 32
                                                              : 128;
}

bool lt_scaled(const struct mublasLtMatmulDesc *desc) { return desc->a_mode || desc->b_mode; }

/* Which modes go with which types and with each other. Sums of scaled products are made in double where f32 might not
 * hold one factor; an element of 4 bits times its scale has 6 bits. */
mublasStatus_t lt_check_scales(const struct mublasLtMatmulDesc *desc, const struct mublasLtMatrixLayout *a,
                               const struct mublasLtMatrixLayout *b, const struct mublasLtMatrixLayout *d,
                               enum lt_work *work)
{
    enum { SUMS_OF_FACTORS = 256 | 512 };
    const int x = desc->a_mode, y = desc->b_mode;
    const bool four = a->type == MUSA_R_4F_E2M1 && b->type == MUSA_R_4F_E2M1;
    const bool by_128 =
        (x == MUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || x == MUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F) &&
        (y == MUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || y == MUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F) &&
        (x == MUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || y == MUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
    const bool same = x == y && (x == MUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 ||
                                 x == MUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
    if (desc->c_mode || desc->d_mode || desc->aux_mode || desc->out_mode || desc->out_scale)
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    if (!lt_scaled(desc)) /* elements of 4 bits have none but block scales */
        return four ? MUBLAS_STATUS_NOT_IMPLEMENTED : MUBLAS_STATUS_SUCCESS;
    if (four ? x != MUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 || x != y
             : !eight(a->type) || !eight(b->type) || (!same && !by_128))
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    if (eight(d->type) || d->batch > 1 || desc->epilogue & SUMS_OF_FACTORS || a->order > MUBLASLT_ORDER_ROW ||
        b->order > MUBLASLT_ORDER_ROW)
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    const bool a_along = (desc->op[0] != MUBLAS_OP_N) == (a->order == MUBLASLT_ORDER_COL);
    const bool b_along = (desc->op[1] == MUBLAS_OP_N) == (b->order == MUBLASLT_ORDER_COL);
    if (four && (!a_along || !b_along)) /* two elements of a byte lie along k */
        return MUBLAS_STATUS_NOT_IMPLEMENTED;
    *work = four ? LT_S : LT_D;
    return MUBLAS_STATUS_SUCCESS;
}

/* Tiles of 128 rows by 4 scales, one after the other along k, then down; in a tile 16 bytes for each of 32 rows: four
 * scales of it, then those of the rows 32, 64 and 96 further on. */
static size_t tiled(size_t row, size_t block, size_t blocks)
{
    const size_t tile = row / 128 * blocks_of(blocks, 4) + block / 4;
    return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

/* The scale of `row`, an index along m or n, and the block of k. */
static double scale_at(const void *at, int mode, size_t row, size_t rows, size_t block, size_t blocks)
{
    const float *f = at;
    const unsigned char *u = at;
    switch (mode) {
    case MUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3: return maths_from_e4m3(u[tiled(row, block, blocks)] & 0x7f);
    case MUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0: {
        const unsigned e = u[tiled(row, block, blocks)];
        return e == 255 ? (double)NAN : ldexp(1, (int)e - 127);
    }
    case MUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F: return f[row];
    case MUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F: return f[block * rows + row];
    default: return f[row / 128 * blocks_of(blocks, 4) * 4 + block];
    }
}

void lt_scale_line(double *line, const struct lt_scales *s, bool along_k, size_t index, size_t n)
{
    const size_t per = along(s->mode), blocks = blocks_of(s->k, per);
    double scale = 0;
    for (size_t p = 0; p < n; p++) {
        const size_t row = along_k ? index : p, k = along_k ? p : index;
        if (!along_k || p % per == 0)
            scale = scale_at(s->at, s->mode, row, s->rows, k / per, blocks);
        line[p] *= scale;
    }
}
