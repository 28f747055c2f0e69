/* A muSPARSE whose SpGEMM throws (throwing_sdk.cpp): the program gets a status and goes on. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "cuda_functions.h"

int main(void)
{
    void *h, *a, *descr;
    float one = 1;
    int index[2] = {0, 0}, good;
    size_t size = 0;
    good = !cusparseCreate(&h) && !cusparseSpGEMM_createDescr(&descr) &&
           !cusparseCreateCsr(&a, 1, 1, 1, index, index, &one, 2, 2, 0, 0);
    for (int i = 0; i < 6 && good; i++) /* every other call throws: 7 is an internal error */
        good = cusparseSpGEMM_compute(h, 0, 0, &one, a, a, &one, a, 0, 0, descr, &size, NULL) == (i % 2 ? 0 : 7);
    void *sdk = dlopen("libmusparse.so", RTLD_NOW | RTLD_NOLOAD);
    int *(*count)(void) = sdk ? (int *(*)(void))dlsym(sdk, "throwing_count") : NULL;
    good = good && size == 99 && count && *count() == 6;
    printf("%s exceptions that muSPARSE throws become a status, frames below are cleaned up\n", good ? "ok" : "not ok");
    return !good;
}
