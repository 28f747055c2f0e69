/* Sobol's sequences in 20000 dimensions: direction vectors by Joe and Kuo's numbers, which are cuRAND's, and scrambled
 * ones. Stands on nothing but the C library: cuRAND's tables for kernels (api/curand) and the CPU muRAND share it. */
#ifndef CUMU_SOBOL_SOBOL_H
#define CUMU_SOBOL_SOBOL_H

#include <stdbool.h>
#include <stdint.h>

enum { SOBOL_DIMENSIONS = 20000, SOBOL_BITS = 64 };

/* Direction vectors of dimensions first ... first + count - 1 of all 20000: out[d][k] is what bit k of a point's
 * place in Gray's code adds to dimension first + d, as fractions of 2^64. Their upper halves are those of 32 bits. */
void sobol_vectors(unsigned first, unsigned count, uint64_t out[][SOBOL_BITS]);

/* The same, scrambled: each dimension's vectors times a lower triangular matrix of its own (Matousek 1998); and the
 * constants that shift the points (their upper halves: for 32 bits). The choice at random is ours: cuRAND's is not
 * published. It is the same in all releases. */
void sobol_scrambled_vectors(unsigned first, unsigned count, uint64_t out[][SOBOL_BITS]);
uint64_t sobol_scramble_constant(unsigned dimension);

#endif
