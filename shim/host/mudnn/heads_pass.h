/* Passes of multi-head attention in numbers of one size, which whoever includes this names: `real`, its REAL_GEMM and
 * REAL_EXP, and HEADS_RUN, the function that is made. The program's vectors are copied into the order batch, beam,
 * time, with zeros behind a sequence's end; products are BLAS's. All memory is the space that the program gave. */
#include <math.h>
#include <string.h>

#include "host/mudnn/heads.h"

void REAL_GEMM(const char *transa, const char *transb, const int *m, const int *n, const int *k, const real *alpha,
               const real *a, const int *lda, const real *b, const int *ldb, const real *beta, real *c, const int *ldc);

/* c = alpha op(a) op(b) + beta c of matrices of rows. */
static void product(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, double alpha, const real *a, int64_t lda,
                    const real *b, int64_t ldb, bool add, real *c, int64_t ldc)
{
    const int M = (int)n, N = (int)m, K = (int)k, la = (int)lda, lb = (int)ldb, lc = (int)ldc;
    const real factor = (real)alpha, beta = add;
    if (m && n && k)
        REAL_GEMM(turn_b ? "T" : "N", turn_a ? "T" : "N", &M, &N, &K, &factor, b, &lb, a, &la, &beta, c, &lc);
    for (int64_t i = 0; !k && !add && i < m; i++)
        memset(c + i * ldc, 0, (size_t)n * sizeof *c);
}

struct pass {
    const struct mudnn_heads *m;
    const struct mudnn_heads_shape *s;
    struct mudnn_heads_layout l;
    const int *lo, *hi;
    int64_t batch, beams, times, key_beams, key_times, skipped; /* skipped: times before the only one */
    int64_t inner, value, out;                                  /* widths of a head's vectors, and of the result */
    real *at;                                                   /* the space */
};

static int64_t length_at(const int *length, int64_t i, int64_t most)
{
    return length[i] < 0 ? 0 : length[i] > most ? most : length[i];
}
/* Of queries from the first that is computed, and of keys. */
static int64_t query_length(const struct pass *p, int64_t bundle)
{
    int64_t n = length_at(p->m->q_length, bundle, p->times + p->skipped) - p->skipped;
    return n < 0 ? 0 : n;
}
static int64_t key_length(const struct pass *p, int64_t bundle)
{
    return length_at(p->m->k_length, bundle, p->key_times);
}
static int64_t length_of(const struct pass *p, int64_t bundle, bool keys)
{
    return keys ? key_length(p, bundle) : query_length(p, bundle);
}

/* ---- the program's vectors --------------------------------------------------------------------- */

/* Copies vectors of the program's to rows of ours, or back; `all` of them, or with zeros behind a sequence's end. */
static void move(const struct pass *p, const struct mudnn_sequences *q, bool keys, bool all, int64_t width,
                 const void *from, real *rows, void *to)
{
    const int64_t beams = keys ? p->key_beams : p->beams, times = keys ? p->key_times : p->times;
    double v[DNN_ROW];
    for (int64_t i = 0; i < p->batch * beams * times; i++) {
        const int64_t bundle = i / times, t = i % times;
        const bool inside = all || t < length_of(p, bundle, keys);
        const int64_t place = (t + (keys ? 0 : p->skipped)) * q->step[0] + bundle / beams * q->step[1] +
                              bundle % beams * q->step[2];
        real *row = rows + i * width;
        if (from && !inside)
            memset(row, 0, (size_t)width * sizeof *row);
        for (int64_t c = 0; c < width && (inside || to); c += DNN_ROW) {
            size_t n = (size_t)(width - c < DNN_ROW ? width - c : DNN_ROW);
            if (from)
                dnn_load(v, from, p->s->type, place + c, 1, n);
            for (size_t k = 0; k < n; k++) {
                if (from)
                    row[c + (int64_t)k] = (real)v[k];
                else
                    v[k] = inside ? (double)row[c + (int64_t)k] : 0;
            }
            if (to)
                dnn_store(to, v, p->s->type, place + c, 1, n);
        }
    }
}

static void load_weights(real *to, const void *from, int type, int64_t n)
{
    double v[DNN_ROW];
    for (int64_t i = 0; i < n; i += DNN_ROW) {
        size_t some = (size_t)(n - i < DNN_ROW ? n - i : DNN_ROW);
        dnn_load(v, from, type, i, 1, some);
        for (size_t k = 0; k < some; k++)
            to[i + (int64_t)k] = (real)v[k];
    }
}

/* ---- forward ----------------------------------------------------------------------------------- */

static const real *weight(const struct pass *p, int kind) { return p->at + p->l.w + mudnn_heads_weights(p->s, kind); }

/* rows += the bias of that kind. */
static void add_bias(const struct pass *p, int kind, real *rows, int64_t n, int64_t width)
{
    const real *bias = weight(p, kind);
    for (int64_t i = 0; p->s->biases && i < n; i++)
        for (int64_t c = 0; c < width; c++)
            rows[i * width + c] += bias[c];
}

/* The vectors of all heads; nothing where there is no projection. */
static void project(const struct pass *p, int kind, int64_t n, int64_t width, int64_t proj, const real *x, real *to)
{
    const int64_t all = p->s->heads * proj;
    if (!proj)
        return;
    product(false, false, n, all, width, 1, x, width, weight(p, kind), all, false, to, all);
    add_bias(p, kind + 4, to, n, all);
}

/* A number of [0, 1) for a place of a sequence of them (splitmix64). */
static double drawn(uint64_t *state)
{
    uint64_t z = state[0] + ++state[1] * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
/* What dropout multiplies a number by. */
static real draw(double rate, uint64_t *state)
{
    return (real)(rate == 0 ? 1 : rate >= 1 || drawn(state) < rate ? 0 : 1 / (1 - rate));
}

/* One head of one beam of one batch: where its matrices are, and how far their rows are from each other. */
struct head {
    int64_t queries, keys, first_query, first_key, bundle;
    const real *q, *k, *v;
    int64_t q_lead, k_lead, v_lead, h_lead;
    real *h, *p, *kept;
};
static struct head head_of(const struct pass *p, int64_t bundle, int64_t i)
{
    const struct mudnn_heads_shape *s = p->s;
    const int64_t keys = p->key_beams == p->beams ? bundle : bundle / p->beams;
    const int64_t scores = (bundle * s->heads + i) * p->times * p->key_times;
    struct head h = {.queries = query_length(p, bundle),
                     .keys = key_length(p, keys),
                     .first_query = bundle * p->times,
                     .first_key = keys * p->key_times,
                     .bundle = bundle,
                     .q_lead = s->q_proj ? s->heads * s->q_proj : s->q,
                     .k_lead = s->k_proj ? s->heads * s->k_proj : s->k,
                     .v_lead = s->v_proj ? s->heads * s->v_proj : s->v,
                     .h_lead = s->heads * p->value};
    h.q = p->at + p->l.pq + h.first_query * h.q_lead + i * s->q_proj;
    h.k = p->at + p->l.pk + h.first_key * h.k_lead + i * s->k_proj;
    h.v = p->at + p->l.pv + h.first_key * h.v_lead + i * s->v_proj;
    h.h = p->at + p->l.h + h.first_query * h.h_lead + i * p->value;
    h.p = p->m->training ? p->at + p->l.p + scores : p->at + p->l.scratch;
    h.kept = p->m->training && p->m->drops ? p->at + p->l.kept + scores : NULL;
    return h;
}

/* Softmax of what the window [from, to) shows of a row, zeros elsewhere. */
static void softmax(real *v, int64_t n, int64_t from, int64_t to)
{
    real most = -INFINITY, sum = 0;
    from = from < 0 ? 0 : from;
    to = to > n ? n : to;
    for (int64_t i = 0; i < n; i++)
        if (i < from || i >= to)
            v[i] = 0;
    for (int64_t i = from; i < to; i++)
        most = v[i] > most || v[i] != v[i] ? v[i] : most;
    for (int64_t i = from; i < to; i++)
        sum += v[i] = REAL_EXP(v[i] - most);
    for (int64_t i = from; i < to; i++)
        v[i] /= sum;
}

static void attend(const struct pass *p, const struct head *h)
{
    const real *p_used = h->p;
    product(false, true, h->queries, h->keys, p->inner, p->m->scale, h->q, h->q_lead, h->k, h->k_lead, false, h->p,
            p->key_times);
    for (int64_t t = 0; t < h->queries; t++)
        softmax(h->p + t * p->key_times, h->keys, p->lo[t + p->skipped], p->hi[t + p->skipped]);
    if (h->kept) {
        real *dropped = p->at + p->l.scratch;
        for (int64_t t = 0; t < h->queries; t++)
            for (int64_t i = t * p->key_times; i < t * p->key_times + h->keys; i++) {
                h->kept[i] = draw(p->m->rate, p->m->state);
                dropped[i] = h->p[i] * h->kept[i];
            }
        p_used = dropped;
    }
    product(false, false, h->queries, p->value, h->keys, 1, p_used, p->key_times, h->v, h->v_lead, false, h->h,
            h->h_lead);
}

static void forward(const struct pass *p)
{
    const struct mudnn_heads *m = p->m;
    const struct mudnn_heads_shape *s = p->s;
    const struct mudnn_heads_layout *l = &p->l;
    real *out = p->at + l->out;
    load_weights(p->at + l->w, m->weights, s->type, mudnn_heads_weights(s, 8));
    move(p, &m->q, false, false, s->q, m->q_at, p->at + l->xq, NULL);
    move(p, &m->k, true, false, s->k, m->k_at, p->at + l->xk, NULL);
    move(p, &m->v, true, false, s->v, m->v_at, p->at + l->xv, NULL);
    project(p, 0, l->queries, s->q, s->q_proj, p->at + l->xq, p->at + l->pq);
    project(p, 1, l->keys, s->k, s->k_proj, p->at + l->xk, p->at + l->pk);
    project(p, 2, l->keys, s->v, s->v_proj, p->at + l->xv, p->at + l->pv);
    memset(p->at + l->h, 0, (size_t)(l->queries * s->heads * p->value) * sizeof *p->at);
    for (int64_t b = 0; b < p->batch * p->beams; b++)
        for (int64_t i = 0; i < s->heads; i++) {
            struct head h = head_of(p, b, i);
            attend(p, &h);
        }
    for (int64_t i = 0; s->o_proj && i < s->heads; i++)
        product(false, false, l->queries, s->o_proj, p->value, 1, p->at + l->h + i * p->value, s->heads * p->value,
                weight(p, 3) + i * s->o_proj, s->heads * s->o_proj, i > 0, out, s->o_proj);
    if (s->o_proj)
        add_bias(p, 7, out, l->queries, s->o_proj);
    /* what the gradients need of h is not what is written where there is no projection between */
    real *written = out;
    if (m->training && m->drops_after) {
        real *kept = p->at + l->kept_after;
        written = p->at + l->dout;
        for (int64_t i = 0; i < l->queries * p->out; i++) {
            kept[i] = draw(m->rate_after, m->state_after);
            written[i] = out[i] * kept[i];
        }
    }
    if (m->residual) {
        real *sum = m->training ? p->at + l->dout : written, *residual = p->at + (m->training ? l->dx : l->xq);
        move(p, &m->q, false, true, s->q, m->residual, residual, NULL);
        for (int64_t i = 0; i < l->queries * p->out; i++)
            sum[i] = written[i] + residual[i];
        written = sum;
    }
    /* behind a sequence's end there are no heads, but a bias and a residual, as NVIDIA's was seen to write them */
    move(p, &m->o, false, true, p->out, NULL, written, m->out);
}

/* ---- gradients --------------------------------------------------------------------------------- */

static void attend_back(const struct pass *p, const struct head *h, int64_t i)
{
    const struct mudnn_heads_shape *s = p->s;
    const int64_t lead = p->key_times;
    real *ds = p->at + p->l.scratch, *used = ds + p->times * lead;
    const real *dh = p->at + p->l.dh + h->first_query * h->h_lead + i * p->value;
    real *dq = p->at + p->l.dpq + h->first_query * h->q_lead + i * s->q_proj;
    real *dk = p->at + p->l.dpk + h->first_key * h->k_lead + i * s->k_proj;
    real *dv = p->at + p->l.dpv + h->first_key * h->v_lead + i * s->v_proj;
    product(false, true, h->queries, h->keys, p->value, 1, dh, h->h_lead, h->v, h->v_lead, false, ds, lead);
    for (int64_t t = 0; t < h->queries; t++) {
        real *d = ds + t * lead, *u = used + t * lead, sum = 0;
        const real *v = h->p + t * lead, *kept = h->kept ? h->kept + t * lead : NULL;
        for (int64_t c = 0; c < h->keys; c++) {
            u[c] = kept ? v[c] * kept[c] : v[c];
            d[c] = kept ? d[c] * kept[c] : d[c];
            sum += d[c] * v[c];
        }
        for (int64_t c = 0; c < h->keys; c++)
            d[c] = v[c] * (d[c] - sum);
    }
    product(true, false, h->keys, p->value, h->queries, 1, used, lead, dh, h->h_lead, true, dv, h->v_lead);
    product(false, false, h->queries, p->inner, h->keys, p->m->scale, ds, lead, h->k, h->k_lead, true, dq, h->q_lead);
    product(true, false, h->keys, p->inner, h->queries, p->m->scale, ds, lead, h->q, h->q_lead, true, dk, h->k_lead);
}

/* An input's gradient, through its projection. */
static void give_back(const struct pass *p, const struct mudnn_sequences *q, bool keys, int kind, int64_t width,
                      int64_t proj, real *d, void *to)
{
    const int64_t n = keys ? p->l.keys : p->l.queries, all = p->s->heads * proj;
    real *dx = proj ? p->at + p->l.dx : d;
    if (proj)
        product(false, true, n, width, all, 1, d, all, weight(p, kind), all, false, dx, width);
    move(p, q, keys, false, width, NULL, dx, to);
}

static void data(const struct pass *p)
{
    const struct mudnn_heads *m = p->m;
    const struct mudnn_heads_shape *s = p->s;
    const struct mudnn_heads_layout *l = &p->l;
    real *d = p->at + l->dout;
    move(p, &m->o, false, false, p->out, m->dout, d, NULL);
    for (int64_t i = 0; m->drops_after && i < l->queries * p->out; i++)
        d[i] *= p->at[l->kept_after + i];
    for (int64_t i = 0; s->o_proj && i < s->heads; i++)
        product(false, true, l->queries, p->value, s->o_proj, 1, d, s->o_proj, weight(p, 3) + i * s->o_proj,
                s->heads * s->o_proj, false, p->at + l->dh + i * p->value, s->heads * p->value);
    memset(p->at + l->dpq, 0, (size_t)(l->dx - l->dpq) * sizeof *p->at);
    for (int64_t b = 0; b < p->batch * p->beams; b++)
        for (int64_t i = 0; i < s->heads; i++) {
            struct head h = head_of(p, b, i);
            attend_back(p, &h, i);
        }
    give_back(p, &m->q, false, 0, s->q, s->q_proj, p->at + l->dpq, m->dq);
    give_back(p, &m->k, true, 1, s->k, s->k_proj, p->at + l->dpk, m->dk);
    give_back(p, &m->v, true, 2, s->v, s->v_proj, p->at + l->dpv, m->dv);
}

/* Of a weight before the heads, and its bias. */
static void weight_gradient(const struct pass *p, int kind, int64_t n, int64_t width, int64_t proj, const real *x,
                            const real *d)
{
    const int64_t all = p->s->heads * proj;
    real *bias = p->at + p->l.dw + mudnn_heads_weights(p->s, kind + 4);
    if (!proj)
        return;
    product(true, false, width, all, n, 1, x, width, d, all, false, p->at + p->l.dw + mudnn_heads_weights(p->s, kind),
            all);
    for (int64_t i = 0; p->s->biases && i < n * all; i++)
        bias[i % all] += d[i];
}

static void weights(const struct pass *p)
{
    const struct mudnn_heads *m = p->m;
    const struct mudnn_heads_shape *s = p->s;
    const struct mudnn_heads_layout *l = &p->l;
    const int64_t count = mudnn_heads_weights(s, 8);
    real *dw = p->at + l->dw;
    memset(dw, 0, (size_t)count * sizeof *dw);
    weight_gradient(p, 0, l->queries, s->q, s->q_proj, p->at + l->xq, p->at + l->dpq);
    weight_gradient(p, 1, l->keys, s->k, s->k_proj, p->at + l->xk, p->at + l->dpk);
    weight_gradient(p, 2, l->keys, s->v, s->v_proj, p->at + l->xv, p->at + l->dpv);
    for (int64_t i = 0; s->o_proj && i < s->heads; i++)
        product(true, false, p->value, s->o_proj, l->queries, 1, p->at + l->h + i * p->value, s->heads * p->value,
                p->at + l->dout, s->o_proj, false, dw + mudnn_heads_weights(s, 3) + i * s->o_proj,
                s->heads * s->o_proj);
    for (int64_t i = 0; s->o_proj && s->biases && i < l->queries * s->o_proj; i++)
        dw[mudnn_heads_weights(s, 7) + i % s->o_proj] += p->at[l->dout + i];
    for (int64_t i = 0; i < count; i += DNN_ROW) {
        size_t n = (size_t)(count - i < DNN_ROW ? count - i : DNN_ROW);
        double v[DNN_ROW] = {0};
        if (m->add)
            dnn_load(v, m->dweights, s->type, i, 1, n);
        for (size_t k = 0; k < n; k++)
            v[k] += (double)dw[i + (int64_t)k];
        dnn_store(m->dweights, v, s->type, i, 1, n);
    }
}

void HEADS_RUN(const struct mudnn_heads *of, const int *window)
{
    struct mudnn_heads m = *of;
    m.training |= m.way != MUDNN_HEADS_WAY_FORWARD;
    struct pass p = {.m = &m,
                     .s = &m.s,
                     .lo = window,
                     .hi = window ? window + (m.only < 0 ? m.q.dim[0] : m.only + 1) : NULL,
                     .batch = m.q.dim[1],
                     .beams = m.q.dim[2],
                     .times = m.only < 0 ? m.q.dim[0] : 1,
                     .key_beams = m.k.dim[2],
                     .key_times = m.k.dim[0],
                     .skipped = m.only < 0 ? 0 : m.only,
                     .inner = mudnn_heads_inner(&m.s),
                     .value = mudnn_heads_value(&m.s),
                     .out = mudnn_heads_out(&m.s),
                     .at = m.space};
    m.q.dim[0] = p.times;
    p.l = mudnn_heads_plan(&m, m.training);
    if (m.way == MUDNN_HEADS_WAY_FORWARD)
        forward(&p);
    else if (m.way == MUDNN_HEADS_WAY_DATA)
        data(&p);
    else
        weights(&p);
}
