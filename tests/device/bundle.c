/* Writes what mcc puts around device code: clang's offload bundle of a mubin (stdin), as public binaries have it
 * (members at multiples of 4096, an empty one for the host), or one that is damaged. usage: bundle KIND ARCH */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MOST = 8, LARGEST = 1 << 22 };

struct member {
    char id[64];
    const void *data;
    uint64_t size;
};

static unsigned char text[LARGEST], bundle[3 * LARGEST];

static size_t put(size_t at, uint64_t v)
{
    memcpy(bundle + at, &v, sizeof v);
    return at + sizeof v;
}

static size_t write_bundle(const struct member *m, unsigned n, uint64_t shift, uint64_t count)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    memcpy(bundle, magic, sizeof magic - 1);
    size_t at = put(sizeof magic - 1, count ? count : n), end = PAGE;
    for (unsigned i = 0; i < n; i++) {
        at = put(at, end + shift);
        at = put(at, m[i].size);
        at = put(at, strlen(m[i].id));
        memcpy(bundle + at, m[i].id, strlen(m[i].id));
        at += strlen(m[i].id);
        if (m[i].size)
            memcpy(bundle + end, m[i].data, m[i].size);
        end += (m[i].size + PAGE - 1) / PAGE * PAGE;
    }
    return end;
}

int main(int argc, char **argv)
{
    const char *kind = argc == 3 ? argv[1] : "", *arch = argc == 3 ? argv[2] : "";
    uint64_t size = fread(text, 1, sizeof text, stdin), shift = 0, count = 0;
    unsigned n = 0;
    struct member m[MOST] = {{.id = "host-x86_64-unknown-linux"}};
    int several = !strcmp(kind, "several");
    n = 1;
    for (int other = 21; several && other <= 22; other++, n++) {
        snprintf(m[n].id, sizeof m[n].id, "musa-mtgpu-mt-musa--mp_%d", other == atoi(arch) ? 41 : other);
        m[n].data = "no code";
        m[n].size = 7;
    }
    snprintf(m[n].id, sizeof m[n].id, "musa-mtgpu-mt-musa%smp_%s", !strcmp(kind, "hyphen") ? "-" : "--",
             !strcmp(kind, "other") ? "99" : arch);
    m[n].data = text;
    m[n++].size = size;
    if (!strcmp(kind, "wild"))
        shift = UINT64_MAX - PAGE;
    if (!strcmp(kind, "count"))
        count = UINT64_MAX;
    if (!strcmp(kind, "count") || !strcmp(kind, "nothing"))
        n = 1;
    size_t all = write_bundle(m, n, shift, count);
    if (!strcmp(kind, "truncated"))
        all = PAGE + (size_t)size / 2;
    if (!strcmp(kind, "compressed")) /* clang 18's form; no public mcc writes it */
        memcpy(bundle, "CCOB\2\0\1\0", 8);
    return fwrite(bundle, 1, all, stdout) == all ? 0 : 1;
}
