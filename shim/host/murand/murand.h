/* Inside of the CPU muRAND: what its files share. It stands on nothing but the exported MUSA functions.
 *
 * A generator is a row of independent lanes, each a subsequence far from the others, and a cursor that takes them in
 * turn: the layout that cuRAND documents. What a lane has drawn belongs to the sequence, which calls on a stream
 * advance in stream order; seeds and offsets begin a new one. */
#ifndef CUMU_HOST_MURAND_H
#define CUMU_HOST_MURAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/murand.h"
#include "musa_enums.h"

enum { MURAND_CHUNK = 256 }; /* lanes that draw at once */

struct murand_sequence;
struct murand_engine {
    bool neighbours;   /* pairs are of two lanes, not of two draws of one */
    unsigned precise;  /* draws that a double takes */
    unsigned (*lanes)(int ordering);
    /* Allocates the state, puts the lanes at `offset` of the sequence of `seed`; false without memory. */
    bool (*begin)(struct murand_sequence *s);
    /* Draws `draws` times from each of the lanes: out[k][i] is draw k of lane first + i. */
    void (*draw)(struct murand_sequence *s, unsigned first, unsigned count, unsigned draws,
                 uint32_t out[][2 * MURAND_CHUNK]);
    /* A draw as 32 random bits, as (0, 1], and `precise` draws as (0, 1]. */
    uint32_t (*bits)(uint32_t draw);
    float (*uniform)(uint32_t draw);
    double (*uniform_double)(const uint32_t *draws);
};
extern const struct murand_engine murand_xorwow, murand_mrg32k3a, murand_philox;

/* A seed's numbers from an offset on. Referred to by its generator and by what is on streams. */
struct murand_sequence {
    atomic_uint references;
    pthread_mutex_t lock;
    const struct murand_engine *engine;
    int ordering;
    unsigned long long seed, offset;
    bool begun;
    unsigned lanes, cursor;
    unsigned begun_before;  /* lanes whose turn in the offset's row is over */
    unsigned ready;         /* lanes that have a state */
    void *state;            /* of each lane, the engine's own; freed with the sequence */
    uint32_t next[8];       /* of the lane to get ready next */
    unsigned long long row; /* rounds of the cursor: for engines that count */
};

enum murand_kind {
    MURAND_BITS,
    MURAND_UNIFORM,
    MURAND_UNIFORM_DOUBLE,
    MURAND_NORMAL, /* pairs, from here ... */
    MURAND_NORMAL_DOUBLE,
    MURAND_LOG_NORMAL,
    MURAND_LOG_NORMAL_DOUBLE, /* ... to here */
    MURAND_POISSON
};

struct murand_request {
    enum murand_kind kind;
    void *out;
    size_t n;
    double a, b; /* mean and deviation, or lambda */
};
/* Fills the request from the sequence and moves on. MURAND_STATUS_ALLOCATION_FAILED. One thread at a time. */
murandStatus_t murand_fill(struct murand_sequence *s, const struct murand_request *r);

#endif
