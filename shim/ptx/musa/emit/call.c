/* The MUSA emitter: the kernel's parameters, functions and calls. Arguments and results are bytes of a
 * function's slot, as in the interpreter; a function says whether its thread has ended. */
#include "ptx/musa/emit/emit.h"

#include <string.h>

bool mu_param_scalar(const struct ptx_var *v)
{
    return v->size && v->size <= 8 && !(v->size & (v->size - 1)) && v->align <= v->size;
}

const struct ptx_var *mu_param_at(struct mu_emit *e, uint64_t offset, uint32_t *index, uint32_t *rest)
{
    for (uint32_t k = 0; k < e->entry->nparam; k++) {
        const struct ptx_var *v = &e->entry->param[k];
        if (offset < v->offset || offset - v->offset >= (v->size ? v->size : 1))
            continue;
        *index = k;
        *rest = (uint32_t)(offset - v->offset);
        return v;
    }
    return NULL;
}

void mu_params(struct mu_emit *e)
{
    for (uint32_t k = 0; k < e->entry->nparam; k++) {
        const struct ptx_var *v = &e->entry->param[k];
        mu_put(e, k ? ", " : "");
        if (mu_param_scalar(v))
            mu_put(e, "u%u a%u", 8 * (unsigned)v->size, k);
        else
            mu_put(e, "blob<%u, %u> a%u", (unsigned)v->size, v->align ? v->align : 1, k);
    }
}

void mu_signature(struct mu_emit *e, uint32_t function, const char *end)
{
    mu_put(e, "CM_CALLED int call_%u(const u8 *in, u8 *out)%s", function, end);
}

/* copies n bytes of the same place */
static void move(struct mu_emit *e, const char *to, uint32_t at, const char *from, uint32_t source, uint32_t n)
{
    for (uint32_t k = 0; k < n;) {
        uint32_t size = 8;
        while (size > n - k || (at + k) % size || (source + k) % size)
            size /= 2;
        mu_put(e, "*(m%u *)(%s + %u) = *(const m%u *)(%s + %u);\n", 8 * size, to, at + k, 8 * size, from, source + k);
        k += size;
    }
}

static bool fits(const struct lir_fn *f, const struct lir_call *c, uint32_t bytes)
{
    return f->param_size == bytes && f->ret_size == c->ret_size;
}

void mu_call(struct mu_emit *e)
{
    const struct lir_call *c = LIR_AT(e->image, calls, struct lir_call) + e->at->imm;
    const struct lir_arg *arg = LIR_AT(e->image, args, struct lir_arg) + c->first;
    const struct lir_fn *fn = LIR_AT(e->image, funcs, struct lir_fn);
    const char *leave = e->function ? "return 1" : "return";
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < c->narg; k++)
        bytes = arg[k].dst + arg[k].size > bytes ? arg[k].dst + arg[k].size : bytes;
    mu_put(e, "{\nalignas(16) u8 in[%u], out[%u];\n", bytes + 16, c->ret_size + 16);
    for (uint32_t k = 0; k < c->narg; k++)
        move(e, "in", arg[k].dst, "slot", arg[k].src, arg[k].size);
    if (c->fn != LIR_NONE) {
        mu_put(e, "if (call_%u(in, out))\n%s;\n", c->fn, leave);
    } else { /* a function's address is a number; which functions there are is known */
        mu_put(e, "switch (%s) {\n", mu_get(e, c->target, 'l').s);
        for (uint32_t k = 1; k < e->image->funcs.count; k++)
            if (fits(&fn[k], c, bytes))
                mu_put(e, "case 0x%llxull: if (call_%u(in, out)) %s; break;\n",
                       (unsigned long long)(LIR_FUNC_TAG | fn[k].ordinal), k, leave);
        mu_put(e, "default: trap(); %s;\n}\n", leave);
    }
    move(e, "slot", c->ret, "out", 0, c->ret_size);
    mu_put(e, "}\n");
}

void mu_syscall(struct mu_emit *e)
{
    const struct lir_call *c = LIR_AT(e->image, calls, struct lir_call) + e->at->imm;
    const struct lir_arg *arg = LIR_AT(e->image, args, struct lir_arg) + c->first;
    struct mu_str a[5];
    for (uint32_t k = 0; k < 5; k++)
        snprintf(a[k].s, sizeof a[k].s, k < c->narg ? "*(m%u *)(slot + %u)" : "0",
                 k < c->narg && arg[k].size < 8 ? 32 : 64, k < c->narg ? arg[k].src : 0);
    const uint32_t bits = c->ret_size < 8 ? 32 : 64;
    switch (c->syscall) {
    case LIR_SYS_VPRINTF: mu_put(e, "*(m%u *)(slot + %u) = print(%s, %s);\n", bits, c->ret, a[0].s, a[1].s); return;
    case LIR_SYS_ASSERT:
        mu_put(e, "assert_fail(%s, %s, %s, %s);\nreturn%s;\n", a[0].s, a[1].s, a[2].s, a[3].s, e->function ? " 1" : "");
        return;
    case LIR_SYS_MALLOC: mu_put(e, "*(m%u *)(slot + %u) = heap_alloc(%s);\n", bits, c->ret, a[0].s); return;
    case LIR_SYS_FREE: mu_put(e, "heap_free(%s);\n", a[0].s); return;
    case LIR_SYS_DEVICE:
        mu_fail(e, "call of `%s`: MUSA devices have no kernels that launch kernels (dynamic parallelism)",
                LIR_AT(e->image, strings, char) + LIR_AT(e->image, funcs, struct lir_fn)[c->caller].name);
    default: mu_fail(e, "a device runtime function that MUSA does not have");
    }
}
