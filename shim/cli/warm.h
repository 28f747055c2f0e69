/* cumu cache warm: compiles every kernel of programs into the cache. */
#ifndef CUMU_CLI_WARM_H
#define CUMU_CLI_WARM_H

#include "ptx/tier1/tier1.h"

/* The programs (or shared objects) and what they need. An exit status: 0 all kernels are there, 1 some
 * stay on tier 0. arch: mubins for mp_<arch> instead of objects for CPUs; 0 = those, with isa's vectors. */
int cumu_warm(unsigned n, char **programs, unsigned arch, enum t1_isa isa);

#endif
