/* The muRAND ABI (mapping/facts/musa.md N6, A5): cuRAND's names and parameters, generator types numbered from 400.
 * Functions of which no declaration is known have cuRAND's parameters. */
#ifndef CUMU_ABI_MURAND_H
#define CUMU_ABI_MURAND_H

#include "abi/musa.h"

typedef struct murandGenerator_st *murandGenerator_t;

/* Enums are int in prototypes; their values come from mapping/types/curand.enum (musa_enums.h). */
typedef int murandStatus_t, murandRngType_t, murandOrdering_t;

/* What is declared here is what libmurand exports. Numbers are made in order with the generator's stream; those of a
 * host generator lie in host memory, and are there when the function returns. A generator may be destroyed while
 * numbers are pending. */
#pragma GCC visibility push(default)
murandStatus_t murandCreateGenerator(murandGenerator_t *generator, murandRngType_t type);
murandStatus_t murandCreateGeneratorHost(murandGenerator_t *generator, murandRngType_t type);
murandStatus_t murandDestroyGenerator(murandGenerator_t generator);
murandStatus_t murandGetVersion(int *version);
murandStatus_t murandGetProperty(int which, int *value);
murandStatus_t murandSetStream(murandGenerator_t generator, musaStream_t stream);
murandStatus_t murandSetPseudoRandomGeneratorSeed(murandGenerator_t generator, unsigned long long seed);
murandStatus_t murandSetGeneratorOffset(murandGenerator_t generator, unsigned long long offset);
murandStatus_t murandSetGeneratorOrdering(murandGenerator_t generator, murandOrdering_t ordering);
murandStatus_t murandSetQuasiRandomGeneratorDimensions(murandGenerator_t generator, unsigned dimensions);
murandStatus_t murandGenerateSeeds(murandGenerator_t generator);
murandStatus_t murandGenerate(murandGenerator_t generator, unsigned *out, size_t n);
murandStatus_t murandGenerateLongLong(murandGenerator_t generator, unsigned long long *out, size_t n);
murandStatus_t murandGenerateUniform(murandGenerator_t generator, float *out, size_t n);
murandStatus_t murandGenerateUniformDouble(murandGenerator_t generator, double *out, size_t n);
murandStatus_t murandGenerateNormal(murandGenerator_t generator, float *out, size_t n, float mean, float deviation);
murandStatus_t murandGenerateNormalDouble(murandGenerator_t generator, double *out, size_t n, double mean,
                                          double deviation);
murandStatus_t murandGenerateLogNormal(murandGenerator_t generator, float *out, size_t n, float mean, float deviation);
murandStatus_t murandGenerateLogNormalDouble(murandGenerator_t generator, double *out, size_t n, double mean,
                                             double deviation);
murandStatus_t murandGeneratePoisson(murandGenerator_t generator, unsigned *out, size_t n, double lambda);
#pragma GCC visibility pop

#endif
