/* tests/tier0/matrix.c on emitted MUSA C++. */
#define MUT_EVERY 101 /* of thousands of kernels that differ in a modifier */
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/matrix.c"
#undef main

int main(void) { return mut_main(tier0_main); }
