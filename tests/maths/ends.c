/* cublasDestroy, cublasLtDestroy and cudnnDestroy return when the device's work is done: programs read results next, on
 * another stream (MAGMA). The stream does not block with the legacy one, and its work takes its time. */
#include <stdatomic.h>

#include "maths.h"

static atomic_int done;

static void work(void *unused)
{
    (void)unused;
    usleep(50000);
    done++;
}

int main(void)
{
    void *stream, *handle;
    MUST(cudaStreamCreateWithFlags(&stream, 1));
#define WAITS(create, destroy) \
    do { \
        MUST(create(&handle)); \
        done = 0; \
        MUST(cudaLaunchHostFunc(stream, work, NULL)); \
        MUST(destroy(handle)); \
        check(done, "%s returns before the device is done", #destroy); \
        MUST(cudaStreamSynchronize(stream)); \
    } while (0)
    WAITS(cublasCreate_v2, cublasDestroy_v2);
    WAITS(cublasLtCreate, cublasLtDestroy);
    WAITS(cudnnCreate, cudnnDestroy);

    /* Not while anything is captured: the capture goes on. */
    void *capturing, *graph = NULL;
    MUST(cudaStreamCreateWithFlags(&capturing, 1));
    MUST(cublasCreate_v2(&handle));
    MUST(cudaStreamBeginCapture(capturing, 2));
    MUST(cublasDestroy_v2(handle));
    MUST(cudaStreamEndCapture(capturing, &graph));
    check(graph != NULL, "a handle's end ends a capture");
    return check_end("maths ends");
}
