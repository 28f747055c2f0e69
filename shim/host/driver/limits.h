/* What the limits of a process leave for devices. */
#ifndef HOST_LIMITS_H
#define HOST_LIMITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/driver/callback.h" /* cumu_host_grow */

/* Memory of each device by default: half of what the process may use, less where its address space or its files are
 * limited. A whole number of MiB, 1 at least. */
size_t host_limit_memory(int devices);
/* Bytes of address space, or of one file, that it may have still; SIZE_MAX: not limited. */
size_t host_limit_address_space(void);
size_t host_limit_file(void);
/* Bytes that the control groups of either version, or strict accounting (vm.overcommit_memory 2), leave to the process;
 * SIZE_MAX: not limited. What they read lies below `root`, "" but for tests. */
size_t host_limit_groups(const char *root);
size_t host_limit_commit(const char *root);
/* A small file's text; false if there is none. */
bool host_limit_text(const char *path, char *text, size_t room);

#endif
