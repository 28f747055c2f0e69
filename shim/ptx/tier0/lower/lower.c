/* Tier 0 lowering: a kernel with everything it reaches, as one image. */
#include "ptx/tier0/lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECURSION_LOCAL = 256 << 10
}; /* local memory of a lane when no bound is known; paged in on use */

static void lower_function(struct t0_lower *l, uint32_t index)
{
    struct ptx_func *f = ((struct ptx_func **)l->reached.p)[index];
    struct ptx_diag diag = {0};
    l->f = f;
    l->index = index;
    l->at = NULL;
    memset(&l->fn, 0, sizeof l->fn);
    if (ptx_func_parse(f, &diag) || ptx_cfg_build(f, &diag)) {
        *l->diag = diag;
        longjmp(l->out, 1);
    }
    l->fn.name = t0_string(l, f->name);
    l->fn.ordinal = (uint32_t)(f - l->module->func);
    t0_lower_body(l);
    *(struct t0_fn *)t0_push(l, &l->funcs, sizeof l->fn) = l->fn;
}

/* reach[a * n + b]: b may run while a's frame is alive. An indirect call may go to any function
 * that is not the kernel. */
static bool *closure(struct t0_lower *l)
{
    uint32_t n = l->funcs.n;
    const uint32_t *edge = l->edges.p;
    bool *reach = calloc((size_t)n * n + 1, 1);
    if (!reach)
        t0_fail(l, "out of memory");
    for (uint32_t e = 0; e < l->edges.n; e++)
        for (uint32_t b = 1; b < n; b++)
            if (edge[2 * e + 1] == b || edge[2 * e + 1] == T0_NONE)
                reach[(size_t)edge[2 * e] * n + b] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t a = 0; a < n; a++)
            if (reach[(size_t)a * n + k])
                for (uint32_t b = 0; b < n; b++)
                    reach[(size_t)a * n + b] |= reach[(size_t)k * n + b];
    return reach;
}

/* Bytes of local memory that function f and its callees may take; calls form no cycle. */
static uint64_t deepest(struct t0_lower *l, const bool *reach, uint32_t f, uint64_t *known)
{
    const struct t0_fn *fn = l->funcs.p;
    uint32_t n = l->funcs.n;
    uint64_t most = 0;
    if (known[f])
        return known[f];
    for (uint32_t b = 0; b < n; b++)
        if (reach[(size_t)f * n + b]) {
            uint64_t d = deepest(l, reach, b, known);
            most = d > most ? d : most;
        }
    return known[f] = most + fn[f].local_size + 16;
}

/* Marks the calls that may come back to their caller; returns the local memory of a lane. */
static uint32_t finish_calls(struct t0_lower *l)
{
    uint32_t n = l->funcs.n;
    bool *reach = closure(l), cycle = false;
    struct t0_call *call = l->calls.p;
    const struct t0_fn *fn = l->funcs.p;
    uint64_t bytes = l->has_alloca ? RECURSION_LOCAL : 0, *known = calloc(n + 1, sizeof *known);
    if (!known) {
        free(reach);
        t0_fail(l, "out of memory");
    }
    for (uint32_t k = 0; k < l->calls.n; k++) {
        if (call[k].syscall)
            continue;
        call[k].save = reach[(size_t)call[k].caller * n + call[k].caller];
        cycle |= call[k].save;
    }
    if (cycle)
        bytes = RECURSION_LOCAL;
    else if (n)
        bytes += deepest(l, reach, 0, known);
    free(known);
    free(reach);
    bool any = cycle || l->has_alloca;
    for (uint32_t k = 0; k < n; k++) {
        any |= fn[k].local_size != 0;
        if (cycle && fn[k].ret_size > T0_RESULT_MAX)
            t0_fail(l, "recursive function returns more than %u bytes", T0_RESULT_MAX);
        if (cycle)
            bytes += fn[k].local_size;
    }
    if (bytes > T0_LOCAL_LIMIT)
        t0_fail(l, "local memory passes %u MiB", T0_LOCAL_LIMIT >> 20);
    return any || n > 1 ? (uint32_t)((bytes + 15) & ~15ull) : 0;
}

/* Rows that every block fills anew come first, so that the others are not even looked at. */
static void sort_rows(struct t0_lower *l)
{
    struct t0_row *row = l->rows.p, swap;
    uint32_t first = 0;
    for (uint32_t k = 0; k < l->rows.n; k++) {
        if (row[k].kind != T0_ROW_SREG || !t0_sreg_per_block(row[k].index))
            continue;
        swap = row[first];
        row[first++] = row[k];
        row[k] = swap;
    }
}

static uint32_t product(const uint32_t v[3])
{
    uint64_t p = (uint64_t)v[0] * (v[1] ? v[1] : 1) * (v[2] ? v[2] : 1);
    return v[0] && p < 1024 ? (uint32_t)p : 1024;
}

static void finish_kernel(struct t0_lower *l, const struct ptx_func *f)
{
    struct t0_row *row;
    uint32_t local = finish_calls(l);
    uint32_t dynamic = (l->shared_top + l->dynamic_align - 1) & ~(l->dynamic_align - 1);
    uint32_t name = t0_string(l, f->name);
    row = l->rows.p;
    for (uint32_t k = 0; k < l->rows.n; k++)
        if (row[k].kind == T0_ROW_IMM && row[k].index == T0_DYNAMIC) {
            row[k].value += dynamic;
            row[k].index = 0;
        }
    sort_rows(l);
    for (uint32_t k = 0; k < f->nparam; k++) {
        struct t0_param *p = t0_push(l, &l->params, sizeof *p);
        *p = (struct t0_param){(uint32_t)f->param[k].offset, (uint32_t)f->param[k].size};
    }
    struct t0_kernel_rec *rec = t0_push(l, &l->kernels, sizeof *rec);
    *rec = (struct t0_kernel_rec){
        .name = name,
        .regs_size = l->regs_top + T0_ROW_MAX,
        .shared_size = l->shared_top,
        .dynamic_offset = dynamic,
        .local_size = local,
        .own_local = ((const struct t0_fn *)l->funcs.p)[0].local_size,
        .nparam = f->nparam,
        .param_size = f->param_size,
        .num_regs = l->num_regs < 16 ? 16 : l->num_regs > 255 ? 255 : l->num_regs,
        .max_threads = product(f->reqntid[0] ? f->reqntid : f->maxntid),
        .reqntid = {f->reqntid[0], f->reqntid[1], f->reqntid[2]},
        .uses_grid_sync = l->uses_grid_sync,
        .uses_dynamic = l->uses_dynamic,
        .may_wait = l->may_wait || l->has_indirect || l->funcs.n > 1,
    };
}

int t0_lower_kernel(const struct ptx_module *m, const char *kernel, void **image, size_t *size,
                    struct ptx_diag *diag)
{
    struct ptx_diag unused;
    struct t0_lower *l = malloc(sizeof *l);
    struct ptx_func *f = ptx_module_func(m, kernel);
    volatile int result = -1; /* survives the longjmp of an error */
    *image = NULL;
    *size = 0;
    diag = diag ? diag : &unused;
    memset(diag, 0, sizeof *diag);
    strncpy(diag->what, kernel, sizeof diag->what - 1);
    if (!l || !f || !f->is_entry) {
        strcpy(diag->msg, l ? "no such kernel in the module" : "out of memory");
        free(l);
        return -1;
    }
    t0_lower_start(l, m, diag);
    if (!setjmp(l->out)) {
        bool targets = false;
        t0_string(l, "");
        t0_reach(l, f);
        for (uint32_t k = 0; k < l->reached.n; k++) {
            lower_function(l, k);
            if (l->has_indirect && !targets)
                t0_reach_targets(l);
            targets = l->has_indirect;
        }
        l->at = NULL;
        if (l->shared_top > T0_SHARED_STATIC + (l->reserved ? T0_SHARED_RESERVED : 0))
            t0_fail(l, "%llu bytes of static shared memory; at most %u",
                    (unsigned long long)l->shared_top, T0_SHARED_STATIC);
        finish_kernel(l, f);
        t0_write_image(l, image, size);
        result = 0;
    }
    for (uint32_t k = 0; k < l->reached.n; k++)
        ptx_func_drop(((struct ptx_func **)l->reached.p)[k]);
    t0_lower_free(l);
    free(l);
    return result;
}
