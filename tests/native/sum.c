/* A program written for MUSA in C: memory, a stream, an event, a graph by capture, and a sum by MCCL. */
#include <mccl.h>
#include <musa.h>
#include <musa_runtime.h>
#include <stdio.h>

int main(void)
{
    enum { N = 1000 };
    float host[N], *device = NULL;
    musaStream_t stream;
    musaGraph_t graph;
    musaGraphExec_t exec;
    mcclComm_t comm;
    int devices = 0, version = 0, err = musaGetDeviceCount(&devices);
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    err = err ? err : musaMalloc((void **)&device, sizeof host);
    err = err ? err : musaStreamCreate(&stream);
    err = err ? err : musaStreamBeginCapture(stream, musaStreamCaptureModeGlobal);
    err = err ? err : musaMemcpyAsync(device, host, sizeof host, musaMemcpyHostToDevice, stream);
    err = err ? err : musaStreamEndCapture(stream, &graph);
    err = err ? err : musaGraphInstantiate(&exec, graph, 0);
    err = err ? err : musaGraphLaunch(exec, stream);
    err = err ? err : (int)mcclGetVersion(&version);
    err = err ? err : (int)mcclCommInitAll(&comm, 1, NULL);
    err = err ? err : (int)mcclAllReduce(device, device, N, mcclFloat, mcclSum, comm, stream);
    err = err ? err : musaStreamSynchronize(stream);
    err = err ? err : musaMemcpy(host, device, sizeof host, musaMemcpyDeviceToHost);
    printf("devices %d error %d last %g char %d\n", devices, err, (double)host[N - 1], mcclChar);
    return err;
}
