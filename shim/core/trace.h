/* The tracer (CUMU_TRACE): each call through a facade as a line with its typed arguments, its result and its
 * time; launches, copies and compilations as the kernel side tells them. While it is off nothing of it
 * runs: what is traced is decided when a slot is filled, and the slot of a traced symbol holds a thunk. */
#ifndef CUMU_CORE_TRACE_H
#define CUMU_CORE_TRACE_H

#include "core/calls.h"
#include "core/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- slots (trace.c) ------------------------------------------------------------------------- */

/* What slot `index` of f is to hold so that calls reach target: target itself, or a thunk. */
void *cumu_trace_slot(const struct cumu_facade *f, unsigned index, void *target);
bool cumu_tracing(void);
/* Whether work on the device is timed: by a trace, or by CUPTI's user. */
bool cumu_trace_times_work(void);
/* The slots that are filled get their thunks, or lose them: who wants calls has changed. */
void cumu_trace_rearm(void);
/* Whether a filter of that form (CUMU_TRACE_FILTER) lets the symbol of this thread pass; thread 0: not asked for. */
bool cumu_trace_passes(const char *filter, const char *library, const char *name, unsigned thread);

/* What trace_entry.S keeps of a call; its offsets stand there too. */
enum { CUMU_PARAMS = 256 }; /* bytes that the arguments of a call take at most, which calls.c checks */
struct cumu_frame {
    uint64_t general[6], vectors, index, floating[8][2];
    const struct cumu_facade *facade;
    const uint64_t *stack; /* arguments on the caller's stack */
    void *target;
    uint64_t stack_size; /* bytes of them to copy, a multiple of 16 */
    uint64_t result[2], result_float[2][2];
    uint64_t start; /* the tracer's own from here */
    void *work;     /* a copy that is being timed, or NULL */
    uint32_t depth;
    bool traced, checked, profiled; /* who wants this call */
    bool outermost;                 /* of the profiled calls of its thread */
    uint32_t correlation;           /* of the outermost profiled call of the thread */
    uint64_t kept;                  /* CUPTI's user's own, from a call's begin to its end */
    bool has_params;                /* the arguments as a struct, for CUPTI's user */
    uint64_t params[CUMU_PARAMS / 8];
};
void cumu_trace_before(struct cumu_frame *f);
void cumu_trace_after(struct cumu_frame *f);

/* ---- events ---------------------------------------------------------------------------------- */

enum cumu_event_kind {
    CUMU_EVENT_CALL,
    CUMU_EVENT_KERNEL,
    CUMU_EVENT_COPY,
    CUMU_EVENT_GRAPH,
    CUMU_EVENT_COMPILE,
    CUMU_EVENT_RANGE, /* NVTX: what the program names itself */
    CUMU_EVENT_MARK,
    CUMU_EVENT_COUNTER /* a number of the program's at a time */
};
/* What NVTX lets a program say of a range or a mark besides its name. */
struct cumu_annotation {
    const char *domain, *category; /* NULL: the default domain; none, or one that is a number only */
    const char *scope;             /* where it belongs, as a path; or NULL */
    const char *payload;           /* a number as text, or NULL; of a counter its value */
    uint32_t category_number, color /* 0xAARRGGBB */;
    bool colored;
    uint64_t id; /* of a range of the process, which may end in another thread; 0: one of the thread's stack */
};
struct cumu_event {
    enum cumu_event_kind kind;
    const char *library, *name; /* "cudart" "cudaMalloc"; "kernel" and its name; "copy" and the function's;
                                   "graph", "compile" and a kernel's; "nvtx" and the message */
    uint64_t start, duration;   /* in ns: of calls on the host, of kernels and copies on the device */
    bool timed;                 /* duration is known */
    bool lost;                  /* it is not, though the work is done: no memory, or the events failed */
    unsigned thread, depth;
    long process;
    const struct cumu_prototype *call; /* CALL */
    const struct cumu_frame *frame;    /* CALL */
    const void *stream;                /* KERNEL, COPY, GRAPH */
    uint64_t bytes;                    /* COPY; CALL: what a copy that is over by now has moved, or 0 */
    unsigned grid[3], block[3];        /* KERNEL */
    size_t shared;
    uint32_t correlation;                     /* number of the call that put it there; 0: none is kept */
    uint8_t written, read;                    /* COPY: CUPTI's kinds of memory (api/cupti) */
    uint32_t value;                           /* COPY: what a memset writes */
    unsigned registers, local, fixed;         /* KERNEL: per thread; bytes per thread; bytes of static shared memory */
    const void *context;                      /* of the device work, the driver's handle; NULL: the calling thread's */
    const char *note;                         /* KERNEL: its code, "tier 1"; COMPILE: how it went */
    const struct cumu_annotation *annotation; /* RANGE, MARK, COUNTER */
};
/* Writes the event if its library and name are not filtered out. */
void cumu_trace_event(struct cumu_event *e);
/* Fills process and thread with the caller's. */
void cumu_trace_stamp(struct cumu_event *e);
/* Lines of the calling thread are indented by `more` steps from now on. */
void cumu_trace_indent(int more);
uint64_t cumu_trace_now(void);
void cumu_trace_begin(void);     /* tracing begins, if it has not yet: NVTX may come before any call */
uint64_t cumu_trace_began(void); /* when this process began to trace */

/* Text of one event in the format chosen, without a newline at the end of the buffer's room; its length. */
struct cumu_writer {
    char *at, *end; /* what does not fit is left out */
    bool json;
};
void cumu_write(struct cumu_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cumu_write_pointer(struct cumu_writer *w, uint64_t p);
void cumu_write_quoted(struct cumu_writer *w, const char *s, size_t n);
/* trace_value.c: the arguments separated by ", ", and the result. */
void cumu_write_arguments(struct cumu_writer *w, const struct cumu_prototype *c, const struct cumu_frame *f);
void cumu_write_result(struct cumu_writer *w, const struct cumu_prototype *c, const struct cumu_frame *f);
/* The first eight bytes of argument i. */
uint64_t cumu_call_argument(const struct cumu_prototype *c, const struct cumu_frame *f, unsigned i);
/* Its kth eight bytes, of a struct by value. */
uint64_t cumu_call_part(const struct cumu_prototype *c, const struct cumu_frame *f, unsigned i, unsigned k);
/* Bytes that one of it counts for, of an argument that says how much a call moves; else 0. */
unsigned cumu_length_unit(const struct cumu_argument *a);
/* The product of the lengths among the arguments; 0 if there are none. The stream, if it has one. */
uint64_t cumu_call_bytes(const struct cumu_prototype *c, const struct cumu_frame *f);
bool cumu_queues_copy(const struct cumu_prototype *c); /* it has both */
bool cumu_call_stream(const struct cumu_prototype *c, const struct cumu_frame *f, const void **stream);

/* trace_out.c */
void cumu_trace_write(const struct cumu_event *e);
/* trace_range.c: an NVTX event behind what every line begins with, in each format. */
void cumu_range_text(struct cumu_writer *w, const struct cumu_event *e);
void cumu_range_jsonl(struct cumu_writer *w, const struct cumu_event *e);
void cumu_range_chrome(struct cumu_writer *w, const struct cumu_event *e);
void cumu_trace_forked(void); /* in a child: the file is opened anew, for its name may have the process id */

#endif
