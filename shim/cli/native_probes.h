/* The kernels that forms of a toolkit's own are tried with. */
#ifndef CUMU_CLI_NATIVE_PROBES_H
#define CUMU_CLI_NATIVE_PROBES_H

enum { NATIVE_THREADS = 128, NATIVE_WORDS = 1024 };

/* PTX with `.entry probe(.param .u64 out)`, by the order of ptx/musa/native.def: a thread leaves a word that depends on
 * every result at out[thread]; from out[512] on there is memory of its own, zero at first. */
extern const char *const native_probes[];

#endif
