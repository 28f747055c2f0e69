/* dim3, the one type that the CUDA and the MUSA headers spell alike. */
#ifndef CUMU_ABI_DIM3_H
#define CUMU_ABI_DIM3_H

struct dim3 {
    unsigned x, y, z;
};
typedef struct dim3 dim3;

#endif
