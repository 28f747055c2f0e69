/* tests/ptx/float_test.c on emitted MUSA C++ of a toolkit whose roundings a probe found right. */
#include <stdlib.h>

int insn_main(int (*test)(void));

#define main ptx_main
#include "ptx/float_test.c"
#undef main

int main(void)
{
    (void)setenv("MUT_FLAGS", "-DCM_USE_DIRECTED -DCM_USE_DIV32 -DCM_USE_DIV64 -DCM_USE_SQRT32 -DCM_USE_SQRT64", 1);
    return insn_main(ptx_main);
}
