/* Green contexts: the primary context under a name of its own, with a count of multiprocessors. */
#include "api/green.h"

#include <stdlib.h>
#include <string.h>

#include "core/hmap.h"
#include "core/ids.h"

enum { MULTIPROCESSORS = 1, DEFAULT_STREAM = 1, NON_BLOCKING = 1, DEVICES = 64 };

struct cumu_green {
    uint32_t kind; /* CUMU_H_GREEN */
    int device;
    unsigned count;
    bool whole; /* the device's own */
    MUcontext ctx;
    unsigned long long id;
};

struct described { /* CUdevResourceDesc */
    uint32_t kind; /* CUMU_H_RESOURCES */
    int device;
    unsigned count;
};

struct green_stream {
    MUstream stream;
    unsigned long long number; /* muStreamGetId: a handle may come back as another stream */
    struct cumu_green *green;
    UT_hash_handle hh;
};
static HMAP(struct green_stream) streams = HMAP_INIT;

struct cumu_green *cumu_as_green(const void *p) { return cumu_handle_as(p, CUMU_H_GREEN); }

/* ---- resources ------------------------------------------------------------------------------ */

static void fill(struct cumu_resource *r, int device, unsigned count)
{
    memset(r, 0, sizeof *r);
    if (!count)
        return; /* CU_DEV_RESOURCE_TYPE_INVALID */
    r->type = MULTIPROCESSORS;
    r->device_1 = device + 1;
    r->count = count;
    r->least = r->align = 1;
}

static int count_of(int device, unsigned *count)
{
    int n = 0;
    int err = mu.muDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    *count = (unsigned)n;
    return err;
}

int cumu_resource_of_device(int device, struct cumu_resource *r, int type)
{
    unsigned count;
    if (!r)
        return CUDA_ERROR_INVALID_VALUE;
    int err = count_of(device, &count);
    if (err)
        return err;
    if (type != MULTIPROCESSORS)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    fill(r, device, count);
    return CUDA_SUCCESS;
}

static int input_error(const struct cumu_resource *in)
{
    if (!in)
        return CUDA_ERROR_INVALID_VALUE;
    return in->type != MULTIPROCESSORS || !in->device_1 ? CUDA_ERROR_INVALID_RESOURCE_TYPE : CUDA_SUCCESS;
}

int cumu_resource_split_by_count(struct cumu_resource *result, unsigned *groups, const struct cumu_resource *in,
                                 struct cumu_resource *rest, unsigned flags, unsigned least)
{
    int err = input_error(in);
    if (err || !groups || flags > 3)
        return err ? err : CUDA_ERROR_INVALID_VALUE;
    struct cumu_resource whole = *in; /* it may be one of the results */
    unsigned size = least ? least : 1, n = whole.count / size;
    if (!n)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (result && *groups < n)
        n = *groups;
    for (unsigned i = 0; result && i < n; i++)
        fill(&result[i], whole.device_1 - 1, size);
    if (rest)
        fill(rest, whole.device_1 - 1, whole.count - n * size);
    *groups = n;
    return CUDA_SUCCESS;
}

int cumu_resource_split(struct cumu_resource *result, unsigned n, const struct cumu_resource *in,
                        struct cumu_resource *rest, unsigned flags, struct cumu_resource_group *group)
{
    int err = input_error(in);
    if (err || !n || !group || flags)
        return err ? err : CUDA_ERROR_INVALID_VALUE;
    struct cumu_resource whole = *in;
    unsigned left = whole.count;
    for (unsigned i = 0; i < n; i++) {
        if (group[i].count > left)
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        left -= group[i].count ? group[i].count : left; /* 0: as many as there are */
    }
    left = whole.count;
    for (unsigned i = 0; i < n; i++) {
        if (!group[i].count)
            group[i].count = left;
        left -= group[i].count;
        if (result)
            fill(&result[i], whole.device_1 - 1, group[i].count);
    }
    if (rest)
        fill(rest, whole.device_1 - 1, left);
    return CUDA_SUCCESS;
}

int cumu_resource_describe(void **desc, const struct cumu_resource *r, unsigned n)
{
    unsigned count = 0, most;
    if (!desc || !r || !n)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        int err = input_error(&r[i]);
        if (err || r[i].device_1 != r[0].device_1 || r[i].count > UINT32_MAX - count)
            return err ? err : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        count += r[i].count;
    }
    int err = count_of(r[0].device_1 - 1, &most);
    if (err || count > most)
        return err ? err : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    struct described *d = cumu_handle_new(CUMU_H_RESOURCES); /* CUDA has no call that frees it */
    if (!d)
        return CUDA_ERROR_OUT_OF_MEMORY;
    d->device = r[0].device_1 - 1;
    d->count = count;
    *desc = d;
    return CUDA_SUCCESS;
}

/* ---- contexts ------------------------------------------------------------------------------- */

static int new_green(struct cumu_green **out, int device, unsigned count)
{
    MUcontext ctx = NULL;
    int err = mu.muDevicePrimaryCtxRetain(&ctx, device);
    if (err)
        return err;
    struct cumu_green *g = cumu_handle_new(CUMU_H_GREEN);
    if (!g) {
        mu.muDevicePrimaryCtxRelease(device);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    g->device = device;
    g->count = count;
    g->ctx = ctx;
    g->id = cumu_id_new();
    *out = g;
    return CUDA_SUCCESS;
}

int cumu_green_create(void **green, const void *desc, int device, unsigned flags)
{
    const struct described *d = cumu_handle_as(desc, CUMU_H_RESOURCES);
    struct cumu_green *g;
    if (!green || flags != DEFAULT_STREAM || (desc && !d))
        return CUDA_ERROR_INVALID_VALUE;
    if (!d || d->device != device)
        return d ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    int err = new_green(&g, device, d->count);
    if (err)
        return err;
    cumu_gap("cuda", "cuGreenCtxCreate", "kernels of a green context run on the whole device");
    *green = g;
    return CUDA_SUCCESS;
}

int cumu_green_of_device(void **green, int device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cumu_green *whole[DEVICES];
    unsigned count;
    if (!green)
        return CUDA_ERROR_INVALID_VALUE;
    int err = count_of(device, &count);
    if (err || device >= DEVICES)
        return err ? err : CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    struct cumu_green *g = whole[device];
    pthread_mutex_unlock(&lock);
    if (!g) { /* made without the lock; of two, one stays */
        struct cumu_green *fresh;
        err = new_green(&fresh, device, count);
        if (err)
            return err;
        fresh->whole = true;
        pthread_mutex_lock(&lock);
        g = whole[device] ? whole[device] : fresh;
        whole[device] = g;
        pthread_mutex_unlock(&lock);
        if (g != fresh) {
            mu.muDevicePrimaryCtxRelease(device);
            cumu_handle_free(fresh);
        }
    }
    *green = g;
    return CUDA_SUCCESS;
}

int cumu_green_destroy(struct cumu_green *g)
{
    struct green_stream *s, *tmp;
    int device = g->device;
    if (g->whole)
        return CUDA_ERROR_INVALID_VALUE;
    hmap_lock(&streams);
    HASH_ITER(hh, streams.head, s, tmp)
    if (s->green == g) {
        HASH_DEL(streams.head, s);
        free(s);
    }
    hmap_unlock(&streams);
    cumu_handle_free(g);
    return mu.muDevicePrimaryCtxRelease(device);
}

int cumu_green_resource(const struct cumu_green *g, struct cumu_resource *r, int type)
{
    if (!r)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != MULTIPROCESSORS)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    fill(r, g->device, g->count);
    return CUDA_SUCCESS;
}

int cumu_green_context(const struct cumu_green *g, MUcontext *ctx)
{
    *ctx = g->ctx;
    return CUDA_SUCCESS;
}

int cumu_green_device(const struct cumu_green *g) { return g->device; }

unsigned long long cumu_green_id(const struct cumu_green *g) { return g->id; }

/* ---- streams -------------------------------------------------------------------------------- */

static int enter(MUcontext ctx, MUcontext *before)
{
    int err = mu.muCtxGetCurrent(before);
    return err || *before == ctx ? err : mu.muCtxSetCurrent(ctx);
}

static void leave(MUcontext ctx, MUcontext before)
{
    if (before != ctx)
        mu.muCtxSetCurrent(before);
}

/* Makes a stream of a green context: an ordinary stream of its device that remembers the context. Entries are keyed
 * by the stream and hold its number as well, as the driver may give the address out again. */
int cumu_green_stream(struct cumu_green *g, MUstream *stream, unsigned flags, int priority)
{
    MUcontext before = NULL;
    MUstream made = NULL;
    if (!stream || (flags != NON_BLOCKING && !(g->whole && !flags)))
        return CUDA_ERROR_INVALID_VALUE;
    int err = enter(g->ctx, &before);
    if (err)
        return err;
    err = mu.muStreamCreateWithPriority(&made, flags, priority);
    leave(g->ctx, before);
    if (err)
        return err;
    struct green_stream *s = calloc(1, sizeof *s), *old;
    if (s && mu.muStreamGetId(made, &s->number) == MUSA_SUCCESS) {
        s->stream = made;
        s->green = g;
        hmap_lock(&streams);
        HASH_FIND_PTR(streams.head, &made, old);
        if (old) {
            HASH_DEL(streams.head, old);
            free(old);
        }
        HASH_ADD_PTR(streams.head, stream, s);
        if (!hmap_added(s))
            free(s);
        hmap_unlock(&streams);
    } else {
        free(s);
    }
    *stream = made;
    return CUDA_SUCCESS;
}

struct cumu_green *cumu_green_of_stream(CUstream stream)
{
    struct green_stream *s;
    unsigned long long number = 0;
    struct cumu_green *g = NULL;
    if (!stream || mu.muStreamGetId((MUstream)stream, &number) != MUSA_SUCCESS)
        return NULL;
    hmap_lock(&streams);
    HASH_FIND_PTR(streams.head, &stream, s);
    if (s && s->number == number)
        g = s->green;
    hmap_unlock(&streams);
    return g;
}

/* ---- work of a context ---------------------------------------------------------------------- */

int cumu_context_synchronize(MUcontext ctx)
{
    MUcontext before = NULL;
    int err = enter(ctx, &before);
    if (err)
        return err;
    err = mu.muCtxSynchronize();
    leave(ctx, before);
    return err;
}

int cumu_context_record(MUcontext ctx, MUevent event)
{
    MUcontext before = NULL;
    int err = enter(ctx, &before);
    if (err)
        return err;
    err = mu.muCtxSynchronize();
    if (!err)
        err = mu.muEventRecord(event, NULL);
    leave(ctx, before);
    return err;
}

int cumu_context_wait(MUcontext ctx, MUevent event)
{
    MUcontext before = NULL;
    int err = enter(ctx, &before);
    if (err)
        return err;
    err = mu.muEventSynchronize(event);
    leave(ctx, before);
    return err;
}
