// A program written for MUSA in C++: the overloads and default arguments that CUDA's header has, and muFFT.
#include <cstdio>
#include <mufft.h>
#include <musa_runtime.h>

int main()
{
    float *x = nullptr, host[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    mufftHandle plan{};
    musaEvent_t done;
    dim3 block(4, 2);
    int err = musaMalloc(&x, sizeof host);
    if (!err)
        err = musaMemcpyAsync(x, host, sizeof host, musaMemcpyHostToDevice);
    if (!err)
        err = musaEventCreate(&done, musaEventDisableTiming);
    if (!err)
        err = musaEventRecord(done);
    if (!err)
        err = musaEventRecordWithFlags(done);
    if (!err)
        err = musaMemcpy2DAsync(x + 4, 16, host + 4, 16, 16, 1, musaMemcpyHostToDevice);
    if (!err)
        err = musaEventSynchronize(done);
    musaError state = err ? musaSuccess : musaEventQuery(done);
    if (!err)
        err = state;
    musaGraph_t graph = nullptr;
    musaGraphExec_t exec = nullptr;
    if (!err)
        err = musaGraphCreate(&graph, 0);
    if (!err)
        err = musaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
    if (!err)
        err = musaGraphExecDestroy(exec) || musaGraphDestroy(graph);
#ifdef WITH_FFT
    if (!err)
        err = mufftPlan1d(&plan, 4, MUFFT_C2C, 1);
    if (!err)
        err = mufftExecC2C(plan, (mufftComplex *)x, (mufftComplex *)x, MUFFT_FORWARD);
#endif
    if (!err)
        err = musaMemcpy(host, x, sizeof host, musaMemcpyDeviceToHost);
    (void)plan;
    std::printf("error %d first %g seventh %g block %u\n", err, host[0], host[6], block.x * block.y * block.z);
    return err;
}
