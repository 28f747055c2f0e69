/* The functions of FFTW's interface, by precision, from the library that is here: FFTW (GPL), or MKL, which has an
 * interface of the same names. They are looked up, not linked: a program that uses cuFFTW has functions of these names
 * (libcufftw's), and the linker would give us those. Nothing of FFTW is needed to build: types and flags are those that
 * its manual gives (sections 4.5.3, Guru Real-data DFTs; 4.3.2, Planner Flags). */
#ifndef CUMU_HOST_MUFFT_FFTW_H
#define CUMU_HOST_MUFFT_FFTW_H

#include <stdbool.h>
#include <stddef.h>

enum { MUFFT_FFTW_UNALIGNED = 1 << 1, MUFFT_FFTW_ESTIMATE = 1 << 6 };

/* One dimension: its length, the steps in elements of the input and of the output (fftw_iodim64). */
struct mufft_dim {
    ptrdiff_t n, is, os;
};

/* Complex numbers and plans are pointers that differ in name alone; here each is a void *. A sign is -1 forward. */
struct mufft_fftw {
    void *(*plan_guru64_dft)(int rank, const struct mufft_dim *dims, int batches, const struct mufft_dim *batch,
                             void *in, void *out, int sign, unsigned flags);
    void *(*plan_guru64_dft_r2c)(int rank, const struct mufft_dim *dims, int batches, const struct mufft_dim *batch,
                                 void *in, void *out, unsigned flags);
    void *(*plan_guru64_dft_c2r)(int rank, const struct mufft_dim *dims, int batches, const struct mufft_dim *batch,
                                 void *in, void *out, unsigned flags);
    void (*execute_dft)(void *plan, void *in, void *out);
    void (*execute_dft_r2c)(void *plan, void *in, void *out);
    void (*execute_dft_c2r)(void *plan, void *in, void *out);
    void (*destroy_plan)(void *plan);
    int (*alignment_of)(void *data);
};

/* Whether CUMU_HOST_FFT, of which no other word is a library, lets "fftw" or "mkl" be used. */
bool mufft_may_use(const char *library);

/* The functions for float, or for double. NULL where no library has them. Any thread. */
const struct mufft_fftw *mufft_fftw(int precise);

#endif
