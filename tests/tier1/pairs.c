/* tests/tier0/pairs.c, run by compiled objects. */
#define main tier0_main
#define T1T_ALL
#include "tier1/on_tier1.h"
#include "tier0/pairs.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
