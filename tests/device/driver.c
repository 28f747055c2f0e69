/* A libmusa with a device: the CPU driver with another kind of module behind muModuleLoadData. What it takes is what
 * the stand-in for mcc beside it makes (a shared object that says it is of a MUSA device); what it runs is the
 * compiled MUSA C++, each thread of a block on a fiber (musa/machine.c). tests.mk renames in the CPU driver's
 * objects what is defined here. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/musa.h"
#include "musa/machine.h"
#include "ptx/musa/musa.h"
#include "ptx/lir/image.h"
#include "ptx/tier0/tier0.h"

enum { EM_MTGPU = 253, MAX_PARAMS = 256 };

struct t0_module *dev_module_load(const void *image, size_t size, const struct t0_env *env, const char **why);
void dev_module_unload(struct t0_module *m);
struct t0_kernel *dev_module_kernel(struct t0_module *m, const char *name);
void dev_kernel_info(const struct t0_kernel *k, struct t0_kernel_info *out);
int dev_module_global(struct t0_module *m, const char *name, void **address, size_t *size);
struct t1_object;
enum t0_fault_kind dev_grid_run(struct t0_grid *g, MUfunction f, bool alone, uint32_t block_ns, struct t0_fault *fault);

struct t0_kernel {
    struct t0_module *module;
    char name[256];
};

struct t0_module { /* what the CPU driver keeps of a mubin */
    void *handle;
    struct machine **machine;
    void (*entry)(const void *);
    uint32_t shared, max_threads, nparam, param_size;
    struct lir_param param[MAX_PARAMS];
    struct t0_kernel kernel;
    struct t0_env env;
    void *table, *table_there; /* the kernel's addresses: in the device's memory, in the object */
    size_t table_size;
    char table_name[300];
};

static void note(const char *what, const char *name, uint32_t shared)
{
    const char *path = getenv("DEVICE_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%s %s %u\n", what, name, shared);
        fclose(f);
    }
}

/* ---- the device ------------------------------------------------------------------------------ */

/* The CPU driver's own, by the names that tests.mk gives them; and ours that it calls instead. */
MUresult cpu_muDeviceGetAttribute(int *value, MUdevice_attribute attribute, MUdevice device);

/* DEVICE_CC=22: as an S4000. */
static int capability(void)
{
    const char *text = getenv("DEVICE_CC");
    return text ? atoi(text) : 31;
}

MUresult muDeviceGetAttribute(int *value, MUdevice_attribute attribute, MUdevice device)
{
    MUresult r = cpu_muDeviceGetAttribute(value, attribute, device);
    if (!r && attribute == MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *value = capability() / 10;
    if (!r && attribute == MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *value = capability() % 10;
    if (!r && attribute == MU_DEVICE_ATTRIBUTE_WARP_SIZE)
        *value = capability() < 31 ? 128 : 32;
    /* An S80's and an S4000's limits; neither has another maximum on request, nor says how slow f64 is. */
    const bool old = !r && capability() < 31;
    if (old && attribute == MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
        *value = capability() == 21 ? 28 << 10 : 72 << 10;
    if (old && attribute == MU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)
        *value = 8 << 10;
    if (old && attribute == MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        return MUSA_ERROR_INVALID_VALUE;
    if (old && attribute == MU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)
        *value = 0;
    return r;
}

/* DEVICE_PLAIN: a driver that knows no attributes of functions. */
MUresult cpu_muFuncGetAttribute(int *value, MUfunction_attribute attribute, MUfunction f);
MUresult muFuncGetAttribute(int *value, MUfunction_attribute attribute, MUfunction f)
{
    return getenv("DEVICE_PLAIN") ? MUSA_ERROR_NOT_SUPPORTED : cpu_muFuncGetAttribute(value, attribute, f);
}

MUresult cpu_muFuncSetAttribute(MUfunction f, MUfunction_attribute attribute, int value);
MUresult muFuncSetAttribute(MUfunction f, MUfunction_attribute attribute, int value)
{
    return attribute == MU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
               ? MUSA_ERROR_NOT_SUPPORTED
               : cpu_muFuncSetAttribute(f, attribute, value);
}

MUresult cpu_muLaunchKernel(MUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, MUstream stream, void **params, void **extra);
MUresult muLaunchKernel(MUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, MUstream stream, void **params, void **extra)
{
    int most = 0;
    bool great = !cpu_muFuncGetAttribute(&most, MU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f) &&
                 (double)bx * (double)by * (double)bz > (double)most;
    if (great)
        (void)raise(SIGSEGV);               /* as SDK 3.1.0's does */
    return extra ? MUSA_ERROR_NOT_SUPPORTED /* no public use of it is known */
                 : cpu_muLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, NULL);
}

/* As in an SDK without it: no public use is known. */
MUresult muOccupancyAvailableDynamicSMemPerBlock(size_t *size, MUfunction f, int blocks, int block_size)
{
    (void)size, (void)f, (void)blocks, (void)block_size;
    return MUSA_ERROR_NOT_SUPPORTED;
}

/* ---- modules --------------------------------------------------------------------------------- */

MUresult cpu_muModuleLoadData(MUmodule *module, const void *image);

/* A shared object ends with its table of sections. */
static size_t elf_size(const Elf64_Ehdr *e) { return e->e_shoff + (size_t)e->e_shnum * e->e_shentsize; }

/* DEVICE_BUNDLES: a driver that takes clang's offload bundles and no mubin alone. The last member is the code. */
static const void *in_bundle(const char *image)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    if (memcmp(image, magic, sizeof magic - 1) != 0)
        return NULL;
    uint64_t n, row[3] = {0};
    const char *at = image + sizeof magic - 1;
    memcpy(&n, at, sizeof n);
    for (at += sizeof n; n; n--) {
        memcpy(row, at, sizeof row);
        at += sizeof row + row[2];
    }
    return image + row[0];
}

MUresult muModuleLoadData(MUmodule *module, const void *image)
{
    image = image && getenv("DEVICE_BUNDLES") ? in_bundle(image) : image;
    const Elf64_Ehdr *e = image;
    if (!module)
        return MUSA_ERROR_INVALID_VALUE;
    if (!image)
        return MUSA_ERROR_INVALID_IMAGE;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_type != ET_DYN || e->e_machine != EM_MTGPU)
        return MUSA_ERROR_INVALID_IMAGE;
    /* The CPU driver passes on what has the head of an image and says its size. */
    struct lir_image head = {.magic = LIR_IMAGE_MAGIC, .size = sizeof head + elf_size(e)};
    char *wrapped = malloc(head.size);
    if (!wrapped)
        return MUSA_ERROR_OUT_OF_MEMORY;
    memcpy(wrapped, &head, sizeof head);
    memcpy(wrapped + sizeof head, image, elf_size(e));
    MUresult r = cpu_muModuleLoadData(module, wrapped);
    free(wrapped);
    return r;
}

static void *open_object(const void *data, size_t size)
{
    char path[] = "/tmp/cumu-device-XXXXXX"; /* the linker takes a path it has seen for the same object */
    int fd = mkostemp(path, O_CLOEXEC);
    Elf64_Ehdr head;
    memcpy(&head, data, sizeof head);
    head.e_machine = EM_X86_64;
    bool good = fd >= 0 && write(fd, data, size) == (ssize_t)size &&
                pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head;
    void *handle = good ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    return handle;
}

/* Copies see the device's memory only: what the object calls its own is brought up to date before it runs. */
static bool shadow_table(struct t0_module *m)
{
    Elf64_Sym *symbol = NULL;
    Dl_info info;
    snprintf(m->table_name, sizeof m->table_name, "%s_externs", m->kernel.name);
    m->table_there = dlsym(m->handle, m->table_name);
    if (!m->table_there) {
        strcpy(m->table_name, MU_EXTERNS);
        m->table_there = dlsym(m->handle, MU_EXTERNS);
    }
    if (!m->table_there)
        return true;
    if (!dladdr1(m->table_there, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return false;
    m->table_size = symbol->st_size;
    m->table = m->env.global_alloc(m->env.ctx, m->table_size, 8);
    return m->table != NULL;
}

struct t0_module *dev_module_load(const void *image, size_t size, const struct t0_env *env, const char **why)
{
    struct t0_module *m = calloc(1, sizeof *m);
    *why = "not for this device";
    if (!m)
        return NULL;
    m->env = *env;
    m->handle = open_object((const char *)image + sizeof(struct lir_image), size - sizeof(struct lir_image));
    const unsigned *arch = NULL;
    if (m->handle) {
        m->machine = dlsym(m->handle, "cm_machine");
        arch = dlsym(m->handle, "cm_arch");
    }
    if (!m->machine || !arch || *arch != (unsigned)capability()) {
        if (m->handle)
            dlclose(m->handle);
        free(m);
        return NULL;
    }
    return m;
}

/* What the object says of a kernel. */
static const void *fact(const struct t0_module *m, const char *what, const char *kernel)
{
    char name[300];
    snprintf(name, sizeof name, "cm_%s_%s", what, kernel);
    return dlsym(m->handle, name);
}

/* An object may have several; a module of the shim's uses one. */
static bool choose_kernel(struct t0_module *m, const char *name)
{
    unsigned table[MAX_PARAMS][2], (*params)(unsigned(*)[2]);
    const unsigned *shared = fact(m, "static_shared", name), *threads = fact(m, "max_threads", name);
    *(const void **)&params = fact(m, "params", name);
    *(const void **)&m->entry = fact(m, "entry", name);
    if (!params || !m->entry || !dlsym(m->handle, name))
        return false;
    shared = shared ? shared : fact(m, "static_shared", "CM_PART");
    m->shared = shared ? *shared : 0;
    m->max_threads = threads ? *threads : 1024;
    m->nparam = params(table);
    for (unsigned k = 0; k < m->nparam; k++) {
        m->param[k] = (struct lir_param){table[k][0], table[k][1]};
        m->param_size = table[k][0] + table[k][1];
    }
    m->kernel.module = m;
    snprintf(m->kernel.name, sizeof m->kernel.name, "%s", name);
    return shadow_table(m);
}

void dev_module_unload(struct t0_module *m)
{
    if (!m)
        return;
    note("unload", m->kernel.name, 0);
    if (m->table)
        m->env.global_free(m->env.ctx, m->table);
    dlclose(m->handle);
    free(m);
}

struct t0_kernel *dev_module_kernel(struct t0_module *m, const char *name)
{
    if (strncmp(name, "cumu_", 5) || !choose_kernel(m, name))
        return NULL;
    note("load", name, m->shared);
    return &m->kernel;
}

void dev_kernel_info(const struct t0_kernel *k, struct t0_kernel_info *out)
{
    const struct t0_module *m = k->module;
    *out = (struct t0_kernel_info){.name = k->name,
                                   .nparam = m->nparam,
                                   .param_size = m->param_size,
                                   .param = m->param,
                                   .shared_size = m->shared,
                                   .num_regs = 40,
                                   .max_threads = m->max_threads,
                                   .may_wait = true};
}

int dev_module_global(struct t0_module *m, const char *name, void **address, size_t *size)
{
    if (!m->table || strcmp(name, m->table_name) != 0)
        return -1;
    *address = m->table;
    *size = m->table_size;
    return 0;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The machine is one; a grid that waits for others must not keep it. */
enum t0_fault_kind dev_grid_run(struct t0_grid *g, MUfunction f, bool alone, uint32_t block_ns, struct t0_fault *fault)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    const struct t0_kernel *k = g->kernel;
    const struct t0_module *m = k->module;
    enum t0_fault_kind kind = T0_OK;
    (void)f, (void)alone, (void)block_ns;
    memset(fault, 0, sizeof *fault);
    fault->kernel = k->name;
    note("run", k->name, g->dynamic_shared);
    if (getenv("DEVICE_IDLE")) /* a device that does not do what it is told */
        return T0_OK;
    for (uint64_t b = 0, n = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2]; b < n && kind == T0_OK; b++) {
        pthread_mutex_lock(&one);
        if (m->table)
            memcpy(m->table_there, m->table, m->table_size);
        kind = (enum t0_fault_kind)machine_run(m->machine, m->entry, g, b, m->shared, fault);
        pthread_mutex_unlock(&one);
    }
    return kind;
}
