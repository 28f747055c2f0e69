/* Executions of the CPU muFFT's plans, put on streams. */
#include "host/maths/submit.h"
#include "host/mufft/mufft.h"

struct call {
    struct mufft_plan *plan;
    const struct mufft_way *way;
    void *in, *out;
};

static void run(const void *call)
{
    const struct call *c = call;
    mufft_run(c->plan, c->way, c->in, c->out);
}
static void drop(const void *call) { mufft_plan_release(((const struct call *)call)->plan); }

static mufftResult submit(struct mufft_handle *h, struct call *c)
{
    atomic_fetch_add(&c->plan->references, 1);
    switch (maths_submit(h->stream, (struct maths_work){MATHS_LIBRARY, run, drop}, c, sizeof *c, c->plan->work)) {
    case musaSuccess: return MUFFT_SUCCESS;
    case musaErrorMemoryAllocation: return MUFFT_ALLOC_FAILED;
    default: return MUFFT_EXEC_FAILED;
    }
}

/* `type` 0: any. */
static mufftResult execute(mufftHandle handle, mufftType type, void *in, void *out, int direction)
{
    struct mufft_handle *h = mufft_live(handle);
    struct mufft_plan *p = h ? h->plan : NULL;
    if (!p || (type && (p->shape.narrow || type != p->shape.type)))
        return MUFFT_INVALID_PLAN;
    bool both_ways = mufft_kind(p->shape.type) == MUFFT_C2C;
    if (!in || !out || (both_ways && direction != MUFFT_FORWARD && direction != MUFFT_INVERSE))
        return MUFFT_INVALID_VALUE;
    unsigned use = mufft_use_of(p, in, out) | (both_ways && direction == MUFFT_INVERSE ? MUFFT_INVERSE_USE : 0);
    struct call c = {.plan = p, .way = mufft_way_for(p, use), .in = maths_operand(in), .out = maths_operand(out)};
    return c.way ? submit(h, &c) : MUFFT_EXEC_FAILED;
}

mufftResult mufftXtExec(mufftHandle plan, void *in, void *out, int direction)
{
    return execute(plan, 0, in, out, direction);
}

#define BOTH_WAYS(name, T) \
    mufftResult mufftExec##name(mufftHandle plan, T *in, T *out, int direction) \
    { \
        return execute(plan, MUFFT_##name, in, out, direction); \
    }
BOTH_WAYS(C2C, mufftComplex)
BOTH_WAYS(Z2Z, mufftDoubleComplex)

#define ONE_WAY(name, I, O) \
    mufftResult mufftExec##name(mufftHandle plan, I *in, O *out) { return execute(plan, MUFFT_##name, in, out, 0); }
ONE_WAY(R2C, mufftReal, mufftComplex)
ONE_WAY(C2R, mufftComplex, mufftReal)
ONE_WAY(D2Z, mufftDoubleReal, mufftDoubleComplex)
ONE_WAY(Z2D, mufftDoubleComplex, mufftDoubleReal)
