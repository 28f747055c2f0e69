/* tests/tier0/async.c on emitted MUSA C++ whose asynchronous copies are done when they are waited for. */
#define MUT_FLAGS "-DCM_USE_COPY"
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/async.c"
#undef main

int main(void) { return mut_main(tier0_main); }
