/* Programs that run side by side as one: their output line by line, the first failure ends all. For `cumu launch`. */
#ifndef CUMU_CLI_BESIDE_H
#define CUMU_CLI_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cumu_beside {
    char who[96];                              /* "rank 3", for messages */
    char mark[24];                             /* stands before each line of its output */
    int (*become)(const struct cumu_beside *); /* in the child: becomes the program, or returns an exit status */
    const void *arg;                           /* for become */
    int index;                                 /* for become */
    bool remote;                               /* signals go to its standard input, a byte each; else it has none */
    bool input;                                /* it has ours */

    /* beside.c's own */
    pid_t pid;
    bool ended;
    int status; /* as waitpid has it */
    int hold;   /* the other end of a remote one's standard input */
    struct {
        int fd;
        char *text; /* of a line whose end is not here yet */
        size_t n, room;
    } out[2];
};

/* Runs all n until the last has ended; signals sent to us go on to them. When one fails, the others get SIGTERM, and
 * SIGKILL grace seconds later. None of their descendants stays. commanded: our standard input commands us, as a
 * remote one's does; at its end all is ended. 0, or the exit status of the first that failed, 128 + n
 * for signal n. */
int cumu_beside_run(struct cumu_beside *all, int n, int grace, bool commanded);

#endif
