/* Folders that compilers work in: in the cache's, else where temporary files go. Whose process ended before it could
 * remove its own is known by the lock that it held; the next process that compiles removes such. */
#ifndef CUMU_COMPILE_SCRATCH_H
#define CUMU_COMPILE_SCRATCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cumu_scratch {
    char path[PATH_MAX];
    int held; /* the folder, open and locked */
    dev_t device;
    ino_t inode;
};

/* False with errno. */
bool cumu_scratch_new(struct cumu_scratch *s);
/* The folder as it was made; -1 when the program has closed the descriptor, which may be another file by now. */
int cumu_scratch_folder(const struct cumu_scratch *s);
void cumu_scratch_drop(struct cumu_scratch *s);

/* A name for a temporary file or folder in the cache. */
void cumu_scratch_name(char *name, size_t room);
/* Removes from the cache's folder what processes left there that have ended. */
void cumu_scratch_sweep(int cache);

#endif
