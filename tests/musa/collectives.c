/* tests/tier0/collectives.c on emitted MUSA C++. */
/* All forms of shfl come first, and everything a second time, for other handlers of tier 0. */
#define MUT_EVERY (mut_seen < 308 || mut_seen > 330 ? 19 : 1)
#include "musa/on_musa.h"

#define NAMES_ITSELF /* a mask that does not name its lane is left open there */
#define main tier0_main
#include "tier0/collectives.c"
#undef main

int main(void) { return mut_main(tier0_main); }
