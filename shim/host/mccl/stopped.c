/* Processes of this host that are stopped, as by SIGSTOP: nothing comes from them, and yet they have not ended. The
 * kernel tells it of those in the same pid namespace. One that a debugger holds is another matter: who sits before it
 * wants the others to wait. Where ranks are in several pid namespaces (containers of one pod), a thread of each counts
 * in the memory that they share, and one that no longer counts is stopped. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/net.h"

#define BEAT_MS 40
#define LOOK_MS 50  /* between two looks: a look is three system calls, or there is a beat between them */
#define LATE_MS 250 /* whoever looks so much later was stopped or starved itself, and cannot tell */

static bool stands(pid_t pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *name_ends = strrchr(text, ')'); /* the name of the program may be anything */
    return name_ends && name_ends[1] == ' ' && name_ends[2] == 'T';
}

static bool same_pids(mcclComm_t c, int a, int b) { return c->shared->member[a].pids == c->shared->member[b].pids; }

bool mccl_stands_still(mcclComm_t c, int rank)
{
    return same_pids(c, rank, c->rank) && stands(c->shared->member[rank].pid);
}

static bool stands_now(mcclComm_t c, int rank, struct mccl_watch *w)
{
    const struct mccl_member *m = &c->shared->member[rank];
    if (same_pids(c, rank, c->rank))
        return stands(m->pid);
    const uint32_t beats = atomic_load(&m->beats), before = w->beats[rank];
    w->beats[rank] = beats;
    return c->beat && beats == before;
}

/* Processes that stand still, as calls have seen them: one of another communicator goes on with the same time. */
#define SEEN 64
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint64_t process;
    int64_t since, looked;
} seen[SEEN]; /* by process % SEEN */

static int64_t standing_since(uint64_t process, int64_t since, int64_t now)
{
    if (pthread_mutex_trylock(&lock)) /* another thread is at it, or was when this process was forked */
        return since ? since : now;
    __typeof__(*seen) *s = &seen[process % SEEN];
    if (!since && s->process == process && now - s->looked <= LOOK_MS + LATE_MS)
        since = s->since;
    since = since ? since : now;
    s->process = process;
    s->since = since;
    s->looked = now;
    pthread_mutex_unlock(&lock);
    return since;
}

static void runs(uint64_t process)
{
    if (pthread_mutex_trylock(&lock))
        return;
    if (seen[process % SEEN].process == process)
        seen[process % SEEN].process = 0;
    pthread_mutex_unlock(&lock);
}

bool mccl_is_stopped(mcclComm_t c, int rank, struct mccl_watch *w)
{
    const struct mccl_member *m = &c->shared->member[rank];
    if (m->process == c->shared->member[c->rank].process)
        return false;
    const int64_t now = mccl_now_ms();
    if (w->looked[rank] && now - w->looked[rank] < LOOK_MS)
        return false;
    const bool tells = w->looked[rank] || same_pids(c, rank, c->rank); /* one look at a beat does not */
    if (now - w->looked[rank] > LOOK_MS + LATE_MS)
        w->since[rank] = 0;
    w->looked[rank] = now;
    if (stands_now(c, rank, w))
        w->since[rank] = standing_since(m->process, w->since[rank], now);
    else {
        w->since[rank] = 0;
        if (tells)
            runs(m->process);
    }
    return w->since[rank] && now - w->since[rank] >= mccl_settings()->silence_ms;
}

void mccl_fail_stopped(mcclComm_t c, int rank, const struct mccl_watch *w)
{
    atomic_store(&c->shared->unheard, 1);
    mccl_fail(c, mcclRemoteError, "the process of rank %d, %d, has been stopped for %.1f s", mccl_name(c, rank),
              (int)c->shared->member[rank].pid, (double)(mccl_now_ms() - w->since[rank]) / 1000);
}

/* ---- ranks that do not see each other's processes ---------------------------------------------- */

struct mccl_beat {
    mcclComm_t c;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ending; /* under the lock */
};

static void *beat(void *arg)
{
    struct mccl_beat *b = arg;
    pthread_mutex_lock(&b->lock);
    while (!b->ending) {
        struct timespec t;
        atomic_fetch_add(&b->c->shared->member[b->c->rank].beats, 1);
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += BEAT_MS * 1000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&b->end, &b->lock, &t);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

bool mccl_beat_begin(mcclComm_t c)
{
    bool apart = false;
    for (int i = 1; i < c->nranks && !apart; i++)
        apart = !same_pids(c, 0, i);
    struct mccl_beat *b = apart ? calloc(1, sizeof *b) : NULL;
    if (!b)
        return !apart;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->end, &clock);
    pthread_condattr_destroy(&clock);
    b->c = c;
    sigset_t all, old; /* it takes none of the application's signals */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool good = pthread_create(&b->thread, NULL, beat, b) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (good)
        c->beat = b;
    else
        free(b);
    return good;
}

void mccl_beat_end(mcclComm_t c)
{
    struct mccl_beat *b = c->beat;
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->ending = true;
    pthread_cond_signal(&b->end);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->end);
    pthread_mutex_destroy(&b->lock);
    free(b);
    c->beat = NULL;
}
