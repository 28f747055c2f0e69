/* Kernels: the per-context lookup on the launch path, attributes and parameters. */
#include "kernel/device.h"
#include "kernel/graph.h"
#include "kernel/jit.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct cumu_func) <= CUMU_HANDLE_SIZE, "a kernel fits a handle's slot");

struct func_attr { /* what the program has set, for contexts to come */
    struct func_attr *next;
    int attribute, value;
};

/* Registered kernels get their unit at first use. */
static int resolve(struct cumu_func *f)
{
    struct cumu_func *same;
    if (atomic_load_explicit(&f->ptx, memory_order_acquire))
        return CUDA_SUCCESS;
    int err = cumu_module_func(f->module, f->name, &same);
    if (err == CUDA_ERROR_NOT_FOUND) {
        cumu_func_report(f, CUMU_ERROR, "no PTX of its module defines this kernel");
        err = cudaErrorInvalidDeviceFunction;
    }
    return err ? cumu_func_missing(f, err) : CUDA_SUCCESS;
}

static struct func_inst *find_inst(struct cumu_func *f, MUcontext ctx)
{
    for (struct func_inst *i = atomic_load_explicit(&f->inst, memory_order_acquire); i; i = i->next)
        if (atomic_load_explicit(&i->ctx, memory_order_relaxed) == ctx)
            return i;
    return NULL;
}

int cumu_func_musa(struct cumu_func *f, MUfunction *out)
{
    struct func_inst *i = NULL;
    int err = cumu_func_inst(f, &i);
    *out = i ? i->function : NULL;
    return err;
}

int cumu_func_inst(struct cumu_func *f, struct func_inst **out)
{
    MUcontext ctx = NULL;
    int err = mu.muCtxGetCurrent(&ctx);
    if (err != MUSA_SUCCESS || !ctx) {
        err = cumu_context_current(&ctx);
        if (err)
            return err;
    }
    *out = find_inst(f, ctx);
    if (*out)
        return CUDA_SUCCESS;
    err = resolve(f);
    if (err)
        return err;
    int mode = cumu_capture_relax();
    if (cumu_device_code())
        err = cumu_device_compile(f);
    if (!err) {
        cumu_unit_enter(f->unit);
        err = cumu_unit_load_func(f->unit, f, ctx);
        cumu_unit_leave(f->unit);
    }
    cumu_capture_restore(mode);
    *out = find_inst(f, ctx);
    return err ? cumu_func_missing(f, err) : CUDA_SUCCESS;
}

const char *cumu_func_name(const struct cumu_func *f) { return f->name; }

unsigned cumu_func_more_shared(const struct cumu_func *f) { return f->front; }

struct cumu_module *cumu_func_module(const struct cumu_func *f) { return f->module; }

const void *cumu_func_host(const struct cumu_func *f) { return f->host; }

struct cumu_old_launch **cumu_func_old_launch(struct cumu_func *f) { return &f->old_launch; }

int cumu_func_param(struct cumu_func *f, size_t i, size_t *offset, size_t *size)
{
    int err = resolve(f);
    if (err)
        return err;
    const struct ptx_func *ptx = f->ptx;
    if (i >= ptx->nparam)
        return CUDA_ERROR_INVALID_VALUE;
    if (offset)
        *offset = ptx->param[i].offset;
    if (size)
        *size = ptx->param[i].size;
    return CUDA_SUCCESS;
}

static int const_size(const struct ptx_module *m)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < m->nvar; i++)
        if (m->var[i].space == PTX_SP_CONST && !m->var[i].is_extern)
            sum += m->var[i].size;
    return sum > INT32_MAX ? INT32_MAX : (int)sum;
}

int cumu_func_front(const struct cumu_func *f, int attribute)
{
    return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? (int)f->front : 0;
}

static bool of_clusters(int attribute)
{
    return attribute >= CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET && attribute < CU_FUNC_ATTRIBUTE_MAX;
}

/* What CUDA defines by the PTX is answered here; the rest is the driver's, less what the shim adds to a launch. */
int cumu_func_attribute(struct cumu_func *f, int attribute, int *value)
{
    int err = resolve(f);
    if (err)
        return err;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)cumu_unit_arch(f->unit); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)cumu_claimed_cc(); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = const_size(cumu_unit_ptx(f->unit)); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; return CUDA_SUCCESS;
    }
    if (of_clusters(attribute) && cumu_device_code()) {
        *value = 0;
        return CUDA_SUCCESS;
    }
    MUfunction mf;
    err = cumu_func_musa(f, &mf);
    if (err)
        return err;
    err = mu.muFuncGetAttribute(value, attribute, mf);
    if (err && cumu_device_code() && cumu_device_estimate(f, attribute, value))
        return CUDA_SUCCESS;
    int own; /* what the driver sees as dynamic */
    if (!err && f->front && attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
        cumu_device_estimate(f, attribute, &own))
        *value += own;
    if (!err)
        *value -= cumu_func_front(f, attribute);
    return err;
}

/* ---- occupancy ------------------------------------------------------------------------------ */

int cumu_func_occupancy(struct cumu_func *f, int block_size, size_t shared, int *blocks)
{
    MUfunction mf;
    int err = cumu_func_musa(f, &mf);
    return err ? err : mu.muOccupancyMaxActiveBlocksPerMultiprocessor(blocks, mf, block_size, shared + f->front);
}

/* Where the driver lacks the function (no public use of it is known): a multiprocessor's shared memory among its
 * blocks, without what is static. */
static int share_of_shared(struct cumu_func *f, int blocks, size_t *size)
{
    MUdevice device = 0;
    int all = 0, most = 0, own = 0;
    if (blocks <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muCtxGetDevice(&device);
    if (!err)
        err = mu.muDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device);
    if (!err)
        err = mu.muDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device);
    if (err)
        return err;
    (void)cumu_device_estimate(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &own);
    if (own < (int)f->front)
        own = (int)f->front;
    int each = all / blocks < most ? all / blocks : most;
    *size = each > own ? (size_t)(each - own) : 0;
    return CUDA_SUCCESS;
}

int cumu_func_shared_left(struct cumu_func *f, int blocks, int block_size, size_t *size)
{
    MUfunction mf;
    int err = cumu_func_musa(f, &mf);
    if (err)
        return err;
    err = mu.muOccupancyAvailableDynamicSMemPerBlock(size, mf, blocks, block_size);
    if (err == CUDA_ERROR_NOT_SUPPORTED)
        return share_of_shared(f, blocks, size);
    if (!err)
        *size -= *size < f->front ? *size : f->front;
    return err;
}

int cumu_most_shared(unsigned cc) { return cc < 90 && !cumu_device_code() ? 163 << 10 : INT_MAX; }

/* More shared memory than programs are told that a block may have. What was compiled for later devices may have it,
 * whatever is claimed. */
static bool is_too_much(struct cumu_func *f, int dynamic)
{
    const unsigned claimed = cumu_claimed_cc(), of_text = cumu_unit_arch(f->unit);
    int fixed;
    return !cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &fixed) &&
           dynamic > cumu_most_shared(of_text > claimed ? of_text : claimed) - fixed;
}

/* A share of shared memory is a wish; a device's driver need not know it. */
static bool is_hint(int attribute, int value)
{
    return cumu_device_code() && attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
           value <= 100;
}

/* Sets it where the kernel is loaded and remembers it for contexts, and for compiled code, that come later. */
int cumu_func_set_attribute(struct cumu_func *f, int attribute, int value)
{
    struct func_inst *i;
    int err = cumu_func_inst(f, &i);
    if (err)
        return err;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && is_too_much(f, value))
        return CUDA_ERROR_INVALID_VALUE;
    if (of_clusters(attribute) && cumu_device_code())
        return CUDA_SUCCESS; /* for hardware that is not there: launches with clusters say so */
    err = mu.muFuncSetAttribute(i->function, attribute, value + cumu_func_front(f, attribute));
    if (err && !is_hint(attribute, value))
        return err;
    struct func_attr *a = malloc(sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a->attribute = attribute;
    a->value = value;
    cumu_unit_enter(f->unit);
    struct func_attr **at = &f->attrs; /* the newest value last, replayed in order */
    while (*at && (*at)->attribute != attribute)
        at = &(*at)->next;
    a->next = *at ? (*at)->next : NULL;
    free(*at);
    *at = a;
    cumu_unit_leave(f->unit);
    for (unsigned s = 0; s < T1_NSHAPES; s++) { /* what was published before has not seen the list */
        MUfunction fast = atomic_load(&i->fast[s]);
        if (fast)
            (void)mu.muFuncSetAttribute(fast, attribute, value);
    }
    return CUDA_SUCCESS;
}

void cumu_func_attrs_replay(const struct cumu_func *f, MUfunction mf)
{
    for (const struct func_attr *a = f->attrs; a; a = a->next)
        (void)mu.muFuncSetAttribute(mf, a->attribute, a->value + cumu_func_front(f, a->attribute));
}

bool cumu_func_attr_set(const struct cumu_func *f, int attribute, int *value)
{
    const struct func_attr *a = f->attrs;
    while (a && a->attribute != attribute)
        a = a->next;
    if (a)
        *value = a->value;
    return a != NULL;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void unload(struct cumu_func *f)
{
    cumu_jit_cancel(f);
    struct func_inst *i = atomic_exchange(&f->inst, NULL);
    while (i) {
        struct func_inst *next = i->next;
        for (unsigned s = 0; s < T1_NSHAPES; s++)
            cumu_unload_below(i->fast_module[s], 0, atomic_load(&i->ctx));
        cumu_unload_below(i->module, 0, atomic_load(&i->ctx));
        free(i);
        i = next;
    }
}

void cumu_func_free(struct cumu_func *f)
{
    unload(f);
    free(f->image);
    free(f->why);
    cumu_device_code_free(f);
    free(f->old_launch);
    while (f->attrs) {
        struct func_attr *a = f->attrs;
        f->attrs = a->next;
        free(a);
    }
    free((char *)(uintptr_t)f->name);
    cumu_handle_free(f);
}

void cumu_func_context_gone(struct cumu_func *f, MUcontext ctx, int device)
{
    for (struct func_inst *i = atomic_load(&f->inst); i; i = i->next)
        if (cumu_is_gone(atomic_load(&i->ctx), i->device, ctx, device))
            atomic_store(&i->ctx, NULL);
}
