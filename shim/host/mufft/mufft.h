/* Inside of the CPU muFFT: what its files share. It stands on FFTW, float and double.
 *
 * A plan describes a transform; the way FFTW does it is made on first use, one for each way of use: the direction,
 * in place or not, with or without the alignment that FFTW's vectors want. FFTW only estimates: that takes
 * microseconds where measuring takes up to seconds, and gives the same bits in every run. */
#ifndef CUMU_HOST_MUFFT_H
#define CUMU_HOST_MUFFT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi/mufft.h"
#include "host/maths/places.h"
#include "musa_enums.h"

enum { RANK = 3 };

/* Where one side of a transform lies, in its own elements. */
struct mufft_side {
    long long embed[RANK], stride, dist;
};
enum mufft_narrow { MUFFT_WIDE, MUFFT_F16, MUFFT_BF16 };
struct mufft_shape {
    mufftType type; /* of a narrow one: float's, which it is computed in */
    enum mufft_narrow narrow;
    int rank;
    long long n[RANK], batch;
    bool basic; /* contiguous, both sides; a real side in place is padded to its complex one */
    struct mufft_side in, out;
};

static inline bool mufft_is_double(mufftType type) { return type & 0x40; }
/* MUFFT_C2C, MUFFT_R2C or MUFFT_C2R, in either precision. */
static inline mufftType mufft_kind(mufftType type) { return type & ~0x40; }

/* A side's elements, and how far apart they are. A complex side of a real transform has half of the last dimension. */
struct mufft_extent {
    long long n[RANK], stride[RANK], dist;
};
struct mufft_extent mufft_extent(const struct mufft_shape *s, bool out, bool in_place);

enum mufft_use { MUFFT_INVERSE_USE = 1, MUFFT_IN_PLACE = 2, MUFFT_UNALIGNED = 4, MUFFT_USES = 8 };

/* Referred to by its handle and by what is on streams. */
struct mufft_plan {
    atomic_uint references;
    struct mufft_shape shape;
    double work; /* operations of one execution, for maths_submit */
    _Atomic(struct mufft_way *) ways[MUFFT_USES];
    pthread_mutex_t scratch_lock;
    void *scratch; /* what an execution needs for itself; the lock is held while it runs */
};

/* Checks the shape. MUFFT_INVALID_TYPE, _SIZE, _VALUE, _NOT_SUPPORTED. */
mufftResult mufft_check(const struct mufft_shape *s);
/* One reference; NULL without memory. */
struct mufft_plan *mufft_plan_new(const struct mufft_shape *s);
void mufft_plan_release(struct mufft_plan *p);
/* Bits of enum mufft_use that the addresses ask for. */
unsigned mufft_use_of(const struct mufft_plan *p, const void *in, const void *out);
/* How FFTW does it; NULL if it knows no way. Any thread. */
const struct mufft_way *mufft_way_for(struct mufft_plan *p, unsigned use);
void mufft_run(struct mufft_plan *p, const struct mufft_way *way, void *in, void *out);

/* ways.c: one use of a plan. */
struct mufft_way *mufft_way_new(const struct mufft_shape *s, unsigned use);
void mufft_way_free(struct mufft_way *w);
void mufft_way_run(const struct mufft_way *w, void *in, void *out, void *scratch);
size_t mufft_way_scratch(const struct mufft_shape *s); /* bytes, enough for every use */

/* narrow.c: a narrow plan's scratch begins with its data as floats, contiguous: the input, then the output, which is
 * `out_at` bytes behind. */
struct mufft_shape mufft_widened(const struct mufft_shape *s);
size_t mufft_narrow_scratch(const struct mufft_shape *s, size_t *out_at);
void mufft_widen(const struct mufft_shape *s, void *in, bool in_place, float *wide);
void mufft_make_narrow(const struct mufft_shape *s, float *wide, void *out, bool in_place);

/* NULL unless the handle is live. */
struct mufft_handle {
    struct maths_place place;
    _Atomic(struct mufft_plan *) plan; /* NULL until made */
    musaStream_t stream;
};
struct mufft_handle *mufft_live(mufftHandle h);

#endif
