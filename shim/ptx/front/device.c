/* CUDA's device runtime as PTX of ours: functions that programs declare and libcudadevrt would define. Each puts its
 * arguments into an array of 64-bit words and calls __cumu_device, which all back ends have or refuse. */
#include "ptx/front/front.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 4096 };

static const struct {
    const char *name;
    char result;
    const char *params;
} calls[] = {
#define DEVICE_CALL(name, result, params) {#name, #result[0], params},
#include "ptx/device_calls.def"
#undef DEVICE_CALL
};

const char ptx_device_call[] = ".extern .func (.param .b64 out) __cumu_device(.param .b32 call, .param .b64 args);\n";

static const struct kind {
    char letter;
    unsigned char words, size, align; /* size: of a word */
} kinds[] = {{'i', 1, 4, 4}, {'l', 1, 8, 8}, {'d', 3, 4, 4}, {'p', 4, 8, 8}, {'e', 3, 8, 8}};

static const struct kind *kind_of(char letter)
{
    const struct kind *k = kinds;
    while (k->letter != letter)
        k++;
    return k;
}

/* The call of this name, or -1. */
static int find(const char *name)
{
    static const char cdp2[] = "__cudaCDP2", one[] = "cuda", per_thread[] = "_ptsz";
    const bool second = !strncmp(name, cdp2, sizeof cdp2 - 1);
    if (!second && strncmp(name, one, sizeof one - 1) != 0)
        return -1;
    name += second ? sizeof cdp2 - 1 : sizeof one - 1;
    size_t len = strlen(name), end = sizeof per_thread - 1;
    if (len > end && !strcmp(name + len - end, per_thread))
        len -= end; /* a block has one default stream either way */
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
        if (strlen(calls[k].name) == len && !memcmp(calls[k].name, name, len))
            return (int)k;
    return -1;
}

static uint64_t size_of(const struct ptx_var *v) { return v->size ? v->size : ptx_type_size(v->type); }

static bool declared_so(const struct ptx_func *f, int call)
{
    const char *params = calls[call].params;
    if (f->is_entry || f->nparam != strlen(params) || f->nret != 1 || f->params_in_regs ||
        size_of(&f->ret[0]) != kind_of(calls[call].result)->size)
        return false;
    for (uint32_t k = 0; k < f->nparam; k++)
        if (size_of(&f->param[k]) != (uint64_t)kind_of(params[k])->words * kind_of(params[k])->size)
            return false;
    return true;
}

/* What the text is put together in. */
struct text {
    char at[TEXT];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
    va_end(args);
    t->n += n > 0 ? (size_t)n : 0;
}

char *ptx_device_function(struct ptx_ctx *c, const struct ptx_func *f)
{
    int call = find(f->name);
    if (call < 0 || !declared_so(f, call))
        return NULL;
    struct text t = {.n = 0};
    unsigned words = 0;
    put(&t, ".func (.param .b%u out) %s(", 8u * kind_of(calls[call].result)->size, f->name);
    for (uint32_t k = 0; k < f->nparam; k++) {
        const struct kind *kind = kind_of(calls[call].params[k]);
        if (kind->words == 1)
            put(&t, "%s.param .b%u p%u", k ? ", " : "", 8u * kind->size, k);
        else
            put(&t, "%s.param .align %u .b8 p%u[%u]", k ? ", " : "", kind->align, k, kind->words * kind->size);
    }
    put(&t,
        ")\n{\n.local .align 8 .b8 args[128];\n.reg .b32 %%r;\n.reg .b64 %%d<2>;\n.param .b32 q0;\n.param .b64 q1;\n"
        ".param .b64 res;\n");
    for (uint32_t k = 0; k < f->nparam; k++) {
        const struct kind *kind = kind_of(calls[call].params[k]);
        for (unsigned w = 0; w < kind->words; w++, words++)
            put(&t, "ld.param.u%u %%d0, [p%u+%u];\nst.local.u64 [args+%u], %%d0;\n", 8u * kind->size, k, w * kind->size,
                8 * words);
    }
    put(&t,
        "st.param.b32 [q0], %u;\nmov.u64 %%d0, args;\ncvta.local.u64 %%d0, %%d0;\nst.param.b64 [q1], %%d0;\n"
        "call.uni (res), __cumu_device, (q0, q1);\nld.param.b64 %%d1, [res];\n",
        (unsigned)call);
    if (calls[call].result == 'l')
        put(&t, "st.param.b64 [out], %%d1;\nret;\n}\n");
    else
        put(&t, "cvt.u32.u64 %%r, %%d1;\nst.param.b32 [out], %%r;\nret;\n}\n");
    return ptx_strdup(c, t.at, t.n);
}
