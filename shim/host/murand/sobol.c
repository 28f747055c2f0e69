/* Sobol's quasirandom sequences: a request has the same number of points in each dimension, one dimension after the
 * other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/maths/parallel.h"
#include "host/maths/submit.h"
#include "host/murand/murand.h"
#include "sobol/sobol.h"

enum {
    MANY = 1 << 16, /* points that are worth a second thread */
    PART = 1 << 14, /* of a dimension, at most: what a thread does at a time */
};

struct dimension {
    uint64_t vector[SOBOL_BITS], shift;
};
struct job {
    const struct murand_engine *engine;
    const struct murand_request *request;
    const struct poisson_sums *poisson;
    const struct dimension *dimension;
    unsigned long long first, points; /* of each dimension */
    unsigned long long part, parts;   /* points in each part, parts of each dimension */
};

static uint64_t point(const struct dimension *d, uint64_t place)
{
    uint64_t sum = d->shift;
    for (uint64_t code = place ^ place >> 1; code; code &= code - 1)
        sum ^= d->vector[__builtin_ctzll(code)];
    return sum;
}

MURAND_VECTOR static void sum_up(uint64_t base, const uint64_t *from, unsigned n, uint64_t *out)
{
    for (unsigned i = 0; i < n; i++)
        out[i] = base ^ from[i];
}

/* Points of one part. Those of a place that is a multiple of the chunk differ from the first ones by one number, as
 * Gray's code has the lower bits of both. */
static void part(void *job, unsigned i)
{
    const struct job *j = job;
    const struct dimension *d = &j->dimension[i / j->parts];
    unsigned long long from = i % j->parts * j->part, end = from + j->part < j->points ? from + j->part : j->points;
    size_t at = i / j->parts * j->points + from;
    uint64_t first[MURAND_CHUNK], x[MURAND_CHUNK];
    uint32_t upper[MURAND_CHUNK];
    unsigned known = 0;
    for (unsigned n; from < end; from += n, at += n) {
        uint64_t place = j->first + from;
        unsigned low = place % MURAND_CHUNK;
        n = end - from < MURAND_CHUNK - low ? (unsigned)(end - from) : MURAND_CHUNK - low;
        for (; known < low + n; known++)
            first[known] = known ? first[known - 1] ^ d->vector[__builtin_ctz(known)] : 0;
        if (!j->engine->wide) /* of 32 bits, the place too */
            place = (uint32_t)place;
        sum_up(point(d, place - low), first + low, n, x);
        if (j->engine->wide) {
            murand_wide_singles(j->engine, j->request, j->poisson, x, n, at);
            continue;
        }
        for (unsigned k = 0; k < n; k++)
            upper[k] = (uint32_t)(x[k] >> 32);
        murand_singles(j->engine, j->request, j->poisson, upper, n, at);
    }
}

static bool begin(struct murand_sequence *s)
{
    uint64_t(*vectors)[SOBOL_BITS] = maths_alloc(s->dimensions * sizeof *vectors);
    struct dimension *d = s->state = maths_alloc(s->dimensions * sizeof *d);
    if (vectors && d) {
        (s->engine->scrambled ? sobol_scrambled_vectors : sobol_vectors)(0, s->dimensions, vectors);
        for (unsigned i = 0; i < s->dimensions; i++) {
            memcpy(d[i].vector, vectors[i], sizeof vectors[i]);
            d[i].shift = s->engine->scrambled ? sobol_scramble_constant(i) : 0;
        }
    }
    free(vectors);
    if (vectors && d)
        return true;
    free(d);
    s->state = NULL;
    return false;
}

static murandStatus_t fill(struct murand_sequence *s, const struct murand_request *r, const struct poisson_sums *p)
{
    if (!s->state && !begin(s))
        return MURAND_STATUS_ALLOCATION_FAILED;
    unsigned long long points = r->n / s->dimensions;
    struct job j = {s->engine, r, p, s->state, s->offset, points, points < PART ? points : PART, 0};
    j.parts = (points + j.part - 1) / j.part;
    if (r->n >= MANY)
        maths_parallel((unsigned)(j.parts * s->dimensions), part, &j);
    else
        for (unsigned i = 0; i < j.parts * s->dimensions; i++)
            part(&j, i);
    s->offset += points;
    return MURAND_STATUS_SUCCESS;
}

const struct murand_engine murand_sobol32 = {
    .places = true, .single = true, .scale = &murand_above, .normal_from = HUGE_VAL, .fill = fill};
const struct murand_engine murand_scrambled_sobol32 = {
    .places = true, .single = true, .scale = &murand_above, .normal_from = HUGE_VAL, .fill = fill, .scrambled = true};
const struct murand_engine murand_sobol64 = {
    .places = true, .single = true, .scale = &murand_above, .normal_from = 2000, .fill = fill, .wide = true};
const struct murand_engine murand_scrambled_sobol64 = {.places = true,
                                                       .single = true,
                                                       .scale = &murand_above,
                                                       .normal_from = 2000,
                                                       .fill = fill,
                                                       .wide = true,
                                                       .scrambled = true};
