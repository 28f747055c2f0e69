/* The environment that puts cumu into a process: shared by `cumu run` and `cumu env`. */
#ifndef CUMU_CLI_LAUNCH_H
#define CUMU_CLI_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { CUMU_LAUNCH_VARS = 8 };

struct cumu_launch {
    struct {
        const char *name; /* NULL past the last */
        char *value;
    } var[CUMU_LAUNCH_VARS + 1];
};

/* Fills *l for the ELF file `image` (NULL: for any program). backend: auto, musa, host, or NULL to leave
 * CUMU_BACKEND as it is. 0, or an exit status after saying why not. */
int cumu_launch_plan(struct cumu_launch *l, const char *image, const char *backend);
/* Is it a word for --backend? */
bool cumu_launch_backend(const char *name);
/* Sets the environment and becomes the program; the exit status if that fails. */
int cumu_launch_exec(const struct cumu_launch *l, const char *path, char **argv);
/* The same in a child, and waits for it; its exit status, 128 + n if signal n ended it. Signals sent to us go on to it.
 * meanwhile (may be NULL) is called again and again while it runs, and has to wait for a while itself. */
int cumu_launch_wait(const struct cumu_launch *l, const char *path, char **argv, void (*meanwhile)(void *), void *arg);
void cumu_launch_free(struct cumu_launch *l);

/* GLIBC_TUNABLES with at least so many bytes of static TLS, and what else is in callers (may be NULL); malloc'ed. */
char *cumu_launch_tunables(const char *callers, size_t bytes);
/* The order of preloads, for tests: sanitizers of the caller, ours, the rest of the caller's. Both lists
 * are separated by ':' or ' ' and may be NULL; the result is malloc'ed, NULL on out of memory. */
char *cumu_launch_merge(const char *callers, const char *ours);

#endif
