/* Fuzz target of the fat binary layer: walks, orders and unpacks whatever it is given. */
#include "fatbin/fatbin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_cubin(const void *elf, size_t size)
{
    struct fatbin_param param[4];
    const char *name;
    uint64_t bytes;
    for (unsigned k = 0, n = 0; n < 8 && (name = fatbin_cubin_kernel(elf, size, &k)); n++)
        (void)fatbin_cubin_params(elf, size, name, param, 4);
    for (unsigned k = 0; k < 8 && fatbin_cubin_variable(elf, size, k, &bytes); k++)
        ;
    if (fatbin_elf_size(elf, size) > size)
        abort();
}

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
        read_cubin(out, len);
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
    read_cubin(data, size);
    size_t len = 0;
    const char *text = fatbin_carried(data, size, &len);
    for (size_t i = 0; text && i <= len; i++)
        sum += (unsigned char)text[i];
    struct fatbin_member m = {0};
    for (size_t at = 0; fatbin_archive_next(data, size, &at, &m);) {
        for (size_t i = 0; i < m.name_len; i++)
            sum += (unsigned char)m.name[i];
        sum += m.size ? (unsigned char)m.data[m.size - 1] : 0;
    }
    return sum == SIZE_MAX;
}
