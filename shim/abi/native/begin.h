/* Before the ABI's headers, which are C11: what C++ needs to read them. end.h takes it back. */
#include <limits.h> /* programs count on it */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#ifndef CUMU_ABI_DIM3_H
#define CUMU_ABI_DIM3_H
struct dim3 { /* passed and copied as C's */
    unsigned x, y, z;
    dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};
#endif
#define _Static_assert static_assert
extern "C" {
#endif
