/* tests/ptx/video_test.c on compiled objects, by the checker of insn.c. */
int insn_main(int (*test)(void));

#define main ptx_main
#include "ptx/video_test.c"
#undef main

int main(void) { return insn_main(ptx_main); }
