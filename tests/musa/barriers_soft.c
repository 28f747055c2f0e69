/* tests/tier0/barriers.c on emitted MUSA C++, by the prelude's own barriers of some of a block's threads. */
#define MUT_FLAGS "-DCM_SOFT"
#define ONE_COUNTER /* nothing that is public says that lanes get on which others wait for */
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/barriers.c"
#undef main

int main(void) { return mut_main(tier0_main); }
