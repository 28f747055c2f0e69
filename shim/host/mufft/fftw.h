/* FFTW's functions, by precision. They are looked up in FFTW's own libraries, not linked: a program that uses cuFFTW
 * has functions of the same names (libcufftw's), and the linker would give us those. */
#ifndef CUMU_HOST_MUFFT_FFTW_H
#define CUMU_HOST_MUFFT_FFTW_H

#include <fftw3.h>

/* FFTW's complex numbers and plans are pointers that differ in name alone; here each is a void *. */
struct mufft_fftw {
    void *(*plan_guru64_dft)(int rank, const fftw_iodim64 *dims, int batches, const fftw_iodim64 *batch, void *in,
                             void *out, int sign, unsigned flags);
    void *(*plan_guru64_dft_r2c)(int rank, const fftw_iodim64 *dims, int batches, const fftw_iodim64 *batch, void *in,
                                 void *out, unsigned flags);
    void *(*plan_guru64_dft_c2r)(int rank, const fftw_iodim64 *dims, int batches, const fftw_iodim64 *batch, void *in,
                                 void *out, unsigned flags);
    void (*execute_dft)(void *plan, void *in, void *out);
    void (*execute_dft_r2c)(void *plan, void *in, void *out);
    void (*execute_dft_c2r)(void *plan, void *in, void *out);
    void (*destroy_plan)(void *plan);
    int (*alignment_of)(void *data);
};

/* The functions for float, or for double. NULL where FFTW cannot be loaded. Any thread. */
const struct mufft_fftw *mufft_fftw(int precise);

#endif
