/* NPP's version, and the stream of functions that are not told one. */
#include "api/npp/npp.h"

#include <stdatomic.h>

/* NppLibraryVersion, of the releases in the wheels of CUDA 11.8, 12 and 13. */
struct version {
    int major, minor, build;
};
const void *wrap_nppGetLibVersion_v11(void)
{
    static const struct version v = {11, 8, 0};
    return &v;
}
const void *wrap_nppGetLibVersion_v12(void)
{
    static const struct version v = {12, 4, 1};
    return &v;
}
const void *wrap_nppGetLibVersion(void)
{
    static const struct version v = {13, 2, 0};
    return &v;
}

static _Atomic(musaStream_t) current;
musaStream_t npp_current_stream(void) { return current; }
cudaStream_t wrap_nppGetStream(void) { return (cudaStream_t)current; }

/* One stream for the process, as in NPP; what is on the one before has ended when it returns. */
int wrap_nppSetStream(cudaStream_t stream)
{
    musaStream_t to = (musaStream_t)stream, before = atomic_exchange(&current, to);
    return before == to || !mu.musaStreamSynchronize(before) ? NPP_SUCCESS : NPP_CUDA_KERNEL_EXECUTION_ERROR;
}
