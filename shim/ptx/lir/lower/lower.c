/* Tier 0 lowering: a kernel with everything it reaches, as one image. */
#include "ptx/lir/lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum { RECURSION_LOCAL = 256 << 10 }; /* local memory of a lane when no bound is known; paged in on use */

static const char *source_name(const struct ptx_module *m, uint32_t number)
{
    for (uint32_t k = 0; k < m->nsource; k++)
        if (m->source[k].number == number)
            return m->source[k].name;
    return "";
}

static void push_loc(struct lir_lower *l, const struct lir_loc *loc)
{
    *(struct lir_loc *)lir_push(l, &l->locs, sizeof(struct lir_loc)) = *loc;
}

struct named_file { /* the last one that was asked for: mostly it is the next one, too */
    uint32_t number, name;
};

static uint32_t file_string(struct lir_lower *l, struct named_file *last, uint32_t number)
{
    if (number != last->number || !last->name)
        *last = (struct named_file){number, lir_string(l, source_name(l->f->module, number))};
    return last->name;
}

/* Where the instructions of the function come from: its .loc directives between two records that say "unknown". */
static void add_locs(struct lir_lower *l, const struct ptx_func *f)
{
    struct named_file inner = {0, 0}, outer = {0, 0};
    if (!f->nloc)
        return;
    push_loc(l, &(struct lir_loc){.line = f->body_line});
    for (uint32_t k = 0; k < f->nloc; k++) {
        const struct ptx_loc *p = &f->loc[k];
        struct lir_loc loc = {.line = p->at, .file = file_string(l, &inner, p->file), .source = p->line};
        if (p->call_line) {
            loc.call_file = file_string(l, &outer, p->call_file);
            loc.call_source = p->call_line;
        }
        push_loc(l, &loc);
    }
    push_loc(l, &(struct lir_loc){.line = f->end_line});
}

static int by_line(const void *a, const void *b)
{
    const struct lir_loc *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

static void lower_function(struct lir_lower *l, uint32_t index)
{
    struct ptx_func *f = l->reached.func[index];
    struct ptx_diag diag = {0};
    l->f = f;
    l->index = index;
    l->at = NULL;
    memset(&l->fn, 0, sizeof l->fn);
    if (ptx_func_parse(f, &diag) || ptx_cfg_build(f, &diag)) {
        *l->diag = diag;
        longjmp(l->out, 1);
    }
    l->fn.name = lir_string(l, f->name);
    l->fn.ordinal = f->number;
    lir_lower_body(l);
    add_locs(l, f);
    *(struct lir_fn *)lir_push(l, &l->funcs, sizeof l->fn) = l->fn;
}

/* Marks the calls that may come back to their caller; returns the local memory of a lane. */
static uint32_t finish_calls(struct lir_lower *l)
{
    uint32_t n = l->funcs.n;
    bool cycle = false, *again = calloc(n + 1, sizeof *again);
    struct lir_call *call = l->calls.p;
    const struct lir_fn *fn = l->funcs.p;
    uint64_t bytes = l->has_alloca ? RECURSION_LOCAL : 0, *own = calloc(n + 1, sizeof *own), most = 0;
    for (uint32_t k = 0; own && k < n; k++)
        own[k] = fn[k].local_size + 16;
    bool good = own && again && ptx_calls_follow(&l->reached, own, again, &cycle, &most);
    for (uint32_t k = 0; good && k < l->calls.n; k++)
        call[k].save = !call[k].syscall && again[call[k].caller];
    free(own);
    free(again);
    if (!good)
        lir_out_of_memory(l);
    bytes = cycle ? RECURSION_LOCAL : bytes + most;
    bool any = cycle || l->has_alloca;
    for (uint32_t k = 0; k < n; k++) {
        any |= fn[k].local_size != 0;
        if (cycle && fn[k].ret_size > LIR_RESULT_MAX)
            lir_fail(l, "recursive function returns more than %u bytes", LIR_RESULT_MAX);
        if (cycle)
            bytes += fn[k].local_size;
    }
    if (bytes > LIR_LOCAL_LIMIT)
        lir_fail(l, "local memory passes %u MiB", LIR_LOCAL_LIMIT >> 20);
    return any || n > 1 ? (uint32_t)((bytes + 15) & ~15ull) : 0;
}

/* Rows that every block fills anew come first, so that the others are not even looked at. */
static void sort_rows(struct lir_lower *l)
{
    struct lir_row *row = l->rows.p, swap;
    uint32_t first = 0;
    for (uint32_t k = 0; k < l->rows.n; k++) {
        if (row[k].kind != LIR_ROW_SREG || !lir_sreg_per_block(row[k].index))
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

/* What a device's compiler may use at most, so that as many blocks fit as the launch bounds ask for. */
static uint32_t most_registers(const struct ptx_func *f)
{
    enum { FILE = 65536, LEAST = 16, MOST = 255 };
    const uint32_t *block = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint32_t most = f->maxnreg && f->maxnreg < MOST ? f->maxnreg : MOST;
    if (block[0]) {
        uint64_t threads = (product(block) + 31) / 32 * 32, blocks = f->minnctapersm ? f->minnctapersm : 1;
        uint32_t each = (uint32_t)(FILE / (threads * blocks)) & ~7u;
        most = each < most ? each : most;
    }
    return most < LEAST ? LEAST : most;
}

static uint32_t between(uint32_t least, uint32_t v, uint32_t most) { return v < least ? least : v > most ? most : v; }

/* Closes a kernel: calls get their frames, dynamic shared memory its place behind the static part, and the record
 * what a launch needs to know. Rows that change from block to block are sorted to the front, as starting a block
 * refills only these. */
static void finish_kernel(struct lir_lower *l, const struct ptx_func *f)
{
    struct lir_row *row;
    uint32_t local = finish_calls(l);
    uint32_t dynamic = (l->shared_top + l->dynamic_align - 1) & ~(l->dynamic_align - 1);
    uint32_t name = lir_string(l, f->name);
    row = l->rows.p;
    for (uint32_t k = 0; k < l->rows.n; k++)
        if (row[k].kind == LIR_ROW_IMM && row[k].index == LIR_DYNAMIC) {
            row[k].value += dynamic;
            row[k].index = 0;
        }
    sort_rows(l);
    if (l->locs.n)
        qsort(l->locs.p, l->locs.n, sizeof(struct lir_loc), by_line);
    for (uint32_t k = 0; k < f->nparam; k++) {
        struct lir_param *p = lir_push(l, &l->params, sizeof *p);
        *p = (struct lir_param){(uint32_t)f->param[k].offset, (uint32_t)f->param[k].size};
    }
    struct lir_kernel_rec *rec = lir_push(l, &l->kernels, sizeof *rec);
    *rec = (struct lir_kernel_rec){
        .name = name,
        .regs_size = l->regs_top + LIR_ROW_MAX,
        .shared_size = l->shared_top,
        .dynamic_offset = dynamic,
        .local_size = local,
        .own_local = ((const struct lir_fn *)l->funcs.p)[0].local_size,
        .nparam = f->nparam,
        .param_size = f->param_size,
        .num_regs = between(16, l->num_regs, most_registers(f)),
        .max_threads = product(f->reqntid[0] ? f->reqntid : f->maxntid),
        .reqntid = {f->reqntid[0], f->reqntid[1], f->reqntid[2]},
        .uses_grid_sync = l->uses_grid_sync,
        .uses_dynamic = l->uses_dynamic,
        .uses_tensor = l->uses_tensor,
        .cancels = l->cancels,
        .cluster = {.dims = {f->reqnctapercluster[0], f->reqnctapercluster[1], f->reqnctapercluster[2]},
                    .max = f->maxclusterrank,
                    .must_be_set = f->cluster_dim_explicit,
                    .grid_of_clusters = f->blocks_are_clusters},
        .launches = l->launches,
        .may_wait = l->may_wait || l->has_indirect || l->funcs.n > 1,
    };
}

int lir_lower_kernel(const struct ptx_module *m, const char *kernel, void **image, size_t *size, struct ptx_diag *diag)
{
    struct ptx_diag unused;
    struct lir_lower *l = malloc(sizeof *l);
    const struct ptx_func *f = ptx_module_func(m, kernel);
    volatile int result = -1; /* survives the longjmp of an error */
    *image = NULL;
    *size = 0;
    diag = diag ? diag : &unused;
    memset(diag, 0, sizeof *diag);
    strncpy(diag->what, kernel, sizeof diag->what - 1);
    if (!l || !f || !f->is_entry) {
        diag->nomem = !l;
        strcpy(diag->msg, l ? "no such kernel in the module" : "out of memory");
        free(l);
        return -1;
    }
    lir_lower_start(l, m, diag);
    if (!setjmp(l->out)) {
        bool targets = false;
        lir_string(l, "");
        lir_reach(l, f);
        for (uint32_t k = 0; k < l->reached.nfunc; k++) {
            lower_function(l, k);
            if (l->has_indirect && !targets)
                lir_reach_targets(l);
            targets = l->has_indirect;
        }
        l->at = NULL;
        if (l->shared_top > LIR_SHARED_STATIC + (l->reserved ? LIR_SHARED_RESERVED : 0))
            lir_refuse(l, "%llu bytes of static shared memory; at most %u", (unsigned long long)l->shared_top,
                       LIR_SHARED_STATIC);
        finish_kernel(l, f);
        lir_write_image(l, image, size);
        result = 0;
    }
    lir_lower_free(l);
    free(l);
    return result;
}
