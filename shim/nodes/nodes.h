/* The files by which programs recognise NVIDIA's driver (/dev/nvidia0, /proc/driver/nvidia/version, ...), answered in
 * a process that `cumu run` started: nothing is created on the machine. The library is preloaded, so calls inside the C
 * library are not seen (glob is given functions of ours, glob.c). A real file always wins: only what is not there is
 * looked up. And programs of NVIDIA's that a process starts become ours (exec.c); handlers of
 * signals are counted (signals.c). */
#ifndef CUMU_NODES_H
#define CUMU_NODES_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define NODES_EXPORT __attribute__((visibility("default")))

/* Where the driver's packages put it. It runs by exec.c. */
#define NODES_SMI "/usr/bin/nvidia-smi"

enum nodes_kind { NODE_FOLDER, NODE_DEVICE, NODE_TEXT, NODE_PROGRAM };
enum { NODE_PATH = 96, NODE_TEXT_SIZE = 512, NODE_PROGRAM_SIZE = 1 << 16 };

struct node {
    enum nodes_kind kind;
    unsigned major, minor; /* of a device */
    char path[NODE_PATH];
    char text[NODE_TEXT_SIZE]; /* of a file */
};

/* known.c: the node of this path, NULL if there is none. It costs a comparison for other paths; for the first that
 * may be one NVML is asked for the devices. Keeps errno. */
const struct node *nodes_find(const char *path);
/* The next node in a folder, counted from 0, and its name there; NULL past the last. */
const struct node *nodes_in(const char *folder, unsigned i, const char **name);

/* The program of ours with this name (core/tools.h), its path in `to`; false where this process has not opted in
 * or there is none. */
bool nodes_tool(const char *name, char to[PATH_MAX]);

/* files.c: what the calls answer of a node. */
void nodes_stat(const struct node *n, struct stat *out);
int nodes_access(const struct node *n, int mode); /* 0, or -1 with errno */
int nodes_open(const struct node *n, int flags);

/* The C library's function behind ours, NULL if it has none of that name. */
void *nodes_next(const char *name);
/* Declares `next`, the C library's function that this one stands before. */
#define NODES_NEXT(type, name) \
    static __typeof__(type) *next; \
    if (!__atomic_load_n(&next, __ATOMIC_ACQUIRE)) { \
        void *found_ = nodes_next(#name); \
        __typeof__(type) *as_; \
        memcpy(&as_, &found_, sizeof as_); \
        __atomic_store_n(&next, as_, __ATOMIC_RELEASE); \
    }

#endif
