/* CUDA modules and kernels as objects of the shim. A module is what the program registered or loaded; a
 * kernel is translated when it is first needed and then lives once per MUSA context.
 *
 * Handles: CUmodule, CUlibrary and the registration handle are struct cumu_module; CUfunction, CUkernel,
 * cudaKernel_t and cudaFunction_t are struct cumu_func. Functions return CUresult numbers; those that
 * fail have said why in the log. No lock is ever held while the library below is called. */
#ifndef CUMU_KERNEL_KERNEL_H
#define CUMU_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "abi/musa.h"

/* ---- handles (handle.c) --------------------------------------------------------------------- */

enum cumu_handle_kind {
    CUMU_H_FREE,
    CUMU_H_MODULE,
    CUMU_H_FUNC,
    CUMU_H_LINK,
    CUMU_H_JITLINK,
    CUMU_H_REFERENCE,
    CUMU_H_GREEN,
    CUMU_H_RESOURCES
};
enum { CUMU_HANDLE_SIZE = 256 }; /* bytes that one may have */
/* Zeroed memory for a handle, or NULL. All handles lie in one reserved range, so that telling them from
 * any other pointer takes two compares and one load. */
void *cumu_handle_new(enum cumu_handle_kind kind);
void cumu_handle_free(void *handle);
void *cumu_handle_as(const void *p, enum cumu_handle_kind kind); /* NULL when p is none of this kind */
struct cumu_module *cumu_as_module(const void *p);               /* NULL when p is none */
struct cumu_func *cumu_as_func(const void *p);
struct cumu_link *cumu_as_link(const void *p);
struct cumu_jitlink *cumu_as_jitlink(const void *p); /* of api/nvjitlink */

/* ---- modules (module.c) --------------------------------------------------------------------- */

/* What a load was told: where to put its diagnosis (cuModuleLoadDataEx), how many registers a kernel may have; all may
 * be absent. */
struct cumu_jit_request {
    char *error, *info;
    size_t error_size, info_size;
    unsigned registers;
};

/* Registered by the program: nothing is read before the first use. NULL on out of memory. */
struct cumu_module *cumu_module_register(const void *wrapper);
/* PTX text, fat binary, wrapper or cubin in memory; `data` is not referenced after the call. `size` may
 * be FATBIN_UNBOUNDED (PTX is then NUL-terminated). The text is scanned at once, so that errors show. */
int cumu_module_load(const void *data, size_t size, const struct cumu_jit_request *log, struct cumu_module **out);
int cumu_module_load_file(const char *path, const struct cumu_jit_request *log, struct cumu_module **out);
/* A whole file, NUL-terminated, malloc'ed. */
int cumu_read_file(const char *path, char **data, size_t *size);
void cumu_module_unload(struct cumu_module *m);

/* Kernel by name: CUDA_ERROR_NOT_FOUND, or why the module cannot be used. */
int cumu_module_func(struct cumu_module *m, const char *name, struct cumu_func **out);
/* The same for a program that asks by name: what is missing is heard if the user wants it. */
int cumu_module_find(struct cumu_module *m, const char *name, struct cumu_func **out);
/* Kernels in order of the text; CUDA_ERROR_NOT_FOUND past the last. */
int cumu_module_func_at(struct cumu_module *m, unsigned i, struct cumu_func **out);
int cumu_module_func_count(struct cumu_module *m, unsigned *count);
/* Variable in the current context (managed ones: the one copy all contexts share). */
int cumu_module_global(struct cumu_module *m, const char *name, uint64_t *address, size_t *size, bool *managed);
/* Everything of this context, or of this device's contexts when ctx is NULL, is gone below. */
void cumu_context_gone(MUcontext ctx, int device);

/* Linking at run time (cuLink*): images are collected, the result is PTX text that cumu_module_load takes.
 * The log buffers stay the caller's until the session is freed. (session.c) */
int cumu_link_new(const struct cumu_jit_request *log, struct cumu_link **out);
int cumu_link_add(struct cumu_link *l, const void *data, size_t size);
int cumu_link_add_file(struct cumu_link *l, const char *path);
/* *text belongs to the session. */
int cumu_link_complete(struct cumu_link *l, char **text, size_t *size);
void cumu_link_free(struct cumu_link *l);

/* ---- kernels (function.c) ------------------------------------------------------------------- */

/* The kernel in the current context, translated and loaded at first use. */
int cumu_func_musa(struct cumu_func *f, MUfunction *out);
const char *cumu_func_name(const struct cumu_func *f);
struct cumu_module *cumu_func_module(const struct cumu_func *f);
const void *cumu_func_host(const struct cumu_func *f); /* address of its stub, NULL if it has none */
/* Where the state of CUDA 3's launch interface hangs (api/driver/launch_old.c); freed with the kernel. */
struct cumu_old_launch;
struct cumu_old_launch **cumu_func_old_launch(struct cumu_func *f);
int cumu_func_param(struct cumu_func *f, size_t i, size_t *offset, size_t *size);
/* Attribute (CU_FUNC_ATTRIBUTE_*), shim's own ones answered here, the rest below. */
int cumu_func_attribute(struct cumu_func *f, int attribute, int *value);
int cumu_func_set_attribute(struct cumu_func *f, int attribute, int value);
/* Blocks of f that a multiprocessor holds; dynamic shared memory left to each where it holds so many. */
int cumu_func_occupancy(struct cumu_func *f, int block_size, size_t shared, int *blocks);
int cumu_func_shared_left(struct cumu_func *f, int blocks, int block_size, size_t *size);
/* Bytes that launches below have of dynamic shared memory more than the program asked for. */
unsigned cumu_func_more_shared(const struct cumu_func *f);

/* ---- registration (register.c) -------------------------------------------------------------- */

/* host is the stub's address; name stays valid while the module is registered. */
void cumu_register_func(struct cumu_module *m, const void *host, const char *name);
/* pointer_at: managed variables: where the host keeps the address, else NULL. */
void cumu_register_var(struct cumu_module *m, const void *host, void **pointer_at, const char *name, size_t size);
void cumu_unregister(struct cumu_module *m);
/* References are registered as variables of these sizes, which no variable has. */
enum { CUMU_TEXTURE = -1, CUMU_TEXTURE_AS_FLOAT = -2, CUMU_SURFACE = -3 };
/* Registered kernel of a stub's address, NULL if there is none. Lock-free. */
struct cumu_func *cumu_host_func(const void *host);
/* Address of a registered variable in the current context; CUDA_ERROR_NOT_FOUND: not a symbol. */
int cumu_host_var(const void *host, uint64_t *address, size_t *size);
int cumu_host_var_size(const void *host, size_t *size);
/* Gives the module's managed variables their memory, if that has not happened yet. */
int cumu_managed_init(struct cumu_module *m);

/* ---- launch (launch.c) ---------------------------------------------------------------------- */

struct cumu_launch {
    dim3 grid, block;
    size_t shared;
    CUstream stream;
    bool cooperative;
    unsigned cluster[3]; /* what the launch asks for; zeros: nothing */
};
/* args and extra as in cuLaunchKernel. CUresult numbers. */
int cumu_launch(struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra);
/* Reads what is known of launch attributes into *l; unknown ones are logged and ignored. */
int cumu_launch_attributes(struct cumu_launch *l, const cudaLaunchAttribute *attrs, unsigned n);

/* Times work on a stream while tracing (timing.c): work_begin and work_end of core/upper.h. */
struct cumu_event;
void *cumu_work_begin(const void *stream);
void cumu_work_end(void *work, const struct cumu_event *e, bool failed);

/* CUDA_MODULE_LOADING=EAGER, where that means something: kernels of a device are compiled with their module, not
 * when they are launched. */
bool cumu_loading_eager(void);
/* Whether the device below runs clusters and programs may know. */
bool cumu_clusters(void);
/* Whether f may be launched in clusters: there, or where its own PTX is for 9.0 or later, whatever is claimed. */
int cumu_func_clusters(struct cumu_func *f, bool *may);
/* Claimed compute capability as 80 for 8.0 (CUMU_COMPUTE_CAPABILITY). */
unsigned cumu_claimed_cc(void);
/* Bytes of shared memory that a block may have on devices of that capability, by which programs size their blocks; the
 * CPU has as much as any. INT_MAX: what the device below says. */
int cumu_most_shared(unsigned cc);
/* Makes sure that a context is current on this thread, the way the runtime API does. */
int cumu_context_current(MUcontext *ctx);

#endif
