/* tests/tier0/tmem.c, run by compiled objects. */
#define main tier0_main
#include "tier1/on_tier1.h"
#define COPIES 1
#include "tier0/tmem.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
