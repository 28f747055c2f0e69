/* tests/ptx/bits_test.c on emitted MUSA C++, by the checker of insn.c. */
#define main ptx_main
#include "ptx/bits_test.c"
#undef main

int main(void)
{
    return ptx_main();
}
