/* Running a compiler as a child that the program cannot notice. */
#ifndef CUMU_COMPILE_CHILD_H
#define CUMU_COMPILE_CHILD_H

#include <stdbool.h>

/* Runs the file with these arguments and environment (NULL-terminated), input from /dev/null, output and
 * errors to the file `output`, for at most `seconds`; idle: with what CPU time the program leaves. The calling
 * thread waits; no SIGCHLD is sent and no wait() of the program's sees it. Dies with the process. The exit status,
 * 128 + signal, or -1 if it could not be started. */
int cumu_child_run(const char *file, char *const argv[], char *const envp[], const char *output, unsigned seconds,
                   bool idle);

#endif
