/* Inside of the CPU muFFT: what its files share. It stands on FFTW, float and double.
 *
 * A plan describes a transform; what FFTW executes is made on first use, one for each way of use: the direction,
 * in place or not, with or without the alignment that FFTW's vectors want. FFTW only estimates: that takes
 * microseconds where measuring takes up to seconds, and gives the same bits in every run. */
#ifndef CUMU_HOST_MUFFT_H
#define CUMU_HOST_MUFFT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi/mufft.h"
#include "musa_enums.h"

enum { RANK = 3 };

/* Where one side of a transform lies, in its own elements. */
struct mufft_side {
    long long embed[RANK], stride, dist;
};
struct mufft_shape {
    mufftType type;
    int rank;
    long long n[RANK], batch;
    bool basic; /* contiguous, both sides; a real side in place is padded to its complex one */
    struct mufft_side in, out;
};

enum mufft_use { MUFFT_INVERSE_USE = 1, MUFFT_IN_PLACE = 2, MUFFT_UNALIGNED = 4, MUFFT_USES = 8 };

/* Referred to by its handle and by what is on streams. */
struct mufft_plan {
    atomic_uint references;
    struct mufft_shape shape;
    double work; /* operations of one execution, for maths_submit */
    _Atomic(void *) uses[MUFFT_USES];
};

/* Checks the shape. MUFFT_INVALID_TYPE, _SIZE, _VALUE. */
mufftResult mufft_check(const struct mufft_shape *s);
/* One reference; NULL without memory. */
struct mufft_plan *mufft_plan_new(const struct mufft_shape *s);
void mufft_plan_release(struct mufft_plan *p);
/* What FFTW executes; NULL if it knows no way. Any thread. */
void *mufft_plan_for(struct mufft_plan *p, unsigned use);
unsigned mufft_misaligned(const struct mufft_plan *p, const void *data); /* MUFFT_UNALIGNED or 0 */
void mufft_run(const struct mufft_plan *p, void *fftw, void *in, void *out);

/* NULL unless the handle is live. */
struct mufft_handle {
    atomic_bool taken, live;
    _Atomic(struct mufft_plan *) plan; /* NULL until made */
    musaStream_t stream;
};
struct mufft_handle *mufft_live(mufftHandle h);

static inline bool mufft_is_double(mufftType type) { return type & 0x40; }
/* MUFFT_C2C, MUFFT_R2C or MUFFT_C2R, in either precision. */
static inline mufftType mufft_kind(mufftType type) { return type & ~0x40; }

#endif
