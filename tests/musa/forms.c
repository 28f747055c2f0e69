/* tests/tier0/forms.c on emitted MUSA C++. */
#include "musa/on_musa.h"

#define main tier0_main
#include "tier0/forms.c"
#undef main

int main(void) { return mut_main(tier0_main); }
