/* tests/tier0/reductions.c, run by compiled objects. */
#define main tier0_main
#define T1T_EVERY 9
#include "tier1/on_tier1.h"
#include "tier0/reductions.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
