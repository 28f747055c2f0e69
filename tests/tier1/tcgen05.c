/* tests/tier0/tcgen05.c, run by compiled objects. */
#define main tier0_main
#define LEVELS 0 /* tier 0 has them */
#define ROUNDS 1
#include "tier1/on_tier1.h"
#include "tier0/tcgen05.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
