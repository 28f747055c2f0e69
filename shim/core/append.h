/* Lines to stderr or to the end of a file. */
#ifndef CUMU_CORE_APPEND_H
#define CUMU_CORE_APPEND_H

#include <stdbool.h>
#include <stddef.h>

/* The name with %p filled in; false if it is too long for `size`. */
bool cumu_append_name(const char *file, char *path, size_t size);
/* Writes n bytes at once to the end of `file` (made if need be, mode 0600; %p in its name is the process
 * id), or to stderr when the name is "" or the file cannot be opened. Allocates nothing; changes errno. */
void cumu_append(const char *file, const char *line, size_t n);

#endif
