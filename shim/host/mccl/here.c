/* Calls that the calling thread does itself, because their stream is idle and the others have come or do soon: those
 * that have a place in their stream from the first look on, and short ones at a stroke. */
#include "host/mccl/here.h"

#include "host/driver/callback.h"
#include "host/mccl/net/net.h"

/* Looks at the others before a short call goes to the stream: < 0.1 ms. After some microseconds, or at once with more
 * ranks than CPUs, each look lets another thread run, as the other rank may be waiting for this CPU. Where the others
 * did not come in time, the next call looks half as often: a thread that calls for several ranks one by one waits for
 * itself. */
#define LOOKS 200
#define AT_ONCE 40
#define TURNS 200
#define CROWDED_TURNS 60
#define IMPATIENCE 6 /* halvings at most */
#define MOST_HERE 64 /* calls of a group that are looked at together */

/* ---- places in streams ---------------------------------------------------------------------------- */

bool mccl_handle_of_thread(musaStream_t s) /* means another stream on each device and thread */
{
    return !s || s == MU_STREAM_LEGACY || s == MU_STREAM_PER_THREAD;
}

static void fail_again(musaStream_t stream, musaError_t status, void *failure)
{
    (void)stream, (void)status;
    cumu_host_fail((int)(intptr_t)failure);
}

static void release(struct mccl_way *w, int failure)
{
    if (w->held && (!failure || !cumu_host_release(w->held, fail_again, (void *)(intptr_t)failure)))
        (void)cumu_host_release(w->held, NULL, NULL);
    w->held = NULL;
}

void mccl_leave_others(struct mccl_job *j, int failure)
{
    for (int i = 0; i < j->nothers; i++)
        release(&j->others[i], failure);
}

void mccl_leave(struct mccl_job *j, int failure)
{
    mccl_leave_others(j, failure);
    release(&j->way, failure);
}

static bool hold(struct mccl_way *w)
{
    return !mccl_handle_of_thread(w->stream) && (w->held = cumu_host_hold(w->stream));
}

/* Draws a ticket whose turn it is; false: there is none, as another job has come before. */
static bool draw(mcclComm_t c, uint32_t *ticket)
{
    uint32_t now = *ticket = c->finished;
    return c->issued == now && !c->error && atomic_compare_exchange_strong(&c->issued, &now, now + 1);
}

/* Takes the job's place in its streams and its turn in the communicator, if it has to wait for neither. */
static bool enter(struct mccl_job *j)
{
    mcclComm_t c = j->comm;
    if (mccl_one_sided(j) || c->issued != c->finished || c->error || !hold(&j->way))
        return false;
    bool all = true;
    for (int i = 0; i < j->nothers && all; i++)
        all = hold(&j->others[i]);
    if (all && draw(c, &j->ticket)) /* or a graph has come before */
        return true;
    mccl_leave(j, 0);
    return false;
}

/* How often a call looks whether the others have come. */
struct looks {
    int done, most;
    bool crowded;
};

static int most_looks(mcclComm_t c) { return (c->crowded ? CROWDED_TURNS : LOOKS + TURNS) >> c->impatience; }

/* Between two looks. False: that was the last one. */
static bool look_again(struct looks *l)
{
    if (l->done >= l->most)
        return false;
    if (!l->crowded && l->done <= LOOKS) {
        if (l->done > AT_ONCE) /* takes longer than a look */
            mccl_pause();
    } else if (!mccl_yield())
        l->done = l->most;
    l->done++;
    return true;
}

static void lose_patience(mcclComm_t c) { c->impatience += c->impatience < IMPATIENCE; }

/* A short call on an idle stream need not be handed to a thread of the device: it may begin now, and if the others are
 * here already it is done at once. False if it is none. */
static bool begin_here(struct mccl_job *j)
{
    return enter(j) && (j->kind == MCCL_P2P ? mccl_begin_transfers(j) : mccl_begin_collective(j));
}

static bool end_here(struct mccl_job *j)
{
    if (j->kind == MCCL_P2P ? !mccl_advance_transfers(j) : !mccl_advance_collective(j))
        return false;
    const int failure = mccl_run_job(j, j->ticket, true);
    mccl_leave(j, failure);
    return true;
}

static bool only_sends(const struct mccl_job *j)
{
    for (int i = 0; i < j->ntransfers; i++)
        if (!j->transfers[i].send)
            return false;
    return j->kind == MCCL_P2P;
}

bool mccl_uses(const struct mccl_job *j, musaStream_t stream)
{
    bool found = j->way.stream == stream;
    for (int i = 0; i < j->nothers && !found; i++)
        found = j->others[i].stream == stream;
    return found;
}

/* Is it the first one of its communicator and of its streams? */
static bool is_first(const struct mccl_job *jobs, const struct mccl_job *j)
{
    for (; jobs != j; jobs = jobs->next) {
        bool before = jobs->comm == j->comm || mccl_uses(jobs, j->way.stream);
        for (int i = 0; i < j->nothers && !before; i++)
            before = mccl_uses(jobs, j->others[i].stream);
        if (before)
            return false;
    }
    return true;
}

/* Does one job on the calling thread, if it can. */
static bool do_one_here(struct mccl_job *j)
{
    struct looks looks = {.most = most_looks(j->comm), .crowded = j->comm->crowded};
    if (!begin_here(j))
        return false;
    while (!end_here(j))
        if (!look_again(&looks)) {
            lose_patience(j->comm);
            return false;
        }
    if (!only_sends(j))
        j->comm->impatience = 0;
    return true;
}

struct mccl_job *mccl_do_here(struct mccl_job *jobs)
{
    if (jobs && !jobs->next) {
        if (!do_one_here(jobs))
            return jobs;
        mccl_job_free(jobs);
        return NULL;
    }
    struct looks looks = {.most = LOOKS + TURNS};
    int n = 0;
    for (const struct mccl_job *j = jobs; j; j = j->next, n++) {
        const int its = most_looks(j->comm);
        looks.crowded = looks.crowded || j->comm->crowded;
        looks.most = its < looks.most ? its : looks.most;
    }
    if (n > MOST_HERE)
        return jobs;
    for (bool able = true; jobs && able;) {
        bool moved = false;
        for (struct mccl_job **link = &jobs, *j; (j = *link) && able;) {
            const bool turn = j->way.held || is_first(jobs, j);
            able = !turn || j->way.held || begin_here(j);
            if (!able || !turn || !end_here(j)) {
                link = &j->next;
                continue;
            }
            *link = j->next;
            if (!only_sends(j))
                j->comm->impatience = 0;
            mccl_job_free(j);
            moved = true;
        }
        if (!jobs || !able || moved || look_again(&looks))
            continue;
        for (const struct mccl_job *j = jobs; j; j = j->next)
            lose_patience(j->comm);
        break;
    }
    return jobs;
}

/* ---- at a stroke -------------------------------------------------------------------------------- */

struct stroke {
    mcclComm_t comm;
    struct mccl_job *job; /* a broadcast, or */
    struct mccl_transfer *transfer;
    bool sends; /* it waits for room only */
};

static bool always(void *unused) { return (void)unused, true; }

static bool can_go(const struct stroke *s)
{
    return s->job ? mccl_stroke_can_go(s->job) : mccl_letter_can_go(s->comm, s->transfer);
}

static bool step(void *stroke)
{
    const struct stroke *s = stroke;
    return s->job ? mccl_step_stroke(s->job) : mccl_step_letter(s->comm, s->transfer);
}

/* One short call is done under the lock of the streams, which needs no place in its stream. */
static enum mccl_stroke at_a_stroke(struct stroke *s, musaStream_t stream, uint32_t *ticket)
{
    mcclComm_t c = s->comm;
    if (mccl_handle_of_thread(stream) || !draw(c, ticket))
        return MCCL_NO_STROKE;
    if (!can_go(s)) {
        struct looks looks = {.most = most_looks(c), .crowded = c->crowded};
        if (!s->sends && !cumu_host_at_once(stream, always, NULL)) /* it waits for its stream anyway */
            return MCCL_DRAWN;
        while (!can_go(s))
            if (c->aborting || !look_again(&looks)) {
                lose_patience(c);
                return MCCL_DRAWN;
            }
    }
    if (!cumu_host_at_once(stream, step, s))
        return MCCL_DRAWN;
    c->impatience = s->sends ? c->impatience : 0;
    mccl_notify(c);
    mccl_turn_done(c);
    return MCCL_DONE;
}

enum mccl_stroke mccl_letter_here(mcclComm_t c, struct mccl_transfer *t, musaStream_t stream, uint32_t *ticket)
{
    struct stroke s = {.comm = c, .transfer = t, .sends = t->send};
    return mccl_is_letter(c, t) ? at_a_stroke(&s, stream, ticket) : MCCL_NO_STROKE;
}

bool mccl_done_here(struct mccl_job *j)
{
    j->next = NULL;
    if (mccl_grouped())
        return false;
    if (mccl_is_stroke(j)) {
        struct stroke s = {.comm = j->comm, .job = j, .sends = j->root == j->comm->rank};
        const enum mccl_stroke done = at_a_stroke(&s, j->way.stream, &j->ticket);
        j->drawn = done == MCCL_DRAWN;
        if (done)
            return done == MCCL_DONE;
    }
    return do_one_here(j);
}

void mccl_drop_here(struct mccl_job *j)
{
    mcclComm_t c = j->comm;
    if (j->given || j->begun) /* the others have this rank's data already and would wait for the next */
        mccl_fail(c, mcclSystemError, "rank %d is out of memory", c->rank);
    mccl_net_drop(j);
    if (j->way.held || j->drawn)
        mccl_turn_done(c);
    mccl_leave(j, 0);
}
