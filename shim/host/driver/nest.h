/* Launches that kernels make: shared by nest.c, which runs them, nest_call.c, which answers the calls of the device
 * runtime, and launch.c. */
#ifndef CUMU_HOST_NEST_H
#define CUMU_HOST_NEST_H

#include <pthread.h>

#include "host/driver/internal.h"
#include "host/driver/kernel.h"
#include "host/driver/memcheck.h"

/* Errors of CUDA's runtime, as kernels see them. */
enum nest_error {
    NEST_OK,
    NEST_INVALID_VALUE = 1,
    NEST_NO_MEMORY = 2,
    NEST_INVALID_CONFIGURATION = 9,
    NEST_INVALID_DIRECTION = 21,
    NEST_SYNC_DEPTH = 68,
    NEST_PENDING_COUNT = 69,
    NEST_INVALID_FUNCTION = 98,
    NEST_INVALID_DEVICE = 101,
    NEST_INVALID_HANDLE = 400,
    NEST_OUT_OF_RESOURCES = 701,
    NEST_NOT_SUPPORTED = 801
};

enum nest_kind { NEST_GRID, NEST_COPY, NEST_SET, NEST_RECORD, NEST_WAIT };

struct nest_region { /* of a copy or a memset: up to three dimensions, widths in bytes */
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, to_slice, from_slice, width, height, depth;
    int value;
};

struct nest_mark { /* where an event was recorded; counted: the event, the work that reaches it, those that wait */
    unsigned refs;
    bool reached;
    struct nest *waiting; /* by `next_ready` */
};

struct nest_queue {          /* a stream of the device */
    struct nest_queue *next; /* of its grid */
    struct nest *head, *last;
    bool destroyed; /* goes when it is empty */
};

struct nest_block { /* a block of a grid that has launched what has not ended */
    struct nest_block *next;
    uint64_t number;
    unsigned live;
    struct nest_queue stream; /* its default stream */
};

/* One piece of what kernels launch: a grid, mostly. Guarded by the family's lock, but for what is set before it is
 * issued. */
struct nest {
    struct nest *next;       /* in its stream, the tail launches, or what is prepared */
    struct nest *next_ready; /* in the list of those that can begin, or that wait for a mark */
    struct nest_family *family;
    struct nest *parent; /* whose completion waits for this one; NULL: the host launched it */
    uint64_t block;      /* of the parent, that issued it */
    struct nest_queue *queue;
    enum nest_kind kind;
    unsigned depth;
    bool begun;
    unsigned open;  /* its own blocks and what they have launched, that has not ended; but for tail launches */
    unsigned stuck; /* threads of it that wait in a call */
    /* grids */
    uint64_t key; /* of its kernel */
    MUfunction f;
    struct host_kernel_launch launch;
    void *params;
    size_t params_size;
    struct nest_queue *queues;
    struct nest_event *events;
    struct nest_block *blocks;
    struct nest *prepared, **prepared_end;
    struct nest *tail, **tail_end;
    struct nest_status *status;
    /* the others */
    struct nest_region region;
    struct nest_mark *mark;
};

struct nest_event {
    struct nest_event *next;
    struct nest_mark *mark; /* NULL: not recorded */
};

struct nest_status { /* a thread whose last error is one */
    struct nest_status *next;
    uint64_t block;
    uint32_t thread;
    int error;
};

enum { NEST_LEVELS = 32 };
struct nest_family { /* all that one launch of the host's leads to */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MUcontext ctx;
    const struct host_frames *origin;
    struct nest *ready[NEST_LEVELS], **ready_end[NEST_LEVELS]; /* by depth: the deepest begin first */
    unsigned nready, pending, runners, stuck;
    unsigned running, held; /* pieces that run; of these, those with threads that wait in a call */
    bool done;
    _Atomic bool failed;
    struct graph_env *graph; /* that the host's launch is a node of, or NULL */
    MUresult result;         /* of the first that failed */
    void *piece, *slab;      /* of memory for arguments: free ones; all, for the end */
};

static inline struct nest *nest_of(const struct t0_grid *g) { return g->nest; }

/* ---- nest.c, with the lock held -------------------------------------------------------------- */

/* A piece that belongs to a grid; NULL: no memory. Dropped, or issued. */
struct nest *nest_new(struct nest *parent, enum nest_kind kind, uint64_t block);
void nest_drop(struct nest *n);
/* Whether one more may wait to begin; waits until it may if that depends on others. */
bool nest_room(struct nest *parent);
/* What a stream's value means in a block: *queue is NULL for launches that wait for nobody. False: it is no stream. */
bool nest_stream(struct nest *parent, uint64_t block, uint64_t value, struct nest_queue **queue, bool *tail);
int nest_issue(struct nest *n, struct nest_queue *queue, bool tail);
/* Waits for all that this block has launched. */
int nest_wait(struct nest *parent, uint64_t block);
void nest_unmark(struct nest_mark *m);
void *nest_params(struct nest_family *f, size_t size);

/* ---- without it ------------------------------------------------------------------------------ */

/* Runs a grid of a kernel that may launch others, and all that it leads to. */
MUresult nest_run(MUfunction f, MUcontext ctx, struct t0_grid *g, const struct host_frames *origin);
/* The kernel of this key in ctx, or NULL. */
MUfunction nest_kernel(MUcontext ctx, uint64_t key);
void nest_forget(MUfunction f);             /* it goes */
const struct t1_nest_shim *nest_shim(void); /* NULL: nobody has said so */
/* env->device. */
uint64_t nest_call(const struct t0_grid *g, const uint32_t block[3], uint32_t thread, uint32_t call,
                   const uint64_t *args);

/* ---- graph_device.c -------------------------------------------------------------------------- */

struct graph_env;
struct graph_env *graph_env_current(void); /* of the node that this thread runs; NULL: it runs none */
uint64_t graph_env_exec(void);             /* the executable graph's handle; 0: none */
/* A launch of a graph by a kernel of another; the result is a nest_error. */
int graph_launch_by_kernel(struct graph_env *env, uint64_t exec, uint64_t stream);

/* ---- launch.c -------------------------------------------------------------------------------- */

MUresult host_grid_perform(MUfunction f, MUcontext ctx, struct t0_grid *g, const struct host_frames *origin);
struct t0_grid host_grid_of(const struct host_kernel_launch *k, MUcontext ctx, void *params);

#endif
