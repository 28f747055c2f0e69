/* tests/tier0/int128.c on emitted MUSA C++. */
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/int128.c"
#undef main

int main(void) { return mut_main(tier0_main); }
