/* What `cumu ptx --emit musa` does with a PTX text. */
#ifndef CUMU_CLI_PTX_EMIT_H
#define CUMU_CLI_PTX_EMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Prints the source of one kernel, or of all (kernel NULL); summary: a line for each instead, with its size and
 * how long it took, or what stands in the way. The verb's exit status. */
int cumu_ptx_emit(const char *text, size_t len, const char *kernel, bool summary);

#endif
