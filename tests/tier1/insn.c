/* The instruction checker of tests/ptx on compiled objects. */
#define T1T_ALL
#include "tier1/on_tier1.h"

#define INSN_ANY_NAN true
#include "ptx/batch.h"

int insn_main(int (*test)(void)); /* instead of a test's own main */
int insn_main(int (*test)(void)) { return t1t_run_all(test, false); }
