/* Generators of the CPU muRAND: handles, settings, and requests put on streams. */
#include <stdlib.h>

#include "host/maths/places.h"
#include "host/maths/submit.h"
#include "host/murand/murand.h"
#include "sobol/sobol.h"

enum { GENERATORS = 4096 };

struct murandGenerator_st {
    struct maths_place place;
    bool host;
    musaStream_t stream;
    const struct murand_engine *engine;
    unsigned long long seed, offset; /* what the next sequence begins with; the offset moves with each request */
    int ordering;
    unsigned dimensions;
    struct murand_sequence *sequence; /* NULL: begin one */
};
static struct murandGenerator_st generators[GENERATORS];
static struct maths_places places = MATHS_PLACES(generators);

static bool live(murandGenerator_t g) { return maths_live(&places, g); }
#define LIVE(g) \
    do { \
        if (!live(g)) \
            return MURAND_STATUS_NOT_INITIALIZED; \
    } while (0)

static const struct {
    murandRngType_t type;
    const struct murand_engine *engine;
} types[] = {
    {MURAND_RNG_PSEUDO_DEFAULT, &murand_xorwow},
    {MURAND_RNG_PSEUDO_XORWOW, &murand_xorwow},
    {MURAND_RNG_PSEUDO_MRG32K3A, &murand_mrg32k3a},
    {MURAND_RNG_PSEUDO_MTGP32, &murand_mtgp32},
    {MURAND_RNG_PSEUDO_MT19937, &murand_mt19937},
    {MURAND_RNG_PSEUDO_PHILOX4_32_10, &murand_philox},
    {MURAND_RNG_QUASI_DEFAULT, &murand_sobol32},
    {MURAND_RNG_QUASI_SOBOL32, &murand_sobol32},
    {MURAND_RNG_QUASI_SCRAMBLED_SOBOL32, &murand_scrambled_sobol32},
    {MURAND_RNG_QUASI_SOBOL64, &murand_sobol64},
    {MURAND_RNG_QUASI_SCRAMBLED_SOBOL64, &murand_scrambled_sobol64},
};

static bool quasi(const struct murand_engine *e) { return e->fill; }

static murandStatus_t create(murandGenerator_t *generator, murandRngType_t type, bool host)
{
    size_t t = 0;
    if (!generator)
        return MURAND_STATUS_OUT_OF_RANGE;
    while (t < sizeof types / sizeof *types && types[t].type != type)
        t++;
    if (t == sizeof types / sizeof *types)
        return MURAND_STATUS_TYPE_ERROR;
    struct murandGenerator_st *g = maths_take(&places);
    if (!g)
        return MURAND_STATUS_ALLOCATION_FAILED;
    g->host = host;
    g->stream = NULL;
    g->engine = types[t].engine;
    g->seed = g->offset = 0;
    g->ordering = quasi(g->engine) ? MURAND_ORDERING_QUASI_DEFAULT : MURAND_ORDERING_PSEUDO_DEFAULT;
    g->dimensions = 1;
    g->sequence = NULL;
    g->place.live = true;
    *generator = g;
    return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandCreateGenerator(murandGenerator_t *generator, murandRngType_t type)
{
    if (!maths_context())
        return MURAND_STATUS_INITIALIZATION_FAILED;
    return create(generator, type, false);
}

murandStatus_t murandCreateGeneratorHost(murandGenerator_t *generator, murandRngType_t type)
{
    return create(generator, type, true);
}

static void release(struct murand_sequence *s)
{
    if (!s || atomic_fetch_sub(&s->references, 1) > 1)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s->state);
    free(s);
}

/* The next request begins anew. */
static murandStatus_t renew(murandGenerator_t g)
{
    release(g->sequence);
    g->sequence = NULL;
    return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandDestroyGenerator(murandGenerator_t g)
{
    if (!maths_end(&places, g))
        return MURAND_STATUS_NOT_INITIALIZED;
    renew(g);
    maths_free(g);
    return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandGetVersion(int *version)
{
    if (!version)
        return MURAND_STATUS_OUT_OF_RANGE;
    *version = 10000;
    return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandGetProperty(int which, int *value)
{
    if (!value || which < 0 || which > 2)
        return MURAND_STATUS_OUT_OF_RANGE;
    *value = which == 0;
    return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandSetStream(murandGenerator_t g, musaStream_t stream)
{
    LIVE(g);
    g->stream = stream;
    return MURAND_STATUS_SUCCESS;
}

murandStatus_t murandSetPseudoRandomGeneratorSeed(murandGenerator_t g, unsigned long long seed)
{
    LIVE(g);
    if (quasi(g->engine))
        return MURAND_STATUS_TYPE_ERROR;
    if (!g->engine->places && seed == g->seed)
        return MURAND_STATUS_SUCCESS; /* as cuRAND has it: these begin anew with another seed only */
    g->seed = seed;
    return renew(g);
}

murandStatus_t murandSetGeneratorOffset(murandGenerator_t g, unsigned long long offset)
{
    LIVE(g);
    if (!g->engine->places)
        return MURAND_STATUS_TYPE_ERROR;
    g->offset = offset;
    return renew(g);
}

/* The order that a device chooses is not documented: it is the default's. */
murandStatus_t murandSetGeneratorOrdering(murandGenerator_t g, murandOrdering_t ordering)
{
    LIVE(g);
    const struct murand_engine *e = g->engine;
    bool known = false;
    switch (ordering) {
    case MURAND_ORDERING_PSEUDO_DEFAULT:
    case MURAND_ORDERING_PSEUDO_LEGACY: known = !quasi(e); break;
    case MURAND_ORDERING_PSEUDO_BEST: known = !quasi(e) && e != &murand_mt19937; break;
    case MURAND_ORDERING_PSEUDO_SEEDED: known = e == &murand_xorwow; break;
    case MURAND_ORDERING_PSEUDO_DYNAMIC: known = !quasi(e) && e != &murand_mt19937 && !g->host; break;
    case MURAND_ORDERING_QUASI_DEFAULT: known = quasi(e);
    }
    if (!known)
        return MURAND_STATUS_OUT_OF_RANGE;
    g->ordering = ordering;
    return renew(g);
}

murandStatus_t murandSetQuasiRandomGeneratorDimensions(murandGenerator_t g, unsigned dimensions)
{
    LIVE(g);
    if (!quasi(g->engine))
        return MURAND_STATUS_TYPE_ERROR;
    if (!dimensions || dimensions > SOBOL_DIMENSIONS)
        return MURAND_STATUS_OUT_OF_RANGE;
    g->dimensions = dimensions;
    return renew(g);
}

static struct murand_sequence *sequence(murandGenerator_t g)
{
    struct murand_sequence *s = g->sequence ? g->sequence : calloc(1, sizeof *s);
    if (!s || g->sequence)
        return s;
    s->references = 1;
    pthread_mutex_init(&s->lock, NULL);
    s->engine = g->engine;
    s->ordering = g->ordering;
    s->seed = g->seed;
    s->offset = g->offset;
    s->dimensions = g->dimensions;
    return g->sequence = s;
}

murandStatus_t murandGenerateSeeds(murandGenerator_t g)
{
    LIVE(g);
    return sequence(g) ? MURAND_STATUS_SUCCESS : MURAND_STATUS_ALLOCATION_FAILED;
}

struct call {
    struct murand_sequence *sequence;
    struct murand_request request;
};

/* Two streams that share a generator take turns. */
static murandStatus_t fill(const struct call *c)
{
    pthread_mutex_lock(&c->sequence->lock);
    murandStatus_t r = murand_fill(c->sequence, &c->request);
    pthread_mutex_unlock(&c->sequence->lock);
    return r;
}

static void run(const void *call)
{
    const struct call *c = call;
    (void)fill(c); /* what it can lack is memory, which maths_alloc says */
}
static void drop(const void *call) { release(((const struct call *)call)->sequence); }

/* Roughly what a number costs, in operations. */
enum { COST = 4 };

/* How far a request moves the offset: in lanes, or in points. */
static unsigned long long advance(const struct murandGenerator_st *g, const struct murand_request *r)
{
    bool normal = r->kind >= MURAND_NORMAL && r->kind <= MURAND_LOG_NORMAL_DOUBLE;
    if (g->engine->single || g->engine->neighbours || !normal)
        return r->n / g->dimensions;
    return r->n / 2;
}

static murandStatus_t generate(murandGenerator_t g, struct murand_request request)
{
    LIVE(g);
    bool normal = request.kind >= MURAND_NORMAL && request.kind <= MURAND_LOG_NORMAL_DOUBLE;
    if (request.kind == (g->engine->wide ? MURAND_BITS : MURAND_LONG_LONG))
        return MURAND_STATUS_TYPE_ERROR;
    if ((normal && !g->engine->single && request.n % 2) || request.n % g->dimensions)
        return MURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (request.n && !request.out)
        return MURAND_STATUS_OUT_OF_RANGE;
    struct call c = {.sequence = sequence(g), .request = request};
    if (!c.sequence)
        return MURAND_STATUS_ALLOCATION_FAILED;
    g->offset += g->engine->places ? advance(g, &request) : 0;
    if (g->host)
        return fill(&c);
    c.request.out = maths_operand(request.out);
    atomic_fetch_add(&c.sequence->references, 1);
    struct maths_work what = {MATHS_LIBRARY, run, drop};
    switch (maths_submit(g->stream, what, &c, sizeof c, (double)request.n * COST)) {
    case musaSuccess: return MURAND_STATUS_SUCCESS;
    case musaErrorMemoryAllocation: return MURAND_STATUS_ALLOCATION_FAILED;
    default: return MURAND_STATUS_LAUNCH_FAILURE;
    }
}

murandStatus_t murandGenerate(murandGenerator_t g, unsigned *out, size_t n)
{
    return generate(g, (struct murand_request){MURAND_BITS, out, n, 0, 0});
}
murandStatus_t murandGenerateLongLong(murandGenerator_t g, unsigned long long *out, size_t n)
{
    return generate(g, (struct murand_request){MURAND_LONG_LONG, out, n, 0, 0});
}
murandStatus_t murandGenerateUniform(murandGenerator_t g, float *out, size_t n)
{
    return generate(g, (struct murand_request){MURAND_UNIFORM, out, n, 0, 0});
}
murandStatus_t murandGenerateUniformDouble(murandGenerator_t g, double *out, size_t n)
{
    return generate(g, (struct murand_request){MURAND_UNIFORM_DOUBLE, out, n, 0, 0});
}
murandStatus_t murandGenerateNormal(murandGenerator_t g, float *out, size_t n, float mean, float deviation)
{
    return generate(g, (struct murand_request){MURAND_NORMAL, out, n, (double)mean, (double)deviation});
}
murandStatus_t murandGenerateNormalDouble(murandGenerator_t g, double *out, size_t n, double mean, double deviation)
{
    return generate(g, (struct murand_request){MURAND_NORMAL_DOUBLE, out, n, mean, deviation});
}
murandStatus_t murandGenerateLogNormal(murandGenerator_t g, float *out, size_t n, float mean, float deviation)
{
    return generate(g, (struct murand_request){MURAND_LOG_NORMAL, out, n, (double)mean, (double)deviation});
}
murandStatus_t murandGenerateLogNormalDouble(murandGenerator_t g, double *out, size_t n, double mean, double deviation)
{
    return generate(g, (struct murand_request){MURAND_LOG_NORMAL_DOUBLE, out, n, mean, deviation});
}
murandStatus_t murandGeneratePoisson(murandGenerator_t g, unsigned *out, size_t n, double lambda)
{
    LIVE(g);
    if (!(lambda > 0) || lambda > POISSON_LAMBDA_MAX)
        return MURAND_STATUS_OUT_OF_RANGE;
    return generate(g, (struct murand_request){MURAND_POISSON, out, n, lambda, 0});
}
