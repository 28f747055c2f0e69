/* tests/ptx/video_test.c with its kernels run by compiled objects. */
#define main ptx_main
#define T1T_EVERY 31 /* of hundreds of kernels that differ in a selector */
#include "tier1/on_tier1.h"
#include "ptx/insn.c"
#include "ptx/video_test.c"
#undef main

int main(void) { return t1t_run_all(ptx_main, false); }
