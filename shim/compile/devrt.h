/* The functions of CUDA's device runtime library (libcudadevrt.a) that programs link by themselves, as PTX of ours. */
#ifndef CUMU_COMPILE_DEVRT_H
#define CUMU_COMPILE_DEVRT_H

#include <stdbool.h>

extern const char cumu_device_runtime[]; /* a PTX module of 64-bit addresses for every architecture */
/* Is this the library's file, by its name? */
bool cumu_is_device_runtime(const char *path);

#endif
