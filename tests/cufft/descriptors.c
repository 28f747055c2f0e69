/* cuFFT's plans over several GPUs reach a muFFT that has them (sdk.c), each argument in its place. */
#include "../check.h"
#include "cuda_functions.h"

int main(void)
{
    int plan = 0, gpus[2] = {3, 7}, answer = 0;
    char data[2];
    void *d = NULL;
    IS(cufftCreate(&plan), 0);
    IS(cufftXtSetGPUs(plan, 2, gpus), 40);
    IS(cufftXtMalloc(plan, &d, 3), 41);
    IS(cufftXtMemcpy(plan, data + 1, data, 2), 42);
    IS(cufftXtQueryPlan(plan, &answer, 1), 43);
    IS(answer, 5);
    IS(cufftXtFree(d), 44);
    IS(cufftXtExecDescriptor(plan, data, data + 1, -1), 45);
    IS(cufftXtExecDescriptorC2C(plan, data, data + 1, -1), 46);
    IS(cufftXtExecDescriptorZ2Z(plan, data, data + 1, -1), 47);
    IS(cufftXtExecDescriptorR2C(plan, data, data + 1), 48);
    IS(cufftXtExecDescriptorC2R(plan, data, data + 1), 49);
    IS(cufftXtExecDescriptorD2Z(plan, data, data + 1), 50);
    IS(cufftXtExecDescriptorZ2D(plan, data, data + 1), 51);
    IS(cufftXtExecDescriptorZ2D(plan + 1, data, data + 1), 1);
    IS(cufftDestroy(plan), 0);
    return check_end("descriptors reach an SDK that has them");
}
