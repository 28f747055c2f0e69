/* muRAND's functions that nothing public shows, over those that are seen: generators in host memory, orderings,
 * dimensions, and logarithmic normal numbers. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/hmap.h"
#include "core/init.h"
#include "core/resolve.h"

#include "cuda_enums.h"
#include "musa_enums.h"

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
    murandStatus_t r = mu.murandCreateGenerator(generator, type);
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
    (void)mu.murandDestroyGenerator(*generator);
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

#define GENERATE(name, function, type, parameters, ...)                                            \
    static murandStatus_t name(murandGenerator_t g, type *out, size_t n parameters)                \
    {                                                                                              \
        void *to = staging(g, out, n, sizeof *out);                                                \
        return to || !n ? deliver(BELOW(function)(g, to, n __VA_ARGS__), out, to, n, sizeof *out)  \
                        : MURAND_STATUS_ALLOCATION_FAILED;                                         \
    }
#define COMMA ,
GENERATE(bits, murandGenerate, unsigned, )
GENERATE(long_bits, murandGenerateLongLong, unsigned long long, )
GENERATE(uniform, murandGenerateUniform, float, )
GENERATE(uniform_double, murandGenerateUniformDouble, double, )
GENERATE(normal, murandGenerateNormal, float, COMMA float mean COMMA float deviation, , mean, deviation)
GENERATE(normal_double, murandGenerateNormalDouble, double, COMMA double mean COMMA double deviation, , mean,
         deviation)
GENERATE(poisson, murandGeneratePoisson, unsigned, COMMA double lambda, , lambda)

/* ---- the logarithmic normal distribution: e to the power of normal numbers, on the host ---------- */

/* A buffer for what lies on the device; the numbers themselves, if they lie on the host. */
static murandStatus_t fetch(murandStatus_t r, bool device, void **numbers, void *out, size_t bytes)
{
    *numbers = !device ? out : r ? NULL : malloc(bytes + 1);
    if (!r && !*numbers)
        return MURAND_STATUS_ALLOCATION_FAILED;
    if (!r && device && (mu.musaDeviceSynchronize() || mu.musaMemcpy(*numbers, out, bytes, musaMemcpyDefault)))
        return MURAND_STATUS_LAUNCH_FAILURE;
    return r;
}

static murandStatus_t put(murandStatus_t r, bool device, void *numbers, void *out, size_t bytes)
{
    if (!r && device && mu.musaMemcpy(out, numbers, bytes, musaMemcpyDefault))
        r = MURAND_STATUS_INTERNAL_ERROR;
    if (device)
        free(numbers);
    return r;
}

static murandStatus_t log_normal(murandGenerator_t g, float *out, size_t n, float mean, float deviation)
{
    bool device = !is_on_host(g);
    void *numbers;
    murandStatus_t r = n > SIZE_MAX / sizeof *out ? MURAND_STATUS_OUT_OF_RANGE
                                                  : mu.murandGenerateNormal(g, out, n, mean, deviation);
    r = fetch(r, device, &numbers, out, n * sizeof *out);
    for (size_t i = 0; !r && i < n; i++)
        ((float *)numbers)[i] = expf(((float *)numbers)[i]);
    return put(r, device, numbers, out, n * sizeof *out);
}

static murandStatus_t log_normal_double(murandGenerator_t g, double *out, size_t n, double mean, double deviation)
{
    bool device = !is_on_host(g);
    void *numbers;
    murandStatus_t r = n > SIZE_MAX / sizeof *out ? MURAND_STATUS_OUT_OF_RANGE
                                                  : mu.murandGenerateNormalDouble(g, out, n, mean, deviation);
    r = fetch(r, device, &numbers, out, n * sizeof *out);
    for (size_t i = 0; !r && i < n; i++)
        ((double *)numbers)[i] = exp(((double *)numbers)[i]);
    return put(r, device, numbers, out, n * sizeof *out);
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

#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name;
    bool host; /* stands around the function where there are no host generators; else where it is missing itself */
    void (*function)(void);
} rows[] = {
    {"murandCreateGeneratorHost", true, STAND_IN(create_host)},
    {"murandDestroyGenerator", true, STAND_IN(destroy)},
    {"murandGenerate", true, STAND_IN(bits)},
    {"murandGenerateLongLong", true, STAND_IN(long_bits)},
    {"murandGenerateUniform", true, STAND_IN(uniform)},
    {"murandGenerateUniformDouble", true, STAND_IN(uniform_double)},
    {"murandGenerateNormal", true, STAND_IN(normal)},
    {"murandGenerateNormalDouble", true, STAND_IN(normal_double)},
    {"murandGeneratePoisson", true, STAND_IN(poisson)},
    {"murandGenerateLogNormal", false, STAND_IN(log_normal)},
    {"murandGenerateLogNormalDouble", false, STAND_IN(log_normal_double)},
    {"murandSetGeneratorOrdering", false, STAND_IN(ordering)},
    {"murandSetQuasiRandomGeneratorDimensions", false, STAND_IN(dimensions)},
};

void *cumu_rand_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, symbol) != 0)
            continue;
        bool there = cumu_below_has("murand", symbol), makes = strcmp(symbol, "murandCreateGeneratorHost") == 0;
        bool use = rows[i].host ? !cumu_below_has("murand", "murandCreateGeneratorHost") && (there || makes) : !there;
        return use && cumu_below_has("murand", "murandCreateGenerator") ? cumu_code_address(rows[i].function) : NULL;
    }
    return NULL;
}
