/* tests/tier0/sums.c on emitted MUSA C++ in plain code. */
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/sums.c"
#undef main

int main(void) { return mut_main(tier0_main); }
