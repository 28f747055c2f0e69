/* Communicators: how they come to be, what they tell, and their end. */
#include "api/nccl/nccl.h"
#include "api/visit.h"
#include "api/nccl/manifest.h"
#include "core/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COME_MS = 30000, FAILED_MS = 1000 };

struct nccl_comm cumu_nccl_comms[NCCL_MAX_COMMS];
static atomic_uint cursor;

struct nccl_comm *cumu_nccl_new(bool blocking)
{
    /* Round the table, so that a handle is not reused soon. */
    for (unsigned tries = 0; tries < NCCL_MAX_COMMS; tries++) {
        struct nccl_comm *c = &cumu_nccl_comms[cursor++ % NCCL_MAX_COMMS];
        int none = NCCL_NONE;
        if (!atomic_compare_exchange_strong(&c->state, &none, NCCL_JOINING))
            continue;
        atomic_store(&c->below, NULL);
        c->error = ncclSuccess;
        c->rank = c->device = -1;
        c->nranks = c->registered = 0;
        c->key = 0;
        c->reunion = NULL;
        c->told = c->grows = false;
        c->name[0] = c->text[0] = 0;
        c->blocking = blocking;
        return c;
    }
    return NULL;
}

void cumu_nccl_free(struct nccl_comm *c)
{
    struct mccl_reunion *reunion = c->reunion;
    cumu_nccl_drop_id(c);
    c->reunion = NULL;
    atomic_store(&c->below, NULL);
    atomic_store(&c->state, NCCL_NONE);
    cumu_nccl_reunion_free(reunion);
}

uint64_t cumu_nccl_key(const struct cumu_s128 *id)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a, by words */
    for (unsigned i = 0; i < sizeof id->at / sizeof *id->at; i++)
        hash = (hash ^ (uint64_t)id->at[i]) * 0x100000001b3;
    return hash;
}

int cumu_nccl_ready(const char *call, void *handle)
{
    struct nccl_comm *c = cumu_nccl_comm(handle);
    switch (c ? c->state : NCCL_NONE) {
    case NCCL_READY: return ncclSuccess;
    case NCCL_NONE:
    case NCCL_ABANDONED: return cumu_nccl_failed(call, ncclInvalidArgument, "%p is no communicator", handle);
    case NCCL_JOINING:
        return cumu_nccl_failed(call, ncclInvalidArgument, "the communicator's last operation is still in progress");
    case NCCL_FAILED: return cumu_nccl_failed(call, c->error, "the communicator failed: %s", c->text);
    }
    return cumu_nccl_failed(call, ncclInvalidUsage, "the communicator was %s",
                            c->state == NCCL_REVOKED ? "revoked" : "finalized");
}

/* ---- making one -------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether to wait no more for the other ranks: the program has aborted, or one that is to come cannot. The end of its
 * process tells that, or the failure of the parent, whose ranks have just met, and soon after it is over with them. */
static int is_pointless(void *task)
{
    struct nccl_task *t = task;
    mcclComm_t below = t->whole ? atomic_load(&t->parent->below) : NULL;
    int lost = ncclSuccess;
    if (t->comm->state == NCCL_ABANDONED || cumu_nccl_lost(t))
        return true;
    if (below && !mu.mcclCommGetAsyncError(below, &lost) && lost && lost != ncclInProgress) {
        t->whole = false;
        t->until_ms = now_ms() + FAILED_MS;
    }
    return t->until_ms && now_ms() > t->until_ms;
}

int cumu_nccl_join(struct nccl_task *t)
{
    struct nccl_comm *c = t->comm;
    mcclComm_t below = NULL;
    mcclUniqueId id;
    _Static_assert(sizeof id == sizeof t->id, "ids");
    memcpy(&id, &t->id, sizeof id);
    bool same;
    int verdict = cumu_manifest_check(t->call, c->name, cumu_nccl_key(&t->id), t->nranks, t->rank, t->device, &same);
    if (verdict && same)
        return verdict;
    if (t->stay)
        t->until_ms = now_ms() + COME_MS;
    cumu_nccl_wait_while(is_pointless, t);
    int r = c->state == NCCL_ABANDONED ? ncclInvalidUsage : mu.mcclCommInitRank(&below, t->nranks, id, t->rank);
    cumu_nccl_wait_while(NULL, NULL);
    if (r)
        return cumu_nccl_failed(t->call, r, "rank %d of %d could not join", t->rank, t->nranks);
    c->rank = t->rank;
    c->nranks = t->nranks;
    c->device = t->device;
    c->key = cumu_nccl_key(&t->id);
    c->reunion = cumu_nccl_reunion(below);
    atomic_store_explicit(&c->below, below, memory_order_release);
    r = cumu_manifest_joined(t->call, c, verdict);
    if (r) {
        atomic_store(&c->below, NULL);
        (void)mu.mcclCommDestroy(below);
    }
    return r;
}

int cumu_nccl_make(const char *call, void **out, int nranks, const struct cumu_s128 *id, int rank, const void *config)
{
    struct nccl_config g = {.blocking = true};
    int device, r = cumu_nccl_config(call, config, &g);
    if (r)
        return r;
    if (!out || nranks < 1 || rank < 0 || rank >= nranks)
        return cumu_nccl_failed(call, ncclInvalidArgument, "rank %d of %d%s", rank, nranks,
                                out ? "" : ", and no place for the communicator");
    *out = NULL;
    if (mu.musaGetDevice(&device) != musaSuccess)
        return cumu_nccl_failed(call, ncclUnhandledCudaError, "no current device");
    struct nccl_comm *c = cumu_nccl_new(g.blocking);
    if (!c)
        return cumu_nccl_failed(call, ncclSystemError, "more than %d communicators", NCCL_MAX_COMMS);
    memcpy(c->name, g.name, sizeof c->name);
    *out = c;
    return cumu_nccl_begin(&(struct nccl_task){.call = call,
                                               .run = cumu_nccl_join,
                                               .comm = c,
                                               .out = out,
                                               .device = device,
                                               .id = *id,
                                               .nranks = nranks,
                                               .rank = rank});
}

int wrap_ncclGetUniqueId(void *id)
{
    int r = id ? mu.mcclGetUniqueId(id) : ncclInvalidArgument;
    return r ? cumu_nccl_failed("ncclGetUniqueId", r, id ? "MCCL makes none" : "id is NULL") : ncclSuccess;
}

int wrap_ncclCommInitRank(void **comm, int nranks, struct cumu_s128 id, int rank)
{
    return cumu_nccl_make("ncclCommInitRank", comm, nranks, &id, rank, NULL);
}

int wrap_ncclCommInitRankConfig(void **comm, int nranks, struct cumu_s128 id, int rank, const void *config)
{
    return cumu_nccl_make("ncclCommInitRankConfig", comm, nranks, &id, rank, config);
}

/* The first of the ids is enough for MCCL: more of them only share the work of the start. */
int wrap_ncclCommInitRankScalable(void **comm, int nranks, int rank, int n, const void *ids, const void *config)
{
    const char *call = "ncclCommInitRankScalable";
    if (n < 1 || n > nranks || !ids)
        return cumu_nccl_failed(call, ncclInvalidArgument, "%d ids for %d ranks", n, nranks);
    return cumu_nccl_make(call, comm, nranks, ids, rank, config);
}

/* All ranks of one process: a group of single calls, each with its device current, so that they can meet. */
int wrap_ncclCommInitAll(void **comms, int n, const int *devices)
{
    const char *call = "ncclCommInitAll";
    int count = 0, r;
    struct cumu_s128 id;
    if (!comms || n < 1)
        return cumu_nccl_failed(call, ncclInvalidArgument, "%d devices", n);
    if (mu.musaGetDeviceCount(&count))
        return cumu_nccl_failed(call, ncclUnhandledCudaError, "no device");
    for (int i = 0; i < n; i++) {
        int d = devices ? devices[i] : i;
        if (d < 0 || d >= count)
            return cumu_nccl_failed(call, ncclInvalidArgument, "device %d of %d", d, count);
        for (int k = 0; k < i && devices; k++)
            if (devices[k] == d)
                return cumu_nccl_failed(call, ncclInvalidUsage, "device %d is listed twice", d);
    }
    if ((r = wrap_ncclGetUniqueId(&id)) || (r = wrap_ncclGroupStart()))
        return r;
    for (int i = 0; i < n && !r; i++) {
        struct cumu_visit visit;
        r = cumu_visit(&visit, devices ? devices[i] : i) ? cumu_nccl_failed(call, ncclUnhandledCudaError, "no device")
                                                         : cumu_nccl_make(call, &comms[i], n, &id, i, NULL);
        cumu_visit_end(&visit);
    }
    int end = wrap_ncclGroupEnd();
    return r ? r : end;
}

/* ---- what it tells ------------------------------------------------------------------------------ */

static int tell(const char *call, void *comm, int *out, size_t member)
{
    struct nccl_comm *c = cumu_nccl_comm(comm);
    int r = c && (c->state == NCCL_REVOKED || c->state == NCCL_FINALIZED) ? 0 : cumu_nccl_ready(call, comm);
    if (r)
        return r;
    if (!out)
        return cumu_nccl_failed(call, ncclInvalidArgument, "no place for the answer");
    memcpy(out, (const char *)c + member, sizeof *out);
    return ncclSuccess;
}

int wrap_ncclCommCount(void *comm, int *count)
{
    return tell("ncclCommCount", comm, count, offsetof(struct nccl_comm, nranks));
}

int wrap_ncclCommCuDevice(void *comm, int *device)
{
    return tell("ncclCommCuDevice", comm, device, offsetof(struct nccl_comm, device));
}

int wrap_ncclCommUserRank(void *comm, int *rank)
{
    return tell("ncclCommUserRank", comm, rank, offsetof(struct nccl_comm, rank));
}

int wrap_ncclCommGetAsyncError(void *comm, int *error)
{
    struct nccl_comm *c = cumu_nccl_comm(comm);
    int state = c ? c->state : NCCL_NONE;
    if (state == NCCL_NONE || state == NCCL_ABANDONED || !error)
        return cumu_nccl_failed("ncclCommGetAsyncError", ncclInvalidArgument, "%s",
                                error ? "no communicator" : "no place for the answer");
    if (state == NCCL_READY && !c->error) {
        int r = mu.mcclCommGetAsyncError(c->below, error);
        if (!r && *error && *error != ncclInProgress && !atomic_exchange(&c->told, true))
            cumu_warn("nccl", "ncclCommGetAsyncError", "rank %d of %d: %s", c->rank, c->nranks,
                      wrap_ncclGetErrorString(*error));
        return r;
    }
    *error = state == NCCL_JOINING ? ncclInProgress : c->error;
    return ncclSuccess;
}

/* ---- its end ------------------------------------------------------------------------------------- */

/* MCCL has no Finalize; its Destroy waits for what was issued and tells the other ranks, which is what
 * Finalize means. The shim's object stays until ncclCommDestroy. */
static int let_go(struct nccl_task *t)
{
    struct nccl_comm *c = t->comm;
    mcclComm_t below = atomic_exchange(&c->below, NULL);
    bool revoke = t->flags != 0;
    int r = !below ? ncclSuccess : revoke ? mu.mcclCommAbort(below) : mu.mcclCommDestroy(below);
    if (r)
        return cumu_nccl_failed(t->call, r, "MCCL could not end the communicator");
    int joining = NCCL_JOINING;
    (void)atomic_compare_exchange_strong(&c->state, &joining, revoke ? NCCL_REVOKED : NCCL_FINALIZED);
    return ncclSuccess;
}

static int begin_end(const char *call, void *comm, bool revoke)
{
    int ready = NCCL_READY, r = cumu_nccl_ready(call, comm);
    struct nccl_comm *c = comm;
    if (r)
        return r;
    if (!atomic_compare_exchange_strong(&c->state, &ready, NCCL_JOINING))
        return cumu_nccl_failed(call, ncclInvalidUsage, "another thread is at the communicator");
    return cumu_nccl_begin(
        &(struct nccl_task){.call = call, .run = let_go, .comm = c, .device = c->device, .flags = revoke});
}

int wrap_ncclCommFinalize(void *comm) { return begin_end("ncclCommFinalize", comm, false); }

int wrap_ncclCommRevoke(void *comm, int flags)
{
    if (flags != NCCL_REVOKE_DEFAULT)
        return cumu_nccl_failed("ncclCommRevoke", ncclInvalidArgument, "flags %#x", (unsigned)flags);
    return begin_end("ncclCommRevoke", comm, true);
}

int wrap_ncclCommDestroy(void *comm)
{
    const char *call = "ncclCommDestroy";
    struct nccl_comm *c = cumu_nccl_comm(comm);
    if (!comm)
        return ncclSuccess;
    int state = c ? c->state : NCCL_NONE, ended = state;
    int r = state >= NCCL_REVOKED ? ncclSuccess : cumu_nccl_ready(call, comm);
    if (r)
        return r;
    mcclComm_t below = atomic_exchange(&c->below, NULL);
    if (!atomic_compare_exchange_strong(&c->state, &ended, NCCL_ABANDONED))
        return cumu_nccl_failed(call, ncclInvalidUsage, "another thread is at the communicator");
    r = below ? mu.mcclCommDestroy(below) : ncclSuccess;
    cumu_nccl_forget(c);
    cumu_nccl_free(c);
    return r ? cumu_nccl_failed(call, r, "MCCL could not end the communicator") : ncclSuccess;
}

/* While the communicator is being made, or its last operations run, another thread works on it: that one
 * sees the state and takes it down. */
int wrap_ncclCommAbort(void *comm)
{
    const char *call = "ncclCommAbort";
    struct nccl_comm *c = cumu_nccl_comm(comm);
    if (!comm)
        return ncclSuccess;
    int state = c ? atomic_load(&c->state) : NCCL_NONE;
    do {
        if (state == NCCL_NONE || state == NCCL_ABANDONED)
            return cumu_nccl_failed(call, ncclInvalidArgument, "%p is no communicator", comm);
    } while (!atomic_compare_exchange_weak(&c->state, &state, NCCL_ABANDONED));
    cumu_nccl_forget(c);
    if (state == NCCL_JOINING)
        return ncclSuccess;
    mcclComm_t below = atomic_exchange(&c->below, NULL);
    int r = below ? mu.mcclCommAbort(below) : ncclSuccess;
    cumu_nccl_free(c);
    return r ? cumu_nccl_failed(call, r, "MCCL could not end the communicator") : ncclSuccess;
}
