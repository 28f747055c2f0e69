/* tests/tier0/matrix.c on emitted MUSA C++ of a device with matrix units. */
#define MUT_FLAGS "-DCM_USE_MMA_F16 -DCM_USE_MMA_BF16 -DCM_USE_MMA_TF32 -DCM_USE_MMA_INT8 -DCM_USE_MMA_FP8"
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/matrix.c"
#undef main

int main(void) { return mut_main(tier0_main); }
