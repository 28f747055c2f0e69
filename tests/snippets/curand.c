/* cuRAND's wrappers: what it tells of itself; and a generator through its conversions. */
#include "conv.h"
#include "cuda_enums.h"
#include "snippet.h"

#define CV(name) REACH(__typeof__(conv_##name), name)

void snippet_curand(void)
{
    int v = 0;
    void *generator = NULL;
    unsigned first[4] = {0};
    OK(C(curandGetVersion)(&v));
    EXPECT(v == 10405);
    IS(C(curandGetVersion)(NULL), CURAND_STATUS_OUT_OF_RANGE);
    OK(C(curandGetProperty)(0, &v));
    EXPECT(v == 10);
    IS(C(curandGetProperty)(3, &v), CURAND_STATUS_OUT_OF_RANGE);
    IS(CV(curandGenerate)(NULL, first, 4), CURAND_STATUS_NOT_INITIALIZED);
    IS(CV(curandCreateGeneratorHost)(&generator, 7), CURAND_STATUS_TYPE_ERROR);
    const unsigned(*vectors)[32];
    const unsigned long long(*wide)[64];
    const unsigned *constants;
    const unsigned long long *shifts;
    OK(C(curandGetDirectionVectors32)(&vectors, 101));
    EXPECT(vectors[0][0] == 1u << 31 && vectors[0][31] == 1 && vectors[1][1] == 3u << 30);
    EXPECT(vectors[19999][0] == 1u << 31);
    OK(C(curandGetDirectionVectors64)(&wide, 103));
    EXPECT(wide[0][63] == 1 && wide[2][2] >> 32 == vectors[2][2] && wide[19999][31] >> 32 == vectors[19999][31]);
    OK(C(curandGetDirectionVectors64)(&wide, 104));
    OK(C(curandGetDirectionVectors32)(&vectors, 102));
    for (int k = 0; k < 32; k++) /* lower triangles: a digit of one, anything below */
        EXPECT(vectors[0][k] >> (31 - k) == 1 && wide[0][k] >> 32 == vectors[0][k]);
    OK(C(curandGetScrambleConstants32)(&constants));
    OK(C(curandGetScrambleConstants64)(&shifts));
    EXPECT(constants[0] == shifts[0] >> 32 && constants[19999] != constants[0]);
    IS(C(curandGetDirectionVectors32)(&vectors, 103), CURAND_STATUS_OUT_OF_RANGE);
    IS(C(curandGetDirectionVectors64)(&wide, 102), CURAND_STATUS_OUT_OF_RANGE);
    IS(C(curandGetDirectionVectors32)(NULL, 101), CURAND_STATUS_OUT_OF_RANGE);
    IS(C(curandGetScrambleConstants32)(NULL), CURAND_STATUS_OUT_OF_RANGE);
    IS(C(curandGetScrambleConstants64)(NULL), CURAND_STATUS_OUT_OF_RANGE);
    OK(CV(curandCreateGeneratorHost)(&generator, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32));
    IS(CV(curandSetPseudoRandomGeneratorSeed)(generator, 1), CURAND_STATUS_TYPE_ERROR);
    IS(CV(curandSetQuasiRandomGeneratorDimensions)(generator, 20001), CURAND_STATUS_OUT_OF_RANGE);
    OK(CV(curandSetQuasiRandomGeneratorDimensions)(generator, 2));
    IS(CV(curandGenerate)(generator, first, 3), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    OK(CV(curandGenerate)(generator, first, 4)); /* the generator and the tables are of one kind */
    EXPECT(first[0] == constants[0] && first[1] == (constants[0] ^ vectors[0][0]) && first[2] == constants[1]);
    OK(CV(curandDestroyGenerator)(generator));
    OK(CV(curandCreateGeneratorHost)(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    OK(CV(curandSetGeneratorOrdering)(generator, CURAND_ORDERING_PSEUDO_LEGACY));
    OK(CV(curandGenerate)(generator, first, 4));
    EXPECT(first[0] == 1713891541 && first[3] == 2600524760);
    OK(CV(curandDestroyGenerator)(generator));
    OK(CV(curandCreateGenerator)(&generator, CURAND_RNG_PSEUDO_XORWOW));
    OK(CV(curandDestroyGenerator)(generator));
}
