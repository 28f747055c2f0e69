/* Kernels that kernels launch: which a kernel may launch, so that they are loaded before it is, and what the driver
 * below asks when it runs one. */
#include "kernel/nest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/resolve.h"
#include "core/trace.h"
#include "core/upper.h"
#include "kernel/jit.h"
#include "ptx/lir/image.h"

/* A kernel of the unit, made if nobody has asked for it yet. The unit's turn is the caller's. */
static struct cumu_func *func_of(struct cumu_module *m, const struct ptx_module *ptx, const char *name)
{
    struct ptx_func *p = ptx_module_func(ptx, name);
    struct cumu_func *f = p && p->is_entry && !p->is_decl ? cumu_func_find(m, name, true) : NULL;
    if (!f || atomic_load_explicit(&f->ptx, memory_order_acquire))
        return f;
    CUMU_EACH_UNIT(m, u)
    if (cumu_unit_ptx(u) == ptx)
        f->unit = u;
    if (!f->unit)
        return NULL;
    atomic_store_explicit(&f->ptx, p, memory_order_release);
    return f;
}

static uint64_t key_of(const struct cumu_func *f) { return (uint64_t)(uintptr_t)f; }

uint64_t cumu_nest_key(struct cumu_module *m, const struct ptx_module *ptx, const char *name)
{
    const struct cumu_func *f = func_of(m, ptx, name);
    return f ? key_of(f) : 0;
}

bool cumu_nest_launches(const struct cumu_func *f)
{
    const struct lir_image *image = f->image;
    return image && image->kernels.count && LIR_AT(image, kernels, struct lir_kernel_rec)->launches;
}

/* ---- what it may launch ---------------------------------------------------------------------- */

static bool add(struct cumu_nested *list, struct cumu_func *f)
{
    for (unsigned k = 0; k < list->n; k++)
        if (list->at[k].func == f)
            return true;
    void *more = realloc(list->at, (list->n + 1) * sizeof *list->at);
    if (!more)
        return false;
    list->at = more;
    list->at[list->n].func = f;
    list->at[list->n++].made = NULL;
    return true;
}

bool cumu_nest_reach(struct cumu_nested *list, struct cumu_unit *u, struct cumu_func *f)
{
    const struct ptx_module *ptx = cumu_unit_ptx(u);
    struct cumu_module *m = cumu_unit_module(u);
    struct cumu_func *g;
    const char *name;
    bool ok = add(list, f);
    if (!cumu_nest_launches(f))
        return ok;
    for (unsigned i = 0; ok && (name = lir_image_extern(f->image, i)); i++)
        ok = !(g = func_of(m, ptx, name)) || add(list, g);
    for (uint32_t k = 0; k < ptx->nvar; k++) /* tables of kernels */
        for (uint32_t r = 0; ok && r < ptx->var[k].nreloc; r++)
            ok = !(g = func_of(m, ptx, ptx->var[k].reloc[r].sym)) || add(list, g);
    return ok;
}

/* ---- what the driver asks -------------------------------------------------------------------- */

static struct func_inst *inst_in(struct cumu_func *f, MUcontext ctx)
{
    for (struct func_inst *i = atomic_load_explicit(&f->inst, memory_order_acquire); i; i = i->next)
        if (atomic_load_explicit(&i->ctx, memory_order_relaxed) == ctx)
            return i;
    return NULL;
}

/* Compiled code takes over from the function that the driver knows. */
static void begin(uint64_t key, MUcontext ctx, const uint32_t grid[3], const uint32_t block[3])
{
    struct cumu_func *f = (struct cumu_func *)(uintptr_t)key;
    struct func_inst *i = inst_in(f, ctx);
    (void)grid;
    if (i)
        (void)cumu_jit_function(f, i, (dim3){block[0], block[1], block[2]});
}

static void end(uint64_t key, MUcontext ctx, const uint32_t grid[3], const uint32_t block[3], unsigned shared,
                uint64_t from, uint64_t to)
{
    const struct cumu_func *f = (const struct cumu_func *)(uintptr_t)key;
    if (!cumu_trace_times_work())
        return;
    struct cumu_event e = {.kind = CUMU_EVENT_KERNEL,
                           .library = "kernel",
                           .name = f->name,
                           .start = from,
                           .duration = to - from,
                           .timed = true,
                           .note = "by a kernel",
                           .grid = {grid[0], grid[1], grid[2]},
                           .block = {block[0], block[1], block[2]},
                           .shared = shared,
                           .context = ctx};
    cumu_trace_stamp(&e);
    cumu_trace_event(&e);
}

static const char *error_text(int error, int name) { return CUMU_ASK(error_text, "", error, name); }

static t1_nest_kernel *name_kernel;

static void meet(void)
{
    static struct t1_nest_shim shim = {.error_text = error_text, .begin = begin, .end = end};
    t1_nest_meet *tell;
    *(void **)&tell = cumu_below("musa", T1_NEST_MEET);
    *(void **)&name_kernel = cumu_below("musa", T1_NEST_KERNEL);
    shim.capability = (int)cumu_claimed_cc();
    shim.version = CUMU_ASK(release, 0);
    if (tell)
        tell(&shim);
}

bool cumu_nest_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, meet);
    return name_kernel;
}

void cumu_nest_name(struct cumu_func *f, MUfunction function)
{
    if (cumu_nest_there())
        (void)name_kernel(key_of(f), function);
}
