/* Fuzz target of the communication manifest: what can be read is written, and reads again as the
 * same. */
#include "api/nccl/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct manifest *a, const struct manifest *b)
{
    if (!b || a->ngroups != b->ngroups)
        return false;
    for (int i = 0; i < a->ngroups; i++) {
        const struct manifest_group *x = &a->groups[i], *y = &b->groups[i];
        if (strcmp(x->name, y->name) || x->ndevices != y->ndevices || x->nslots != y->nslots ||
            memcmp(x->devices, y->devices, (size_t)x->ndevices * sizeof *x->devices))
            return false;
        for (int k = 0; k < x->nslots; k++)
            if (strcmp(x->slots[k].name, y->slots[k].name) || x->slots[k].type != y->slots[k].type ||
                x->slots[k].size != y->slots[k].size)
                return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char out[64];
    char path[64], why[200] = "";
    int fd = memfd_create("manifest", MFD_CLOEXEC);
    if (!*out)
        (void)snprintf(out, sizeof out, "/tmp/fuzz-manifest-%d", (int)getpid());
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        struct manifest *m = cumu_manifest_read(path, why, sizeof why);
        if (!m && !*why)
            abort();
        if (m && cumu_manifest_write(out, m)) {
            struct manifest *again = cumu_manifest_read(out, why, sizeof why);
            if (!same(m, again))
                abort();
            cumu_manifest_free(again);
            (void)unlink(out);
        }
        cumu_manifest_free(m);
    }
    if (fd >= 0)
        (void)close(fd);
    return 0;
}
