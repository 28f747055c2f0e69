/* The exact references of tests/ptx, for insn_*.c. */
#include "ptx/exact.c"
