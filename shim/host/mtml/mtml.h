/* Inside of our libmtml: the CPU machine's devices, as Moore Threads' management library would tell of them. */
#ifndef CUMU_HOST_MTML_H
#define CUMU_HOST_MTML_H

#include "abi/mtml.h"
#include "host/driver/machine.h"

#include <stdbool.h>

/* Every handle is one of these: a device stands for its own processors and memory. */
struct mtml_device {
    int number;
};
const struct cumu_machine *mtml_machine(void);             /* NULL before mtmlLibraryInit */
const struct mtml_device *mtml_device(const void *handle); /* NULL: no handle of ours */

#endif
