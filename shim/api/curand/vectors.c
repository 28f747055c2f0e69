/* cuRAND's tables for the Sobol generators of kernels. They are the same on every back end, so they are made here:
 * each once, on demand, and kept as long as the process lives, as cuRAND's are. */
#include <pthread.h>
#include <stdlib.h>

#include "api/api.h"
#include "sobol/sobol.h"

#include "cuda_enums.h"

enum set { JOE_KUO_32 = 101, SCRAMBLED_32, JOE_KUO_64, SCRAMBLED_64 }; /* curandDirectionVectorSet_t */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Makes the table unless it is there. The 32-bit one is narrowed in place. */
static void *vectors(void **table, enum set set)
{
    size_t words = (size_t)SOBOL_DIMENSIONS * SOBOL_BITS;
    pthread_mutex_lock(&lock);
    uint64_t *wide = *table ? NULL : malloc(words * sizeof *wide);
    if (wide) {
        bool scrambled = set == SCRAMBLED_32 || set == SCRAMBLED_64;
        (scrambled ? sobol_scrambled_vectors : sobol_vectors)(0, SOBOL_DIMENSIONS, (uint64_t(*)[SOBOL_BITS])wide);
        *table = wide;
    }
    if (wide && (set == JOE_KUO_32 || set == SCRAMBLED_32)) {
        uint32_t *narrow = *table;
        for (size_t d = 0; d < SOBOL_DIMENSIONS; d++)
            for (size_t k = 0; k < 32; k++)
                narrow[d * 32 + k] = (uint32_t)(wide[d * SOBOL_BITS + k] >> 32);
        void *less = realloc(narrow, words / 2 * sizeof *narrow);
        *table = less ? less : narrow;
    }
    pthread_mutex_unlock(&lock);
    return *table;
}

static int give(void *out, int set, int plain, int scrambled)
{
    static void *tables[SCRAMBLED_64 - JOE_KUO_32 + 1];
    if (!out || (set != plain && set != scrambled))
        return CURAND_STATUS_OUT_OF_RANGE;
    void *table = vectors(&tables[set - JOE_KUO_32], (enum set)set);
    if (!table)
        return CURAND_STATUS_ALLOCATION_FAILED;
    *(void **)out = table;
    return CURAND_STATUS_SUCCESS;
}

int wrap_curandGetDirectionVectors32(void *out, int set) { return give(out, set, JOE_KUO_32, SCRAMBLED_32); }
int wrap_curandGetDirectionVectors64(void *out, int set) { return give(out, set, JOE_KUO_64, SCRAMBLED_64); }

static uint32_t constants32[SOBOL_DIMENSIONS];
static uint64_t constants64[SOBOL_DIMENSIONS];
static void choose(void)
{
    for (unsigned d = 0; d < SOBOL_DIMENSIONS; d++) {
        constants64[d] = sobol_scramble_constant(d);
        constants32[d] = (uint32_t)(constants64[d] >> 32);
    }
}

static int give_constants(void *out, void *constants)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!out)
        return CURAND_STATUS_OUT_OF_RANGE;
    pthread_once(&once, choose);
    *(void **)out = constants;
    return CURAND_STATUS_SUCCESS;
}

int wrap_curandGetScrambleConstants32(void *out) { return give_constants(out, constants32); }
int wrap_curandGetScrambleConstants64(void *out) { return give_constants(out, constants64); }
