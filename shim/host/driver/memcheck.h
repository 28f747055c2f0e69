/* CUMU_CHECK=memory, race, init, sync: the CPU back end looks at every access of every thread of a kernel and reports
 * what its tools find wrong, in the form that compute-sanitizer gives (memcheck.c keeps what lives, memcheck_report.c
 * writes). Kernels run in the interpreter then, for memory alone also as compiled code that tests its accesses. */
#ifndef HOST_MEMCHECK_H
#define HOST_MEMCHECK_H

#include "host/driver/internal.h"
#include "host/driver/kernel.h"
#include "ptx/tier0/watch.h"

enum { HOST_FRAMES = 24 };
struct host_frames { /* of the program's stack */
    void *at[HOST_FRAMES];
    int count;
};

/* An allocation that lives or has lived. */
struct host_block {
    uintptr_t base;
    size_t size;
    enum host_mem_kind kind;
    MUcontext ctx;
    bool one_device;                /* which others reach only if their contexts have enabled it */
    bool in_heap;                   /* of malloc in kernels; no frames then */
    bool given_back;                /* no leak: its free was refused, as the context had failed, or a graph has it */
    bool streamed;                  /* it has or had a life */
    bool unborn;                    /* a graph's that was not launched yet */
    bool constant;                  /* kernels may only read it */
    size_t of_array;                /* bytes of the array, or mipmapped array, that begins with it; 0: no leak */
    bool foreign;                   /* others than kernels, copies and fills may have written there */
    struct host_life *life;         /* lifetime.c; NULL: from call to call */
    uintptr_t written;              /* initcheck: up to here somebody has, at least */
    struct host_frames made, freed; /* where */
};

bool host_memcheck_on(void); /* whether any tool is asked for */

/* memcheck.c: the books call these when a range begins to live, and when it no longer does. */
void host_memcheck_made(const struct host_range *r);
void host_memcheck_gone(const struct host_range *r);
/* Stream-ordered memory is allocated, is given back, by a call for this stream. */
void host_memcheck_pooled(uint64_t p, MUstream s);
void host_memcheck_unpooled(uint64_t p, MUstream s);
void host_memcheck_constant(const void *p); /* kernels may only read it */
/* A copy or fill, which runs here, is about to touch memory that may be stream-ordered. */
void host_memcheck_touched(const void *p, const char *by);
void host_memcheck_array(const void *p, size_t size,
                         MUcontext ctx);      /* the program's to destroy, with all that follows */
void host_memcheck_given_back(const void *p); /* until a stream has it: no leak */
void host_memcheck_unborn(const void *p);     /* the same, and nobody may touch it until then */
/* Memory that a kernel has allocated on the device heap, or frees; and the heap itself, none of which may be touched
 * otherwise. */
void host_memcheck_heap(const void *p, size_t size, MUcontext ctx);
void host_memcheck_heap_freed(const void *p);
void host_memcheck_heap_made(const void *p);
/* The context ends, with what it still holds (NULL: the process): leaks, if they were asked for. */
void host_memcheck_leaks(MUcontext ctx);

/* Whether memory lives there that only streams, frees and allocations give from one to another, unlike the device's
 * own heap. */
bool host_memcheck_is_streams(uint64_t address);

/* Initcheck: device memory of the program's own that only kernels, copies and fills have written so far. */
bool host_memcheck_is_private(uint64_t address);
void host_memcheck_foreign(void); /* from now on what lives is none */

/* Where an address lies; copies, as the books may change. */
struct host_where {
    enum { HOST_NOWHERE, HOST_NEAR, HOST_INSIDE, HOST_FREED, HOST_UNREACHABLE } what;
    struct host_block block; /* NEAR: the nearest one */
};
struct host_where host_memcheck_find(uint64_t address);
/* Whether device code may touch all of it. */
bool host_memcheck_allowed(void *run, uint64_t address, uint32_t size, enum t0_access_kind kind);
/* Why not: "out of bounds", or what the program has said. */
const char *host_memcheck_denied(void *run, uint64_t address, uint32_t size, enum t0_access_kind kind);
/* The allocation that holds the address, if all of it may be touched so until it is freed. */
bool host_memcheck_range(void *run, uint64_t address, enum t0_access_kind kind, uint64_t *base, uint64_t *size);

void host_memcheck_changed(void); /* what may be touched is another from now on */

/* ---- annotate.c: what the program has said of its memory ------------------------------------------ */

void host_annotate_gone(uintptr_t base, size_t size); /* of memory that is freed */
/* Whether something was said of what may be touched in the range. */
bool host_annotate_any(uintptr_t base, size_t size);
/* Why an access of the allocation at `base` by a kernel of the device may not be made: "out of bounds", "not readable"
 * ...; NULL: nothing speaks against it. */
const char *host_annotate_denies(uintptr_t base, uint64_t address, uint32_t size, enum t0_access_kind kind, int device);
/* The first piece of [*from, end) that may be touched as far as heaps go: moves *from to its begin, *to to its end. */
bool host_annotate_piece(uint64_t *from, uint64_t end, uint64_t *to);
bool host_annotate_name(uintptr_t base, char *name, size_t room); /* false: it has none */

/* ---- lifetime.c: memory between two points in the order of streams ------------------------------- */

struct host_order;
struct host_life;
/* Takes the point; NULL: no memory. The first life of memory that nobody could have had before? */
struct host_life *host_life_new(struct host_order *from, bool first);
void host_life_free(struct host_life *l); /* NULL is fine */
/* Whether what stands there uses it while it lives, which is kept. */
bool host_life_holds(struct host_life *l, const struct host_order *now);
bool host_life_ended(const struct host_life *l); /* NULL: no */
/* Takes the end; false: it may come before the beginning, or before a use that was kept. */
bool host_life_end(struct host_life *l, struct host_order *until);

/* ---- memcheck_report.c ----------------------------------------------------------------------- */

/* The program's frames above the call of a MUSA function; none where nothing is checked. */
void host_memcheck_frames(struct host_frames *f);

/* One launch: its reports name the place of the launch, and each place in the kernel once in the process. */
struct host_memcheck_run {
    struct t0_watch watch;
    const struct host_frames *origin;
    MUcontext ctx;
    const struct host_order *order; /* where the launch stands; NULL: unknown */
    const struct graph_plan *plan;  /* of a graph's kernel; else NULL */
    uint32_t node;
    uint64_t serial;
    uint64_t places, more; /* reported; at places that had been */
    bool failed;
};
/* What the grid is watched by; NULL: nothing is checked. */
const struct t0_watch *host_memcheck_start(struct host_memcheck_run *r, MUcontext ctx, const struct host_frames *origin,
                                           const char *kernel, const struct t0_grid *g);
bool host_memcheck_begin(struct host_memcheck_run *r); /* the same for what is no launch; false: nothing is checked */
bool host_memcheck_chooses(const char *kernel);        /* memcheck_filter.c: whether this launch of it is looked at */
char *host_memcheck_demangle(const char *name);        /* malloc'ed, or NULL */
bool host_memcheck_end(struct host_memcheck_run *r);   /* true: the launch has failed */

/* A fault that ended a launch, as another report. */
void host_memcheck_fault(const struct host_memcheck_run *r, const char *what, const struct t0_fault *f);
/* What a tool has found on the host, with this thread's backtrace under the line `stack`. */
void host_memcheck_say(const struct t0_finding *f, const char *stack);
void host_memcheck_say_unused(const struct host_block *b, uint64_t bytes, uint64_t first);
/* A copy to the host of bytes from `base` on whose first unwritten one is at `first`; once for each call's place. */
void host_memcheck_say_unwritten(uint64_t base, uint64_t size, uint64_t first);
void host_memcheck_say_outlived(const struct host_block *b, const char *by, const struct host_order *order);
void host_memcheck_say_early_free(const struct host_block *b);
void host_memcheck_say_leak(const struct host_block *b);
void host_memcheck_say_leaks(size_t bytes, size_t count);

/* ---- initcheck.c: device memory that somebody has written --------------------------------------- */

/* As t0_watch.written. */
bool host_initcheck_written(void *unused, uint64_t address, uint32_t size, enum t0_access_kind kind);
/* As t0_watch.undefined. */
uint32_t host_initcheck_undefined(void *unused, uint64_t address, uint32_t size, uint32_t piece, bool *alone);
void host_initcheck_made(const struct host_range *r);
struct copy;
void host_initcheck_copied(const struct copy *c);
void host_initcheck_filled(const void *p, size_t size);
void host_initcheck_foreign(void); /* somebody else has run, and may have written to all that lives */
/* The first byte that nobody has written, or the end. */
uint64_t host_initcheck_first(uint64_t base, uint64_t size);
/* Bytes that nobody has written, and the first one. */
uint64_t host_initcheck_unwritten(uint64_t base, uint64_t size, uint64_t *first);

/* ---- memcheck_symbols.c: name of the function at an address of a file (as its symbols count); false: unknown -- */
bool host_memcheck_symbol(const char *path, uint64_t address, char *name, size_t room);

#endif
