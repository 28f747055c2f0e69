/* Whole reads and writes of files: each begins again after a signal. errno says what failed. */
#ifndef CUMU_CORE_FILE_H
#define CUMU_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* False at the end of the file or an error before all is read. */
bool cumu_read_all(int fd, void *to, size_t size);
bool cumu_write_all(int fd, const void *from, size_t size);
/* The file's first `most` bytes or all it has, malloc'ed, with a NUL behind them; NULL if it cannot be read. */
char *cumu_file_read(const char *path, size_t most, size_t *size);
char *cumu_file_read_at(int folder, const char *path, size_t most, size_t *size); /* as openat's */

#endif
