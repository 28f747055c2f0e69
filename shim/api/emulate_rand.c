/* muRAND's functions that nothing public shows, over those that are seen: generators in host memory, orderings,
 * dimensions, logarithmic normal and Poisson numbers. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/hmap.h"
#include "core/init.h"
#include "core/resolve.h"

#include "cuda_enums.h"
#include "musa_enums.h"
#include "sobol/poisson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- generators whose numbers lie in host memory ----------------------------------------------- */

struct on_host {
    murandGenerator_t generator;
    UT_hash_handle hh;
};
static HMAP(struct on_host) on_hosts = HMAP_INIT;

#define BELOW(function) ((__typeof__(function) *)(void (*)(void))(uintptr_t)cumu_below("murand", #function))

static bool is_on_host(murandGenerator_t g)
{
    struct on_host *h;
    hmap_lock(&on_hosts);
    HASH_FIND_PTR(on_hosts.head, &g, h);
    hmap_unlock(&on_hosts);
    return h != NULL;
}

static murandStatus_t create_host(murandGenerator_t *generator, murandRngType_t type)
{
    __typeof__(murandCreateGeneratorHost) *below = BELOW(murandCreateGeneratorHost);
    murandStatus_t r = below ? below(generator, type) : mu.murandCreateGenerator(generator, type);
    struct on_host *h = r ? NULL : malloc(sizeof *h);
    if (r)
        return r;
    bool kept = false;
    if (h) {
        h->generator = *generator;
        hmap_lock(&on_hosts);
        HASH_ADD_PTR(on_hosts.head, generator, h);
        kept = hmap_added(h);
        hmap_unlock(&on_hosts);
    }
    if (kept)
        return MURAND_STATUS_SUCCESS;
    free(h);
    (void)BELOW(murandDestroyGenerator)(*generator);
    *generator = NULL;
    return MURAND_STATUS_ALLOCATION_FAILED;
}

static murandStatus_t destroy(murandGenerator_t generator)
{
    struct on_host *h;
    hmap_lock(&on_hosts);
    HASH_FIND_PTR(on_hosts.head, &generator, h);
    if (h)
        HASH_DEL(on_hosts.head, h);
    hmap_unlock(&on_hosts);
    free(h);
    return BELOW(murandDestroyGenerator)(generator);
}

/* Memory that a generator can write n numbers into: the program's own, or on the device in place of the host's. */
static void *staging(murandGenerator_t g, void *out, size_t n, size_t size)
{
    void *p = NULL;
    if (!is_on_host(g))
        return out;
    return n > SIZE_MAX / size || mu.musaMalloc(&p, n * size) ? NULL : p;
}

/* The numbers of a host generator are there when the call returns. */
static murandStatus_t deliver(murandStatus_t r, void *out, void *from, size_t n, size_t size)
{
    if (from == out)
        return r;
    if (!r && mu.musaDeviceSynchronize())
        r = MURAND_STATUS_LAUNCH_FAILURE;
    if (!r && mu.musaMemcpy(out, from, n * size, musaMemcpyDeviceToHost))
        r = MURAND_STATUS_INTERNAL_ERROR;
    (void)mu.musaFree(from);
    return r;
}

#define GENERATE(name, function, type, parameters, ...) \
    static murandStatus_t name(murandGenerator_t g, type *out, size_t n parameters) \
    { \
        void *to = staging(g, out, n, sizeof *out); \
        return to || !n ? deliver(BELOW(function)(g, to, n __VA_ARGS__), out, to, n, sizeof *out) \
                        : MURAND_STATUS_ALLOCATION_FAILED; \
    }
#define COMMA ,
GENERATE(bits, murandGenerate, unsigned, )
GENERATE(long_bits, murandGenerateLongLong, unsigned long long, )
GENERATE(uniform, murandGenerateUniform, float, )
GENERATE(uniform_double, murandGenerateUniformDouble, double, )
GENERATE(normal, murandGenerateNormal, float, COMMA float mean COMMA float deviation, , mean, deviation)
GENERATE(normal_double, murandGenerateNormalDouble, double, COMMA double mean COMMA double deviation, , mean, deviation)
GENERATE(poisson, murandGeneratePoisson, unsigned, COMMA double lambda, , lambda)

/* ---- numbers that are made on the host of those that the library below has --------------------------- */

/* What is made of n numbers in `from`, in their place: as wide as those, or narrower. */
struct recipe {
    size_t width, made; /* of a number below, and of one that is made of it */
    murandStatus_t (*generate)(murandGenerator_t g, void *from, size_t n, double a, double b);
    bool (*make)(void *from, size_t n, double a); /* false: no memory */
};

/* The numbers below, on the host: of a generator of the device by way of its memory. */
static murandStatus_t draw(const struct recipe *r, murandGenerator_t g, void *from, size_t n, double a, double b)
{
    void *device = NULL;
    if (is_on_host(g))
        return r->generate(g, from, n, a, b);
    if (mu.musaMalloc(&device, n * r->width))
        return MURAND_STATUS_ALLOCATION_FAILED;
    murandStatus_t status = r->generate(g, device, n, a, b);
    return deliver(status, from, device, n, r->width);
}

static murandStatus_t cook(const struct recipe *r, murandGenerator_t g, void *out, size_t n, double a, double b)
{
    void *from = n < SIZE_MAX / r->width ? malloc(n * r->width + 1) : NULL;
    if (!from)
        return MURAND_STATUS_ALLOCATION_FAILED;
    murandStatus_t status = n ? draw(r, g, from, n, a, b) : r->generate(g, out, n, a, b);
    if (!status && !r->make(from, n, a))
        status = MURAND_STATUS_ALLOCATION_FAILED;
    if (!status && is_on_host(g))
        memcpy(out, from, n * r->made);
    else if (!status && (mu.musaMemcpy(out, from, n * r->made, musaMemcpyDefault) || mu.musaDeviceSynchronize()))
        status = MURAND_STATUS_INTERNAL_ERROR;
    free(from);
    return status;
}

/* The logarithmic normal distribution is e to the power of normal numbers. */
#define LOG_NORMAL(name, type, function, e_to) \
    static murandStatus_t name##_below(murandGenerator_t g, void *from, size_t n, double mean, double deviation) \
    { \
        return mu.function(g, from, n, (type)mean, (type)deviation); \
    } \
    static bool name##_of(void *from, size_t n, double mean) \
    { \
        type *x = from; \
        (void)mean; \
        for (size_t i = 0; i < n; i++) \
            x[i] = e_to(x[i]); \
        return true; \
    } \
    static murandStatus_t name(murandGenerator_t g, type *out, size_t n, type mean, type deviation) \
    { \
        static const struct recipe r = {sizeof(type), sizeof(type), name##_below, name##_of}; \
        return cook(&r, g, out, n, (double)mean, (double)deviation); \
    }
LOG_NORMAL(log_normal, float, murandGenerateNormal, expf)
LOG_NORMAL(log_normal_double, double, murandGenerateNormalDouble, exp)

/* Poisson numbers are uniform ones through the inverse of the distribution: one of each, so that those of a
 * quasirandom generator stay evenly spread. */
static murandStatus_t uniform_below(murandGenerator_t g, void *from, size_t n, double a, double b)
{
    (void)a, (void)b;
    return mu.murandGenerateUniformDouble(g, from, n);
}

static bool poisson_of(void *from, size_t n, double lambda)
{
    struct poisson_sums p = poisson_range(lambda);
    p.sum = malloc(p.count * sizeof *p.sum);
    if (!p.sum)
        return false;
    poisson_fill(&p, lambda);
    for (size_t i = 0; i < n; i++) {
        double u;
        memcpy(&u, (char *)from + i * sizeof u, sizeof u);
        unsigned number = poisson_at(&p, u);
        memcpy((char *)from + i * sizeof number, &number, sizeof number);
    }
    free(p.sum);
    return true;
}

static murandStatus_t poisson_of_uniform(murandGenerator_t g, unsigned *out, size_t n, double lambda)
{
    static const struct recipe r = {sizeof(double), sizeof(unsigned), uniform_below, poisson_of};
    return !(lambda > 0) || lambda > POISSON_LAMBDA_MAX ? MURAND_STATUS_OUT_OF_RANGE : cook(&r, g, out, n, lambda, 0);
}

/* ---- settings that have one value ----------------------------------------------------------------- */

/* The one order of the library below serves for all that promise no numbers of their own. */
static murandStatus_t ordering(murandGenerator_t generator, murandOrdering_t order)
{
    if (!generator)
        return MURAND_STATUS_NOT_INITIALIZED;
    return order == CURAND_ORDERING_PSEUDO_SEEDED ? MURAND_STATUS_NOT_IMPLEMENTED : MURAND_STATUS_SUCCESS;
}

static murandStatus_t dimensions(murandGenerator_t generator, unsigned n)
{
    if (!generator)
        return MURAND_STATUS_NOT_INITIALIZED;
    return n == 1 ? MURAND_STATUS_SUCCESS : n ? MURAND_STATUS_NOT_IMPLEMENTED : MURAND_STATUS_OUT_OF_RANGE;
}

/* ---- the family ------------------------------------------------------------------------------------ */

/* When a function stands in: where it is missing below; around it, where there are no host generators below; or for
 * generators themselves, where any of the others does. */
enum when { MISSING, NO_HOST, ANY };
#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name;
    enum when when;
    void (*function)(void);
} rows[] = {
    {"murandCreateGeneratorHost", ANY, STAND_IN(create_host)},
    {"murandDestroyGenerator", ANY, STAND_IN(destroy)},
    {"murandGenerate", NO_HOST, STAND_IN(bits)},
    {"murandGenerateLongLong", NO_HOST, STAND_IN(long_bits)},
    {"murandGenerateUniform", NO_HOST, STAND_IN(uniform)},
    {"murandGenerateUniformDouble", NO_HOST, STAND_IN(uniform_double)},
    {"murandGenerateNormal", NO_HOST, STAND_IN(normal)},
    {"murandGenerateNormalDouble", NO_HOST, STAND_IN(normal_double)},
    {"murandGeneratePoisson", NO_HOST, STAND_IN(poisson)},
    {"murandGeneratePoisson", MISSING, STAND_IN(poisson_of_uniform)},
    {"murandGenerateLogNormal", MISSING, STAND_IN(log_normal)},
    {"murandGenerateLogNormalDouble", MISSING, STAND_IN(log_normal_double)},
    {"murandSetGeneratorOrdering", MISSING, STAND_IN(ordering)},
    {"murandSetQuasiRandomGeneratorDimensions", MISSING, STAND_IN(dimensions)},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool stands(unsigned i)
{
    bool there = cumu_below_has("murand", rows[i].name);
    if (rows[i].when == MISSING)
        return !there;
    if (rows[i].when == NO_HOST)
        return there && !cumu_below_has("murand", "murandCreateGeneratorHost");
    bool any = !cumu_below_has("murand", "murandCreateGeneratorHost");
    for (unsigned k = 0; !any && k < ROWS; k++)
        any = rows[k].when == MISSING && stands(k);
    return any;
}

void *cumu_rand_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, symbol) == 0 && stands(i) && cumu_below_has("murand", "murandCreateGenerator"))
            return cumu_code_address(rows[i].function);
    return NULL;
}
