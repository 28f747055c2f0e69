/* cumu cache warm: compiles every kernel of programs into the cache. */
#ifndef CUMU_CLI_WARM_H
#define CUMU_CLI_WARM_H

/* The programs (or shared objects) and what they need. An exit status: 0 all kernels are there, 1 some
 * stay on tier 0. arch: mubins for mp_<arch> instead of objects for this machine; 0 = those. */
int cumu_warm(unsigned n, char **programs, unsigned arch);

#endif
