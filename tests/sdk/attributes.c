/* Prints device attributes 121 to 124, which SDKs from 3.1.0 on have and others not. */
#include <stdio.h>

#include "cuda_functions.h"

int main(void)
{
    int bad = cuInit(0);
    for (int attribute = 121; attribute <= 124; attribute++) {
        int value = -1;
        bad |= cuDeviceGetAttribute(&value, attribute, 0);
        printf("%d ", value);
    }
    printf("status %d\n", bad);
    return 0;
}
