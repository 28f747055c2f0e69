/* Device memory on the host. */
#include "api/fetch.h"

#include <stdlib.h>

void *cumu_fetch(musaStream_t stream, const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes &&
        (mu.musaMemcpyAsync(to, from, bytes, musaMemcpyDeviceToHost, stream) || mu.musaStreamSynchronize(stream))) {
        free(to);
        return NULL;
    }
    return to;
}
