/* Element and index types of the CPU muSPARSE, and what they are computed in. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/element.h"
#include "host/maths/submit.h"
#include "host/musparse/musparse.h"

/* Parts of an element: a real one has one, a complex one two. */
enum part { NONE, F32, F64, F16, BF16, I8, U8, I32 };
static const struct kind {
    unsigned char part, parts, size, work;
} kinds[] = {[MUSA_R_32F] = {F32, 1, 4, S},   [MUSA_R_64F] = {F64, 1, 8, D},   [MUSA_C_32F] = {F32, 2, 8, C},
             [MUSA_C_64F] = {F64, 2, 16, Z},  [MUSA_R_16F] = {F16, 1, 2, S},   [MUSA_C_16F] = {F16, 2, 4, C},
             [MUSA_R_16BF] = {BF16, 1, 2, S}, [MUSA_C_16BF] = {BF16, 2, 4, C}, [MUSA_R_8I] = {I8, 1, 1, S},
             [MUSA_R_8U] = {U8, 1, 1, S},     [MUSA_R_32I] = {I32, 1, 4, D}};

static const struct kind *kind_of(musaDataType_t type)
{
    static const struct kind none;
    return type >= 0 && type < (int)(sizeof kinds / sizeof *kinds) ? &kinds[type] : &none;
}

size_t musparse_size(musaDataType_t type) { return kind_of(type)->size; }

int musparse_work(musaDataType_t type)
{
    const struct kind *k = kind_of(type);
    return k->size ? k->work : -1;
}

#define LOOP(TO, FROM, expr) \
    for (size_t i = 0; i < n; i++) { \
        FROM v = ((const FROM *)from)[i]; \
        ((TO *)to)[i * step] = (TO)(expr); \
    } \
    break
#define READ(TO) \
    switch (part) { \
    case F32: LOOP(TO, float, v); \
    case F64: LOOP(TO, double, v); \
    case F16: LOOP(TO, unsigned short, f16_to_f32(v)); \
    case BF16: LOOP(TO, unsigned short, bf16_to_f32(v)); \
    case I8: LOOP(TO, signed char, v); \
    case U8: LOOP(TO, unsigned char, v); \
    case I32: LOOP(TO, int, v); \
    }

/* n parts into floats or doubles `step` apart. */
static void read_float(void *to, size_t step, const void *from, int part, size_t n) { READ(float) }
static void read_double(void *to, size_t step, const void *from, int part, size_t n) { READ(double) }

bool musparse_widen(void *to, int work, const void *from, musaDataType_t type, size_t n)
{
    const struct kind *k = kind_of(type);
    bool complex_out = work == C || work == Z, real_in = k->parts == 1;
    if (!k->size || (!complex_out && !real_in))
        return false;
    if (complex_out && real_in)
        memset(to, 0, n * work_size(work));
    (work == S || work == C ? read_float : read_double)(to, complex_out && real_in ? 2 : 1, from, k->part,
                                                        n * k->parts);
    return true;
}

#undef LOOP
#define LOOP(TO, FROM, expr) \
    for (size_t i = 0; i < n; i++) { \
        FROM v = ((const FROM *)from)[i]; \
        ((TO *)to)[i] = (TO)(expr); \
    } \
    break
#define WRITE(FROM) \
    switch (part) { \
    case F32: LOOP(float, FROM, v); \
    case F64: LOOP(double, FROM, v); \
    case F16: LOOP(unsigned short, FROM, f32_to_f16((float)v)); \
    case BF16: LOOP(unsigned short, FROM, f32_to_bf16((float)v)); \
    case I32: LOOP(int, FROM, v); \
    }

static void write_float(void *to, const void *from, int part, size_t n) { WRITE(float) }
static void write_double(void *to, const void *from, int part, size_t n) { WRITE(double) }

bool musparse_narrow(void *to, musaDataType_t type, const void *from, int work, size_t n)
{
    const struct kind *k = kind_of(type);
    if (!k->size || (k->parts == 2) != (work == C || work == Z))
        return false;
    (work == S || work == C ? write_float : write_double)(to, from, k->part, n * k->parts);
    return true;
}

const void *musparse_wide(const void *from, musaDataType_t type, int work, size_t n, void **made)
{
    *made = NULL;
    if (type == work_type(work))
        return from;
    *made = maths_alloc(n * work_size(work) + 1);
    if (*made && !musparse_widen(*made, work, from, type, n)) {
        free(*made);
        *made = NULL;
    }
    return *made;
}

size_t musparse_index_size(musparseIndexType_t type)
{
    return type == MUSPARSE_INDEX_32I ? 4 : type == MUSPARSE_INDEX_64I ? 8 : type == MUSPARSE_INDEX_16U ? 2 : 0;
}

int64_t musparse_index(const void *at, musparseIndexType_t type, size_t i)
{
    return type == MUSPARSE_INDEX_32I   ? ((const int32_t *)at)[i]
           : type == MUSPARSE_INDEX_64I ? ((const int64_t *)at)[i]
                                        : ((const uint16_t *)at)[i];
}

/* Sparse and first dense operand, result, sum: what cuSPARSE's tables list. */
static const struct {
    unsigned char a, x, y, compute, work;
} together[] = {
    {MUSA_R_32F, MUSA_R_32F, MUSA_R_32F, MUSA_R_32F, S},    {MUSA_R_64F, MUSA_R_64F, MUSA_R_64F, MUSA_R_64F, D},
    {MUSA_C_32F, MUSA_C_32F, MUSA_C_32F, MUSA_C_32F, C},    {MUSA_C_64F, MUSA_C_64F, MUSA_C_64F, MUSA_C_64F, Z},
    {MUSA_R_16F, MUSA_R_16F, MUSA_R_16F, MUSA_R_32F, S},    {MUSA_R_16BF, MUSA_R_16BF, MUSA_R_16BF, MUSA_R_32F, S},
    {MUSA_R_16F, MUSA_R_16F, MUSA_R_32F, MUSA_R_32F, S},    {MUSA_R_16BF, MUSA_R_16BF, MUSA_R_32F, MUSA_R_32F, S},
    {MUSA_R_8I, MUSA_R_8I, MUSA_R_32I, MUSA_R_32I, D},      {MUSA_R_8I, MUSA_R_8I, MUSA_R_32F, MUSA_R_32F, S},
    {MUSA_R_32F, MUSA_R_64F, MUSA_R_64F, MUSA_R_64F, D},    {MUSA_C_16F, MUSA_C_16F, MUSA_C_16F, MUSA_C_32F, C},
    {MUSA_C_16BF, MUSA_C_16BF, MUSA_C_16BF, MUSA_C_32F, C}, {MUSA_R_32F, MUSA_C_32F, MUSA_C_32F, MUSA_C_32F, C},
    {MUSA_R_64F, MUSA_C_64F, MUSA_C_64F, MUSA_C_64F, Z},    {MUSA_R_16F, MUSA_R_16F, MUSA_R_16F, MUSA_R_16F, S}};

int musparse_types(musaDataType_t a, musaDataType_t x, musaDataType_t y, musaDataType_t compute)
{
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (together[i].a == a && together[i].x == x && together[i].y == y && together[i].compute == compute)
            return together[i].work;
    return -1;
}
