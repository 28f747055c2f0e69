/* What every part of the shim needs from the core: visibility, opt-in, process state. */
#ifndef CUMU_CORE_CORE_H
#define CUMU_CORE_CORE_H

#include <stdbool.h>

#define CUMU_EXPORT __attribute__((visibility("default")))

/* Is this process opted in (CUMU=1)? Cheap after the first call. */
bool cumu_active(void);

/* True in a child that was forked after the shim had opened the libraries below: CUDA does not work
 * there, every call answers cudaErrorInitializationError. One load, no lock. */
bool cumu_forked(void);

#endif
