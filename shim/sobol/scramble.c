/* What scrambles Sobol's sequences: matrices and shifts chosen at random once and for all. */
#include "sobol/sobol.h"

/* A number for each dimension and place: SplitMix64 (Steele, Lea and Flood 2014) of its position. */
static uint64_t chosen(unsigned dimension, unsigned place)
{
    uint64_t z = 0x43756d75536f626full + ((uint64_t)dimension * (SOBOL_BITS + 1) + place + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint64_t sobol_scramble_constant(unsigned dimension) { return chosen(dimension, SOBOL_BITS); }

/* Digit i of a product is digit i of the vector plus a choice of those before it, so that the points keep their
 * even spread. Column c of the matrix is a digit c of one and what is chosen below. */
void sobol_scrambled_vectors(unsigned first, unsigned count, uint64_t out[][SOBOL_BITS])
{
    sobol_vectors(first, count, out);
    for (unsigned d = 0; d < count; d++) {
        uint64_t column[SOBOL_BITS];
        for (unsigned c = 0; c < SOBOL_BITS; c++) {
            uint64_t top = 1ull << (SOBOL_BITS - 1 - c);
            column[c] = top | (chosen(first + d, c) & (top - 1));
        }
        for (unsigned k = 0; k < SOBOL_BITS; k++) {
            uint64_t sum = 0;
            for (uint64_t left = out[d][k]; left; left &= left - 1)
                sum ^= column[SOBOL_BITS - 1 - __builtin_ctzll(left)];
            out[d][k] = sum;
        }
    }
}
