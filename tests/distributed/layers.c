/* Training steps of linear layers, split by data, by shards of the parameters, by tensors; activations on the host. */
#include "ranks.h"

#include <time.h>

struct net { /* two layers, h x in and out x h, one behind the other */
    int in, h, out;
};

static size_t first(const struct net *t) { return (size_t)t->h * (size_t)t->in; }
static size_t parameters(const struct net *t) { return first(t) + (size_t)t->out * (size_t)t->h; }

/* The gradient of half the squared difference to `target`, of a batch of b columns. */
static void gradient(struct rank *r, const struct net *t, const double *w, const double *x, const double *target, int b,
                     double *g)
{
    double *y1 = room(r, (size_t)(t->h * b)), *d2 = room(r, (size_t)(t->out * b)), *d1 = room(r, (size_t)(t->h * b));
    multiply(r, 0, 0, t->h, b, t->in, w, x, y1, false);
    multiply(r, 0, 0, t->out, b, t->h, w + first(t), y1, d2, false);
    add(r, (size_t)(t->out * b), -1, target, d2);
    multiply(r, 0, 1, t->out, t->h, b, d2, y1, g + first(t), false);
    multiply(r, 1, 0, t->h, b, t->out, w + first(t), d2, d1, false);
    multiply(r, 0, 1, t->h, t->in, b, d1, x, g, false);
}

/* Parameters lie in shards over a group of s ranks and as copies over the n / s groups; s = n is FSDP, s < n HSDP. Each
 * step gathers them, computes, scatters the gradient's sum over the shards, sums it over the copies. */
void data_parallel(struct rank *r)
{
    for (int s = 1; s <= r->n; s++) {
        if (r->n % s)
            continue;
        const struct net t = {between(r, 1, SMALL), between(r, 1, SMALL), between(r, 1, SMALL)};
        const int b = between(r, 1, 3), all = b * r->n;
        const unsigned salt = draw(r);
        const size_t n = parameters(&t), each = (n + (size_t)s - 1) / (size_t)s, mine = each * (size_t)(r->me % s);
        const double rate = -1.0 / 64;
        ncclComm_t shards, copies;
        MUST(r, ncclCommSplit(r->comm, r->me / s, r->me, &shards, NULL) == 0);
        MUST(r, ncclCommSplit(r->comm, r->me % s, r->me, &copies, NULL) == 0);
        double *start = matrix(r, salt, each * (size_t)s), *x = matrix(r, salt + 1, (size_t)(t.in * all)),
               *target = matrix(r, salt + 2, (size_t)(t.out * all));
        double *w = room(r, each * (size_t)s), *g = room(r, each * (size_t)s), *shard = put(r, start + mine, each),
               *part = room(r, each);
        double *one = put(r, start, n), *one_g = room(r, n), *one_x = put(r, x, (size_t)(t.in * all)),
               *one_t = put(r, target, (size_t)(t.out * all));
        double *my_x = put(r, x + t.in * b * r->me, (size_t)(t.in * b)),
               *my_t = put(r, target + t.out * b * r->me, (size_t)(t.out * b));
        for (int step = 0; step < 2; step++) {
            MUST(r, ncclAllGather(shard, w, each, F64, shards, r->stream) == 0);
            gradient(r, &t, w, my_x, my_t, b, g);
            MUST(r, ncclReduceScatter(g, part, each, F64, SUM, shards, r->stream) == 0);
            MUST(r, ncclAllReduce(part, part, each, F64, SUM, copies, r->stream) == 0);
            add(r, each, rate, part, shard);
            gradient(r, &t, one, one_x, one_t, all, one_g);
            add(r, n, rate, one_g, one);
        }
        MUST(r, ncclAllGather(shard, w, each, F64, shards, r->stream) == 0);
        same(r, "parameters", w, got(r, one, n), n);
        MUST(r, ncclCommDestroy(shards) == 0 && ncclCommDestroy(copies) == 0);
    }
}

/* The first layer by its outputs, the second by its inputs, in unequal parts: one sum forward, one backward. */
void tensor_parallel(struct rank *r)
{
    const struct net t = {between(r, 1, SMALL), r->n + between(r, 0, SMALL), between(r, 1, SMALL)};
    const int b = between(r, 1, SMALL), even = t.h / r->n, rest = t.h % r->n;
    const int from = even * r->me + (r->me < rest ? r->me : rest), h = even + (r->me < rest);
    const unsigned salt = draw(r);
    double *w = matrix(r, salt, parameters(&t)), *x = matrix(r, salt + 1, (size_t)(t.in * b)),
           *target = matrix(r, salt + 2, (size_t)(t.out * b));
    const double *w1 = put(r, cut(r, w, t.h, from, h, 0, t.in), (size_t)(h * t.in));
    const double *w2 = put(r, cut(r, w + first(&t), t.out, 0, t.out, from, h), (size_t)(t.out * h));
    const double *dx = put(r, x, (size_t)(t.in * b)), *dt = put(r, target, (size_t)(t.out * b));
    double *y1 = room(r, (size_t)(h * b)), *d2 = room(r, (size_t)(t.out * b)), *d1 = room(r, (size_t)(h * b)),
           *g1 = room(r, (size_t)(h * t.in)), *g2 = room(r, (size_t)(t.out * h)), *back = room(r, (size_t)(t.in * b));
    multiply(r, 0, 0, h, b, t.in, w1, dx, y1, false);
    multiply(r, 0, 0, t.out, b, h, w2, y1, d2, false);
    MUST(r, ncclAllReduce(d2, d2, (size_t)(t.out * b), F64, SUM, r->comm, r->stream) == 0);
    add(r, (size_t)(t.out * b), -1, dt, d2);
    multiply(r, 0, 1, t.out, h, b, d2, y1, g2, false);
    multiply(r, 1, 0, h, b, t.out, w2, d2, d1, false);
    multiply(r, 0, 1, h, t.in, b, d1, dx, g1, false);
    multiply(r, 1, 0, t.in, b, h, w1, d1, back, false);
    MUST(r, ncclAllReduce(back, back, (size_t)(t.in * b), F64, SUM, r->comm, r->stream) == 0);

    double *one = put(r, w, parameters(&t)), *g = room(r, parameters(&t)), *y = room(r, (size_t)(t.h * b)),
           *d = room(r, (size_t)(t.out * b)), *e = room(r, (size_t)(t.h * b)), *want = room(r, (size_t)(t.in * b));
    gradient(r, &t, one, dx, dt, b, g);
    multiply(r, 0, 0, t.h, b, t.in, one, dx, y, false);
    multiply(r, 0, 0, t.out, b, t.h, one + first(&t), y, d, false);
    add(r, (size_t)(t.out * b), -1, dt, d);
    multiply(r, 1, 0, t.h, b, t.out, one + first(&t), d, e, false);
    multiply(r, 1, 0, t.in, b, t.h, one, e, want, false);
    const double *whole = got(r, g, parameters(&t));
    same(r, "the first layer's gradient", g1, cut(r, whole, t.h, from, h, 0, t.in), (size_t)(h * t.in));
    same(r, "the second layer's", g2, cut(r, whole + first(&t), t.out, 0, t.out, from, h), (size_t)(t.out * h));
    same(r, "what goes back", back, got(r, want, (size_t)(t.in * b)), (size_t)(t.in * b));
}

/* The copies come late, so that who does not wait for them is seen. */
static void dawdle(void *unused)
{
    (void)unused;
    (void)nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
}

/* Layers whose inputs wait on the host for the way back: copied out and in on a stream of their own, through two
 * buffers, while the next layer is computed and the gradients before are summed on a third stream. */
void swapped_activations(struct rank *r)
{
    enum { MOST = 8 };
    const int layers = between(r, 3, MOST), d = between(r, 2, 4), b = between(r, 1, SMALL);
    const size_t n = (size_t)(d * b), m = (size_t)(d * d);
    const unsigned salt = draw(r);
    double *w[MOST], *kept[MOST], *g[MOST], *buffer[3], *want[MOST];
    void *ready[MOST], *saved[MOST], *back[MOST], *used[MOST], *summed, *third;
    MUST(r, cudaStreamCreateWithFlags(&third, 1) == 0 && cudaEventCreateWithFlags(&summed, 2) == 0);
    for (int l = 0; l < layers; l++) {
        w[l] = put(r, matrix(r, salt + (unsigned)l, m), m);
        kept[l] = host(r, n);
        g[l] = room(r, m);
        void **events[] = {&ready[l], &saved[l], &back[l], &used[l]};
        for (int k = 0; k < 4; k++)
            MUST(r, cudaEventCreateWithFlags(events[k], 2) == 0);
    }
    for (int k = 0; k < 3; k++)
        buffer[k] = room(r, n);
    double *x = matrix(r, salt + 99, n * (size_t)r->n);
    MUST(r, cudaMemcpyAsync(buffer[0], x + n * (size_t)r->me, n * 8, 1, r->stream) == 0);
    for (int l = 0; l < layers; l++) { /* layer l reads buffer l % 2 and writes the other, once that is on the host */
        MUST(r, cudaEventRecord(ready[l], r->stream) == 0 && cudaStreamWaitEvent(r->side, ready[l], 0) == 0);
        MUST(r, cudaLaunchHostFunc(r->side, dawdle, NULL) == 0);
        MUST(r, cudaMemcpyAsync(kept[l], buffer[l % 2], n * 8, 2, r->side) == 0 &&
                    cudaEventRecord(saved[l], r->side) == 0);
        if (l)
            MUST(r, cudaStreamWaitEvent(r->stream, saved[l - 1], 0) == 0);
        multiply(r, 0, 0, d, b, d, w[l], buffer[l % 2], buffer[(l + 1) % 2], false);
    }
    double *flow[2] = {buffer[layers % 2], buffer[2]}, *in[2] = {buffer[(layers + 1) % 2], room(r, n)};
    MUST(r, cudaEventRecord(ready[0], r->stream) == 0 && cudaStreamWaitEvent(r->side, ready[0], 0) == 0);
    for (int l = layers - 1, k = 0; l >= 0; l--, k ^= 1) {
        if (l + 2 < layers) /* its buffer's last reader */
            MUST(r, cudaStreamWaitEvent(r->side, used[l + 2], 0) == 0);
        MUST(r, cudaLaunchHostFunc(r->side, dawdle, NULL) == 0);
        MUST(r, cudaMemcpyAsync(in[k], kept[l], n * 8, 1, r->side) == 0 && cudaEventRecord(back[l], r->side) == 0);
        MUST(r, cudaStreamWaitEvent(r->stream, back[l], 0) == 0);
        multiply(r, 0, 1, d, d, b, flow[k], in[k], g[l], false);
        multiply(r, 1, 0, d, b, d, w[l], flow[k], flow[k ^ 1], false);
        MUST(r, cudaEventRecord(used[l], r->stream) == 0 && cudaStreamWaitEvent(third, used[l], 0) == 0);
        MUST(r, ncclAllReduce(g[l], g[l], m, F64, SUM, r->comm, third) == 0);
    }
    MUST(r, cudaEventRecord(summed, third) == 0 && cudaStreamWaitEvent(r->stream, summed, 0) == 0);

    const size_t whole = n * (size_t)r->n; /* one device, the whole batch, everything kept */
    double *y[MOST + 1], *e = NULL;
    y[0] = put(r, x, whole);
    for (int l = 0; l < layers; l++)
        multiply(r, 0, 0, d, b * r->n, d, w[l], y[l], y[l + 1] = room(r, whole), false);
    e = y[layers];
    for (int l = layers - 1; l >= 0; l--) {
        double *next = room(r, whole);
        multiply(r, 0, 1, d, d, b * r->n, e, y[l], want[l] = room(r, m), false);
        multiply(r, 1, 0, d, b * r->n, d, w[l], e, next, false);
        e = next;
    }
    for (int l = 0; l < layers; l++) {
        same(r, "a layer's gradient", g[l], got(r, want[l], m), m);
        MUST(r, cudaEventDestroy(ready[l]) == 0 && cudaEventDestroy(saved[l]) == 0 && cudaEventDestroy(back[l]) == 0 &&
                    cudaEventDestroy(used[l]) == 0);
    }
    MUST(r, cudaEventDestroy(summed) == 0 && cudaStreamDestroy(third) == 0);
}
