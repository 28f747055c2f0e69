/* tests/tier0/odd.c on emitted MUSA C++. */
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/odd.c"
#undef main

int main(void) { return mut_main(tier0_main); }
