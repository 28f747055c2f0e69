/* Running a compiler as a child that the program cannot notice. */
#ifndef CUMU_COMPILE_CHILD_H
#define CUMU_COMPILE_CHILD_H

#include <stdbool.h>

enum { CUMU_COMPILER_MEGABYTES = 4096 }; /* twice what gcc takes for the largest text that it is given */

struct cumu_child {
    const char *file;
    char *const *argv, *const *envp; /* NULL-terminated */
    int folder;                      /* descriptor of the one it works in; -1: the program's */
    const char *output;              /* file for what it says, in that folder if relative */
    unsigned seconds;                /* that it may take, four times as many if idle; of CPU time each process of it */
    unsigned megabytes;              /* of writable memory that each process of it may have; 0: any */
    bool idle;                       /* with what CPU time the program leaves */
};

/* Runs it, input from /dev/null. The calling thread waits; no SIGCHLD is sent and no wait() of the program's sees it.
 * It and the processes it starts (those of its process group) die with the program, however that ends, and with the
 * file's process. The exit status, 128 + signal, or -1 with errno if it could not be started. */
int cumu_child_run(const struct cumu_child *child);

#endif
