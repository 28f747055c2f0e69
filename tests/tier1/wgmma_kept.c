/* tests/tier0/wgmma_kept.c, run by compiled objects. */
#define main tier0_main
#define KERNELS 4
#include "tier1/on_tier1.h"
#include "tier0/wgmma_kept.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
