/* Who uses which memory in which order: the model behind CUMU_CHECK=sync. It knows of streams and events as
 * numbers and addresses only; check_calls.c tells it what a program does.
 *
 * Every stream has a clock that ticks with each thing put on it; a clock also says how far the others had got
 * that it has waited for (a vector clock). The host is one more: threads of the program order each other by
 * means that nobody here sees, so that what one of them has waited for counts for all. Of two uses of the
 * same bytes, one by a collective and one of them writing, the later must know of the earlier. */
#ifndef CUMU_API_CHECK_H
#define CUMU_API_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cumu_prototype;
struct cumu_frame;
/* check_api.c: the calls that return an error. */
bool cumu_check_api_wants(const char *library, const char *symbol);
void cumu_check_api_call(const struct cumu_prototype *c, const struct cumu_frame *f);

struct check_stream; /* opaque; lives as long as the process */

enum check_stream_kind {
    CHECK_BLOCKING, /* waits for the legacy stream of its device, and it for this one */
    CHECK_NONBLOCKING,
    CHECK_LEGACY
};
/* The stream of a handle on a device (for a default stream the handle alone does not say which): made at first
 * sight, with kind() asked only then. NULL when there are too many. */
struct check_stream *cumu_check_stream(const void *handle, int device, unsigned thread,
                                       enum check_stream_kind (*kind)(const void *handle));
void cumu_check_stream_gone(const void *handle, int device);

struct check_call {     /* who uses memory */
    const char *name;   /* "ncclAllReduce"; lives as long as the process */
    const char *kernel; /* of a launch: its name, copied; else NULL */
    uintptr_t site;     /* return address of the call */
    const void *stream; /* as the program says it */
    bool collective;
};

enum check_use { CHECK_READS, CHECK_WRITES, CHECK_MAY_WRITE /* a kernel that was given the pointer */ };

struct check_range {
    uintptr_t at;
    size_t size;
    enum check_use use;
};

/* What a copy or a memset writes (the first) and reads, as its arguments say; how many there are, 0 if they do not
 * say (check_moves.c). */
struct cumu_prototype;
struct cumu_frame;
unsigned cumu_check_moves(const struct cumu_prototype *c, const struct cumu_frame *f, struct check_range r[2]);

/* The call puts something on s that uses these ranges. What it may clash with is reported, each pair of
 * sites once. */
void cumu_check_put(struct check_stream *s, const struct check_call *call, const struct check_range *ranges,
                    unsigned n);
/* Two that have no order because they are put together. */
void cumu_check_beside(const struct check_call *a, const struct check_range *ra, const struct check_call *b,
                       const struct check_range *rb);
void cumu_check_record(struct check_stream *s, const void *event);
void cumu_check_event_gone(const void *event);
void cumu_check_wait(struct check_stream *s, const void *event);
void cumu_check_wait_all(struct check_stream *s);                /* for who knows what: nothing to report */
void cumu_check_join(struct check_stream *const *s, unsigned n); /* each waits for all of them */
/* The host has waited: for a stream, for an event, for a device. */
void cumu_check_synced(struct check_stream *s);
void cumu_check_event_synced(const void *event);
void cumu_check_device_synced(int device);
/* The memory is new: what was there before has been freed. */
void cumu_check_fresh(uintptr_t at, size_t size);
#endif
