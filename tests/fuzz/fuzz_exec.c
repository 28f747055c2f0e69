/* Fuzz target of tier 0's execution: kernels without loops, calls and addresses of their own making
 * are run on a block, so that every handler meets whatever operands, modifiers and masks the front
 * end lets through. */
#include "ptx/tier0/tier0.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_SHARED = 1 << 16, MOST_LOCAL = 1 << 14, MOST_PARAMS = 4096 };

static void *heap(void *ctx, size_t size) { return alloc(ctx, size, 16); }
static void print(void *ctx, const char *text, size_t len) { (void)ctx, (void)text, (void)len; }
static void assertion(void *ctx, const struct t0_fault *fault) { (void)ctx, (void)fault; }
static bool release_heap(void *ctx, void *p)
{
    release(ctx, p);
    return true;
}
static const struct t0_env env = {.global_alloc = alloc,
                                  .global_free = release,
                                  .dev_malloc = heap,
                                  .dev_free = release_heap,
                                  .print = print,
                                  .assertion = assertion};

/* Shared memory is checked by tier 0; any other address would be the program's own fault. */
static bool is_tame(const struct ptx_func *f)
{
    for (uint32_t k = 0; k < f->ninstr; k++) {
        const struct ptx_instr *in = &f->instr[k];
        switch (in->op) {
        case PTX_OP_CALL:
        case PTX_OP_BRX:
        case PTX_OP_NANOSLEEP: return false;
        case PTX_OP_BRA:
            if (f->label_instr[in->src[0].reg] <= (int32_t)k)
                return false;
            break;
        default: break;
        }
        for (unsigned i = 0; i < in->nsrc; i++)
            if (in->src[i].kind == PTX_O_ADDR &&
                !(in->space == PTX_SP_SHARED || (in->space == PTX_SP_PARAM && in->src[i].reg < 0)))
                return false;
        for (unsigned i = 0; i < in->ndst; i++)
            if (in->dst[i].kind == PTX_O_ADDR && in->space != PTX_SP_SHARED)
                return false;
    }
    return true;
}

static void run(const struct ptx_module *m, struct ptx_func *f, unsigned which)
{
    static const uint32_t blocks[][3] = {{32, 1, 1}, {16, 5, 1}, {64, 1, 1}, {7, 3, 1}};
    static uint8_t params[MOST_PARAMS];
    static struct t0_worker *worker;
    struct ptx_diag diag;
    struct t0_kernel_info info;
    struct t0_fault fault = {0};
    void *image;
    size_t size;
    const char *why = NULL;
    if (ptx_func_parse(f, &diag) || !is_tame(f) || lir_lower_kernel(m, f->name, &image, &size, &diag))
        return;
    for (unsigned k = 0; lir_image_extern(image, k); k++)
        lir_image_bind(image, k, 4096);
    struct t0_module *t = t0_module_load(image, size, &env, &why);
    free(image);
    struct t0_kernel *kernel = t ? t0_module_kernel(t, f->name) : NULL;
    if (kernel)
        t0_kernel_info(kernel, &info);
    if (kernel && info.param_size <= MOST_PARAMS && info.shared_size <= MOST_SHARED && info.local_size <= MOST_LOCAL) {
        struct t0_grid g = {.kernel = kernel, .grid = {1, 1, 1}, .params = params, .env = &env, .grid_id = 1, .nsm = 1};
        memcpy(g.block, blocks[which % 4], sizeof g.block);
        if (!worker)
            worker = t0_worker_new(0);
        (void)t0_block_run(worker, &g, 0, &fault);
    }
    t0_module_unload(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_diag diag;
    struct ptx_module *m = ptx_module_open((const char *)data, size, &diag);
    for (uint32_t i = 0; m && i < m->nfunc; i++)
        if (m->func[i].is_entry && !m->func[i].is_decl)
            run(m, &m->func[i], data[size / 2] + i);
    ptx_module_close(m);
    return 0;
}
