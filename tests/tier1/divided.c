/* tests/tier0/divided.c, run by compiled objects. */
#define main tier0_main
#include "tier1/on_tier1.h"
#include "tier0/divided.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
