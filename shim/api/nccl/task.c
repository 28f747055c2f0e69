/* Groups, and steps that need other ranks: at once, at the end of a group beside their siblings, or in the
 * background for non-blocking communicators. */
#include "api/nccl/nccl.h"
#include "api/visit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SIM_INFO_MAGIC 0x74685283u

struct sim_info { /* ncclSimInfo_t */
    size_t size;
    unsigned magic, version;
    float estimated_time;
};

static _Thread_local struct {
    int depth, error; /* error: of the first call that was refused here, not below */
    struct nccl_task *tasks, **end;
} group;

/* ---- one step -------------------------------------------------------------------------------- */

/* Publishes how it went. One that was aborted meanwhile is taken down by who sees that last. */
static void finish(struct nccl_task *t, int result)
{
    struct nccl_comm *c = t->comm;
    int joining = NCCL_JOINING;
    t->result = result;
    if (result)
        (void)strncpy(t->text, cumu_nccl_text(), sizeof t->text - 1);
    if (t->aside) {
        if (result && t->out)
            *t->out = NULL;
        if (result && t->record)
            cumu_nccl_forget_window(c, t->record);
        return;
    }
    c->error = result;
    if (result)
        memcpy(c->text, t->text, sizeof c->text);
    mcclComm_t below = c->below;
    if (!atomic_compare_exchange_strong(&c->state, &joining, result ? NCCL_FAILED : NCCL_READY) &&
        joining == NCCL_ABANDONED) {
        atomic_store(&c->below, NULL);
        if (below)
            (void)mu.mcclCommAbort(below);
        cumu_nccl_free(c);
    } else if (result && t->out && c->blocking) {
        *t->out = NULL;
        cumu_nccl_free(c);
    }
}

/* It was never begun. */
static void undo(struct nccl_task *t, int why)
{
    if (t->own_id)
        cumu_nccl_give_up(&t->id, t->nranks, t->rank);
    finish(t, why);
}

static void step(struct nccl_task *t)
{
    struct cumu_visit visit;
    (void)cumu_visit(&visit, t->device);
    finish(t, t->run(t));
    cumu_visit_end(&visit);
}

static void drop(struct nccl_task *t)
{
    free(t->stay);
    cumu_nccl_reunion_free(t->reunion);
    free(t);
}

/* It and what comes after it; the result is that of the first that failed. */
static void steps(struct nccl_task *t)
{
    step(t);
    for (struct nccl_task *k = t->then, *next; k; k = next) {
        next = k->then;
        step(k);
        if (!t->result && k->result) {
            t->result = k->result;
            memcpy(t->text, k->text, sizeof t->text);
        }
        drop(k);
    }
}

static void *waited_for(void *task)
{
    steps(task);
    return NULL;
}

static void *in_background(void *task)
{
    steps(task);
    drop(task);
    return NULL;
}

static void *works_on(const struct nccl_task *t) { return t->parent ? t->parent : t->comm; }

static bool is_waited_for(const struct nccl_task *t) { return t->aside || t->comm->blocking; }

/* Hangs each task behind the earlier one of its communicator. */
static void chain(struct nccl_task *tasks)
{
    for (struct nccl_task *t = tasks; t; t = t->next)
        for (struct nccl_task **link = &t->next, *k, *end = t; (k = *link);) {
            if (works_on(k) != works_on(t) || is_waited_for(k) != is_waited_for(t)) {
                link = &k->next;
                continue;
            }
            *link = k->next;
            end->then = k;
            end = k;
        }
}

/* Takes none of the application's signals. */
static bool spawn(struct nccl_task *t, void *(*body)(void *), bool detached)
{
    sigset_t all, old;
    pthread_attr_t a;
    pthread_t own;
    sigfillset(&all);
    if (pthread_attr_init(&a))
        return false;
    (void)pthread_attr_setdetachstate(&a, detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    bool good = pthread_create(detached ? &own : &t->thread, &a, body, t) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&a);
    return good;
}

static int no_thread(struct nccl_task *t)
{
    int r = cumu_nccl_failed(t->call, ncclSystemError, "no thread to do it in");
    for (struct nccl_task *next; t; t = next) {
        next = t->then;
        undo(t, r);
        drop(t);
    }
    return r;
}

/* Does them all and forgets them. ncclInProgress if one is left to the background. */
static int run_all(struct nccl_task *tasks)
{
    int result = ncclSuccess;
    bool progress = false;
    struct nccl_task *waited = NULL;
    chain(tasks);
    for (struct nccl_task *t = tasks, *next; t; t = next) {
        next = t->next;
        bool waits = is_waited_for(t), here = waits && t == tasks && !next;
        if (here)
            steps(t);
        else if (!spawn(t, waits ? waited_for : in_background, !waits)) {
            int r = no_thread(t);
            result = result ? result : r;
            continue;
        }
        progress = progress || !waits;
        if (!waits)
            continue;
        t->done = here;
        t->next = waited;
        waited = t;
    }
    for (struct nccl_task *t = waited, *next; t; t = next) {
        next = t->next;
        if (!t->done)
            (void)pthread_join(t->thread, NULL);
        if (!result && t->result) {
            result = t->result;
            cumu_nccl_retell(t->text);
        }
        drop(t);
    }
    return result ? result : progress ? ncclInProgress : ncclSuccess;
}

int cumu_nccl_begin(const struct nccl_task *task)
{
    struct nccl_task *t = malloc(sizeof *t);
    if (!t) { /* it ends as one that has failed */
        struct nccl_task none = *task;
        int r = cumu_nccl_failed(task->call, ncclSystemError, "out of memory");
        undo(&none, r);
        free(task->stay);
        cumu_nccl_reunion_free(task->reunion);
        return r;
    }
    *t = *task;
    t->next = t->then = NULL;
    if (!group.depth)
        return run_all(t);
    if (!group.tasks)
        group.end = &group.tasks;
    *group.end = t;
    group.end = &t->next;
    return ncclSuccess;
}

/* ---- groups ---------------------------------------------------------------------------------- */

bool cumu_nccl_grouped(void) { return group.depth > 0; }

void cumu_nccl_group_fail(int result)
{
    if (group.depth && !group.error)
        group.error = result;
}

int wrap_ncclGroupStart(void)
{
    int r = mu.mcclGroupStart();
    if (r)
        return cumu_nccl_failed("ncclGroupStart", r, "MCCL refuses");
    group.depth++;
    return ncclSuccess;
}

/* After an error, what waits in the group is not done: its communicators fail with it. */
static void cancel(struct nccl_task *tasks, int why)
{
    for (struct nccl_task *t = tasks, *next; t; t = next) {
        next = t->next;
        undo(t, why);
        drop(t);
    }
}

/* MCCL has no call that leaves a group undone, but it does so after an error: that of no communicator. */
static void spoil_below(void) { (void)mu.mcclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, NULL, NULL); }

static int leave(bool undone, float *estimate)
{
    if (!group.depth)
        return cumu_nccl_failed("ncclGroupEnd", ncclInvalidUsage, "there is no group");
    bool last = group.depth == 1;
    if (undone || (last && group.error))
        spoil_below();
    int below = mu.mcclGroupEnd(), r = group.error;
    group.depth--;
    if (!last)
        return below;
    struct nccl_task *tasks = group.tasks;
    *estimate = cumu_nccl_estimate();
    group.tasks = NULL;
    group.error = ncclSuccess;
    if (!r && below && !undone)
        r = cumu_nccl_failed("ncclGroupEnd", below, "a call of the group failed, none was done");
    if (!r && !undone)
        return run_all(tasks);
    cancel(tasks, r ? r : ncclInvalidUsage);
    return r;
}

int wrap_ncclGroupEnd(void)
{
    float unused;
    return leave(false, &unused);
}

/* The group is dropped, as in NCCL. */
int wrap_ncclGroupSimulateEnd(void *simInfo)
{
    struct sim_info *info = simInfo;
    const char *call = "ncclGroupSimulateEnd";
    if (info && info->magic != SIM_INFO_MAGIC)
        return cumu_nccl_failed(call, ncclInvalidArgument, "not set to NCCL_SIM_INFO_INITIALIZER");
    float estimate = -1.0f; /* NCCL_UNDEF_FLOAT: an inner group */
    int r = leave(true, &estimate);
    if (!r && info && info->size >= sizeof *info)
        info->estimated_time = estimate;
    return r;
}
