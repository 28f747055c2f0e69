/* Inside of the CPU muRAND: what its files share. It stands on nothing but the exported MUSA functions.
 *
 * A pseudorandom generator is a row of lanes, and a cursor that takes them in turn, row after row: the layout that
 * cuRAND documents. What a lane has drawn belongs to the sequence, which calls on a stream advance in stream order;
 * seeds and offsets begin a new one. Requests are cut at columns of lanes, which are filled by all CPUs. */
#ifndef CUMU_HOST_MURAND_H
#define CUMU_HOST_MURAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/murand.h"
#include "musa_enums.h"
#include "sanitize.h"
#include "sobol/poisson.h"

enum {
    MURAND_CHUNK = 512, /* lanes that draw at once: a multiple of each engine's group of lanes, a divisor of its row */
    MURAND_DRAWS = 4    /* most numbers that a lane draws then */
};

/* A loop for the vectoriser: a copy for each level of CPU. Nothing in it depends on the level but its speed. */
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 && !CUMU_ASAN && !CUMU_TSAN
#define MURAND_VECTOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MURAND_VECTOR
#endif

struct murand_sequence;
struct murand_request;

/* How 32-bit draws become numbers in (0, 1]. */
struct murand_scale {
    bool full;    /* all 32 bits of a draw are random: d * 2^-32 + 2^-33, and the rest is unused */
    double first; /* of a full one, the double of draw 0 */
    double bits;  /* d times this has 32 random bits */
    double step;  /* d times this is a double and, rounded, a float */
};

struct murand_engine {
    bool neighbours;    /* pairs are of two lanes, not of two draws of one */
    bool single;        /* each number takes one draw: doubles have 32 random bits, normal ones are the inverse of
                             their distribution's integral */
    bool places;        /* a sequence may begin at an offset */
    bool coarse;        /* its normal doubles are floats */
    double normal_from; /* lambda above which Poisson numbers are normal ones, rounded */
    unsigned precise;   /* draws that a double takes */
    const struct murand_scale *scale;
    unsigned (*lanes)(int ordering);
    /* Makes what is common to the lanes, which is at the sequence's offset; false without memory. */
    bool (*begin)(struct murand_sequence *s);
    /* Makes the states of lanes s->ready ... lanes - 1; false without memory. Where NULL, begin made them. */
    bool (*prepare)(struct murand_sequence *s, unsigned lanes);
    /* Draws `draws` times from each of the lanes in that row: out[k][i] is draw k of lane first + i. Calls for
     * different lanes come at the same time. */
    void (*draw)(struct murand_sequence *s, unsigned long long row, unsigned first, unsigned count, unsigned draws,
                 uint32_t out[][MURAND_CHUNK]);
    /* Where not NULL: these lanes have drawn, and not only for a neighbour's sake. */
    void (*passed)(struct murand_sequence *s, unsigned first, unsigned count, unsigned draws);
    /* Quasirandom engines have this one instead of all the rest. */
    murandStatus_t (*fill)(struct murand_sequence *s, const struct murand_request *r, const struct poisson_sums *p);
    bool scrambled, wide; /* theirs */
};
extern const struct murand_engine murand_xorwow, murand_mrg32k3a, murand_philox, murand_mtgp32, murand_mt19937;
extern const struct murand_engine murand_sobol32, murand_scrambled_sobol32, murand_sobol64, murand_scrambled_sobol64;

/* A seed's numbers from an offset on. Referred to by its generator and by what is on streams. */
struct murand_sequence {
    atomic_uint references;
    pthread_mutex_t lock;
    const struct murand_engine *engine;
    int ordering;
    unsigned long long seed, offset;
    unsigned dimensions;
    bool begun;
    unsigned lanes, cursor;
    unsigned begun_before;  /* lanes whose turn in the offset's row is over */
    unsigned ready;         /* lanes that have a state */
    void *state;            /* of each lane, the engine's own; freed with the sequence */
    uint32_t next[8];       /* of the lane to get ready next */
    unsigned long long row; /* of the cursor, from the offset's on */
};

enum murand_kind {
    MURAND_BITS,
    MURAND_UNIFORM,
    MURAND_UNIFORM_DOUBLE,
    MURAND_NORMAL, /* pairs of most engines, from here ... */
    MURAND_NORMAL_DOUBLE,
    MURAND_LOG_NORMAL,
    MURAND_LOG_NORMAL_DOUBLE, /* ... to here */
    MURAND_POISSON,
    MURAND_LONG_LONG
};

struct murand_request {
    enum murand_kind kind;
    void *out;
    size_t n;
    double a, b; /* mean and deviation, or lambda */
};
/* Fills the request from the sequence and moves on. MURAND_STATUS_ALLOCATION_FAILED. One thread at a time. */
murandStatus_t murand_fill(struct murand_sequence *s, const struct murand_request *r);

/* convert.c: n draws, or pairs of them, to the request's numbers from `at` on. ------------------------------------ */

/* The sums of a request; false without memory. */
bool murand_poisson_begin(struct poisson_sums *p, double lambda);

/* Uniform numbers in (0, 1], two for two normal ones (Box and Muller 1958), or only for the first of these; for
 * Poisson numbers of a great lambda, too. */
void murand_pairs(const struct murand_request *r, const double *far, const double *turn, unsigned n, bool firsts,
                  size_t at);
/* 32-bit draws, each for one number. */
void murand_singles(const struct murand_engine *e, const struct murand_request *r, const struct poisson_sums *p,
                    const uint32_t *draws, unsigned n, size_t at);
/* 64-bit draws, each for one number. */
void murand_wide_singles(const struct murand_engine *e, const struct murand_request *r, const struct poisson_sums *p,
                         const uint64_t *draws, unsigned n, size_t at);
/* A pair of draws as 53 bits in (0, 1]: XORWOW's and Philox's. */
void murand_precise(const uint32_t *low, const uint32_t *high, unsigned n, double *out);
void murand_uniform(const struct murand_scale *scale, const uint32_t *draws, unsigned n, double *out);
void murand_uniform_float(const struct murand_scale *scale, const uint32_t *draws, unsigned n, float *out);
extern const struct murand_scale murand_full;  /* of draws that have 32 random bits */
extern const struct murand_scale murand_above; /* of those, too: its doubles are d * 2^-32 + 2^-32 */

#endif
