/* Direction vectors of Sobol's sequences, out of the packed numbers. */
#include <stddef.h>

#include "sobol/sobol.h"

extern const unsigned char sobol_numbers[], sobol_numbers_end[];

/* Primitive polynomials of each degree over two elements: dimensions take them all, in order. */
static const unsigned short polynomials[] = {0,  1,   1,   2,   2,   6,    6,    18,   16,  48,
                                             60, 176, 144, 630, 756, 1800, 2048, 7710, 7776};
enum { DEGREES = sizeof polynomials / sizeof *polynomials };

struct reader {
    size_t bit;
};
static uint32_t take(struct reader *r, unsigned width)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < width; i++, r->bit++)
        value |= (uint32_t)(sobol_numbers[r->bit / 8] >> r->bit % 8 & 1) << i;
    return value;
}

/* What a dimension of this degree has in the numbers: scripts/sobol-numbers.py. */
static size_t width(unsigned degree) { return degree - 1 + degree * (degree - 1) / 2; }

/* By the recurrence of the dimension's polynomial (Bratley and Fox 1988), on odd integers m_k below 2^k. */
static void dimension(struct reader *r, unsigned degree, uint64_t out[SOBOL_BITS])
{
    uint32_t inner = take(r, degree - 1);
    uint64_t m[SOBOL_BITS];
    for (unsigned k = 0; k < degree; k++)
        m[k] = (uint64_t)take(r, k) << 1 | 1;
    for (unsigned k = degree; k < SOBOL_BITS; k++) {
        m[k] = m[k - degree] ^ m[k - degree] << degree;
        for (unsigned j = 1; j < degree; j++)
            m[k] ^= (inner >> (degree - 1 - j) & 1) * (m[k - j] << j);
    }
    for (unsigned k = 0; k < SOBOL_BITS; k++)
        out[k] = m[k] << (SOBOL_BITS - 1 - k);
}

void sobol_vectors(unsigned first, unsigned count, uint64_t out[][SOBOL_BITS])
{
    struct reader r = {0};
    unsigned before = 1; /* dimensions of lower degrees; the very first has no polynomial */
    for (unsigned k = 0; first == 0 && count && k < SOBOL_BITS; k++)
        out[0][k] = 1ull << (SOBOL_BITS - 1 - k);
    for (unsigned degree = 1; degree < DEGREES && before < first + count; degree++) {
        unsigned end = before + polynomials[degree], from = first > before ? first : before;
        if (from < end)
            r.bit += (from - before) * width(degree);
        for (unsigned d = from; d < end && d < first + count; d++)
            dimension(&r, degree, out[d - first]);
        if (from >= end)
            r.bit += polynomials[degree] * width(degree);
        before = end;
    }
}
