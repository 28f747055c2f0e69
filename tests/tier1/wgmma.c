/* tests/tier0/wgmma.c, run by compiled objects. */
#define main tier0_main
#define LEVELS 0 /* tier 0 has them */
#define ROUNDS 2
#include "tier1/on_tier1.h"
#include "tier0/wgmma.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
