/* Tier 1 images: a header, the tier 0 image and the object. */
#include <stdlib.h>
#include <string.h>

#include "ptx/tier1/tier1.h"

struct header {
    char magic[8];
    uint32_t version, shape;
    uint64_t size; /* of all; where muModuleLoadData, which is given no size, finds it */
    uint64_t lir_size, object_size;
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct header) == 64 && offsetof(struct header, size) == 16, "as in tier 0's");

/* The parts lie at multiples of 64 bytes, as in memory from malloc at least. */
static size_t round_up(size_t n) { return (n + 63) & ~(size_t)63; }

int t1_image_pack(const void *lir_image, size_t lir_size, const void *object, size_t object_size, enum t1_shape shape,
                  void **image, size_t *size)
{
    size_t all = sizeof(struct header) + round_up(lir_size) + round_up(object_size);
    char *p = calloc(1, all);
    if (!p)
        return -1;
    struct header h = {.magic = T1_IMAGE_MAGIC,
                       .version = T1_VERSION,
                       .shape = shape,
                       .size = all,
                       .lir_size = lir_size,
                       .object_size = object_size};
    memcpy(p, &h, sizeof h);
    memcpy(p + sizeof h, lir_image, lir_size);
    memcpy(p + sizeof h + round_up(lir_size), object, object_size);
    *image = p;
    *size = all;
    return 0;
}

bool t1_image_split(const void *image, size_t size, const void **lir_image, size_t *lir_size, const void **object,
                    size_t *object_size, enum t1_shape *shape)
{
    struct header h;
    if (size < sizeof h)
        return false;
    memcpy(&h, image, sizeof h);
    if (memcmp(h.magic, (char[8]){T1_IMAGE_MAGIC}, sizeof h.magic) || h.version != T1_VERSION ||
        h.shape >= T1_NSHAPES || h.size != size || h.lir_size > size || h.object_size > size ||
        sizeof h + round_up(h.lir_size) + round_up(h.object_size) != size)
        return false;
    *lir_image = (const char *)image + sizeof h;
    *lir_size = h.lir_size;
    *object = (const char *)image + sizeof h + round_up(h.lir_size);
    *object_size = h.object_size;
    *shape = (enum t1_shape)h.shape;
    return true;
}
