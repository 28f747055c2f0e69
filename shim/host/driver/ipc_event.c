/* Events between processes: a page that both map counts the records made and those reached. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/driver/internal.h"
#include "host/driver/limits.h"
#include "host/driver/order.h"

#define PAGE 4096

struct page {                        /* numbers of records; they may wrap */
    _Atomic uint32_t recorded, done; /* done: futex */
};

struct host_shared_event {
    struct page *page;
    int fd;
    _Atomic int refs;
};

struct ipc_handle { /* what MUipcEventHandle holds */
    char magic[8];
    int pid, fd;
    uint64_t started; /* of the process: a reused pid is refused */
};
_Static_assert(sizeof(struct ipc_handle) <= sizeof(MUipcEventHandle), "handle");
static const char magic[8] = "cumuevt";

/* Takes the descriptor over. */
static struct host_shared_event *map(int fd)
{
    struct stat st;
    bool whole = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= PAGE;
    struct host_shared_event *e = whole ? calloc(1, sizeof *e) : NULL;
    void *p = e ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        free(e);
        return NULL;
    }
    e->page = p;
    e->fd = fd;
    e->refs = 1;
    return e;
}

struct host_shared_event *host_shared_event_new(void)
{
    int fd = memfd_create("musa-event", MFD_CLOEXEC);
    if (fd >= 0 && cumu_host_grow(fd, PAGE)) {
        close(fd);
        fd = -1;
    }
    return map(fd);
}

void host_shared_event_unref(struct host_shared_event *e)
{
    if (!e || --e->refs)
        return;
    munmap(e->page, PAGE);
    close(e->fd);
    free(e);
}

MUresult host_shared_event_export(struct host_shared_event *e, MUipcEventHandle *handle)
{
    struct ipc_handle h = {.pid = getpid(), .fd = e->fd};
    memcpy(h.magic, magic, sizeof magic);
    h.started = host_process_start(h.pid);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return MUSA_SUCCESS;
}

MUresult host_shared_event_open(const MUipcEventHandle *handle, struct host_shared_event **e)
{
    struct ipc_handle h;
    memcpy(&h, handle, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic))
        return MUSA_ERROR_INVALID_VALUE;
    if (h.pid == getpid())
        return MUSA_ERROR_INVALID_CONTEXT; /* as CUDA: not in the process that exported it */
    if (!h.started || host_process_start(h.pid) != h.started)
        return MUSA_ERROR_INVALID_HANDLE;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
    *e = map(open(path, O_RDWR | O_CLOEXEC));
    return *e ? MUSA_SUCCESS : MUSA_ERROR_INVALID_HANDLE;
}

/* ---- what streams do with it ----------------------------------------------------------------- */

struct mark { /* argument of an op: record number `number` */
    struct host_shared_event *event;
    MUcontext ctx;
    uint32_t number;
};

static bool reached(const struct page *p, uint32_t number) { return (int32_t)(p->done - number) >= 0; }

bool host_shared_event_done(struct host_shared_event *e) { return reached(e->page, e->page->recorded); }

/* Until the record is reached; in a stream also until its context is beyond hope. */
static void await(struct page *p, uint32_t number, const MUcontext ctx)
{
    while (!reached(p, number) && !(ctx && ctx->error)) {
        uint32_t seen = p->done;
        if ((int32_t)(seen - number) >= 0)
            break;
        /* Other processes wake us; the time-out is for one that died before it could. */
        syscall(SYS_futex, &p->done, FUTEX_WAIT, seen, &(struct timespec){0, 50000000}, NULL, 0);
    }
}

void host_shared_event_wait(struct host_shared_event *e) { await(e->page, e->page->recorded, NULL); }

static MUresult run_mark(void *arg)
{
    const struct mark *m = arg;
    struct page *p = m->event->page;
    uint32_t seen = p->done;
    while ((int32_t)(seen - m->number) < 0 && !atomic_compare_exchange_weak(&p->done, &seen, m->number))
        ;
    syscall(SYS_futex, &p->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return MUSA_SUCCESS;
}

static MUresult run_await(void *arg)
{
    const struct mark *m = arg;
    await(m->event->page, m->number, m->ctx);
    return MUSA_SUCCESS;
}

static void drop(void *arg)
{
    struct mark *m = arg;
    host_shared_event_unref(m->event);
    free(m);
}

static MUresult submit(struct host_shared_event *e, MUstream s, uint32_t number, MUresult (*run)(void *),
                       const char *what)
{
    struct mark *m = malloc(sizeof *m);
    if (!m)
        return MUSA_ERROR_OUT_OF_MEMORY;
    *m = (struct mark){e, s->ctx, number};
    e->refs++;
    struct host_op op = {run, drop, m, what, HOST_OP_ALWAYS};
    return host_submit(s, &op, NULL, 0, 0, NULL);
}

MUresult host_shared_event_record(struct host_shared_event *e, MUstream s)
{
    return submit(e, s, atomic_fetch_add(&e->page->recorded, 1) + 1, run_mark, "shared event");
}

MUresult host_shared_event_wait_in(struct host_shared_event *e, MUstream s)
{
    uint32_t number = e->page->recorded;
    pthread_mutex_lock(&host_sched);
    host_order_wait_unseen(s);
    pthread_mutex_unlock(&host_sched);
    return reached(e->page, number) ? MUSA_SUCCESS : submit(e, s, number, run_await, "wait for a shared event");
}
