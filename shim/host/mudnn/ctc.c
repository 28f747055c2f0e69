/* Connectionist temporal classification: the loss of sequences whose labels lie at unknown times, and its gradient, by
 * the forward-backward algorithm of Graves et al. 2006 in logarithms. */
#include "host/mudnn/mudnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct mudnn_ctc c;
    int *copy; /* of the host's labels and lengths */
};

static double add_logs(double a, double b)
{
    double most = a > b ? a : b;
    return most == -INFINITY ? most : most + log1p(exp((a > b ? b : a) - most));
}

/* One sequence: where its labels and its memory are. The label sequence with blanks between has 2 labels + 1 states. */
struct sequence {
    const struct mudnn_ctc *c;
    int64_t n, time, classes, states;
    const int *label;
    double *alpha, *row[2], *logs; /* alpha: (time, states); logs: (time, classes), ln of the probabilities */
};
static int label_of(const struct sequence *s, int64_t state) { return state % 2 ? s->label[state / 2] : 0; }
static double *logs_at(const struct sequence *s, int64_t t) { return s->logs + t * s->classes; }

static void take_logs(const struct sequence *s)
{
    const struct mudnn_tensor *p = &s->c->probs;
    for (int64_t t = 0; t < s->time; t++) {
        double *to = logs_at(s, t), most = -INFINITY, sum = 0;
        dnn_load(to, s->c->probs_at, p->type, t * p->stride[0] + s->n * p->stride[1], p->stride[2], (size_t)s->classes);
        for (int64_t k = 0; k < s->classes; k++)
            most = to[k] > most ? to[k] : most;
        for (int64_t k = 0; s->c->softmax && k < s->classes; k++)
            sum += exp(to[k] - most);
        for (int64_t k = 0; k < s->classes; k++)
            to[k] = s->c->softmax ? to[k] - most - log(sum) : log(to[k]);
    }
}

/* May a path come to `state` from the one two before it, without the blank between? */
static bool may_skip(const struct sequence *s, int64_t state)
{
    return state > 1 && state % 2 && label_of(s, state) != label_of(s, state - 2);
}

static double forward(const struct sequence *s)
{
    const int64_t last = s->time - 1;
    for (int64_t t = 0; t < s->time; t++)
        for (int64_t i = 0; i < s->states; i++) {
            double *to = s->alpha + t * s->states, *from = to - s->states, v;
            if (!t)
                v = i < 2 ? 0 : -INFINITY;
            else
                v = from[i];
            if (t && i)
                v = add_logs(v, from[i - 1]);
            if (t && may_skip(s, i))
                v = add_logs(v, from[i - 2]);
            to[i] = v + logs_at(s, t)[label_of(s, i)];
        }
    double *end = s->alpha + last * s->states;
    return -(s->states > 1 ? add_logs(end[s->states - 1], end[s->states - 2]) : end[0]);
}

static void store(const struct sequence *s, int64_t t, const double *v)
{
    const struct mudnn_tensor *g = &s->c->grads;
    dnn_store(s->c->grads_at, v, g->type, t * g->stride[0] + s->n * g->stride[1], g->stride[2], (size_t)s->classes);
}

/* p_k - (sum over states of label k of e^(alpha + beta)) / (p_k p(labels)), from the last time to the first: before the
 * softmax, as documented. Without one, cuDNN 9 gives for the classes of the labels the derivative by p_k instead. */
static void backward(const struct sequence *s, double cost)
{
    for (int64_t t = s->time - 1; t >= 0; t--) {
        double *now = s->row[t % 2], *then = s->row[(t + 1) % 2], *p = logs_at(s, t), *alpha = s->alpha + t * s->states;
        for (int64_t i = 0; i < s->states; i++) {
            double v = t == s->time - 1 ? (i + 2 < s->states ? -INFINITY : 0) : then[i];
            if (t < s->time - 1 && i + 1 < s->states)
                v = add_logs(v, then[i + 1]);
            if (t < s->time - 1 && i + 2 < s->states && may_skip(s, i + 2))
                v = add_logs(v, then[i + 2]);
            now[i] = v + p[label_of(s, i)];
        }
        /* alpha's row is used up: it becomes what each state takes of its class */
        for (int64_t i = 0; i < s->states; i++) {
            double q = p[label_of(s, i)];
            alpha[i] = q == -INFINITY ? 0 : exp(alpha[i] + now[i] - q + cost);
        }
        for (int64_t k = 0; k < s->classes; k++)
            p[k] = exp(p[k]);
        for (int64_t i = 0; i < s->states; i++)
            p[label_of(s, i)] -= alpha[i];
        store(s, t, p);
    }
}

static void fill_gradient(struct sequence *s, int64_t from, double value)
{
    for (int64_t k = 0; k < s->classes; k++)
        s->logs[k] = value;
    for (int64_t t = from; t < s->c->probs.dim[0]; t++)
        store(s, t, s->logs);
}

static void one(const struct mudnn_ctc *c, int64_t n, const int *label, double *space)
{
    const int64_t times = c->probs.dim[0], states = 2 * c->most + 1;
    struct sequence s = {c, n, c->input_length[n], c->probs.dim[2], 0, label, NULL, {NULL}, NULL};
    int64_t length = c->label_length[n], repeats = 0;
    bool good = label && s.time >= 0 && s.time <= times && length >= 0 && length <= c->most, gradient = c->grads.n;
    s.alpha = space;
    s.row[0] = s.alpha + times * states;
    s.row[1] = s.row[0] + states;
    s.logs = s.row[1] + states;
    for (int64_t i = 0; good && i < length; i++) {
        good = label[i] > 0 && label[i] < s.classes;
        repeats += i > 0 && label[i] == label[i - 1];
    }
    if (!good || !s.time || length + repeats > s.time) {
        c->costs[n] = good ? 0 : NAN;
        if (gradient && !(c->skip && good))
            fill_gradient(&s, 0, good ? 0 : NAN);
        return;
    }
    s.states = 2 * length + 1;
    take_logs(&s);
    double cost = forward(&s);
    c->costs[n] = (float)cost;
    if (!gradient)
        return;
    backward(&s, cost);
    fill_gradient(&s, s.time, 0);
}

struct batch {
    const struct mudnn_ctc *c;
    const int64_t *first; /* of each sequence's labels; -1: behind a length that cannot be */
};
static void run_part(void *job, unsigned n)
{
    const struct batch *b = job;
    const struct mudnn_ctc *c = b->c;
    const int *label = b->first[n] < 0 ? NULL : c->labels + b->first[n];
    one(c, n, label, c->space + n * mudnn_ctc_space(c->probs.dim[0], 1, c->probs.dim[2], c->most));
}
static void run(const void *of)
{
    const struct mudnn_ctc *c = &((const struct call *)of)->c;
    const int64_t batch = c->probs.dim[1];
    int64_t *first = maths_alloc((size_t)batch * sizeof *first), at = 0;
    if (!first)
        return;
    for (int64_t n = 0; n < batch; n++) {
        first[n] = at;
        if (at >= 0)
            at = c->label_length[n] >= 0 && c->label_length[n] <= c->most ? at + c->label_length[n] : -1;
    }
    struct batch b = {c, first};
    dnn_parallel((unsigned)batch, run_part, &b, 60.0 * (double)(dnn_count(&c->probs) + c->probs.dim[0] * c->most));
    free(first);
}
static void drop(const void *of) { free(((const struct call *)of)->copy); }

DNN_EXPORT mudnnStatus_t mudnnHostCtc(musaStream_t stream, const struct mudnn_ctc *c)
{
    struct call call = {*c, NULL};
    size_t batch = (size_t)c->probs.dim[1], labels = 0;
    if (c->probs.type != MUDNN_DATA_FLOAT || (c->grads.n && c->grads.type != MUDNN_DATA_FLOAT))
        return MUDNN_STATUS_NOT_SUPPORTED;
    if (c->host) {
        for (size_t i = 0; i < batch; i++)
            labels += (size_t)c->label_length[i];
        call.copy = malloc((2 * batch + labels) * sizeof *call.copy);
        if (!call.copy)
            return MUDNN_STATUS_ALLOC_FAILED;
        memcpy(call.copy, c->label_length, batch * sizeof *call.copy);
        memcpy(call.copy + batch, c->input_length, batch * sizeof *call.copy);
        if (labels)
            memcpy(call.copy + 2 * batch, c->labels, labels * sizeof *call.copy);
        call.c.label_length = call.copy, call.c.input_length = call.copy + batch, call.c.labels = call.copy + 2 * batch;
    }
    double work = 60.0 * (double)(dnn_count(&c->probs) + c->probs.dim[0] * c->probs.dim[1] * c->most);
    switch (maths_submit(stream, (struct maths_work){MATHS_OWN_CODE, run, drop}, &call, sizeof call, work)) {
    case musaSuccess: return MUDNN_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MUDNN_STATUS_ALLOC_FAILED;
    default: return MUDNN_STATUS_EXECUTION_FAILED;
    }
}
