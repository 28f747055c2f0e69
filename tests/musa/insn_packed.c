/* tests/ptx/packed_test.c on emitted MUSA C++, by the checker of insn.c. */
int insn_main(int (*test)(void));

#define main ptx_main
#include "ptx/packed_test.c"
#undef main

int main(void) { return insn_main(ptx_main); }
