/* tests/tier0/matrix.c, run by compiled objects. */
#define main tier0_main
#define T1T_EVERY 17 /* of thousands of kernels that differ in a modifier */
#include "tier1/on_tier1.h"
#include "tier0/matrix.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
