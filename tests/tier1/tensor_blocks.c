/* tests/tier0/tensor_blocks.c, run by compiled objects. */
#define main tier0_main
#define ROUNDS 4
#include "tier1/on_tier1.h"
#include "tier0/tensor_blocks.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
