/* The instruction checker of tests/ptx on emitted MUSA C++. */
#include "musa/on_musa.h"

#include "ptx/batch.h"

int insn_main(int (*test)(void)); /* instead of a test's own main */
int insn_main(int (*test)(void)) { return mut_main(test); }
