/* tests/tier0/scaled.c on emitted MUSA C++. */
#define MUT_EVERY 31
#define NO_SCALES 1
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/scaled.c"
#undef main

int main(void) { return mut_main(tier0_main); }
