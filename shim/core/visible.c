/* Which devices a process may see: the variables of CUDA and of NVIDIA's containers as one list for MUSA. */
#include "core/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entry number i of a list, without blanks; its length, 0 if there is none. */
static size_t entry(const char *list, long i, const char **at)
{
    for (; list && *list; list += strcspn(list, ",") + 1) {
        if (i-- == 0) {
            list += strspn(list, " \t");
            size_t n = strcspn(list, ", \t");
            *at = list;
            return n;
        }
        if (!list[strcspn(list, ",")])
            break;
    }
    return 0;
}

/* Does the container's variable name devices? "all", "void" and nothing restrict nothing. */
static bool names_devices(const char *nvidia)
{
    return nvidia && *nvidia && strcmp(nvidia, "all") != 0 && strcmp(nvidia, "void") != 0;
}

const char *cumu_visible(const char *cuda, const char *nvidia, char *out, size_t room)
{
    if (!names_devices(nvidia))
        return cuda;
    if (strcmp(nvidia, "none") == 0)
        return "";
    if (!cuda)
        return nvidia;
    /* Numbers of CUDA's list count within the container's; UUIDs mean the same device everywhere. */
    size_t used = 0;
    out[0] = 0;
    const char *at;
    size_t n;
    for (long i = 0; (n = entry(cuda, i, &at)); i++) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at + n && (number < 0 || !(n = entry(nvidia, number, &at))))
            break; /* what CUDA cannot use ends its list */
        int k = snprintf(out + used, room - used, "%s%.*s", used ? "," : "", (int)n, at);
        if (k < 0 || (size_t)k >= room - used)
            return nvidia;
        used += (size_t)k;
    }
    return out;
}
