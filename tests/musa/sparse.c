/* tests/tier0/sparse.c on emitted MUSA C++. */
#define MUT_EVERY 31
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/sparse.c"
#undef main

int main(void) { return mut_main(tier0_main); }
