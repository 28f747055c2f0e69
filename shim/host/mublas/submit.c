/* Puts calls of the CPU muBLAS on their streams. */
#include <string.h>

#include "host/maths/submit.h"
#include "host/mublas/mublas.h"

mublasStatus_t mublas_scalars(mublasHandle_t h, struct mublas_call *c, const void *alpha, size_t alpha_size,
                              const void *beta, size_t beta_size)
{
    if ((alpha_size && !alpha) || (beta_size && !beta))
        return MUBLAS_STATUS_INVALID_POINTER;
    if (mublas_on_device(h)) {
        c->alpha_at = alpha;
        c->beta_at = beta;
        return MUBLAS_STATUS_SUCCESS;
    }
    memcpy(&c->alpha, alpha, alpha_size);
    if (beta_size)
        memcpy(&c->beta, beta, beta_size);
    return MUBLAS_STATUS_SUCCESS;
}

static void run(const void *call)
{
    const struct mublas_call *c = call;
    c->run(c);
}

/* Operands that can be nowhere are rare; a call is a few hundred bytes. */
static const struct mublas_call *with_places(const struct mublas_call *c, struct mublas_call *copy)
{
    const void *const at[] = {c->a.at, c->b.at, c->c.at, c->alpha_at, c->beta_at, c->result, c->ints, c->info};
    bool good = true;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        good &= !at[i] || !maths_beyond(at[i]);
    if (good)
        return c;
    *copy = *c;
    copy->a.at = maths_operand(c->a.at);
    copy->b.at = maths_operand(c->b.at);
    copy->c.at = maths_operand(c->c.at);
    copy->alpha_at = maths_operand(c->alpha_at);
    copy->beta_at = maths_operand(c->beta_at);
    copy->result = maths_operand(c->result);
    copy->ints = maths_operand(c->ints);
    copy->info = maths_operand(c->info);
    return copy;
}

mublasStatus_t mublas_submit(mublasHandle_t h, const struct mublas_call *given, double work)
{
    struct mublas_call copy;
    const struct mublas_call *c = with_places(given, &copy);
    switch (maths_submit(mublas_stream(h), (struct maths_work){MATHS_LIBRARY, run, NULL}, c, sizeof *c, work)) {
    case musaSuccess: return MUBLAS_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUBLAS_STATUS_MEMORY_ERROR;
    default: return MUBLAS_STATUS_INTERNAL_ERROR;
    }
}

mublasStatus_t mublas_submit_result(mublasHandle_t h, const struct mublas_call *c, double work)
{
    mublasStatus_t r = mublas_submit(h, c, work);
    if (!r && !mublas_on_device(h) && musaStreamSynchronize(mublas_stream(h)))
        r = MUBLAS_STATUS_INTERNAL_ERROR;
    return r;
}

static const void *member(const struct mublas_call *c, const struct mublas_operand *o, int i, size_t size)
{
    if (!o->at)
        return NULL;
    if (c->pointers)
        return maths_member(((const void *const *)o->at)[i]);
    return (const char *)o->at + (long long)size * o->stride * i;
}

void mublas_each(const struct mublas_call *c, const size_t size[3], void (*one)(const struct mublas_call *))
{
    struct mublas_call each = *c;
    for (int i = 0; i < c->batch; i++) {
        each.a.at = member(c, &c->a, i, size[0]);
        each.b.at = member(c, &c->b, i, size[1]);
        each.c.at = member(c, &c->c, i, size[2]);
        one(&each);
    }
}
