/* Tier 1 emitter: a kernel that is written twice, once for what its launches commonly have as parameters and once for
 * any. What is common: strides of elements that follow one another (stride.c), divisors that are multiples of a warp's
 * lanes (divisor.c). */
#include "ptx/tier1/emit/emit.h"

enum { /* instructions of such a kernel, as the compiler's time grows with them; those that divide gain more */
       MOST_STRIDED = 600,
       MOST_DIVIDED = 2000
};

/* Strides where the analysis finds some without an assumption, which more assumptions must not spoil; else divisors,
 * and what strides stand behind them. */
static uint32_t find(const struct ptx_func *f, bool divided, struct ptx_given given[T1_MOST_GIVEN])
{
    struct ptx_given divisor[T1_MOST_GIVEN];
    uint32_t n = t1_find_strides(f, given);
    if (n && !divided)
        return f->ninstr > MOST_STRIDED ? 0 : n;
    const uint32_t more = t1_find_divisors(f, divisor);
    n = more ? n : 0;
    for (uint32_t k = 0; k < more; k++) {
        uint32_t at = 0;
        while (at < n && given[at].offset != divisor[k].offset)
            at++;
        if (at < T1_MOST_GIVEN)
            given[at] = divisor[k];
        n = at < n || at == T1_MOST_GIVEN ? n : at + 1;
    }
    return n;
}

uint32_t t1_find_given(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN])
{
    return f->ninstr > MOST_DIVIDED ? 0 : find(f, false, given);
}

bool t1_find_more(const struct ptx_func *f, struct ptx_given given[T1_MOST_GIVEN], uint32_t *ngiven)
{
    struct ptx_given next[T1_MOST_GIVEN];
    bool divided = false;
    for (uint32_t k = 0; k < *ngiven; k++)
        divided |= given[k].kind == PTX_GIVEN_WARPS;
    const uint32_t n = divided ? find(f, true, next) : *ngiven;
    if (n <= *ngiven)
        return false;
    memcpy(given, next, n * sizeof *next);
    *ngiven = n;
    return true;
}

const char *t1_given(struct t1_emit *e)
{
    const char *all = "1";
    for (uint32_t k = 0; k < e->ngiven; k++) {
        const struct ptx_given *g = &e->given[k];
        const char *p = t1_kernel_param(e, g->offset, g->size == 8 ? "u64" : "u32");
        all = g->kind == PTX_GIVEN_VALUE ? t1_str(e, "%s && %s == %d", all, p, (int)g->value)
                                         : t1_str(e, "%s && %s %% 32 == 0 && %s - 1 < %d", all, p, p, PTX_MOST_GIVEN);
        if (g->prepared)
            all = t1_str(e, "%s && t1_prepared(%s, %s, %s)", all, p, t1_kernel_param(e, g->magic, "u32"),
                         t1_kernel_param(e, g->shift, "u32"));
    }
    return all;
}

void t1_put_choice(struct t1_emit *e)
{
    bool divided = false;
    for (uint32_t k = 0; k < e->ngiven; k++)
        divided |= e->given[k].kind == PTX_GIVEN_WARPS;
    e->text.n = 0;
    t1_put(e, "T1_KERNEL t1_kernel" T1_KERNEL_PARAMETERS "\n{\nif (T1_LIKELY(args->given");
    if (divided)
        t1_put(e, " && g->nctaid[0] <= %d", PTX_FEW_BLOCKS);
    t1_put(e, ")) t1_kernel_rows(b, g, args, warp, live);\nelse t1_kernel_any(b, g, args, warp, live);\n}\n");
    t1_write(e, &e->top, e->text.p, e->text.n);
}
