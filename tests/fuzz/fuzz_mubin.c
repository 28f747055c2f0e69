/* Fuzz target of what mcc puts out: the part of an offload bundle that is for an architecture. */
#include "compile/tool.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned archs[] = {21, 22, 31};
    for (unsigned k = 0; k < 3; k++) {
        struct cumu_compiled o = {.data = malloc(size ? size : 1), .size = size};
        if (o.data) {
            memcpy(o.data, data, size);
            if (cumu_mubin_unbundle(&o, archs[k]) && o.size > size)
                abort();
        }
        free(o.data);
    }
    return 0;
}
