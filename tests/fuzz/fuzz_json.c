/* Fuzz target: the JSON reader of communication manifests. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/nccl/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[100], *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    memcpy(text, data, size); /* no byte behind it */
    struct json *j = cumu_json_parse(text, size, why, sizeof why);
    if (!j == !why[0]) /* a value or a reason, never both or neither */
        abort();
    cumu_json_free(j);
    free(text);
    return 0;
}
