/* The library below: functions that do next to nothing, so that a call's own cost is seen. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int muGetDevice(int *device)
{
    *device = 0;
    return 0;
}

EXPORT int muGemm(void *handle, int a, int b, int m, int n, void *x, void *y)
{
    *(int *)y = a + b + m + n + (handle == x);
    return 0;
}

EXPORT int muMalloc(void **p, size_t size)
{
    *p = (void *)size;
    return 0;
}
