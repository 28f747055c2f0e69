/* Threads, and how ranks wait for each other: a short look at the word, then a futex in shared memory; and how they
 * learn that a rank is gone. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/mccl.h"

#define LOOKS 2000        /* at the word, without giving the CPU away: some ten microseconds */
#define YIELDS 200        /* then, or at once when there are more ranks than CPUs */
#define CHECK_NS 50000000 /* asleep, how often a rank asks whether the others still live */

bool mccl_thread(void *(*body)(void *), void *arg)
{
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&thread, NULL, body, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ok)
        pthread_detach(thread);
    return ok;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    struct timespec patience = { 0, CHECK_NS };
    syscall(SYS_futex, word, FUTEX_WAIT, value, &patience, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void mccl_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

void mccl_notify(mcclComm_t c)
{
    struct mccl_shared *s = c->shared;
    atomic_thread_fence(memory_order_seq_cst); /* against a sleeper's: one of us sees the other */
    if (!atomic_load_explicit(&s->sleepers, memory_order_relaxed))
        return;
    for (int i = 0; i < c->nranks; i++)
        if (i != c->rank && atomic_load_explicit(&s->member[i].asleep, memory_order_relaxed) &&
            atomic_exchange(&s->member[i].asleep, 0))
            futex_wake(&s->member[i].asleep);
}

void mccl_wake_self(mcclComm_t c)
{
    _Atomic uint32_t *asleep = &c->shared->member[c->rank].asleep;
    if (atomic_exchange(asleep, 0))
        futex_wake(asleep);
}

void mccl_fail(mcclComm_t c, mcclResult_t why)
{
    uint32_t none = 0;
    atomic_compare_exchange_strong(&c->shared->failed, &none, (uint32_t)why);
    mccl_notify(c);
}

/* A rank that this one still needs: it has left, or its process is dead. */
static bool gone(mcclComm_t c, int rank)
{
    if (c->shared->member[rank].left)
        return true;
    struct pollfd p = { .fd = c->pidfd[rank], .events = POLLIN };
    return p.fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & (POLLIN | POLLHUP | POLLERR);
}

static mcclResult_t over(mcclComm_t c)
{
    if (c->aborting)
        return mcclInternalError;
    return (mcclResult_t)atomic_load_explicit(&c->shared->failed, memory_order_acquire);
}

struct word {
    const _Atomic uint64_t *at;
    uint64_t number;
    int rank;
};

static bool reached(void *arg)
{
    const struct word *w = arg;
    return atomic_load_explicit(w->at, memory_order_acquire) >= w->number;
}

static bool writer(void *arg, int rank) { return ((const struct word *)arg)->rank == rank; }

mcclResult_t mccl_wait(mcclComm_t c, const _Atomic uint64_t *word, uint64_t number, int rank)
{
    if (atomic_load_explicit(word, memory_order_acquire) >= number)
        return mcclSuccess;
    return mccl_wait_for(c, reached, &(struct word){ word, number, rank }, writer);
}

mcclResult_t mccl_wait_for(mcclComm_t c, bool (*ready)(void *), void *arg,
                           bool (*waits_for)(void *, int rank))
{
    for (int i = c->crowded ? LOOKS - 50 : 0; i < LOOKS; i++) {
        if (ready(arg))
            return mcclSuccess;
        mccl_pause();
    }
    for (int i = 0; i < YIELDS; i++) {
        sched_yield();
        if (ready(arg))
            return mcclSuccess;
    }
    struct mccl_shared *s = c->shared;
    _Atomic uint32_t *asleep = &s->member[c->rank].asleep;
    for (;;) {
        mcclResult_t r = over(c);
        if (r)
            return ready(arg) ? mcclSuccess : r;
        atomic_fetch_add(&s->sleepers, 1);
        atomic_store(asleep, 1);
        atomic_thread_fence(memory_order_seq_cst);
        if (!ready(arg) && !over(c))
            futex_wait(asleep, 1);
        atomic_store(asleep, 0);
        atomic_fetch_sub(&s->sleepers, 1);
        if (ready(arg))
            return mcclSuccess;
        for (int i = 0; i < c->nranks; i++)
            if (waits_for(arg, i) && gone(c, i) && !ready(arg)) {
                mccl_fail(c, mcclRemoteError); /* unless another reason came first */
                return over(c);
            }
    }
}

/* ---- tickets: within this process ------------------------------------------------------------ */

void mccl_wait_turn(mcclComm_t c, uint32_t ticket)
{
    uint32_t now;
    if (atomic_load_explicit(&c->finished, memory_order_acquire) == ticket)
        return;
    atomic_fetch_add(&c->queue, 1);
    while ((now = atomic_load(&c->finished)) != ticket)
        futex_wait(&c->finished, now);
    atomic_fetch_sub(&c->queue, 1);
}

void mccl_turn_done(mcclComm_t c)
{
    atomic_fetch_add(&c->finished, 1);
    if (atomic_load(&c->queue)) /* the next one, on another stream, or who takes the communicator down */
        futex_wake(&c->finished);
}
