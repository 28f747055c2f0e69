/* Reunions that failed before all of their ranks had come: each of those is told when it comes, however late, by the
 * next meeting that is held at this door, or by a thread. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host/mccl/net/reunion.h"
#include "host/mccl/rendezvous.h"

#define SAYS_MS 200 /* a rank that comes says at once who it is: the next one waits for it */
#define STAND_BACK_NS 10000000

/* ---- what is remembered -------------------------------------------------------------------------- */

static bool is_untold(const struct mccl_failure *f, int rank) { return f->untold[rank / 64] >> (rank % 64) & 1; }

/* Of the failures of that meeting: the one that this rank is not told of yet; NULL. The lock is held. */
static struct mccl_failure *find_untold(struct mccl_reunion *r, uint64_t key, int rank)
{
    for (int i = 0; i < MCCL_MEETINGS; i++)
        if (r->failed[i].key == key && is_untold(&r->failed[i], rank))
            return &r->failed[i];
    return NULL;
}

static void forget(struct mccl_failure *f, int rank) { f->untold[rank / 64] &= ~(UINT64_C(1) << (rank % 64)); }

void mccl_remember_failure(struct mccl_reunion *r, const struct mccl_reunite *m, const bool *untold)
{
    pthread_mutex_lock(&r->lock);
    struct mccl_failure *f = &r->failed[r->nfailed++ % MCCL_MEETINGS];
    memset(f, 0, sizeof *f);
    f->key = m->key;
    memcpy(f->text, m->text, sizeof f->text);
    for (int k = 1; k < m->n; k++)
        if (untold[k])
            f->untold[m->ranks[k] / 64] |= UINT64_C(1) << (m->ranks[k] % 64);
    pthread_mutex_unlock(&r->lock);
}

/* A rank that lacks something waits for no answer. It knows that a meeting has failed, or means one that does not take
 * it in yet. */
static void note_lack(struct mccl_reunion *r, const struct mccl_visit *v)
{
    pthread_mutex_lock(&r->lock);
    struct mccl_failure *f = find_untold(r, v->key, v->rank);
    if (f)
        forget(f, v->rank);
    else {
        const unsigned i = r->nlacks++ % MCCL_MEETINGS;
        r->lacks[i].key = v->key;
        r->lacks[i].rank = v->rank;
        r->lacks[i].why = (int)v->lack;
    }
    pthread_mutex_unlock(&r->lock);
}

int mccl_take_lack(struct mccl_reunion *r, uint64_t key, int rank)
{
    int why = 0;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < MCCL_MEETINGS && !why; i++)
        if (r->lacks[i].key == key && r->lacks[i].rank == rank) {
            why = r->lacks[i].why;
            r->lacks[i].why = 0;
        }
    pthread_mutex_unlock(&r->lock);
    return why;
}

bool mccl_tell_outcome(int fd, mcclResult_t result, const char *reason)
{
    struct mccl_outcome o = {.result = result};
    memcpy(o.magic, mccl_magic, sizeof o.magic);
    snprintf(o.reason, sizeof o.reason, "%s", reason);
    return mccl_send_all(fd, &o, sizeof o, MCCL_REACH_MS);
}

bool mccl_is_late(struct mccl_reunion *r, const struct mccl_visit *v)
{
    pthread_mutex_lock(&r->lock);
    const bool late = find_untold(r, v->key, v->rank) != NULL;
    pthread_mutex_unlock(&r->lock);
    return late;
}

void mccl_turn_away(struct mccl_reunion *r, int fd, const struct mccl_visit *v)
{
    char text[sizeof r->failed[0].text] = "";
    if (v->lack) {
        note_lack(r, v);
        return;
    }
    pthread_mutex_lock(&r->lock);
    struct mccl_failure *f = find_untold(r, v->key, v->rank);
    if (f) {
        memcpy(text, f->text, sizeof text);
        forget(f, v->rank);
    }
    pthread_mutex_unlock(&r->lock);
    (void)mccl_tell_outcome(fd, f ? mcclRemoteError : mcclInProgress, text);
}

/* ---- those that come late ------------------------------------------------------------------------ */

/* What it has brought. */
static bool take_in(int fd, const struct mccl_visit *v)
{
    char unread[4096];
    for (size_t left = v->lack ? 0 : v->bytes, n; left; left -= n)
        if (!mccl_receive_all(fd, unread, n = left < sizeof unread ? left : sizeof unread, SAYS_MS))
            return false;
    return true;
}

/* Answers one that is before the door. False: there is none, or no descriptor for it. */
static bool answer_one(struct mccl_reunion *r)
{
    struct mccl_visit v;
    const int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    if (mccl_receive_all(fd, &v, sizeof v, SAYS_MS) && mccl_visit_good(&v, r->secret, r->nranks) && take_in(fd, &v))
        mccl_turn_away(r, fd, &v);
    mccl_hang_up(fd);
    return true;
}

static void answer_in_copy(void *reunion) { (void)answer_one(reunion); }

/* In a copy of the descriptors: UCX may need the last one of this process just now (mccl_worker_ends). */
static void wait_and_answer(struct mccl_reunion *r)
{
    struct pollfd p = {.fd = r->listener, .events = POLLIN};
    if (poll(&p, 1, MCCL_LOOK_MS) == 1 && !mccl_in_copy(answer_in_copy, r))
        (void)answer_one(r);
}

/* Is there a rank that is to be told, of that meeting, or of any one (NULL)? One whose process has ended is not. */
static bool any_untold(struct mccl_reunion *r, const uint64_t *key)
{
    bool any = false;
    for (int i = 0; i < MCCL_MEETINGS; i++)
        for (int k = 0; k < r->nranks && (!key || r->failed[i].key == *key); k++) {
            if (is_untold(&r->failed[i], k) && mccl_has_ended(r, k))
                forget(&r->failed[i], k);
            any = any || is_untold(&r->failed[i], k);
        }
    return any;
}

static bool is_awaited(struct mccl_reunion *r, const uint64_t *key)
{
    pthread_mutex_lock(&r->lock);
    const bool any = any_untold(r, key);
    pthread_mutex_unlock(&r->lock);
    return any;
}

/* Until all are told, or nobody else has the reunion any more. While a meeting is held here, that one answers. */
static void *answer_all(void *reunion)
{
    struct mccl_reunion *r = reunion;
    bool goes_on = true;
    while (goes_on) {
        pthread_mutex_lock(&r->lock);
        goes_on = r->answering = r->users > 1 && any_untold(r, NULL);
        pthread_mutex_unlock(&r->lock);
        if (goes_on && r->serving)
            nanosleep(&(struct timespec){0, STAND_BACK_NS}, NULL);
        else if (goes_on)
            wait_and_answer(r);
    }
    cumu_mccl_reunion_free(r);
    return NULL;
}

void mccl_answer_late(struct mccl_reunion *r, const struct mccl_reunite *m)
{
    const int64_t end = mccl_now_ms() + MCCL_REACH_MS;
    while (is_awaited(r, &m->key) && !mccl_reunion_over(m, end))
        wait_and_answer(r);
    pthread_mutex_lock(&r->lock);
    const bool begins = !r->answering && any_untold(r, NULL);
    r->answering = r->answering || begins;
    pthread_mutex_unlock(&r->lock);
    if (!begins || mccl_thread(answer_all, cumu_mccl_reunion_hold(r)))
        return;
    pthread_mutex_lock(&r->lock);
    r->answering = false;
    pthread_mutex_unlock(&r->lock);
    cumu_mccl_reunion_free(r);
}
