/* Distributions of the CPU muRAND: from the draws of lanes to what a program asks for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/murand/murand.h"

enum { DRAWS = 4 };

/* Two normal numbers of two uniform ones (Box and Muller 1958). */
static void normal_pair(const struct murand_engine *e, uint32_t x, uint32_t y, const struct murand_request *r,
                        float *out)
{
    float turn = e->uniform(y) * (2 * (float)M_PI), far = sqrtf(-2 * logf(e->uniform(x)));
    float n[2] = {far * sinf(turn), far * cosf(turn)};
    for (int i = 0; i < 2; i++) {
        out[i] = n[i] * (float)r->b + (float)r->a;
        if (r->kind == MURAND_LOG_NORMAL)
            out[i] = expf(out[i]);
    }
}

static void normal_pair_double(const struct murand_engine *e, const uint32_t *x, const uint32_t *y,
                               const struct murand_request *r, double *out)
{
    double turn = e->uniform_double(y) * (2 * M_PI), far = sqrt(-2 * log(e->uniform_double(x)));
    double n[2] = {far * sin(turn), far * cos(turn)};
    for (int i = 0; i < 2; i++) {
        out[i] = n[i] * r->b + r->a;
        if (r->kind == MURAND_LOG_NORMAL_DOUBLE)
            out[i] = exp(out[i]);
    }
}

/* Sums of the Poisson distribution, where they are neither 0 nor 1 in a double: value `first` + i has sum[i] at or
 * below it. Above the limit the distribution is as good as normal, as cuRAND takes it to be. */
struct poisson {
    unsigned first, count;
    double *sum;
};
enum { POISSON_NORMAL = 4000 };

static bool poisson_begin(struct poisson *p, double lambda)
{
    double reach = 12 * sqrt(lambda) + 40, total = 0;
    p->first = lambda > reach ? (unsigned)(lambda - reach) : 0;
    p->count = (unsigned)(lambda + reach) + 1 - p->first;
    p->sum = malloc(p->count * sizeof *p->sum);
    for (unsigned i = 0; p->sum && i < p->count; i++) {
        double k = p->first + i;
        p->sum[i] = total += exp(k * log(lambda) - lambda - lgamma(k + 1));
    }
    return p->sum;
}

static unsigned poisson_at(const struct poisson *p, double u)
{
    unsigned low = 0, high = p->count - 1;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (p->sum[middle] < u)
            low = middle + 1;
        else
            high = middle;
    }
    return p->first + low;
}

static unsigned rounded(double normal) { return normal < 0 ? 0 : (unsigned)(normal + 0.5); }

/* What one step of a lane (of two, for pairs of neighbours) gives. */
struct shape {
    unsigned outputs, draws, lanes;
};
static struct shape shape(const struct murand_engine *e, const struct murand_request *r)
{
    switch (r->kind) {
    case MURAND_UNIFORM_DOUBLE:
        return (struct shape){1, e->precise, 1};
    case MURAND_NORMAL:
    case MURAND_LOG_NORMAL:
        return e->neighbours ? (struct shape){2, 1, 2} : (struct shape){2, 2, 1};
    case MURAND_NORMAL_DOUBLE:
    case MURAND_LOG_NORMAL_DOUBLE:
        return e->neighbours ? (struct shape){2, e->precise, 2} : (struct shape){2, 2 * e->precise, 1};
    default:
        return (struct shape){1, 1, 1};
    }
}

static void convert(const struct murand_engine *e, const struct murand_request *r, const struct poisson *p,
                    uint32_t raw[][2 * MURAND_CHUNK], unsigned i, size_t at)
{
    struct shape s = shape(e, r);
    uint32_t d[2 * DRAWS]; /* the step's draws in order: of one lane, or of two */
    for (unsigned lane = 0; lane < s.lanes; lane++)
        for (unsigned k = 0; k < s.draws; k++)
            d[lane * s.draws + k] = raw[k][i * s.lanes + lane];
    switch (r->kind) {
    case MURAND_BITS:
        ((uint32_t *)r->out)[at] = e->bits(d[0]);
        break;
    case MURAND_UNIFORM:
        ((float *)r->out)[at] = e->uniform(d[0]);
        break;
    case MURAND_UNIFORM_DOUBLE:
        ((double *)r->out)[at] = e->uniform_double(d);
        break;
    case MURAND_NORMAL:
    case MURAND_LOG_NORMAL:
        normal_pair(e, d[0], d[1], r, (float *)r->out + at);
        break;
    case MURAND_NORMAL_DOUBLE:
    case MURAND_LOG_NORMAL_DOUBLE:
        normal_pair_double(e, d, d + e->precise, r, (double *)r->out + at);
        break;
    case MURAND_POISSON:
        ((uint32_t *)r->out)[at] = poisson_at(p, ((double)e->bits(d[0]) + 0.5) * 0x1p-32);
    }
}

static murandStatus_t begin(struct murand_sequence *s)
{
    if (s->begun)
        return MURAND_STATUS_SUCCESS;
    s->lanes = s->engine->lanes(s->ordering);
    if (!s->engine->begin(s))
        return MURAND_STATUS_ALLOCATION_FAILED;
    s->begun = true;
    return MURAND_STATUS_SUCCESS;
}

/* Poisson numbers of a great lambda: normal ones, rounded. */
static murandStatus_t great_poisson(struct murand_sequence *s, const struct murand_request *r)
{
    size_t n = r->n + r->n % 2;
    float *normal = malloc(n * sizeof *normal);
    struct murand_request of = {MURAND_NORMAL, normal, n, r->a, sqrt(r->a)};
    murandStatus_t status = normal ? murand_fill(s, &of) : MURAND_STATUS_ALLOCATION_FAILED;
    for (size_t i = 0; i < r->n && !status; i++)
        ((uint32_t *)r->out)[i] = rounded(normal[i]);
    free(normal);
    return status;
}

murandStatus_t murand_fill(struct murand_sequence *s, const struct murand_request *r)
{
    uint32_t raw[DRAWS][2 * MURAND_CHUNK];
    struct poisson p = {0, 0, NULL};
    murandStatus_t status = begin(s);
    if (status)
        return status;
    if (r->kind == MURAND_POISSON && r->a > POISSON_NORMAL)
        return great_poisson(s, r);
    if (r->kind == MURAND_POISSON && !poisson_begin(&p, r->a))
        return MURAND_STATUS_ALLOCATION_FAILED;
    struct shape of = shape(s->engine, r);
    for (size_t done = 0; done < r->n;) {
        size_t steps = (r->n - done) / of.outputs;
        if (steps > MURAND_CHUNK)
            steps = MURAND_CHUNK;
        unsigned lanes = (unsigned)steps * of.lanes, here = s->lanes - s->cursor;
        unsigned first = lanes < here ? lanes : here; /* the rest is at the row's beginning */
        s->engine->draw(s, s->cursor, first, of.draws, raw);
        s->cursor = (s->cursor + first) % s->lanes;
        if (first < lanes) {
            uint32_t more[DRAWS][2 * MURAND_CHUNK];
            s->engine->draw(s, s->cursor, lanes - first, of.draws, more);
            for (unsigned k = 0; k < of.draws; k++)
                memcpy(&raw[k][first], more[k], (lanes - first) * sizeof **more);
            s->cursor += lanes - first;
        }
        for (unsigned i = 0; i < steps; i++, done += of.outputs)
            convert(s->engine, r, &p, raw, i, done);
    }
    free(p.sum);
    return MURAND_STATUS_SUCCESS;
}
