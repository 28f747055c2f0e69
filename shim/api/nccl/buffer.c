/* Memory for communication: MCCL 2.11 needs no registration, so that registering is a matter of book-keeping
 * and of the check that all ranks mean the same. */
#include "api/nccl/manifest.h"
#include "api/nccl/nccl.h"
#include "core/hmap.h"
#include "core/resolve.h"

#include <stdlib.h>

struct record { /* a buffer (ncclCommRegister) or a window; its address is the handle */
    void *self;
    struct nccl_comm *comm;
    void *buffer, *below;
    size_t size;
    bool window;
    int flags;
    UT_hash_handle hh;
};
static HMAP(struct record) records = HMAP_INIT;

int wrap_ncclMemAlloc(void **p, size_t size)
{
    const char *call = "ncclMemAlloc";
    if (!p)
        return cumu_nccl_failed(call, ncclInvalidArgument, "no place for the address");
    if (cumu_mu_has("mcclMemAlloc"))
        return mu.mcclMemAlloc(p, size);
    if ((*p = cumu_manifest_memory(size)))
        return ncclSuccess;
    musaError_t r = mu.musaMalloc(p, size);
    return r ? cumu_nccl_failed(call, ncclUnhandledCudaError, "%zu bytes: %s", size, mu.musaGetErrorName(r))
             : ncclSuccess;
}

int wrap_ncclMemFree(void *p)
{
    if (cumu_mu_has("mcclMemFree"))
        return mu.mcclMemFree(p);
    musaError_t r = mu.musaFree(p);
    return r ? cumu_nccl_failed("ncclMemFree", ncclUnhandledCudaError, "%p: %s", p, mu.musaGetErrorName(r))
             : ncclSuccess;
}

static struct record *add(struct nccl_comm *c, void *buffer, size_t size, bool window, int flags)
{
    struct record *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct record){.self = r, .comm = c, .buffer = buffer, .size = size, .window = window, .flags = flags};
    hmap_lock(&records);
    HASH_ADD_PTR(records.head, self, r);
    bool added = hmap_added(r);
    hmap_unlock(&records);
    if (!added)
        free(r);
    return added ? r : NULL;
}

static bool take(void *handle, struct nccl_comm *c, bool window, void **below)
{
    struct record *r = NULL;
    hmap_lock(&records);
    HASH_FIND_PTR(records.head, &handle, r);
    if (r && r->comm == c && r->window == window)
        HASH_DEL(records.head, r);
    else
        r = NULL;
    hmap_unlock(&records);
    if (r && below)
        *below = r->below;
    free(r);
    return r != NULL;
}

void cumu_nccl_forget(struct nccl_comm *c)
{
    struct record *r, *next;
    cumu_manifest_forget(c);
    hmap_lock(&records);
    HASH_ITER(hh, records.head, r, next)
    {
        if (r->comm == c) {
            HASH_DEL(records.head, r);
            free(r);
        }
    }
    hmap_unlock(&records);
}

static int check(const char *call, void *comm, void *buffer, size_t size, void **out)
{
    int r = cumu_nccl_ready(call, comm);
    if (r)
        return r;
    if (!buffer || !size || !out)
        return cumu_nccl_failed(call, ncclInvalidArgument, "buffer %p of %zu bytes%s", buffer, size,
                                out ? "" : ", no place for the handle");
    return ncclSuccess;
}

int wrap_ncclCommRegister(void *comm, void *buffer, size_t size, void **handle)
{
    const char *call = "ncclCommRegister";
    int r = check(call, comm, buffer, size, handle);
    r = r ? r : cumu_manifest_buffer(call, comm, size);
    if (r)
        return r;
    struct record *added = add(comm, buffer, size, false, 0);
    if (!added)
        return cumu_nccl_failed(call, ncclSystemError, "out of memory");
    if (cumu_mu_has("mcclCommRegister"))
        r = mu.mcclCommRegister(cumu_nccl_below(comm), buffer, size, &added->below);
    if (r) {
        (void)take(added, comm, false, NULL);
        return cumu_nccl_failed(call, r, "MCCL refuses the buffer");
    }
    *handle = added;
    return ncclSuccess;
}

int wrap_ncclCommDeregister(void *comm, void *handle)
{
    const char *call = "ncclCommDeregister";
    void *below = NULL;
    struct nccl_comm *c = cumu_nccl_comm(comm);
    if (!c || !take(handle, c, false, &below))
        return cumu_nccl_failed(call, ncclInvalidArgument, "%p is not registered with %p", handle, comm);
    return below ? mu.mcclCommDeregister(cumu_nccl_below(comm), below) : ncclSuccess;
}

/* ---- windows ------------------------------------------------------------------------------------- */

struct offer {
    size_t size;
    int flags, verdict; /* verdict: the manifest's */
};

/* Every rank brings one of the same size: what is symmetric must be so. */
static int compare(struct nccl_task *t)
{
    struct record *w = t->record;
    struct nccl_comm *c = t->comm;
    struct offer mine = {w->size, w->flags, cumu_manifest_buffer(t->call, c, w->size)};
    struct offer *all = calloc((size_t)c->nranks, sizeof *all);
    int r = all ? cumu_nccl_exchange(c, &mine, sizeof mine, all) : ncclSystemError;
    if (r)
        (void)cumu_nccl_failed(t->call, r, "the ranks could not tell each other their windows");
    for (int i = 0; i < c->nranks && !r; i++)
        if (mine.verdict)
            r = mine.verdict;
        else if (all[i].verdict)
            r = cumu_nccl_failed(t->call, all[i].verdict, "rank %d: its window does not fit the manifest", i);
        else if (all[i].flags != w->flags || (w->flags && all[i].size != w->size))
            r = cumu_nccl_failed(t->call, ncclInvalidArgument,
                                 "rank %d brings %zu bytes with flags %#x, this one %zu with %#x", i, all[i].size,
                                 (unsigned)all[i].flags, w->size, (unsigned)w->flags);
    free(all);
    if (!r && cumu_mu_has("mcclPutSignal")) { /* others may write into it without this rank's help */
        mcclWindow_t below = NULL;
        r = mu.mcclCommWindowRegister(cumu_nccl_below(c), w->buffer, w->size, &below, w->flags);
        w->below = below;
        if (r)
            (void)cumu_nccl_failed(t->call, r, "MCCL refuses the window");
    }
    return r;
}

void cumu_nccl_forget_window(struct nccl_comm *c, void *window) { (void)take(window, c, true, NULL); }

bool cumu_nccl_window(void *comm, void *window, void **buffer, void **below)
{
    struct record *r = NULL;
    hmap_lock(&records);
    HASH_FIND_PTR(records.head, &window, r);
    bool found = r && r->comm == comm && r->window;
    if (found && buffer)
        *buffer = r->buffer;
    if (found && below)
        *below = r->below;
    hmap_unlock(&records);
    return found;
}

int wrap_ncclCommWindowRegister(void *comm, void *buffer, size_t size, void **window, int flags)
{
    const char *call = "ncclCommWindowRegister";
    int r = check(call, comm, buffer, size, window);
    if (r)
        return r;
    if (flags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) /* writes are seen in order anyway */
        return cumu_nccl_failed(call, ncclInvalidArgument, "flags %#x", (unsigned)flags);
    struct nccl_comm *c = comm;
    struct record *w = add(c, buffer, size, true, flags);
    if (!w)
        return cumu_nccl_failed(call, ncclSystemError, "out of memory");
    *window = w;
    return cumu_nccl_begin(&(struct nccl_task){
        .call = call, .run = compare, .comm = c, .aside = true, .out = window, .device = c->device, .record = w});
}

int wrap_ncclCommWindowDeregister(void *comm, void *window)
{
    void *below = NULL;
    struct nccl_comm *c = cumu_nccl_comm(comm);
    if (!c || !take(window, c, true, &below))
        return cumu_nccl_failed("ncclCommWindowDeregister", ncclInvalidArgument, "%p is no window of %p", window, comm);
    return below && cumu_nccl_below(c) ? mu.mcclCommWindowDeregister(cumu_nccl_below(c), below) : ncclSuccess;
}

int wrap_ncclWinGetUserPtr(void *comm, void *window, void **out)
{
    if (!out || !cumu_nccl_window(comm, window, out, NULL))
        return cumu_nccl_failed("ncclWinGetUserPtr", ncclInvalidArgument, "%p is no window of %p", window, comm);
    return ncclSuccess;
}
