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
    EXPECT(v == 10400);
    IS(C(curandGetVersion)(NULL), CURAND_STATUS_OUT_OF_RANGE);
    OK(C(curandGetProperty)(0, &v));
    EXPECT(v == 10);
    IS(C(curandGetProperty)(3, &v), CURAND_STATUS_OUT_OF_RANGE);
    IS(CV(curandGenerate)(NULL, first, 4), CURAND_STATUS_NOT_INITIALIZED);
    IS(CV(curandCreateGeneratorHost)(&generator, 7), CURAND_STATUS_TYPE_ERROR);
    
    OK(CV(curandCreateGeneratorHost)(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    OK(CV(curandSetGeneratorOrdering)(generator, CURAND_ORDERING_PSEUDO_LEGACY));
    OK(CV(curandGenerate)(generator, first, 4));
    EXPECT(first[0] == 1713891541 && first[3] == 2600524760);
    OK(CV(curandDestroyGenerator)(generator));
    OK(CV(curandCreateGenerator)(&generator, CURAND_RNG_PSEUDO_XORWOW));
    OK(CV(curandDestroyGenerator)(generator));
}
