/* nvJitLink: PTX is linked by our own linker, and what comes out stands for the cubin. LTO-IR goes to
 * the program's own copy of NVIDIA's linker, which is asked for PTX; that is linked with the rest. */
#include "api/api.h"
#include "api/nvjitlink/nvjitlink.h"
#include "core/resolve.h"
#include "fatbin/fatbin.h"
#include "wraps.h"

#include <stdlib.h>
#include <string.h>

enum { LOG = 2048 };

struct cumu_jitlink {
    uint32_t kind; /* CUMU_H_JITLINK */
    unsigned toolkit;
    struct cumu_link *link;
    const struct nvjitlink *by; /* NULL: the program has none */
    void *own;                  /* its session, once LTO-IR came */
    const char **options;       /* one block with their text; NULL-terminated, room for two more */
    bool lto, ptx, complete;
    unsigned registers; /* -maxrregcount */
    const char *text;   /* of the link */
    size_t size;
    char *error, *info; /* LOG bytes each */
};

static nvJitLinkResult result_of(int err)
{
    switch (err) {
    case CUDA_SUCCESS: return NVJITLINK_SUCCESS;
    case CUDA_ERROR_INVALID_PTX: return NVJITLINK_ERROR_PTX_COMPILE;
    case CUDA_ERROR_OUT_OF_MEMORY: return NVJITLINK_ERROR_INTERNAL;
    case CUDA_ERROR_FILE_NOT_FOUND: return NVJITLINK_ERROR_INVALID_INPUT;
    default: return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
    }
}

static void destroy(struct cumu_jitlink *s)
{
    if (s->own)
        (void)s->by->destroy(&s->own);
    if (s->link)
        cumu_link_free(s->link);
    free(s->options);
    free(s->error);
    free(s->info);
    cumu_handle_free(s);
}

static bool keep_options(struct cumu_jitlink *s, uint32_t n, const char *const *options)
{
    size_t bytes = (n + 3) * sizeof *options;
    for (uint32_t i = 0; i < n; i++)
        bytes += strlen(options[i]) + 1;
    s->options = calloc(1, bytes);
    char *text = s->options ? (char *)(s->options + n + 3) : NULL;
    for (uint32_t i = 0; text && i < n; i++) {
        s->options[i] = strcpy(text, options[i]);
        text += strlen(text) + 1;
        s->lto |= strcmp(options[i], "-lto") == 0;
        s->ptx |= strcmp(options[i], "-ptx") == 0;
        const unsigned registers = fatbin_registers(options[i], strlen(options[i]));
        s->registers = registers ? registers : s->registers;
    }
    return text != NULL;
}

static bool open_link(struct cumu_jitlink *s)
{
    const struct cumu_jit_request request = {s->error, s->info, LOG, LOG, s->registers};
    return cumu_link_new(&request, &s->link) == CUDA_SUCCESS;
}

/* The program's own linker knows best what options there are. */
static nvJitLinkResult check_options(const struct nvjitlink *by, uint32_t n, const char *const *options)
{
    bool arch = false;
    void *trial = NULL;
    if (n && !options)
        return NVJITLINK_ERROR_INVALID_INPUT;
    for (uint32_t i = 0; i < n; i++) {
        if (!options[i])
            return NVJITLINK_ERROR_INVALID_INPUT;
        arch |= strncmp(options[i], "-arch=", 6) == 0;
    }
    nvJitLinkResult err = !by ? (arch ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_MISSING_ARCH)
                              : by->create(&trial, n, options);
    if (trial)
        (void)by->destroy(&trial);
    return err;
}

static nvJitLinkResult create(unsigned toolkit, void **out, uint32_t n, const char *const *options)
{
    const struct nvjitlink *by = cumu_nvjitlink(toolkit);
    if (!out)
        return NVJITLINK_ERROR_INVALID_INPUT;
    nvJitLinkResult bad = check_options(by, n, options);
    if (bad)
        return bad;
    struct cumu_jitlink *s = cumu_handle_new(CUMU_H_JITLINK);
    if (!s)
        return NVJITLINK_ERROR_INTERNAL;
    s->toolkit = toolkit;
    s->by = by;
    s->error = calloc(1, LOG);
    s->info = calloc(1, LOG);
    if (!s->error || !s->info || !keep_options(s, n, options) || !open_link(s)) {
        destroy(s);
        return NVJITLINK_ERROR_INTERNAL;
    }
    *out = s;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult wrap_nvJitLinkCreate_v12(void **handle, unsigned n, const void *options)
{
    return create(12, handle, n, options);
}

nvJitLinkResult wrap_nvJitLinkCreate(void **handle, unsigned n, const void *options)
{
    return create(13, handle, n, options);
}

nvJitLinkResult wrap_nvJitLinkDestroy(void **handle)
{
    struct cumu_jitlink *s = handle ? cumu_as_jitlink(*handle) : NULL;
    if (!s)
        return NVJITLINK_ERROR_INVALID_INPUT;
    destroy(s);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

/* ---- inputs --------------------------------------------------------------------------------- */

static nvJitLinkResult add_lto(struct cumu_jitlink *s, int type, const void *data, size_t size, const char *name)
{
    if (!s->lto)
        return NVJITLINK_ERROR_LTO_NOT_ENABLED;
    if (!s->by) {
        cumu_real_missed(cumu_nvjitlink_soname(s->toolkit));
        return NVJITLINK_ERROR_INTERNAL;
    }
    if (!s->own) {
        uint32_t n = 0;
        while (s->options[n])
            n++;
        if (!s->ptx)
            s->options[n++] = "-ptx";
        nvJitLinkResult err = s->by->create(&s->own, n, s->options);
        if (err)
            return err;
    }
    return s->by->add(s->own, type, data, size, name);
}

/* A fat binary with LTO-IR and no PTX: what nvcc's -dlto leaves, for libraries that link kernels at run time. */
static bool carries_lto(const void *data, size_t size)
{
    struct fatbin_list l;
    const bool carries = fatbin_list_make(&l, data, size, 0) == FATBIN_NO_PTX && l.nlto;
    fatbin_list_free(&l);
    return carries;
}

/* LTO-IR is told by its first word or a fat binary's table; the rest by cumu_link_add, whatever the type says: a cubin
 * that came from a facade is PTX. */
static nvJitLinkResult add(struct cumu_jitlink *s, int type, const void *data, size_t size, const char *name)
{
    static const unsigned char lto_magic[] = {0xed, 0x43, 0x4e, 0x7f};
    if (type == NVJITLINK_INPUT_NONE || type < 0 || type > NVJITLINK_INPUT_ANY)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (s->complete)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (type == NVJITLINK_INPUT_INDEX) /* says which library members are needed; all are taken */
        return NVJITLINK_SUCCESS;
    if (type == NVJITLINK_INPUT_LTOIR || (size >= sizeof lto_magic && !memcmp(data, lto_magic, sizeof lto_magic)))
        return add_lto(s, NVJITLINK_INPUT_LTOIR, data, size, name);
    if (carries_lto(data, size))
        return add_lto(s, NVJITLINK_INPUT_FATBIN, data, size, name);
    return result_of(cumu_link_add(s->link, data, size));
}

nvJitLinkResult wrap_nvJitLinkAddData(void *handle, int type, const void *data, size_t size, const char *name)
{
    struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (!data || size == 0)
        return s->toolkit > 12 ? NVJITLINK_ERROR_NULL_INPUT : NVJITLINK_ERROR_INVALID_INPUT;
    return add(s, type, data, size, name);
}

nvJitLinkResult wrap_nvJitLinkAddFile(void *handle, int type, const char *path)
{
    struct cumu_jitlink *s = cumu_as_jitlink(handle);
    char *data;
    size_t size;
    if (!s || !path)
        return NVJITLINK_ERROR_INVALID_INPUT;
    int err = cumu_read_file(path, &data, &size);
    if (err)
        return result_of(err);
    nvJitLinkResult res = add(s, type, data, size, path);
    free(data);
    return res;
}

/* ---- linking -------------------------------------------------------------------------------- */

/* The PTX of the linked LTO-IR becomes one more input. */
static nvJitLinkResult take_ptx(struct cumu_jitlink *s)
{
    size_t size = 0;
    nvJitLinkResult err = s->by->complete(s->own);
    if (!err)
        err = s->by->ptx_size(s->own, &size);
    char *text = err ? NULL : malloc(size + 1);
    if (!err && !text)
        err = NVJITLINK_ERROR_INTERNAL;
    if (!err)
        err = s->by->ptx(s->own, text);
    if (!err) {
        text[size] = '\0';
        err = result_of(cumu_link_add(s->link, text, size));
    }
    free(text);
    return err;
}

nvJitLinkResult wrap_nvJitLinkComplete(void *handle)
{
    struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || s->complete)
        return NVJITLINK_ERROR_INVALID_INPUT;
    s->complete = true;
    nvJitLinkResult err = s->own ? take_ptx(s) : NVJITLINK_SUCCESS;
    char *text = NULL;
    if (!err)
        err = result_of(cumu_link_complete(s->link, &text, &s->size));
    s->text = err ? NULL : text;
    return err;
}

/* ---- results -------------------------------------------------------------------------------- */

static nvJitLinkResult linked_size(void *handle, size_t *size)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || !s->text || !size)
        return NVJITLINK_ERROR_INVALID_INPUT;
    *size = s->size;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult linked(void *handle, void *image)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || !s->text || !image)
        return NVJITLINK_ERROR_INVALID_INPUT;
    memcpy(image, s->text, s->size);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult wrap_nvJitLinkGetLinkedCubinSize(void *handle, size_t *size) { return linked_size(handle, size); }

nvJitLinkResult wrap_nvJitLinkGetLinkedCubin(void *handle, void *image) { return linked(handle, image); }

nvJitLinkResult wrap_nvJitLinkGetLinkedPtxSize(void *handle, size_t *size) { return linked_size(handle, size); }

nvJitLinkResult wrap_nvJitLinkGetLinkedPtx(void *handle, char *text) { return linked(handle, text); }

nvJitLinkResult wrap_nvJitLinkGetLinkedLTOIRSize(void *handle, size_t *size)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    return s && s->own && s->by->lto_size ? s->by->lto_size(s->own, size) : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult wrap_nvJitLinkGetLinkedLTOIR(void *handle, void *image)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    return s && s->own && s->by->lto ? s->by->lto(s->own, image) : NVJITLINK_ERROR_INVALID_INPUT;
}

/* ---- logs ----------------------------------------------------------------------------------- */

/* Ours says why PTX was refused, NVIDIA's why LTO-IR was. Sizes count the NUL. */
nvJitLinkResult wrap_nvJitLinkGetErrorLogSize(void *handle, size_t *size)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || !size)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (s->own && !s->error[0])
        return s->by->error_size(s->own, size);
    *size = strlen(s->error) + 1;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult wrap_nvJitLinkGetErrorLog(void *handle, char *log)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || !log)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (s->own && !s->error[0])
        return s->by->error(s->own, log);
    strcpy(log, s->error);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult wrap_nvJitLinkGetInfoLogSize(void *handle, size_t *size)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || !size)
        return NVJITLINK_ERROR_INVALID_INPUT;
    *size = strlen(s->info) + 1;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult wrap_nvJitLinkGetInfoLog(void *handle, char *log)
{
    const struct cumu_jitlink *s = cumu_as_jitlink(handle);
    if (!s || !log)
        return NVJITLINK_ERROR_INVALID_INPUT;
    strcpy(log, s->info);
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult version(unsigned toolkit, unsigned own_minor, unsigned *major, unsigned *minor)
{
    nvJitLinkResult (*own)(unsigned *, unsigned *);
    bool opened;
    void *f = cumu_resolve_real(cumu_nvjitlink_soname(toolkit), "nvJitLinkVersion", &opened);
    if (!major || !minor)
        return NVJITLINK_ERROR_INVALID_INPUT;
    memcpy(&own, &f, sizeof f);
    if (own)
        return own(major, minor);
    *major = toolkit;
    *minor = own_minor;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult wrap_nvJitLinkVersion_v12(unsigned *major, unsigned *minor) { return version(12, 9, major, minor); }

nvJitLinkResult wrap_nvJitLinkVersion(unsigned *major, unsigned *minor) { return version(13, 0, major, minor); }
