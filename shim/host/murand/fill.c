/* Requests of the CPU muRAND: which lanes draw for them, on which CPU, and where it goes. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/parallel.h"
#include "host/murand/murand.h"

enum { MANY = 1 << 16 }; /* lanes that are worth a second thread */

/* What a lane draws for a request, and gives. */
struct shape {
    unsigned outputs, draws;
    bool pairs;      /* normal numbers by Box and Muller */
    bool neighbours; /* ... each of lanes 2 k and 2 k + 1 */
};
static struct shape shape(const struct murand_engine *e, const struct murand_request *r, const struct poisson_sums *p)
{
    unsigned precise = r->kind == MURAND_UNIFORM_DOUBLE || r->kind == MURAND_NORMAL_DOUBLE ||
                               r->kind == MURAND_LOG_NORMAL_DOUBLE
                           ? e->precise
                           : 1;
    bool normal = (r->kind >= MURAND_NORMAL && r->kind <= MURAND_LOG_NORMAL_DOUBLE) ||
                  (r->kind == MURAND_POISSON && !p->sum);
    if (e->single)
        return (struct shape){1, 1, false, false};
    if (!normal || e->neighbours)
        return (struct shape){1, precise, normal, normal};
    /* Of a pair, Poisson numbers take the first. */
    return (struct shape){r->kind == MURAND_POISSON ? 1 : 2, 2 * precise, true, false};
}

typedef uint32_t drawn[MURAND_DRAWS][MURAND_CHUNK];

/* One uniform double of each lane, of float's or double's precision, from draw k on. */
static void uniform(const struct murand_engine *e, bool precise, const drawn raw, unsigned k, unsigned lanes,
                    double *out)
{
    float coarse[MURAND_CHUNK];
    if (precise && e->precise == 2)
        murand_precise(raw[k], raw[k + 1], lanes, out);
    else if (precise)
        murand_uniform(e->scale, raw[k], lanes, out);
    else {
        murand_uniform_float(e->scale, raw[k], lanes, coarse);
        for (unsigned i = 0; i < lanes; i++)
            out[i] = (double)coarse[i];
    }
}

/* Normal numbers of so many lanes: one each of neighbours, else two. */
static void pairs(const struct murand_engine *e, const struct murand_request *r, struct shape of, const drawn raw,
                  unsigned lanes, size_t at)
{
    bool precise = r->kind == MURAND_NORMAL_DOUBLE || r->kind == MURAND_LOG_NORMAL_DOUBLE;
    double far[MURAND_CHUNK], turn[MURAND_CHUNK], both[MURAND_CHUNK];
    if (of.neighbours) {
        uniform(e, precise, raw, 0, lanes, both);
        for (unsigned i = 0; i < lanes / 2; i++) {
            far[i] = both[2 * i];
            turn[i] = both[2 * i + 1];
        }
    } else {
        uniform(e, precise, raw, 0, lanes, far);
        uniform(e, precise, raw, precise ? e->precise : 1, lanes, turn);
    }
    murand_pairs(r, far, turn, of.neighbours ? lanes / 2 : lanes, of.outputs == 1 && !of.neighbours, at);
}

static void convert(const struct murand_engine *e, const struct murand_request *r, const struct poisson_sums *p,
                    struct shape of, drawn raw, unsigned lanes, size_t at)
{
    static const struct murand_engine full = {.single = true, .scale = &murand_full};
    if (e->single)
        murand_singles(e, r, p, raw[0], lanes, at);
    else if (of.pairs)
        pairs(e, r, of, raw, lanes, at);
    else if (r->kind == MURAND_UNIFORM_DOUBLE)
        uniform(e, true, raw, 0, lanes, (double *)r->out + at);
    else if (r->kind == MURAND_UNIFORM)
        murand_uniform_float(e->scale, raw[0], lanes, (float *)r->out + at);
    else {
        for (unsigned i = 0; !e->scale->full && i < lanes; i++)
            raw[0][i] = (uint32_t)((double)raw[0][i] * e->scale->bits);
        murand_singles(&full, r, p, raw[0], lanes, at);
    }
}

/* The request's lanes counted through: first ... end - 1; lane q is lane q % lanes of row q / lanes. */
struct job {
    struct murand_sequence *sequence;
    const struct murand_request *request;
    const struct poisson_sums *poisson;
    struct shape shape;
    unsigned long long first, end;
};

/* Some lanes of a row. Of neighbours, both draw, even if the request has one of them. */
static void piece(const struct job *j, unsigned long long q, unsigned count)
{
    struct murand_sequence *s = j->sequence;
    const struct murand_engine *e = s->engine;
    drawn raw;
    unsigned lane = (unsigned)(q % s->lanes), before = j->shape.neighbours ? lane % 2 : 0;
    unsigned after = j->shape.neighbours ? (before + count) % 2 : 0, all = before + count + after;
    size_t at = (q - j->first) * j->shape.outputs;
    e->draw(s, s->row + q / s->lanes, lane - before, all, j->shape.draws, raw);
    if (e->passed)
        e->passed(s, lane, count, j->shape.draws);
    if (all == count) {
        convert(e, j->request, j->poisson, j->shape, raw, count, at);
        return;
    }
    double whole[MURAND_CHUNK];
    struct murand_request r = *j->request;
    size_t size = r.kind == MURAND_NORMAL_DOUBLE || r.kind == MURAND_LOG_NORMAL_DOUBLE ? sizeof(double) : sizeof(float);
    r.out = whole;
    convert(e, &r, j->poisson, j->shape, raw, all, 0);
    memcpy((char *)j->request->out + at * size, (char *)whole + before * size, count * size);
}

/* A chunk of lanes in all the request's rows. */
static void column(void *job, unsigned i)
{
    const struct job *j = job;
    unsigned lanes = j->sequence->lanes;
    unsigned long long start = (j->first / MURAND_CHUNK + i) % (lanes / MURAND_CHUNK) * MURAND_CHUNK;
    for (start += j->first / lanes * lanes; start < j->end; start += lanes) {
        unsigned long long from = start > j->first ? start : j->first, end = start + MURAND_CHUNK;
        if (end > j->end)
            end = j->end;
        if (from < end)
            piece(j, from, (unsigned)(end - from));
    }
}

static void all(struct job *j)
{
    unsigned long long columns = (j->end - 1) / MURAND_CHUNK - j->first / MURAND_CHUNK + 1;
    unsigned most = j->sequence->lanes / MURAND_CHUNK;
    if (j->end - j->first >= MANY) {
        maths_parallel(columns < most ? (unsigned)columns : most, column, j);
        return;
    }
    for (unsigned long long q = j->first, n; q < j->end; q += n) {
        unsigned long long left = MURAND_CHUNK - q % MURAND_CHUNK;
        n = j->end - q < left ? j->end - q : left;
        piece(j, q, (unsigned)n);
    }
}

static bool begin(struct murand_sequence *s)
{
    s->lanes = s->engine->lanes(s->ordering);
    s->row = s->offset / s->lanes;
    s->cursor = s->begun_before = (unsigned)(s->offset % s->lanes);
    return s->engine->begin(s);
}

murandStatus_t murand_fill(struct murand_sequence *s, const struct murand_request *r)
{
    struct poisson_sums p = {0, 0, NULL};
    if (!r->n)
        return MURAND_STATUS_SUCCESS;
    s->begun = s->begun || !s->engine->begin || begin(s);
    bool table = r->kind == MURAND_POISSON && r->a <= s->engine->normal_from;
    if (!s->begun || (table && !murand_poisson_begin(&p, r->a)))
        return MURAND_STATUS_ALLOCATION_FAILED;
    if (s->engine->fill) {
        murandStatus_t status = s->engine->fill(s, r, &p);
        free(p.sum);
        return status;
    }
    struct job j = {s, r, &p, shape(s->engine, r, &p), s->cursor, 0};
    j.end = j.first + r->n / j.shape.outputs;
    if (s->engine->prepare && s->ready < s->lanes && s->ready < j.end &&
        !s->engine->prepare(s, j.end < s->lanes ? (unsigned)j.end : s->lanes)) {
        free(p.sum);
        return MURAND_STATUS_ALLOCATION_FAILED;
    }
    all(&j);
    free(p.sum);
    s->row += j.end / s->lanes;
    s->cursor = (unsigned)(j.end % s->lanes);
    return MURAND_STATUS_SUCCESS;
}
