/* Modules: host images in, kernels and variables out. An image is what tier 0's lowering produced,
 * checked whole before anything of it is used, and maybe tier 1's object beside it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/driver/kernel.h"
#include "host/driver/nest.h"
#include "ptx/lir/image.h"
#include "ptx/tier0/watch.h"

/* LIR_TAKES_IMAGES: how whoever makes the images knows this driver from a device's. */
extern __attribute__((visibility("default"))) const unsigned cumu_host_images;
const unsigned cumu_host_images = LIR_IMAGE_VERSION;
extern __attribute__((visibility("default"))) t1_take_over cumu_host_take_over;
extern __attribute__((visibility("default"))) t1_under_way cumu_host_under_way;
extern __attribute__((visibility("default"))) t1_spent cumu_host_spent;

static struct host_slab modules = HOST_SLAB(struct MUmod_st, "module");
static struct host_slab functions = HOST_SLAB(struct MUfunc_st, "function");
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool host_function_live(MUfunction f) { return host_slab_live(&functions, f); }

const struct t1_object *host_function_object(MUfunction f, const uint32_t block[3])
{
    const struct MUmod_st *m = f->module;
    if (!m->object || !t1_shape_fits(m->shape, block))
        m = atomic_load_explicit(&f->faster[t1_shape(block)], memory_order_acquire);
    const unsigned tools = host_config()->check_tools, known = T0_MEMCHECK | T0_INITCHECK; /* to compiled code */
    const bool raced = tools == T0_RACECHECK;
    return m && m->object && (!(tools & ~known) || raced || (tools == T0_SYNCCHECK && !t0_synchronises(f->kernel))) &&
                   t1_object_watched(m->object) == (raced           ? T1_EMIT_RACED
                                                    : tools & known ? T1_EMIT_WATCHED
                                                                    : 0)
               ? m->object
               : NULL;
}

uint64_t cumu_host_spent(MUfunction f)
{
    if (!host_function_live(f))
        return 0;
    const uint64_t since = f->since, now = host_clock_ns();
    return f->spent_ns + (since && now > since ? now - since : 0);
}

bool cumu_host_under_way(MUfunction f) { return host_function_live(f) && (!f->block_ns || f->since); }

int cumu_host_take_over(MUfunction f, MUfunction compiled)
{
    if (!host_function_live(f) || !host_function_live(compiled))
        return MUSA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    MUmodule m = compiled->module;
    bool fits = m->object && !m->serves && m != f->module && m->ctx == f->module->ctx && !f->faster[m->shape] &&
                !strcmp(f->info.name, compiled->info.name);
    if (fits) {
        m->serves = f;
        atomic_store_explicit(&f->faster[m->shape], m, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return fits ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

/* No block takes m's object for another module's function from now on, nor another's for one of m's. Blocks that have
 * taken it belong to work of the context that has not ended. */
static void detach_object(MUmodule m)
{
    pthread_mutex_lock(&lock);
    if (m->serves)
        m->serves->faster[m->shape] = NULL;
    m->serves = NULL;
    for (MUfunction f = m->functions; f; f = f->next)
        for (int s = 0; s < T1_NSHAPES; s++) {
            MUmodule other = atomic_exchange(&f->faster[s], NULL);
            if (other)
                other->serves = NULL;
        }
    pthread_mutex_unlock(&lock);
}

static void link_module(MUmodule m)
{
    pthread_mutex_lock(&lock);
    m->next = m->ctx->modules;
    if (m->next)
        m->next->prev = m;
    m->ctx->modules = m;
    pthread_mutex_unlock(&lock);
}

static void unlink_module(MUmodule m)
{
    pthread_mutex_lock(&lock);
    if (m->next)
        m->next->prev = m->prev;
    if (m->prev)
        m->prev->next = m->next;
    else
        m->ctx->modules = m->next;
    pthread_mutex_unlock(&lock);
}

static void free_module(MUmodule m)
{
    for (MUfunction f = m->functions, next; f; f = next) {
        next = f->next;
        nest_forget(f);
        host_slab_put(&functions, f);
    }
    t1_object_unload(m->object);
    t0_race_module_gone(m->t0);
    t0_module_unload(m->t0);
    host_slab_put(&modules, m);
}

void host_modules_unload(MUcontext ctx)
{
    for (MUmodule m = ctx->modules; m; m = ctx->modules) {
        detach_object(m);
        unlink_module(m);
        free_module(m);
    }
}

/* Loads a host image: the LIR that tier 0 runs, with or without an object of tier 1 in front. An object that cannot
 * be loaded refuses the whole image. */
static MUresult load(MUmodule *module, const void *image, size_t size)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    if (!module || !image)
        return MUSA_ERROR_INVALID_VALUE;
    if (!size) {
        host_log(1, "muModuleLoadData: not a host image");
        return MUSA_ERROR_INVALID_IMAGE;
    }
    const struct t0_env *env = host_kernel_env(ctx);
    MUmodule m = env ? host_slab_get(&modules) : NULL;
    if (!m)
        return MUSA_ERROR_OUT_OF_MEMORY;
    const char *why = NULL;
    struct t1_parts parts = {.lir_image = image, .lir_size = size};
    if (t1_image_split(image, size, &parts)) {
        m->shape = parts.shape;
        m->object = t1_object_load(parts.object, parts.object_size, parts.path, &why);
    }
    m->t0 = parts.object && !m->object ? NULL : t0_module_load(parts.lir_image, parts.lir_size, env, &why);
    if (!m->t0) {
        t1_object_unload(m->object);
        host_slab_put(&modules, m);
        host_log(1, "muModuleLoadData: %s", why ? why : "out of memory");
        return why ? MUSA_ERROR_INVALID_IMAGE : MUSA_ERROR_OUT_OF_MEMORY;
    }
    m->ctx = ctx;
    link_module(m);
    *module = m;
    return MUSA_SUCCESS;
}

/* The API passes no size: the image's header says it. Of what is no image only the first wrong byte
 * of the magic number is looked at. Tier 1's header has its size in the same place. */
static size_t image_size(const void *image)
{
    const struct lir_image *header = image;
    if (!image ||
        (strncmp(image, LIR_IMAGE_MAGIC, sizeof header->magic) && strncmp(image, T1_IMAGE_MAGIC, sizeof header->magic)))
        return 0;
    uint64_t size;
    memcpy(&size, (const char *)image + offsetof(struct lir_image, size), sizeof size);
    return size;
}

MUresult muModuleLoadData(MUmodule *module, const void *image) { return load(module, image, image_size(image)); }

MUresult muModuleLoadDataEx(MUmodule *module, const void *image, unsigned int n, MUjit_option *options, void **values)
{
    if (n && (!options || !values))
        return MUSA_ERROR_INVALID_VALUE;
    return muModuleLoadData(module, image); /* an image is final: no option changes its translation */
}

MUresult muModuleLoadFatBinary(MUmodule *module, const void *image)
{
    (void)image;
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    host_log(1, "muModuleLoadFatBinary: holds code for a MUSA device, this is a CPU");
    return module && image ? MUSA_ERROR_NO_BINARY_FOR_GPU : MUSA_ERROR_INVALID_VALUE;
}

/* Whole file into memory; *r tells why NULL came back. */
static void *read_file(const char *path, size_t *size, MUresult *r)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *r = fd < 0 ? (errno == ENOENT ? MUSA_ERROR_FILE_NOT_FOUND : MUSA_ERROR_INVALID_VALUE) : 0;
    if (fd < 0)
        return NULL;
    void *data = NULL;
    *r = MUSA_ERROR_INVALID_IMAGE;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
        *size = (size_t)st.st_size;
        data = malloc(*size);
        *r = data ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
        for (size_t done = 0; data && done < *size;) {
            ssize_t n = read(fd, (char *)data + done, *size - done);
            if (n <= 0) {
                free(data);
                data = NULL;
                *r = MUSA_ERROR_INVALID_IMAGE;
                break;
            }
            done += (size_t)n;
        }
    }
    close(fd);
    return data;
}

MUresult muModuleLoad(MUmodule *module, const char *path)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (!module || !path)
        return MUSA_ERROR_INVALID_VALUE;
    size_t size = 0;
    void *data = read_file(path, &size, &r);
    if (data)
        r = load(module, data, size);
    free(data);
    return r;
}

MUresult muModuleUnload(MUmodule module)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_slab_live(&modules, module))
        return MUSA_ERROR_INVALID_HANDLE;
    detach_object(module);
    r = host_ctx_wait(module->ctx); /* its kernels may still run or be queued */
    host_kernels_synced(module->ctx);
    unlink_module(module);
    free_module(module);
    return r;
}

static MUfunction find_function(MUmodule m, const char *name)
{
    for (MUfunction f = m->functions; f; f = f->next)
        if (!strcmp(f->info.name, name))
            return f;
    const struct t0_kernel *k = t0_module_kernel(m->t0, name);
    if (k && m->object && !t1_object_bind(m->object, k))
        return NULL;
    MUfunction f = k ? host_slab_get(&functions) : NULL;
    if (!f)
        return NULL;
    f->module = m;
    f->kernel = k;
    t0_kernel_info(k, &f->info);
    f->max_dynamic = -1;
    f->carveout = -1;
    f->next = m->functions;
    m->functions = f;
    return f;
}

MUresult muModuleGetFunction(MUfunction *fn, MUmodule module, const char *name)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (!fn || !name)
        return MUSA_ERROR_INVALID_VALUE;
    if (!host_slab_live(&modules, module))
        return MUSA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    MUfunction f = find_function(module, name);
    pthread_mutex_unlock(&lock);
    if (!f)
        return t0_module_kernel(module->t0, name) ? MUSA_ERROR_OUT_OF_MEMORY : MUSA_ERROR_NOT_FOUND;
    *fn = f;
    return MUSA_SUCCESS;
}

MUresult muModuleGetGlobal(MUdeviceptr *p, size_t *size, MUmodule module, const char *name)
{
    MUresult r = host_enter(NULL);
    if (r)
        return r;
    if (!name)
        return MUSA_ERROR_INVALID_VALUE;
    if (!host_slab_live(&modules, module))
        return MUSA_ERROR_INVALID_HANDLE;
    void *address;
    size_t bytes;
    if (t0_module_global(module->t0, name, &address, &bytes))
        return MUSA_ERROR_NOT_FOUND;
    if (p)
        *p = (MUdeviceptr)(uintptr_t)address;
    if (size)
        *size = bytes;
    return MUSA_SUCCESS;
}
HOST_ALIAS(muModuleGetGlobal_v2, muModuleGetGlobal);
