/* How far a long command, or a program's compilations are: one line on the terminal. */
#ifndef CUMU_COMPILE_PROGRESS_H
#define CUMU_COMPILE_PROGRESS_H

/* After each compilation: how many are done, and how many are waiting. Nothing is written unless stderr is a
 * terminal that this process may write to, the log goes there, and many wait. The caller serialises. */
void cumu_progress(unsigned done, unsigned waiting);
/* A line that takes the place of the one before it; an empty text removes that. Nothing where stderr is no
 * terminal. */
void cumu_progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
