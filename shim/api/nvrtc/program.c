/* NVRTC programs: compiled for a virtual architecture even where machine code was asked for, so that the
 * PTX can be handed out as the cubin. */
#include "api/api.h"
#include "api/nvrtc/nvrtc.h"
#include "core/hmap.h"

#include "abi/text.h"
#include "cuda_texts.h"
#include "wraps.h"

#include <stdlib.h>

struct program {
    void *handle; /* the compiler's own */
    const struct nvrtc *by;
    bool real; /* machine code was asked for: the PTX stands for it */
    UT_hash_handle hh;
};
static HMAP(struct program) programs = HMAP_INIT;

/* What is known of a program; by is NULL when it is none. */
static struct program find(void *handle)
{
    struct program *p = NULL;
    hmap_lock(&programs);
    HASH_FIND_PTR(programs.head, &handle, p);
    struct program found = p ? *p : (struct program){0};
    hmap_unlock(&programs);
    return found;
}

static nvrtcResult create(const char *soname, void **out, const char *text, const char *name, int n,
                          const void *contents, const void *names)
{
    const struct nvrtc *by = cumu_nvrtc(soname);
    if (!by)
        return NVRTC_ERROR_INTERNAL_ERROR;
    nvrtcResult err = by->create(out, text, name, n, contents, names);
    struct program *p = err ? NULL : calloc(1, sizeof *p);
    if (p) {
        p->handle = *out;
        p->by = by;
        hmap_lock(&programs);
        HASH_ADD_PTR(programs.head, handle, p);
        bool added = hmap_added(p);
        hmap_unlock(&programs);
        if (added)
            return NVRTC_SUCCESS;
        free(p);
    }
    if (!err)
        (void)by->destroy(out);
    return err ? err : NVRTC_ERROR_OUT_OF_MEMORY;
}

nvrtcResult wrap_nvrtcCreateProgram_v11(void **out, const char *text, const char *name, int n, const void *contents,
                                        const void *names)
{
    return create("libnvrtc.so.11.2", out, text, name, n, contents, names);
}

nvrtcResult wrap_nvrtcCreateProgram_v12(void **out, const char *text, const char *name, int n, const void *contents,
                                        const void *names)
{
    return create("libnvrtc.so.12", out, text, name, n, contents, names);
}

nvrtcResult wrap_nvrtcCreateProgram(void **out, const char *text, const char *name, int n, const void *contents,
                                    const void *names)
{
    return create("libnvrtc.so.13", out, text, name, n, contents, names);
}

nvrtcResult wrap_nvrtcDestroyProgram(void **program)
{
    struct program *p = NULL;
    if (!program)
        return NVRTC_ERROR_INVALID_PROGRAM;
    hmap_lock(&programs);
    HASH_FIND_PTR(programs.head, program, p);
    if (p)
        HASH_DEL(programs.head, p);
    hmap_unlock(&programs);
    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    nvrtcResult err = p->by->destroy(program);
    free(p);
    return err;
}

nvrtcResult wrap_nvrtcCompileProgram(void *program, int n, const void *options)
{
    struct program known = find(program), *p;
    bool real;
    if (!known.by)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (n < 0 || (n > 0 && !options))
        return known.by->compile(program, n, options); /* its own answer to that */
    const char **virtual_ones = cumu_nvrtc_options(options, &n, !known.by->musa, &real);
    if (!virtual_ones)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    nvrtcResult err = known.by->compile(program, n, virtual_ones);
    free(virtual_ones);
    hmap_lock(&programs);
    HASH_FIND_PTR(programs.head, &program, p);
    if (p)
        p->real = real;
    hmap_unlock(&programs);
    return err;
}

nvrtcResult wrap_nvrtcGetCUBINSize(void *program, size_t *size)
{
    struct program p = find(program);
    if (!p.by)
        return NVRTC_ERROR_INVALID_PROGRAM;
    return p.real ? p.by->ptx_size(program, size) : p.by->cubin_size(program, size);
}

nvrtcResult wrap_nvrtcGetCUBIN(void *program, char *image)
{
    struct program p = find(program);
    if (!p.by)
        return NVRTC_ERROR_INVALID_PROGRAM;
    return p.real ? p.by->ptx(program, image) : p.by->cubin(program, image);
}

/* Of every version, and also without a compiler. */
const char *wrap_nvrtcGetErrorString(int result)
{
    static const struct cumu_text results[] = {CUMU_TEXTS_nvrtcResult};
    const struct cumu_text *r = CUMU_TEXT_FIND(results, result);
    return r ? r->name : "NVRTC_ERROR unknown";
}
