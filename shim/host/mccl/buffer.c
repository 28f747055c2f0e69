/* Memory of another rank's process: described by a MUSA IPC handle, mapped once and kept. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/mccl/mccl.h"

#define EXPORTED 256

/* ---- this process's allocations and their handles -------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint64_t id;
    musaIpcMemHandle_t handle;
} exported[EXPORTED]; /* by id % EXPORTED */

bool mccl_describe(mcclComm_t c, const void *p, struct mccl_piece *out)
{
    *out = (struct mccl_piece){.address = (uint64_t)(uintptr_t)p};
    if (!p || c->one_process)
        return p != NULL;
    MUdeviceptr base = 0;
    unsigned long long id = 0;
    int type = 0;
    MUpointer_attribute names[] = {MU_POINTER_ATTRIBUTE_RANGE_START_ADDR, MU_POINTER_ATTRIBUTE_BUFFER_ID,
                                   MU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    void *values[] = {&base, &id, &type};
    if (muPointerGetAttributes(3, names, values, (MUdeviceptr)(uintptr_t)p) || !id || !base)
        return false;
    pthread_mutex_lock(&lock);
    bool known = exported[id % EXPORTED].id == id;
    if (known)
        out->handle = exported[id % EXPORTED].handle;
    pthread_mutex_unlock(&lock);
    if (!known) {
        if (muIpcGetMemHandle(&out->handle, base))
            return false; /* host memory, or of a pool: such data are staged */
        pthread_mutex_lock(&lock);
        exported[id % EXPORTED].id = id;
        exported[id % EXPORTED].handle = out->handle;
        pthread_mutex_unlock(&lock);
    }
    out->base = base;
    out->id = id;
    return true;
}

/* ---- other processes' allocations ------------------------------------------------------------ */

static struct mapping {
    uint64_t process, id;
    uint64_t base; /* in its own process */
    char *at;
    struct mapping *next;
} * mappings[64];                                           /* by id */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER; /* one at a time; before `lock` */

/* A callback may not call MUSA: what it needs opened, a thread of ours opens, and what is not needed any
 * more another one closes, because closing waits for the device, and so perhaps for that callback. */
struct errand {
    musaIpcMemHandle_t handle;
    int device;
    struct mapping *close;
    void *result;
    bool done;
};
static pthread_cond_t answer = PTHREAD_COND_INITIALIZER;

static void *run_open(void *arg)
{
    struct errand *e = arg;
    musaSetDevice(e->device);
    if (musaIpcOpenMemHandle(&e->result, e->handle, 1)) /* 1: with peer access */
        e->result = NULL;
    pthread_mutex_lock(&lock);
    e->done = true;
    pthread_cond_broadcast(&answer);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *run_close(void *arg)
{
    struct errand *e = arg;
    musaSetDevice(e->device);
    for (struct mapping *m = e->close, *next; m; m = next) {
        next = m->next;
        musaIpcCloseMemHandle(m->at);
        free(m);
    }
    free(e);
    return NULL;
}

static struct mapping *find(uint64_t process, uint64_t id)
{
    for (struct mapping *m = mappings[id % 64]; m; m = m->next)
        if (m->id == id && m->process == process)
            return m;
    return NULL;
}

/* Allocations that a new one has taken the place of: freed by their owner. lock held. */
static void retire(int device, uint64_t process, uint64_t base)
{
    struct mapping *stale = NULL;
    for (int i = 0; i < 64; i++)
        for (struct mapping **link = &mappings[i], *m; (m = *link);)
            if (m->process == process && m->base == base) {
                *link = m->next;
                m->next = stale;
                stale = m;
            } else
                link = &m->next;
    struct errand *e = stale ? malloc(sizeof *e) : NULL;
    if (e)
        *e = (struct errand){.device = device, .close = stale};
    if (e && !mccl_thread(run_close, e))
        free(e); /* the address space stays mapped */
}

static struct mapping *open_mapping(int device, uint64_t process, const struct mccl_piece *p)
{
    struct errand e = {.handle = p->handle, .device = device};
    struct mapping *m = malloc(sizeof *m);
    if (!m || !mccl_thread(run_open, &e)) {
        free(m);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    while (!e.done)
        pthread_cond_wait(&answer, &lock);
    if (e.result) {
        retire(device, process, p->base);
        *m = (struct mapping){process, p->id, p->base, e.result, mappings[p->id % 64]};
        mappings[p->id % 64] = m;
    } else {
        free(m);
        m = NULL;
    }
    pthread_mutex_unlock(&lock);
    return m;
}

void *mccl_reach(mcclComm_t c, int rank, const struct mccl_piece *p)
{
    uint64_t process = c->shared->member[rank].process;
    if (process == c->shared->member[c->rank].process)
        return (void *)(uintptr_t)p->address;
    if (!p->id)
        return NULL;
    pthread_mutex_lock(&lock);
    struct mapping *m = find(process, p->id);
    pthread_mutex_unlock(&lock);
    if (!m) {
        pthread_mutex_lock(&opening);
        pthread_mutex_lock(&lock);
        m = find(process, p->id); /* another thread may have been first */
        pthread_mutex_unlock(&lock);
        m = m ? m : open_mapping(c->device, process, p);
        pthread_mutex_unlock(&opening);
    }
    return m ? m->at + (p->address - p->base) : NULL;
}
