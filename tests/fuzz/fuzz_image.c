/* Fuzz target of what a module load of the CPU driver takes: images of tier 0, and of tier 1 around
 * them. An input is either, whole or damaged; one that is text is lowered, and its image damaged at
 * places that the text decides. */
#include "ptx/lir/image.h"
#include "ptx/tier1/tier1.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct t0_env env = {.global_alloc = alloc, .global_free = release};

static void load(const void *image, size_t size)
{
    const char *why = NULL;
    struct t1_parts parts = {.lir_image = image, .lir_size = size};
    size_t sum = 0;
    if (t1_image_split(image, size, &parts)) {
        for (size_t k = 0; k < parts.object_size; k++)
            sum += ((const uint8_t *)parts.object)[k];
        sum += parts.path ? strlen(parts.path) : 0;
    }
    struct t0_module *t = t0_module_load(parts.lir_image, parts.lir_size, &env, &why);
    if (!t && !why && sum == 1) /* sum is used, so that the reads stay */
        abort();
    t0_module_unload(t);
}

static void load_copy(const void *from, size_t size)
{
    void *copy = aligned_alloc(64, (size + 64) & ~(size_t)63); /* as malloc gives to the driver */
    if (!copy)
        return;
    memcpy(copy, from, size);
    load(copy, size);
    free(copy);
}

/* The text's image, some of whose words are others, and wrapped as tier 1's. */
static void load_lowered(const struct ptx_module *m, const char *kernel, const uint8_t *seed, size_t nseed)
{
    struct ptx_diag diag;
    void *image, *both;
    size_t size, all;
    if (lir_lower_kernel(m, kernel, &image, &size, &diag))
        return;
    uint32_t state = 1;
    for (size_t k = 0; k < nseed; k++)
        state = (state ^ seed[k]) * 16777619u;
    for (unsigned n = 0; n < 16; n++) {
        uint8_t *p = image;
        state = state * 1664525 + 1013904223;
        uint32_t at = (state >> 8) % (uint32_t)size;
        uint8_t was = p[at];
        p[at] ^= (uint8_t)(1u << (state & 7));
        load_copy(image, size);
        const struct t1_parts parts = {image, seed, size, nseed, T1_SHAPE_FLAT, nseed & 1 ? "/tmp/none" : NULL};
        if (n == 0 && !t1_image_pack(&parts, &both, &all)) {
            load_copy(both, all);
            free(both);
        }
        if (n % 3)
            p[at] = was;
    }
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_diag diag;
    if (size && data[0] != '.' && data[0] != '/') {
        load_copy(data, size);
        return 0;
    }
    struct ptx_module *m = ptx_module_open((const char *)data, size, &diag);
    for (uint32_t i = 0; m && i < m->nfunc; i++)
        if (m->func[i].is_entry && !m->func[i].is_decl)
            load_lowered(m, m->func[i].name, data, size);
    ptx_module_close(m);
    return 0;
}
