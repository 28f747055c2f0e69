/* Modules from what programs register or load: PTX text, fat binaries, files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/devrt.h"
#include "kernel/module.h"

enum { EAGER_TEXT = 256 << 10 }; /* bytes of PTX whose kernels are lowered when it is loaded */

struct cumu_module *cumu_module_register(const void *wrapper)
{
    struct cumu_module *m = cumu_module_new(NULL, wrapper);
    const void *container;
    if (!m)
        return NULL;
    if (!fatbin_is_wrapper(wrapper))
        cumu_error("kernel", "__cudaRegisterFatBinary", "%s", fatbin_error_text(FATBIN_BAD_MAGIC));
    for (unsigned i = 0; (container = fatbin_wrapper_container(wrapper, i)); i++)
        if (!cumu_unit_of_container(m, cumu_module_units(m), container, FATBIN_UNBOUNDED, NULL)) {
            cumu_module_unload(m);
            return NULL;
        }
    return m;
}

/* ---- loading -------------------------------------------------------------------------------- */

static int add_text(struct cumu_module *m, const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return cumu_unit_of_text(m, cumu_module_units(m), copy, len) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A container is copied whole: CUDA lets the caller free it after the load. */
static int add_container(struct cumu_module *m, const void *data, size_t size)
{
    struct fatbin_walk w;
    int err = fatbin_walk_open(&w, data, size);
    if (err) {
        cumu_kernel_report(m, CUMU_ERROR, "module", "%s", fatbin_error_text(err));
        return CUDA_ERROR_INVALID_IMAGE;
    }
    size_t len = (size_t)(w.container_end - (const uint8_t *)data);
    void *copy = malloc(len);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, len);
    return cumu_unit_of_container(m, cumu_module_units(m), copy, len, copy) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A cubin of our ptxas carries PTX, and a pack may have that of another; machine code is nothing to translate. */
static int add_cubin(struct cumu_module *m, const void *data, size_t size)
{
    const struct cumu_pack *pack;
    const struct cumu_pack_module *packed;
    size_t len, whole = fatbin_elf_size(data, size);
    const char *text = fatbin_carried(data, size, &len);
    if (text)
        return add_text(m, text, len);
    if (whole && cumu_packs_find(data, whole, &pack, &packed))
        return cumu_unit_of_pack(m, cumu_module_units(m), pack, packed) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (size == FATBIN_UNBOUNDED)
        size = whole;
    unsigned next = 0;
    const char *kernel = fatbin_cubin_kernel(data, size, &next);
    cumu_kernel_report(m, CUMU_GAP, kernel ? kernel : "module",
                       "the image is machine code (a cubin), there is no PTX to translate%s",
                       cumu_packs_any() ? ", and no pack of CUMU_PTX_PACK is for it" : "");
    return cumu_kernel_missing(m, kernel ? kernel : "module", CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* All containers of a host object's section; an object without device code has none. */
static int add_object(struct cumu_module *m, const struct fatbin_member *object)
{
    size_t len;
    struct fatbin_walk w;
    const char *section = fatbin_cubin_section(object->data, object->size, "__nv_relfatbin", &len);
    int err = CUDA_SUCCESS;
    if (!section || fatbin_walk_open(&w, section, len))
        return CUDA_SUCCESS;
    do
        err = add_container(m, w.container, (size_t)(w.end - w.container));
    while (!err && fatbin_walk_container(&w));
    return err;
}

/* A static library. That of CUDA's device runtime holds machine code; what of it is not about launching kernels is PTX
 * of ours: mapping/facts/cuda.md X4. */
static int add_archive(struct cumu_module *m, const void *data, size_t size)
{
    static const char runtime[] = "cuda_device_runtime.o";
    struct fatbin_member member = {0};
    unsigned before = 0, after = 0;
    int err = CUDA_SUCCESS;
    CUMU_EACH_UNIT(m, u)
    before++;
    for (size_t at = 0; !err && fatbin_archive_next(data, size, &at, &member);)
        err = member.name_len == sizeof runtime - 1 && !memcmp(member.name, runtime, sizeof runtime - 1)
                  ? add_text(m, cumu_device_runtime, strlen(cumu_device_runtime))
                  : add_object(m, &member);
    CUMU_EACH_UNIT(m, u)
    after++;
    if (!err && before == after) {
        cumu_kernel_report(m, CUMU_GAP, "module", "the archive holds no device code that can be linked");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return err;
}

int cumu_module_add(struct cumu_module *m, const void *data, size_t size)
{
    uint32_t magic = 0;
    if (size >= sizeof magic || size == FATBIN_UNBOUNDED)
        memcpy(&magic, data, size < sizeof magic ? size : sizeof magic);
    if (magic == FATBIN_MAGIC_WRAPPER && size == FATBIN_UNBOUNDED) {
        const void *container;
        int err = CUDA_SUCCESS;
        for (unsigned i = 0; !err && (container = fatbin_wrapper_container(data, i)); i++)
            err = add_container(m, container, FATBIN_UNBOUNDED);
        return err;
    }
    if (magic == FATBIN_MAGIC)
        return add_container(m, data, size);
    if (!memcmp(&magic, "\177ELF", 4))
        return add_cubin(m, data, size);
    if (size != FATBIN_UNBOUNDED && fatbin_is_archive(data, size))
        return add_archive(m, data, size);
    const char *text = data;
    size_t len = size == FATBIN_UNBOUNDED ? strlen(text) : strnlen(text, size);
    return add_text(m, text, len);
}

/* Loads a module from an image of any kind. If it fails, the log that the program gave holds why, as
 * cuModuleLoadDataEx promises. */
static int load(const void *data, size_t size, const char *path, const struct cumu_jit_request *log,
                struct cumu_module **out)
{
    if (log && log->error && log->error_size)
        log->error[0] = '\0';
    if (log && log->info && log->info_size)
        log->info[0] = '\0';
    struct cumu_module *m = cumu_module_new(log, NULL);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = cumu_module_add(m, data, size);
    if (!err)
        err = cumu_module_open(m);
    /* CUDA compiles PTX when it is loaded, and programs look for its errors there; a kernel that only we cannot
     * translate is an error when it is used. Large modules stay lazy: few of their kernels are ever launched. */
    CUMU_EACH_UNIT(m, u)
    if (!err && cumu_unit_ptx(u) &&
        (cumu_loading_eager() || (cumu_unit_is_text(u) && cumu_unit_ptx(u)->text_len <= EAGER_TEXT)))
        err = cumu_unit_check(u);
    cumu_module_loaded(m);
    CUMU_EACH_UNIT(m, u)
    if (err && cumu_unit_machine_code(u))
        err = cumu_kernel_missing(m, cumu_unit_machine_code(u), err);
    if (err) {
        if (path)
            cumu_error("kernel", "module", "%s cannot be used", path);
        cumu_module_unload(m);
        return err;
    }
    *out = m;
    return CUDA_SUCCESS;
}

int cumu_module_load(const void *data, size_t size, const struct cumu_jit_request *log, struct cumu_module **out)
{
    return load(data, size, NULL, log, out);
}

/* Read to its end instead of by its size, which pipes and files of /proc do not tell. */
int cumu_read_file(const char *path, char **out, size_t *len)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return CUDA_ERROR_FILE_NOT_FOUND;
    char *data = NULL;
    size_t size = 0, cap = 0, got;
    int err = CUDA_ERROR_OUT_OF_MEMORY;
    do {
        if (cap - size < 2) {
            cap = cap ? cap * 2 : 1 << 16;
            char *more = cap <= FATBIN_MAX_IMAGE ? realloc(data, cap) : NULL;
            if (!more)
                goto out;
            data = more;
        }
        got = fread(data + size, 1, cap - size - 1, f);
        size += got;
    } while (got > 0);
    err = CUDA_ERROR_INVALID_IMAGE; /* a folder, for example */
    if (ferror(f))
        goto out;
    data[size] = '\0';
    *out = data;
    *len = size;
    data = NULL;
    err = CUDA_SUCCESS;
out:
    free(data);
    fclose(f);
    return err;
}

int cumu_module_load_file(const char *path, const struct cumu_jit_request *log, struct cumu_module **out)
{
    char *data;
    size_t size;
    int err = cumu_read_file(path, &data, &size);
    if (err)
        return err;
    err = load(data, size, path, log, out);
    free(data);
    return err;
}
