/* tests/ptx/cmp_test.c on emitted MUSA C++, by the checker of insn.c. */
#define main ptx_main
#include "ptx/cmp_test.c"
#undef main

int main(void)
{
    return ptx_main();
}
