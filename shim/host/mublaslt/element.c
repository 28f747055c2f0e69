/* Elements and places of matrices of the CPU muBLASLt. */
#include <math.h>

#include "host/maths/element.h"
#include "host/maths/submit.h"
#include "host/mublaslt/mublaslt.h"

size_t lt_size(int type)
{
    switch (type) {
    case MUSA_R_8I:
    case MUSA_R_8F_E4M3:
    case MUSA_R_8F_E5M2: return 1;
    case MUSA_C_8I:
    case MUSA_R_16F:
    case MUSA_R_16BF: return 2;
    case MUSA_R_32F:
    case MUSA_R_32I: return 4;
    case MUSA_C_32F:
    case MUSA_R_64F: return 8;
    case MUSA_C_64F: return 16;
    default: return 0;
    }
}

bool lt_packed(int type) { return type == MUSA_R_4F_E2M1; }

bool lt_complex(int type) { return type == MUSA_C_8I || type == MUSA_C_32F || type == MUSA_C_64F; }

/* The composite orders: groups of 32 columns, ld elements apart; what a tile of one looks like differs. */
size_t lt_place(const struct mublasLtMatrixLayout *l, size_t row, size_t column)
{
    size_t ld = (size_t)l->ld, group = ld * (column / 32), c = column % 32;
    switch (l->order) {
    case MUBLASLT_ORDER_COL: return row + ld * column;
    case MUBLASLT_ORDER_ROW: return column + ld * row;
    case MUBLASLT_ORDER_COL32: return group + 32 * row + c;
    case MUBLASLT_ORDER_COL4_4R2_8C: /* 8 rows: four even ones, four odd ones, four columns at a time */
        return group + 256 * (row / 8) + 128 * (row % 2) + 32 * (c / 8) + 16 * (c % 8 / 4) + 4 * (row % 8 / 2) + c % 4;
    default: /* COL32_2R_4R4: 32 rows */
        return group + 1024 * (row / 32) + 32 * ((row % 8 / 2 * 4 + row % 32 / 8) * 2 + row % 2) + c;
    }
}

bool lt_layout_good(const struct mublasLtMatrixLayout *l)
{
    uint64_t lines = l->order == MUBLASLT_ORDER_ROW ? l->cols : l->rows, width = 1;
    if (lt_packed(l->type) ? l->ld % 2 || l->order > MUBLASLT_ORDER_ROW : !lt_size(l->type))
        return false;
    if (l->order < MUBLASLT_ORDER_COL || l->order > MUBLASLT_ORDER_COL32_2R_4R4)
        return false;
    if (l->rows > INT32_MAX || l->cols > INT32_MAX)
        return false;
    if (l->order > MUBLASLT_ORDER_ROW)
        width = 32;
    if (l->order == MUBLASLT_ORDER_COL4_4R2_8C)
        lines = (lines + 7) / 8 * 8;
    if (l->order == MUBLASLT_ORDER_COL32_2R_4R4)
        lines = (lines + 31) / 32 * 32;
    return l->ld >= (int64_t)(lines * width) && l->ld <= INT32_MAX;
}

const void *lt_member(const void *at, const struct mublasLtMatrixLayout *l, int i)
{
    if (at && l->mode == MUBLASLT_BATCH_MODE_POINTER_ARRAY)
        return maths_member(((const void *const *)at)[i]);
    const int64_t bytes = lt_packed(l->type) ? l->stride / 2 : (int64_t)lt_size(l->type) * l->stride;
    return at ? (const char *)at + bytes * i : NULL;
}

static const float of_four[] = {0,    0.5f,  1,  1.5f,  2,  3,  4,  6, /* e2m1 */
                                -0.f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

#define EACH(T, value) \
    do { \
        const T *x = (const T *)from + first; \
        for (size_t i = 0; i < n; i++) \
            to[i] = (double)(value); \
    } while (0)

void lt_load(double *to, const void *from, int type, size_t first, size_t step, size_t n)
{
    switch (type) {
    case MUSA_R_16F: EACH(unsigned short, f16_to_f32(x[i * step])); break;
    case MUSA_R_16BF: EACH(unsigned short, bf16_to_f32(x[i * step])); break;
    case MUSA_R_8F_E4M3: EACH(unsigned char, maths_from_e4m3(x[i * step])); break;
    case MUSA_R_8F_E5M2: EACH(unsigned char, maths_from_e5m2(x[i * step])); break;
    case MUSA_R_4F_E2M1:
        for (size_t i = 0, at = first; i < n; i++, at += step)
            to[i] = of_four[((const unsigned char *)from)[at / 2] >> at % 2 * 4 & 15];
        break;
    case MUSA_R_8I: EACH(signed char, x[i * step]); break;
    case MUSA_R_32I: EACH(int, x[i * step]); break;
    case MUSA_R_64F: EACH(double, x[i * step]); break;
    default: EACH(float, x[i * step]);
    }
}
#undef EACH

static double bounded(double v, double low, double high)
{
    return v >= high ? high : v >= low ? nearbyint(v) : low; /* not a number: low */
}

#define EACH(T, value) \
    do { \
        T *x = (T *)to + first; \
        for (size_t i = 0; i < n; i++) { \
            double v = from[i]; \
            x[i * step] = (T)(value); \
        } \
    } while (0)

void lt_store(void *to, const double *from, int type, size_t first, size_t step, size_t n)
{
    switch (type) {
    case MUSA_R_16F: EACH(unsigned short, f32_to_f16((float)v)); break;
    case MUSA_R_16BF: EACH(unsigned short, f32_to_bf16((float)v)); break;
    case MUSA_R_8F_E4M3: EACH(unsigned char, maths_to_e4m3((float)v)); break;
    case MUSA_R_8F_E5M2: EACH(unsigned char, maths_to_e5m2((float)v)); break;
    case MUSA_R_8I: EACH(signed char, bounded(v, -128, 127)); break;
    case MUSA_R_32I: EACH(int, bounded(v, INT32_MIN, INT32_MAX)); break;
    case MUSA_R_64F: EACH(double, v); break;
    default: EACH(float, v);
    }
}
#undef EACH

int lt_real(int type)
{
    return type == MUSA_C_8I ? MUSA_R_8I : type == MUSA_C_32F ? MUSA_R_32F : type == MUSA_C_64F ? MUSA_R_64F : type;
}

/* In the plain orders the elements of a line are `step` apart. */
struct line {
    size_t first, step;
    int type;
    bool plain;
};
static struct line line_of(const struct mublasLtMatrixLayout *l, bool down, size_t index)
{
    bool next = down == (l->order == MUBLASLT_ORDER_COL);
    return (struct line){down ? lt_place(l, 0, index) : lt_place(l, index, 0), next ? 1 : (size_t)l->ld,
                         lt_real(l->type), l->order <= MUBLASLT_ORDER_ROW && !lt_complex(l->type)};
}
static size_t place_of(const struct mublasLtMatrixLayout *l, bool down, size_t index, size_t p)
{
    return down ? lt_place(l, p, index) : lt_place(l, index, p);
}

void lt_load_line(double *to, const void *at, const struct mublasLtMatrixLayout *l, bool down, size_t index, size_t n)
{
    struct line line = line_of(l, down, index);
    size_t parts = lt_complex(l->type) ? 2 : 1;
    if (line.plain)
        lt_load(to, at, line.type, line.first, line.step, n);
    else
        for (size_t p = 0; p < n; p++)
            lt_load(to + parts * p, at, line.type, parts * place_of(l, down, index, p), 1, parts);
}

void lt_store_line(void *at, const double *from, const struct mublasLtMatrixLayout *l, bool down, size_t index,
                   size_t n)
{
    struct line line = line_of(l, down, index);
    size_t parts = lt_complex(l->type) ? 2 : 1;
    if (line.plain)
        lt_store(at, from, line.type, line.first, line.step, n);
    else
        for (size_t p = 0; p < n; p++)
            lt_store(at, from + parts * p, line.type, parts * place_of(l, down, index, p), 1, parts);
}
