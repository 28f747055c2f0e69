/* Fuzz target of the fat binary layer: walks, orders and unpacks whatever it is given. */
#include "fatbin/fatbin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool unpack(void *ctx, const struct fatbin_entry *e, int error)
{
    size_t *budget = ctx, len;
    char *out;
    if (!e || error)
        return true;
    for (size_t i = 0; i < e->name_len; i++)
        *budget += (unsigned char)e->name[i];
    for (size_t i = 0; i < e->options_len; i++)
        *budget += (unsigned char)e->options[i];
    if (fatbin_unpack(e, &out, &len) == FATBIN_OK) {
        for (unsigned k = 0; k < 8; k++)
            if (!fatbin_cubin_kernel(out, len, k))
                break;
        free(out);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    struct fatbin_list l;
    fatbin_scan(data, size, unpack, &sum);
    if (fatbin_list_make(&l, data, size, 80) <= FATBIN_NERRORS)
        fatbin_list_free(&l);
    for (unsigned i = 0; fatbin_segment_version(data, size, i); i++)
        ;
    for (unsigned k = 0; k < 8; k++)
        if (!fatbin_cubin_kernel(data, size, k))
            break;
    return 0;
}
