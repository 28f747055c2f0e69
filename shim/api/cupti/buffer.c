/* Buffers of activity records: the program gives them, gets them back when they are full or flushed, and reads them. */
#include "api/cupti/cupti.h"
#include "core/upper.h"
#include "wraps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef void (*request)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

enum { ALIGNMENT = 8 };

struct buffer {
    uint8_t *at;
    size_t size, used, most, count; /* most: records; 0: as many as fit */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows; the program's functions run without it */
static struct buffer now;
static request ask;
static complete give;
static atomic_size_t dropped;
static unsigned giving; /* buffers that threads have taken out and not given back yet */
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
enum { PATIENCE_S = 1 }; /* with a thread whose function waits for who flushes */

static const struct {
    uint16_t size;
} kinds[KIND_COUNT] = {[KIND_MEMCPY] = {sizeof(struct cupti_memcpy)},
                       [KIND_MEMSET] = {sizeof(struct cupti_memset)},
                       [KIND_KERNEL] = {sizeof(struct cupti_kernel)},
                       [KIND_DRIVER] = {sizeof(struct cupti_api)},
                       [KIND_RUNTIME] = {sizeof(struct cupti_api)},
                       [KIND_CONCURRENT_KERNEL] = {sizeof(struct cupti_kernel)},
                       [KIND_MARKER] = {sizeof(struct cupti_marker)},
                       [KIND_MARKER_DATA] = {sizeof(struct cupti_marker_data)},
                       [KIND_OVERHEAD] = {sizeof(struct cupti_overhead)},
                       [KIND_SYNCHRONIZATION] = {sizeof(struct cupti_synchronization)},
                       [KIND_EXTERNAL_CORRELATION] = {sizeof(struct cupti_external)},
                       [KIND_GRAPH_TRACE] = {sizeof(struct cupti_graph)}};

size_t cumu_cupti_size(uint32_t kind) { return kind < KIND_COUNT ? kinds[kind].size : 0; }

static void hand_back(struct buffer *b)
{
    if (!b->at)
        return;
    cumu_cupti_inside++;
    give(NULL, 0, b->at, b->size, b->used);
    cumu_cupti_inside--;
    *b = (struct buffer){0};
}

/* Of a buffer that was taken out under the lock, where `giving` counted it. */
static void give_taken(struct buffer *b)
{
    if (!b->at)
        return;
    hand_back(b);
    pthread_mutex_lock(&lock);
    giving--;
    pthread_cond_broadcast(&given);
    pthread_mutex_unlock(&lock);
}

static bool has_space(const struct buffer *b, size_t size)
{
    return b->at && b->size - b->used >= size && (!b->most || b->count < b->most);
}

/* A buffer from the program; one that cannot be used counts as none and goes back. */
static struct buffer fetch(size_t size)
{
    struct buffer b = {0};
    cumu_cupti_inside++;
    ask(&b.at, &b.size, &b.most);
    cumu_cupti_inside--;
    if (b.at && ((uintptr_t)b.at % ALIGNMENT || b.size < size))
        hand_back(&b);
    return b.at ? b : (struct buffer){0};
}

/* Appends under the lock. Where there is no space, a buffer is asked for without it, as the program's functions may
 * take locks that it holds in calls of ours; another thread may have been faster by then, and this one's goes back
 * empty. */
void cumu_cupti_write(const void *record, size_t size)
{
    struct buffer fresh = {0};
    for (bool done = false; !done;) {
        struct buffer full = {0};
        pthread_mutex_lock(&lock);
        bool wanted = ask != NULL;
        if (!has_space(&now, size) && fresh.at) {
            full = now;
            giving += full.at != NULL;
            now = fresh;
            fresh = (struct buffer){0};
        }
        done = has_space(&now, size);
        if (done) {
            memcpy(now.at + now.used, record, size);
            now.used += size;
            now.count++;
        }
        pthread_mutex_unlock(&lock);
        give_taken(&full);
        if (!done && wanted)
            fresh = fetch(size);
        if (!done && !fresh.at) {
            atomic_fetch_add(&dropped, wanted);
            return;
        }
    }
    hand_back(&fresh);
}

void cumu_cupti_lose(void) { atomic_fetch_add(&dropped, cumu_cupti_registered()); }

void cumu_cupti_flush(void)
{
    struct buffer full = {0};
    pthread_mutex_lock(&lock);
    if (now.used) {
        full = now;
        giving++;
        now = (struct buffer){0};
    }
    pthread_mutex_unlock(&lock);
    give_taken(&full);
}

/* Until other threads have given back what they had taken out: all records so far are the program's then. */
static void await_given(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&lock);
    while (!cumu_cupti_inside && giving && !pthread_cond_timedwait(&given, &lock, &end))
        ;
    pthread_mutex_unlock(&lock);
}

int wrap_cuptiActivityRegisterCallbacks(void *requested, void *completed)
{
    request r;
    complete c;
    if (!requested || !completed)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&r, &requested, sizeof r);
    memcpy(&c, &completed, sizeof c);
    pthread_mutex_lock(&lock);
    struct buffer old = now;
    now = (struct buffer){0};
    complete before = give;
    ask = r;
    give = c;
    pthread_mutex_unlock(&lock);
    if (old.at && before)
        before(NULL, 0, old.at, old.size, old.used);
    return CUPTI_SUCCESS;
}

bool cumu_cupti_registered(void)
{
    pthread_mutex_lock(&lock);
    bool is = ask != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

int wrap_cuptiActivityGetNextRecord(void *buffer, size_t valid, void *record)
{
    uint8_t *first = buffer, **next = record;
    uint32_t kind;
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *at = *next;
    if (at && (at < first || valid < sizeof kind || (size_t)(at - first) > valid - sizeof kind))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (at) {
        memcpy(&kind, at, sizeof kind);
        if (!cumu_cupti_size(kind))
            return CUPTI_ERROR_INVALID_KIND;
        at += cumu_cupti_size(kind);
    } else {
        at = first;
    }
    if ((size_t)(at - first) + sizeof kind > valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    memcpy(&kind, at, sizeof kind);
    size_t size = cumu_cupti_size(kind);
    if (!size || (size_t)(at - first) + size > valid)
        return CUPTI_ERROR_INVALID_KIND;
    *next = at;
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityGetNumDroppedRecords(void *context, unsigned stream, size_t *count)
{
    (void)context, (void)stream;
    if (!count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *count = atomic_exchange(&dropped, 0);
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityFlushAll(unsigned flag)
{
    (void)flag; /* forced or not: what is not done has no times yet */
    if (!cumu_cupti_registered())
        return CUPTI_ERROR_INVALID_OPERATION;
    CUMU_ASK(work_flush, (void)0);
    cumu_cupti_flush();
    await_given();
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityFlush(void *context, unsigned stream, unsigned flag)
{
    (void)context, (void)stream;
    return wrap_cuptiActivityFlushAll(flag);
}

int wrap_cuptiActivityFlushPeriod(unsigned milliseconds)
{
    (void)milliseconds; /* full buffers are given back at once, others when flushed */
    return CUPTI_SUCCESS;
}
