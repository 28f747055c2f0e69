/* What the parts of `cumu doctor` that call the MUSA libraries share: the driver, a stranger that may crash, hang or
 * lack what is called, and the children that call it. */
#ifndef CUMU_CLI_DOCTOR_DRIVER_H
#define CUMU_CLI_DOCTOR_DRIVER_H

#include "abi/musa.h"

#include <stdbool.h>
#include <stdint.h>

enum { DOCTOR_LACKS = 100000 }; /* what a function that is not there answers */

/* The driver's function of that name, or of that name without or with _v2. One that is not there is remembered for
 * doctor_error and answers DOCTOR_LACKS. */
#define MU(name) ((__typeof__(name) *)(uintptr_t)doctor_driver_entry(#name))
void *doctor_driver_entry(const char *name);

/* Loads the driver; false if there is none. The parent never does: a driver may not outlive a fork. */
bool doctor_driver_load(void);
/* Loads the driver and makes a context on the first device; the driver's error. */
int doctor_driver_open(void);
/* Of the first device: 31 of mp_31. */
unsigned doctor_driver_arch(void);
/* Is it cumu's own, on the CPU, which takes images instead of compiled code? */
bool doctor_driver_is_host(void);
/* The error in words: what the driver lacks, or its number. In a buffer of the callee's. */
const char *doctor_error(int err);

/* Calls the function in a child for at most so many seconds, and less where the whole report's time ends before.
 * What the child answers (0 to 126); DOCTOR_DIED with a line of that name that says how, and DOCTOR_LATE likewise if
 * there was no time to begin. */
enum { DOCTOR_DIED = -1, DOCTOR_LATE = -2 };
int doctor_child(const char *name, int (*work)(void *), void *ctx, unsigned seconds);
/* Seconds until the report must be done; the first call starts the clock. */
unsigned doctor_left(void);

#endif
