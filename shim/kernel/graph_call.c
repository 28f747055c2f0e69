/* Kernel calls of graph nodes: the translated kernel with a copy of its arguments. */
#include "kernel/graph.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/jit.h"

enum { ALIGN = 64 }; /* the most that a parameter's type asks for */

/* A packed argument buffer, as `extra` names it. */
static int read_extra(void **extra, const char **buffer, size_t *size)
{
    *buffer = NULL;
    *size = 0;
    for (; *extra != CUMU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CUMU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (extra[0] == CUMU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            *size = *(size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

int cumu_args_unpack(const struct ptx_func *ptx, void **extra, void **args)
{
    const char *buffer = NULL;
    size_t size = 0;
    int err = read_extra(extra, &buffer, &size);
    for (unsigned i = 0; !err && i < ptx->nparam; i++) {
        args[i] = (void *)(uintptr_t)(buffer + ptx->param[i].offset);
        if (!buffer || ptx->param[i].offset + ptx->param[i].size > size)
            err = CUDA_ERROR_INVALID_VALUE;
    }
    return err;
}

static int copy_args(struct cumu_call *c, const struct ptx_func *ptx, char *to, void **args, void **extra)
{
    void **own = c->launch.kernelParams;
    if (args && extra)
        return CUDA_ERROR_INVALID_VALUE;
    int err = extra ? cumu_args_unpack(ptx, extra, own) : CUDA_SUCCESS;
    for (unsigned i = 0; !err && i < ptx->nparam; i++) {
        const void *from = extra ? own[i] : args ? args[i] : NULL;
        if (!from)
            return CUDA_ERROR_INVALID_VALUE;
        own[i] = memcpy(to + ptx->param[i].offset, from, ptx->param[i].size);
    }
    return err;
}

/* One allocation: the call, the pointers to its arguments, the arguments with the offsets that the kernel's
 * parameters have, so that both forms of a launch's arguments are copied in the same way. */
int cumu_call_new(struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra, struct cumu_call **out)
{
    struct func_inst *inst;
    int err = cumu_func_inst(f, &inst);
    if (!err)
        err = cumu_launch_fits(f, inst, l);
    if (err)
        return err;
    const struct ptx_func *ptx = f->ptx;
    size_t head = sizeof(struct cumu_call) + ptx->nparam * sizeof(void *), data = 0;
    head = (head + ALIGN - 1) / ALIGN * ALIGN;
    for (unsigned i = 0; i < ptx->nparam; i++)
        if (ptx->param[i].offset + ptx->param[i].size > data)
            data = ptx->param[i].offset + ptx->param[i].size;
    struct cumu_call *c = aligned_alloc(ALIGN, head + (data + ALIGN - 1) / ALIGN * ALIGN);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&c->refs, 1);
    c->func = f;
    c->cooperative = l->cooperative;
    c->nparam = ptx->nparam;
    c->data = (char *)c + head;
    c->bytes = data;
    c->launch = (MUSA_KERNEL_NODE_PARAMS){.func = l->cooperative ? inst->function
                                                                 : cumu_jit_function(f, inst, l->block),
                                          .gridDimX = l->grid.x,
                                          .gridDimY = l->grid.y,
                                          .gridDimZ = l->grid.z,
                                          .blockDimX = l->block.x,
                                          .blockDimY = l->block.y,
                                          .blockDimZ = l->block.z,
                                          .sharedMemBytes = (unsigned)l->shared + f->front,
                                          .kernelParams = (void **)(c + 1)};
    err = copy_args(c, ptx, c->data, args, extra);
    if (err) {
        free(c);
        return err;
    }
    *out = c;
    return CUDA_SUCCESS;
}

void cumu_call_drop(struct cumu_call *c)
{
    if (c && atomic_fetch_sub(&c->refs, 1) == 1)
        free(c);
}

/* ---- which kernel, and how it is run --------------------------------------------------------- */

static struct func_inst *inst_behind(struct cumu_func *f, MUfunction mf)
{
    for (struct func_inst *i = atomic_load_explicit(&f->inst, memory_order_acquire); i; i = i->next) {
        if (!atomic_load(&i->ctx))
            continue;
        if (i->function == mf)
            return i;
        for (unsigned s = 0; s < T1_NSHAPES; s++)
            if (atomic_load(&i->fast[s]) == mf)
                return i;
    }
    return NULL;
}

bool cumu_call_compiling(const struct cumu_call *c, MUfunction *now)
{
    struct cumu_func *f = cumu_as_func(c->func); /* its module may have been unloaded since */
    struct func_inst *i = f && !c->cooperative ? inst_behind(f, c->launch.func) : NULL;
    *now = c->launch.func;
    if (!i || i->function != c->launch.func)
        return false;
    dim3 block = {c->launch.blockDimX, c->launch.blockDimY, c->launch.blockDimZ};
    enum t1_shape shape = t1_shape((uint32_t[3]){block.x, block.y, block.z});
    *now = cumu_jit_function(f, i, block);
    return *now == i->function && atomic_load(&i->jit[shape]) != CUMU_JIT_SETTLED;
}

struct behind {
    MUfunction function;
    MUcontext *ctx;
};

static bool is_behind(struct cumu_func *f, void *arg)
{
    const struct behind *b = arg;
    struct func_inst *i = inst_behind(f, b->function);
    if (i)
        *b->ctx = atomic_load(&i->ctx);
    return i != NULL;
}

struct cumu_func *cumu_func_behind(MUfunction mf, MUcontext *ctx)
{
    return cumu_func_search(is_behind, &(struct behind){mf, ctx});
}
