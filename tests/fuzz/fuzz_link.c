/* Fuzz target of linking at run time (cuLink*, nvJitLink): the parts of the input between lines of
 * "====" are its inputs, of whatever kind each is. */
#include "fatbin/fatbin.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char error[512], info[512];
    static const char line[] = "====\n";
    struct cumu_jit_request log = {error, info, sizeof error, sizeof info, 0};
    struct cumu_link *l;
    char *text;
    size_t n;
    if (cumu_link_new(&log, &l))
        return 0;
    while (size) {
        const uint8_t *end = memmem(data, size, line, sizeof line - 1);
        size_t part = end ? (size_t)(end - data) : size, skip = end ? sizeof line - 1 : 0;
        char *copy = malloc(part + 1); /* no byte behind it, but the NUL that PTX may have */
        if (copy && part) {
            memcpy(copy, data, part);
            copy[part] = '\0';
            (void)cumu_link_add(l, copy, part);
        }
        free(copy);
        data += part + skip;
        size -= part + skip;
    }
    if (!cumu_link_complete(l, &text, &n) && strlen(text) > n)
        abort();
    cumu_link_free(l);
    return 0;
}
