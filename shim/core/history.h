/* The last messages of the log, for programs that ask for CUDA's error log (cuLogs*, since 12.9): errors, gaps
 * and warnings, as far as CUMU_LOG lets them be said. */
#ifndef CUMU_CORE_HISTORY_H
#define CUMU_CORE_HISTORY_H

#include <stddef.h>

#include "core/log.h"

/* level: 0 error, 1 warning; called by the thread that logs, which does not log meanwhile. */
typedef void (*cumu_history_callback)(void *data, int level, char *message, size_t length);

/* The logger's part: one line without its newline. */
void cumu_history_add(enum cumu_level level, const char *line, size_t length);
/* Number of the message to come. */
unsigned cumu_history_end(void);
/* Messages from *from on (NULL: all that are kept), a line each, through `put`; *from moves to the end. A line
 * in front tells of messages that are no longer kept. */
void cumu_history_read(unsigned *from, void (*put)(void *to, const char *line, size_t n), void *to);
/* NULL: no memory. False: not registered. */
void *cumu_history_listen(cumu_history_callback callback, void *data);
int cumu_history_deafen(void *handle);

#endif
