/* Compilations of a program on its terminal: one line, while there are many. */
#ifndef CUMU_COMPILE_PROGRESS_H
#define CUMU_COMPILE_PROGRESS_H

/* After each compilation: how many are done, and how many are waiting. Nothing is written unless stderr is a
 * terminal that this process may write to, the log goes there, and many wait. The caller serialises. */
void cumu_progress(unsigned done, unsigned waiting);

#endif
