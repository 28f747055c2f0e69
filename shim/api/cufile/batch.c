/* cuFile's batches: each transfer is done when it is submitted; its event waits to be asked for. */
#include "api/cufile/cufile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MODE_BATCH = 1, READ = 0, WRITE = 1, LARGEST = 4096 };
enum { STATUS_INVALID = 4, STATUS_COMPLETE = 16, STATUS_FAILED = 64 };

struct request { /* CUfileIOParams_t */
    int mode;
    void *base;
    long long file_offset, offset;
    size_t size;
    void *file;
    int opcode;
    void *cookie;
};
struct event { /* CUfileIOEvents_t */
    void *cookie;
    int status;
    size_t result; /* bytes, or an error below zero */
};
_Static_assert(sizeof(struct request) == 64 && sizeof(struct event) == 24, "as the ABI has them");

struct batch {
    struct batch *next;
    unsigned capacity, count; /* of events that nobody has asked for */
    struct event event[];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct batch *batches;

/* Lock held. */
static struct batch *find(const void *handle)
{
    struct batch *b = batches;
    while (b && b != handle)
        b = b->next;
    return b;
}

unsigned long wrap_cuFileBatchIOSetUp(void **handle, unsigned capacity)
{
    if (!handle || !capacity || capacity > LARGEST)
        return cufile_error(CU_FILE_INVALID_VALUE);
    struct batch *b = calloc(1, sizeof *b + capacity * sizeof *b->event);
    *handle = b;
    if (!b)
        return cufile_error(CU_FILE_INTERNAL_ERROR);
    b->capacity = capacity;
    pthread_mutex_lock(&lock);
    b->next = batches;
    batches = b;
    pthread_mutex_unlock(&lock);
    cufile_ensure_open();
    return CU_FILE_SUCCESS;
}

static struct event run(const struct request *r)
{
    if (r->mode != MODE_BATCH || (r->opcode != READ && r->opcode != WRITE))
        return (struct event){r->cookie, STATUS_INVALID, (size_t)-CU_FILE_INVALID_VALUE};
    long long n = cufile_move(r->file, r->opcode == WRITE, r->base, r->size, r->file_offset, r->offset);
    return (struct event){r->cookie, n < 0 ? STATUS_FAILED : STATUS_COMPLETE, (size_t)n};
}

unsigned long wrap_cuFileBatchIOSubmit(void *handle, unsigned count, void *requests, unsigned flags)
{
    const struct request *r = requests;
    struct event *done = count && count <= LARGEST && r && !flags ? malloc(count * sizeof *done) : NULL;
    if (!done)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    struct batch *b = find(handle);
    const bool full = b && count > b->capacity - b->count;
    pthread_mutex_unlock(&lock);
    if (!b || full) {
        free(done);
        return cufile_error(b ? CU_FILE_BATCH_FULL : CU_FILE_INVALID_VALUE);
    }
    for (unsigned k = 0; k < count; k++)
        done[k] = run(&r[k]);
    pthread_mutex_lock(&lock);
    b = find(handle); /* which another thread may have destroyed or filled meanwhile */
    const bool fits = b && count <= b->capacity - b->count;
    if (fits) {
        memcpy(b->event + b->count, done, count * sizeof *done);
        b->count += count;
    }
    pthread_mutex_unlock(&lock);
    free(done);
    return fits ? CU_FILE_SUCCESS : cufile_error(b ? CU_FILE_BATCH_FULL : CU_FILE_INVALID_VALUE);
}

/* All events are there: nobody waits. */
unsigned long wrap_cuFileBatchIOGetStatus(void *handle, unsigned least, unsigned *count, void *events, void *timeout)
{
    (void)timeout;
    if (!count || !events || least > *count)
        return cufile_error(CU_FILE_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    struct batch *b = find(handle);
    if (b) {
        const unsigned n = *count < b->count ? *count : b->count;
        memcpy(events, b->event, n * sizeof *b->event);
        memmove(b->event, b->event + n, (b->count - n) * sizeof *b->event);
        b->count -= n;
        *count = n;
    }
    pthread_mutex_unlock(&lock);
    return b ? CU_FILE_SUCCESS : cufile_error(CU_FILE_INVALID_VALUE);
}

/* Nothing is under way that could be. */
unsigned long wrap_cuFileBatchIOCancel(void *handle)
{
    pthread_mutex_lock(&lock);
    const bool known = find(handle) != NULL;
    pthread_mutex_unlock(&lock);
    return known ? CU_FILE_SUCCESS : cufile_error(CU_FILE_INVALID_VALUE);
}

void wrap_cuFileBatchIODestroy(void *handle)
{
    pthread_mutex_lock(&lock);
    struct batch **at = &batches;
    while (*at && *at != handle)
        at = &(*at)->next;
    struct batch *b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    free(b);
}
