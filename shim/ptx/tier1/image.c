/* Tier 1 images: a header, the tier 0 image and the object. */
#include <stdlib.h>
#include <string.h>

#include "ptx/tier1/tier1.h"

struct header {
    char magic[8];
    uint32_t version, shape;
    uint64_t size; /* of all; where muModuleLoadData, which is given no size, finds it */
    uint64_t lir_size, object_size;
    uint64_t path_size; /* with its NUL; 0: none */
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct header) == 64 && offsetof(struct header, size) == 16, "as in tier 0's");

/* The parts lie at multiples of 64 bytes, as in memory from malloc at least. */
static size_t round_up(size_t n) { return (n + 63) & ~(size_t)63; }

int t1_image_pack(const struct t1_parts *parts, void **image, size_t *size)
{
    size_t lir = round_up(parts->lir_size), object = round_up(parts->object_size);
    size_t path = parts->path ? strlen(parts->path) + 1 : 0;
    size_t all = sizeof(struct header) + lir + object + round_up(path);
    char *p = calloc(1, all);
    if (!p)
        return -1;
    struct header h = {.magic = T1_IMAGE_MAGIC,
                       .version = T1_VERSION,
                       .shape = parts->shape,
                       .size = all,
                       .lir_size = parts->lir_size,
                       .object_size = parts->object_size,
                       .path_size = path};
    memcpy(p, &h, sizeof h);
    memcpy(p + sizeof h, parts->lir_image, parts->lir_size);
    memcpy(p + sizeof h + lir, parts->object, parts->object_size);
    if (path)
        memcpy(p + sizeof h + lir + object, parts->path, path);
    *image = p;
    *size = all;
    return 0;
}

bool t1_image_split(const void *image, size_t size, struct t1_parts *parts)
{
    struct header h;
    if (size < sizeof h)
        return false;
    memcpy(&h, image, sizeof h);
    if (memcmp(h.magic, (char[8]){T1_IMAGE_MAGIC}, sizeof h.magic) || h.version != T1_VERSION ||
        h.shape >= T1_NSHAPES || h.size != size || h.lir_size > size || h.object_size > size || h.path_size > size ||
        sizeof h + round_up(h.lir_size) + round_up(h.object_size) + round_up(h.path_size) != size)
        return false;
    const char *lir = (const char *)image + sizeof h, *object = lir + round_up(h.lir_size);
    const char *path = object + round_up(h.object_size);
    *parts = (struct t1_parts){.lir_image = lir,
                               .object = object,
                               .lir_size = h.lir_size,
                               .object_size = h.object_size,
                               .shape = (enum t1_shape)h.shape,
                               .path = h.path_size && !path[h.path_size - 1] ? path : NULL};
    return true;
}
