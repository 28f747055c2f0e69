/* Which devices a process may see. */
#ifndef CUMU_CORE_VISIBLE_H
#define CUMU_CORE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

/* CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES (NULL: not set) as MUSA_VISIBLE_DEVICES: numbers and UUIDs
 * of the machine's devices, "" for none. NULL leaves that unset. Written to `out` where it is neither of the
 * two; a list that has no room there is not narrowed. */
const char *cumu_visible(const char *cuda, const char *nvidia, char *out, size_t room);

#endif
