/* cumu cache warm: compiles every kernel of programs into the cache. */
#ifndef CUMU_CLI_WARM_H
#define CUMU_CLI_WARM_H

/* The programs (or shared objects) and what they need. An exit status: 0 all kernels are there, 1 some
 * stay on tier 0. */
int cumu_warm(unsigned n, char **programs);

#endif
