/* Lanes of one warp that wait for each other, as programs write it (progress.c). nvcc -ptx -arch=compute_75 makes
 * progress.ptx; with -G -DFEW progress_debug.ptx, less its debug sections and .loc lines. */
typedef unsigned u32;

struct state {
    u32 lock, ticket, serving, sum, flag[64], lock2[8];
};

/* the programming guide's mutex */
__device__ void guide_lock(u32 *m)
{
    u32 ns = 8;
    while (atomicCAS(m, 0, 1) == 1) {
        __nanosleep(ns);
        if (ns < 256)
            ns *= 2;
    }
}
__device__ void guide_unlock(u32 *m) { atomicExch(m, 0); }

extern "C" __global__ void guide(u32 *out, state *s, u32 n)
{
    guide_lock(&s->lock);
    u32 x = *(volatile u32 *)&s->sum;
    *(volatile u32 *)&s->sum = x + 1;
    __threadfence();
    guide_unlock(&s->lock);
    out[threadIdx.x] = 1;
}

#ifndef FEW
/* what is compared is computed, and so is what is put there */
extern "C" __global__ void computed(u32 *out, state *s, u32 n)
{
    u32 open = n & 0, mine = threadIdx.x + 1 + n;
    while (atomicCAS(&s->lock, open, mine) != open)
        ;
    u32 x = *(volatile u32 *)&s->sum;
    *(volatile u32 *)&s->sum = x + 1;
    __threadfence();
    atomicExch(&s->lock, open);
    out[threadIdx.x] = 1;
}

#endif
/* a ticket lock whose turn is read by an atomic that changes nothing */
extern "C" __global__ void ticket(u32 *out, state *s, u32 n)
{
    u32 t = atomicAdd(&s->ticket, 1);
    while (atomicAdd(&s->serving, 0) != t)
        ;
    u32 x = *(volatile u32 *)&s->sum;
    *(volatile u32 *)&s->sum = x + 1;
    __threadfence();
    atomicAdd(&s->serving, 1);
    out[threadIdx.x] = 1;
}

/* odd lanes wait for what even ones put there, which stands behind the wait in the text */
extern "C" __global__ void pairs(u32 *out, state *s, u32 n)
{
    u32 t = threadIdx.x, got = 0;
    if (t & 1) {
        while ((got = *(volatile u32 *)&s->flag[t - 1]) == 0)
            ;
    } else {
        *(volatile u32 *)&s->flag[t] = t + 1;
    }
    out[t] = t & 1 ? got == t : 1;
    if (!(t & 1))
        atomicAdd(&s->sum, 2);
}

#ifndef FEW
/* a plain load that fences keep in the loop; lane 31 tells all others */
extern "C" __global__ void fenced(u32 *out, state *s, u32 n)
{
    u32 t = threadIdx.x;
    if ((t & 31) != 31) {
        while (s->flag[t / 32] == 0)
            __threadfence();
        atomicAdd(&s->sum, 1);
    } else {
        s->flag[t / 32] = 1;
        __threadfence();
        atomicAdd(&s->sum, 1);
    }
    out[t] = 1;
}

#endif
/* the flag that ends the loop is set by control, not by data */
extern "C" __global__ void done_flag(u32 *out, state *s, u32 n)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(&s->lock, 0, 1) == 0) {
            u32 x = *(volatile u32 *)&s->sum;
            *(volatile u32 *)&s->sum = x + 1;
            __threadfence();
            done = true;
            atomicExch(&s->lock, 0);
        }
    }
    out[threadIdx.x] = 1;
}

#ifndef FEW
/* hand over hand through a chain of locks, inside a divergent if */
extern "C" __global__ void hand_over_hand(u32 *out, state *s, u32 n)
{
    u32 t = threadIdx.x;
    if (t % 3 != 0) {
        while (atomicExch(&s->lock2[0], 1) != 0)
            ;
        for (u32 k = 0; k < 7; k++) {
            while (atomicExch(&s->lock2[k + 1], 1) != 0)
                ;
            *(volatile u32 *)&s->flag[k] += 1;
            __threadfence();
            atomicExch(&s->lock2[k], 0);
        }
        atomicExch(&s->lock2[7], 0);
    }
    atomicAdd(&s->sum, 1);
    out[t] = 1;
}

/* try-lock with backoff by clocks */
extern "C" __global__ void backoff(u32 *out, state *s, u32 n)
{
    for (u32 round = 0; round < 2; round++) {
        u32 wait = 1 + (threadIdx.x & 3);
        for (;;) {
            if (atomicOr(&s->lock, 1) == 0)
                break;
            for (u32 k = 0; k < wait; k++)
                __nanosleep(1);
            wait = wait < 16 ? wait * 2 : 16;
        }
        u32 x = *(volatile u32 *)&s->sum;
        *(volatile u32 *)&s->sum = x + 1;
        __threadfence();
        atomicAnd(&s->lock, 0);
    }
    out[threadIdx.x] = 1;
}

__device__ __noinline__ void far_lock(u32 *m)
{
    while (atomicMax(m, 1) != 0)
        ;
}
__device__ __noinline__ void far_unlock(u32 *m) { atomicExch(m, 0); }

/* the lock is taken in a function that is called */
extern "C" __global__ void called(u32 *out, state *s, u32 n)
{
    far_lock(&s->lock);
    u32 x = *(volatile u32 *)&s->sum;
    *(volatile u32 *)&s->sum = x + 1;
    __threadfence();
    far_unlock(&s->lock);
    out[threadIdx.x] = 1;
}

/* nobody waits here: a retry ends by its own doing, and so does a queue */
extern "C" __global__ void retry(u32 *out, state *s, u32 n)
{
    u32 old = s->sum, assumed;
    do {
        assumed = old;
        old = atomicCAS(&s->sum, assumed, assumed + (threadIdx.x & 1) + 1);
    } while (assumed != old);
    atomicAdd(&s->ticket, 1);
    out[threadIdx.x] = 1;
}
extern "C" __global__ void queue(u32 *out, state *s, u32 n)
{
    u32 i;
    while ((i = atomicAdd(&s->ticket, 1)) < n)
        atomicAdd(&out[i & 63], 1);
    atomicAdd(&s->sum, 1);
}
#endif
