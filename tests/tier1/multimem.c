/* tests/tier0/multimem.c, run by compiled objects. */
#include <stdbool.h>
#include <stdint.h>

static unsigned copies(void *ctx, uint64_t address, bool write, uint8_t **at, uint64_t *extent);
#define T0T_COPIES copies
#define main tier0_main
#include "tier1/on_tier1.h"
#include "tier0/multimem.c"
#undef main

int main(void) { return t1t_run_all(tier0_main, false); }
