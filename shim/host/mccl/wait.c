/* Threads, and how ranks wait for each other: a short look at the word, then a futex in shared memory; and how they
 * learn that a rank is gone. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/net.h"

#define LOOKS 2000        /* at the word, without giving the CPU away: some ten microseconds */
#define YIELDS 200        /* then, or at once when there are more ranks than CPUs */
#define LONG_TICKS 600000 /* for which the CPU was away when it was given away: 0.1 to 0.3 ms */
#define CHECK_NS 50000000 /* asleep, how often a rank asks whether the others still live */
#define BLIND_NS 200000   /* the same where nobody may be seen to wake it */
#define GRACE_MS 200      /* for the living to end what they have begun */

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

static void futex_wait_for(_Atomic uint32_t *word, uint32_t value, long ns)
{
    struct timespec patience = {0, ns};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &patience, NULL, 0);
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value) { futex_wait_for(word, value, CHECK_NS); }

static void futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

void mccl_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

/* A clock whose unit hardly matters, and which costs less than that of seconds: 2 to 5 ticks are a nanosecond. */
static uint64_t ticks(void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 3000000000 + (uint64_t)t.tv_nsec * 3;
#endif
}

bool mccl_yield(void)
{
    const uint64_t before = ticks();
    sched_yield();
    return ticks() - before < LONG_TICKS;
}

/* ---- sleepers and who wakes them ---------------------------------------------------------------- */

/* Who has stored a word looks whether somebody sleeps; who goes to sleep says so, then looks at the word once more.
 * Each needs a fence between the two, so that one of them sees the other. That of who stores waits for the line of the
 * word, which the others have in their caches: some 5 % of a short call. Where all ranks let the kernel interrupt them,
 * who goes to sleep has it make all their running threads pass a barrier instead (membarrier(2), Linux 4.16), and who
 * stores only keeps the compiler from changing the order. */
bool mccl_interruptible(void) { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0; }

static void fence_store(const struct mcclComm *c)
{
    if ((c->local ? c->local : c)->unfenced)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

/* False: the kernel does not do it any more (a filter of system calls, set up since): the sleep is to be short. */
static bool fence_sleep(const struct mcclComm *c)
{
    atomic_thread_fence(memory_order_seq_cst);
    return !c->unfenced || syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void mccl_notify(mcclComm_t c)
{
    struct mccl_shared *s = c->shared;
    fence_store(c);
    if (!atomic_load_explicit(&s->sleepers, memory_order_relaxed))
        return;
    int self = c->local ? c->local->rank : c->rank;
    for (int i = 0; i < (int)s->nranks; i++)
        if (i != self && atomic_load_explicit(&s->member[i].asleep, memory_order_relaxed) &&
            atomic_exchange(&s->member[i].asleep, 0))
            futex_wake(&s->member[i].asleep);
}

void mccl_wake_self(mcclComm_t c)
{
    _Atomic uint32_t *asleep = &c->shared->member[c->local ? c->local->rank : c->rank].asleep;
    if (atomic_exchange(asleep, 0))
        futex_wake(asleep);
}

/* A process in another pid namespace is seen by a connection to its door, which ends when it does, or when a reunion
 * has taken it: only one that cannot be made tells that the process has ended. False: it cannot. */
static bool watch_door(mcclComm_t c, int rank)
{
    int none = -1, fd = mccl_connect(&c->shared->member[rank].meet, 0);
    if (fd < 0)
        return errno != ECONNREFUSED;
    if (c->pidfd[rank] >= 0)
        (void)dup3(fd, c->pidfd[rank], O_CLOEXEC);
    else if (__atomic_compare_exchange_n(&c->pidfd[rank], &none, fd, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return true;
    close(fd);
    return true;
}

bool mccl_is_door(int fd)
{
    int type;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

bool mccl_is_gone(mcclComm_t c, int rank, int patience_ms)
{
    const struct mccl_member *m = &c->shared->member[rank];
    if (m->left)
        return true;
    if (c->pidfd[rank] < 0 && c->knows_doors && m->process != c->shared->member[c->rank].process)
        return !watch_door(c, rank);
    struct pollfd p = {.fd = c->pidfd[rank], .events = POLLIN};
    if (p.fd < 0 || poll(&p, 1, patience_ms) != 1 || !(p.revents & (POLLIN | POLLHUP | POLLERR)))
        return false;
    return !mccl_is_door(p.fd) || !watch_door(c, rank);
}

void mccl_fail_gone(mcclComm_t c, int rank)
{
    const struct mccl_member *m = &c->shared->member[rank];
    if (m->left)
        mccl_fail(c, mcclRemoteError, "rank %d has left the communicator", mccl_name(c, rank));
    else
        mccl_fail(c, mcclRemoteError, "the process of rank %d, %d, has ended", mccl_name(c, rank), (int)m->pid);
}

static mcclResult_t over(mcclComm_t c)
{
    if (c->aborting)
        return mcclInternalError;
    return (mcclResult_t)atomic_load_explicit(&c->shared->failed, memory_order_acquire);
}

bool mccl_in_grace(mcclComm_t c, int64_t *end)
{
    int64_t now = mccl_now_ms();
    *end = *end ? *end : now + GRACE_MS;
    return !c->aborting && !c->shared->unheard && now < *end;
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
    return mccl_wait_for(c, reached, &(struct word){word, number, rank}, writer);
}

/* ---- ranks that wait in a circle -------------------------------------------------------------- */

/* Each rank does one call of a communicator at a time, and each of its calls needs the ranks that it waits for. So
 * when the chain from a sleeping rank over who it waits for leads back to it, and every rank of it has looked again
 * since all of them were asleep, none can ever go on: one is in a collective, say, while the other receives. */
struct circle {
    int n, rank[MCCL_MAX_RANKS];
    uint32_t waits[MCCL_MAX_RANKS], looks[MCCL_MAX_RANKS];
};

static bool follow_circle(mcclComm_t c, struct circle *o)
{
    int rank = c->rank;
    for (o->n = 0; o->n < c->nranks; o->n++) {
        struct mccl_member *m = &c->shared->member[rank];
        o->rank[o->n] = rank;
        o->waits[o->n] = m->waits;
        o->looks[o->n] = m->looks;
        rank = (int)m->awaited - 1;
        if (rank < 0)
            return false;
        if (rank == c->rank) {
            o->n++;
            return true;
        }
    }
    return false;
}

static bool fail_if_circle(mcclComm_t c, struct circle *seen)
{
    struct circle now;
    bool same = follow_circle(c, &now) && now.n == seen->n;
    for (int i = 0; i < now.n && same; i++) {
        same = now.rank[i] == seen->rank[i] && now.waits[i] == seen->waits[i];
        if (same && now.looks[i] - seen->looks[i] < 2)
            return false; /* it may have looked before the others slept */
    }
    if (!same) {
        *seen = now;
        return false;
    }
    const struct mccl_member *next = &c->shared->member[now.rank[1]];
    mccl_fail(c, mcclInvalidUsage, "%d ranks wait for each other: rank %d in %s for rank %d, which is in %s", now.n,
              mccl_name(c, c->rank), mccl_kind_name(c->doing), mccl_name(c, now.rank[1]),
              mccl_kind_name(next->waits_in));
    return true;
}

/* Looks now and then whether the others still live, and notes for them who this rank waits for. */
static mcclResult_t sleep_until(mcclComm_t c, bool (*ready)(void *), void *arg, bool (*waits_for)(void *, int rank))
{
    struct mccl_shared *s = c->shared;
    struct mccl_member *me = &s->member[c->rank];
    struct circle seen = {0};
    struct mccl_watch watch = {0};
    mcclResult_t r = mcclSuccess;
    int64_t grace = 0;
    me->waits_in = c->doing;
    me->waits++;
    while (!r && !ready(arg)) {
        mcclResult_t failed = over(c);
        if (failed && !mccl_in_grace(c, &grace)) {
            r = ready(arg) ? mcclSuccess : failed;
            break;
        }
        atomic_fetch_add(&s->sleepers, 1);
        atomic_store(&me->asleep, 1);
        const bool seen_by_all = fence_sleep(c);
        if (!ready(arg) && (failed ? !c->aborting : !over(c)))
            futex_wait_for(&me->asleep, 1, seen_by_all ? CHECK_NS : BLIND_NS);
        atomic_store(&me->asleep, 0);
        atomic_fetch_sub(&s->sleepers, 1);
        if (ready(arg))
            break;
        me->looks++;
        for (int i = 0; i < c->nranks && !r; i++)
            if (i != c->rank && waits_for(arg, i)) {
                me->awaited = (uint32_t)i + 1;
                if (mccl_is_gone(c, i, 0) && !ready(arg)) {
                    mccl_fail_gone(c, i);
                    r = over(c);
                } else if (!failed && mccl_is_stopped(c, i, &watch) && !ready(arg)) {
                    mccl_fail_stopped(c, i, &watch);
                    r = over(c);
                }
            }
        if (!r && me->awaited && !ready(arg) && fail_if_circle(c, &seen))
            r = over(c);
    }
    me->awaited = 0;
    return r;
}

mcclResult_t mccl_wait_for(mcclComm_t c, bool (*ready)(void *), void *arg, bool (*waits_for)(void *, int rank))
{
    for (int i = c->crowded_streams ? LOOKS - 50 : 0; i < LOOKS; i++) {
        if (ready(arg))
            return mcclSuccess;
        mccl_pause();
    }
    bool others = false;
    for (int i = 0; i < YIELDS && !others; i++) {
        others = !mccl_yield();
        if (ready(arg))
            return mcclSuccess;
    }
    return sleep_until(c, ready, arg, waits_for);
}

/* ---- signals ---------------------------------------------------------------------------------- */

void mccl_signal(mcclComm_t c, int to, _Atomic uint64_t *counter)
{
    struct mccl_member *m = &c->shared->member[to];
    atomic_fetch_add(counter, 1);
    atomic_fetch_add(&m->signalled, 1);
    if (atomic_load(&m->listeners))
        futex_wake(&m->signalled);
}

mcclResult_t mccl_wait_signal(mcclComm_t c, const _Atomic uint64_t *counter, uint64_t number, int rank)
{
    struct mccl_member *me = &c->shared->member[c->local ? c->local->rank : c->rank];
    struct mccl_watch watch = {0};
    for (int i = 0; i < YIELDS && atomic_load(counter) < number && mccl_yield(); i++)
        ;
    while (atomic_load(counter) < number) {
        mcclResult_t r = over(c);
        bool gone = !r && rank != c->rank && (c->net ? c->net->left[rank] : mccl_is_gone(c, rank, 0));
        uint32_t seen = atomic_load(&me->signalled);
        if (atomic_load(counter) >= number)
            break;
        if (gone && c->net)
            mccl_fail(c, mcclRemoteError, "rank %d on host %s has left the communicator", rank,
                      c->net->seats[rank].name);
        else if (gone)
            mccl_fail_gone(c, rank);
        else if (r)
            return r;
        else if (!c->net && rank != c->rank && mccl_is_stopped(c, rank, &watch))
            mccl_fail_stopped(c, rank, &watch);
        else {
            atomic_fetch_add(&me->listeners, 1);
            futex_wait(&me->signalled, seen);
            atomic_fetch_sub(&me->listeners, 1);
        }
    }
    return mcclSuccess;
}

void mccl_flown(mcclComm_t c)
{
    if (atomic_fetch_sub(&c->flying, 1) == 1)
        futex_wake(&c->flying);
}

void mccl_wait_flown(mcclComm_t c)
{
    for (uint32_t n; (n = atomic_load(&c->flying));)
        futex_wait(&c->flying, n);
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
