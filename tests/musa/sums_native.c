/* tests/tier0/sums.c on emitted MUSA C++ of a device with matrix units: the same, and how often sums are moved. */
#define MUT_FLAGS "-DCM_USE_MMA_F16 -DCM_USE_MMA_INT8"
#include "musa/on_musa.h"

#define SHUFFLES() machine_shuffles()
#define SHUFFLES_ARE_COUNTED (mut_on_host() && !mut_collects)
#define main tier0_main
#include "tier0/sums.c"
#undef main

int main(void) { return mut_main(tier0_main); }
