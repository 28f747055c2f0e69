/* Rows of halves and bfloat16s as floats and back, by loops of which the compiler makes vectors. */
#include <string.h>

#include "half/half.h"
#include "host/mudnn/mudnn.h"
#include "host/mudnn/real.h"

REAL_VECTOR static void widen_halves(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = f16_to_f32(from[i]);
}
REAL_VECTOR static void widen_bfloats(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bf16_to_f32(from[i]);
}
REAL_VECTOR static void narrow_halves(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint16_t)f32_to_f16(from[i]);
}
REAL_VECTOR static void narrow_bfloats(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint16_t)f32_to_bf16(from[i]);
}

bool dnn_widen(float *to, const void *from, int type, int64_t first, size_t n)
{
    if (type == MUDNN_DATA_FLOAT)
        memcpy(to, (const float *)from + first, n * sizeof *to);
    else if (type == MUDNN_DATA_HALF)
        widen_halves(to, (const uint16_t *)from + first, n);
    else if (type == MUDNN_DATA_BFLOAT16)
        widen_bfloats(to, (const uint16_t *)from + first, n);
    else
        return false;
    return true;
}
bool dnn_narrow(void *to, const float *from, int type, int64_t first, size_t n)
{
    if (type == MUDNN_DATA_FLOAT)
        memmove((float *)to + first, from, n * sizeof *from);
    else if (type == MUDNN_DATA_HALF)
        narrow_halves((uint16_t *)to + first, from, n);
    else if (type == MUDNN_DATA_BFLOAT16)
        narrow_bfloats((uint16_t *)to + first, from, n);
    else
        return false;
    return true;
}

REAL_VECTOR bool dnn_has_subnormals(const void *bfloats, size_t n)
{
    const uint16_t *v = bfloats;
    uint16_t any = 0;
    for (size_t i = 0; i < n; i++) /* an exponent of 0, and digits */
        any |= (uint16_t)((v[i] & 0x7fff) - 1) < 0x7f;
    return any;
}
