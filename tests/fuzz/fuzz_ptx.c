/* Fuzz target of the PTX front end and of tier 0's lowering: opens a module and takes every function
 * through all steps; what can be dumped is dumped, every kernel is lowered, and an image that comes of it
 * must be one that loads. */
#include "ptx/tier0/tier0.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *alloc(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    align = align < 16 ? 16 : align;
    return size > 1u << 20 ? NULL : aligned_alloc(align, (size + align) / align * align);
}
static void release(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

static void lower(const struct ptx_module *m, const char *kernel)
{
    static const struct t0_env env = {.global_alloc = alloc, .global_free = release};
    struct ptx_diag diag;
    void *image;
    size_t size;
    const char *why = NULL;
    if (lir_lower_kernel(m, kernel, &image, &size, &diag))
        return;
    for (unsigned k = 0; lir_image_extern(image, k); k++)
        lir_image_bind(image, k, 4096);
    struct t0_module *t = t0_module_load(image, size, &env, &why);
    if (!t) {
        fprintf(stderr, "%s: image does not load: %s\n", kernel, why ? why : "out of memory");
        abort();
    }
    t0_module_unload(t);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ptx_shape shapes[] = {{.block = {256, 1, 1}, .exact = true},
                                              {.block = {16, 16, 1}, .exact = true}};
    static FILE *sink;
    struct ptx_diag diag;
    struct ptx_module *m = ptx_module_open((const char *)data, size, &diag);
    if (!m)
        return 0;
    if (!sink)
        sink = fopen("/dev/null", "w");
    for (uint32_t i = 0; i < m->nfunc; i++) {
        struct ptx_func *f = &m->func[i];
        if (ptx_analyse(f, &shapes[i % 2], &diag))
            continue;
        if (sink)
            ptx_dump_func(f, sink);
        if (f->is_entry && !f->is_decl)
            lower(m, f->name);
    }
    if (sink)
        ptx_dump_module(m, sink);
    ptx_module_close(m);
    return 0;
}
