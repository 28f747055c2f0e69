/* Inside of shim/kernel: modules, their units and kernels. Each struct is its file's own (cumu_module module.c's,
 * cumu_unit unit.c's, cumu_variables variables.c's, func_attr function.c's, device_code device.c's, host_var
 * register.c's, reference_object reference.c's, job jit.c's), but for those that are read here and there on the way of
 * a launch, where a call would cost: cumu_func and func_inst below. Elsewhere in the folder, cumu_launch, cumu_call,
 * cumu_binding and cumu_sampling are records that callers fill and read. */
#ifndef CUMU_KERNEL_MODULE_H
#define CUMU_KERNEL_MODULE_H

#include <stdatomic.h>

#include "core/hmap.h"
#include "core/log.h"
#include "fatbin/fatbin.h"
#include "compile/hash.h"
#include "compile/pack.h"
#include "kernel/kernel.h"
#include "mu.h"
#include "ptx/tier1/tier1.h"

struct func_inst {
    struct func_inst *next;
    _Atomic(MUcontext) ctx;
    MUfunction function;
    MUmodule module;
    int device;
    unsigned most_threads; /* that a block may have; 0: the driver says so itself (device.c) */
    /* Tier 1, by class of block shapes (jit.c): written in the unit's turn, never taken back. */
    _Atomic(MUfunction) fast[T1_NSHAPES];
    MUmodule fast_module[T1_NSHAPES];
    _Atomic unsigned char jit[T1_NSHAPES]; /* enum cumu_jit_state */
    _Atomic uint64_t worth[T1_NSHAPES];    /* of CUMU_JIT_ABSENT: ns in the interpreter, from which on it is compiled */
};

struct cumu_func {
    uint32_t kind; /* CUMU_H_FUNC */
    struct cumu_module *module;
    const char *name; /* owned */
    const void *host; /* stub's address, NULL if not registered */
    _Atomic(struct func_inst *) inst;
    /* Written during the unit's turn, or before the function is published. */
    struct cumu_unit *unit;
    _Atomic(struct ptx_func *) ptx; /* set last: who sees it sees the unit */
    int error;
    char *why;   /* the newest report of what is wrong with it; under the lock */
    void *image; /* lowered, externs unbound */
    size_t image_size;
    struct device_code *code; /* of devices: compiled, by architecture (device.c) */
    unsigned front;           /* bytes of dynamic shared memory that its static part takes up; launches add them */
    struct cumu_old_launch *old_launch;
    struct func_attr *attrs; /* set by the program, for contexts to come */
    UT_hash_handle hh;       /* module->funcs */
};

/* Guards every list and table of this folder; never held while calling below. */
extern pthread_mutex_t cumu_kernel_lock;

/* ---- units (unit.c) -------------------------------------------------------------------------- */

/* One PTX module. Whoever works on it (scans, lowers, loads) has the unit's turn, which is no mutex, so that nothing is
 * locked while the library below runs. Turns are taken without the lock held. */
struct cumu_unit;
/* At the end of a list: of PTX text, which is malloc'ed and the unit's from now on (NULL is out of memory, too); of a
 * fat binary, which the unit frees if it is `owned`. NULL: out of memory, and what would be owned is freed. */
struct cumu_unit *cumu_unit_of_text(struct cumu_module *m, struct cumu_unit **list, char *text, size_t size);
struct cumu_unit *cumu_unit_of_container(struct cumu_module *m, struct cumu_unit **list, const void *container,
                                         size_t size, void *owned);
/* Of a cubin's PTX in a pack. */
struct cumu_unit *cumu_unit_of_pack(struct cumu_module *m, struct cumu_unit **list, const struct cumu_pack *pack,
                                    const struct cumu_pack_module *packed);
void cumu_unit_free(struct cumu_unit *u); /* with what lies below */
void cumu_unit_enter(struct cumu_unit *u);
void cumu_unit_leave(struct cumu_unit *u);
struct cumu_unit *cumu_unit_next(const struct cumu_unit *u);
struct cumu_module *cumu_unit_module(const struct cumu_unit *u);
/* NULL if it is not opened, holds none, or lives on in a linked unit. */
struct ptx_module *cumu_unit_ptx(const struct cumu_unit *u);
void cumu_unit_replace(struct cumu_unit *u);                   /* its contents live on in another */
bool cumu_unit_is_text(const struct cumu_unit *u);             /* no fat binary */
bool cumu_unit_is_empty(const struct cumu_unit *u);            /* an empty container: not an error in itself */
int cumu_unit_error(const struct cumu_unit *u);                /* why it cannot be used, once opened */
unsigned cumu_unit_arch(const struct cumu_unit *u);            /* 75: the PTX taken was made for compute_75 */
const char *cumu_unit_machine_code(const struct cumu_unit *u); /* a kernel of a unit that holds nothing else, or NULL */
/* The pack that is for the unit's machine code, if it lacks this kernel or cannot be read; a NULL kernel: anyway. */
const struct cumu_pack *cumu_unit_lacking(const struct cumu_unit *u, const char *kernel);
/* As cumu_context_gone, under the lock. */
void cumu_unit_context_gone(struct cumu_unit *u, MUcontext ctx, int device);
/* Lowers every kernel of the unit now (takes the turn), and for a device compiles them if they are few. The result is
 * what CUDA would refuse the PTX for, or what no kernel could be used for; a kernel that is beyond us alone answers an
 * error when it is used. */
int cumu_unit_check(struct cumu_unit *u);
/* The rest needs the turn. */
int cumu_unit_open(struct cumu_unit *u);
int cumu_unit_managed(struct cumu_unit *u); /* gives managed variables their memory */
/* Address of a variable in ctx; CUDA_ERROR_NOT_FOUND. */
int cumu_unit_var(struct cumu_unit *u, MUcontext ctx, const char *name, uint64_t *address, size_t *size, bool *managed);
const uint8_t *cumu_unit_digest(struct cumu_unit *u); /* CUMU_HASH_BYTES of cumu_module_digest */
int cumu_unit_load_func(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx);
/* Lowers f to f->image; what is wrong with it is the result. */
int cumu_unit_lower(struct cumu_unit *u, struct cumu_func *f);
/* f's tier 0 image with its variables bound to ctx, malloc'ed. */
int cumu_unit_image(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, void **image, size_t *size);

/* ---- modules (module.c) ---------------------------------------------------------------------- */

/* An empty module, and images added to it (PTX text, fat binary, wrapper) before it is opened; log: where its errors
 * are told, or NULL; wrapper: what a registered one was registered by, or NULL. */
struct cumu_module *cumu_module_new(const struct cumu_jit_request *log, const void *wrapper);
int cumu_module_add(struct cumu_module *m, const void *data, size_t size);
/* Scans all units, links them if they need each other. */
int cumu_module_open(struct cumu_module *m);
struct cumu_unit **cumu_module_units(struct cumu_module *m);
#define CUMU_EACH_UNIT(m, u) for (struct cumu_unit *u = *cumu_module_units(m); u; u = cumu_unit_next(u))
void cumu_module_loaded(struct cumu_module *m);                                  /* nobody is told of errors any more */
const struct cumu_jit_request *cumu_module_request(const struct cumu_module *m); /* NULL: none */
const void *cumu_module_wrapper(const struct cumu_module *m);
/* Where the lists of register.c and reference.c hang; under the lock. */
struct host_var **cumu_module_vars(struct cumu_module *m);
struct cumu_reference **cumu_module_references(struct cumu_module *m);
/* What another context has of a module is unloaded there. */
void cumu_unload_below(MUmodule module, MUdeviceptr memory, MUcontext ctx);
/* Whether what lies in a context is gone by cumu_context_gone(ctx, gone_device). */
static inline bool cumu_is_gone(MUcontext have, int device, MUcontext ctx, int gone_device)
{
    return have && (ctx ? have == ctx : device == gone_device);
}

/* ---- what is said of them (report.c, missing.c) ---------------------------------------------- */

/* The reason of a failure: to the log, and to the error log of a JIT load in progress. */
void cumu_kernel_report(struct cumu_module *m, enum cumu_level level, const char *symbol, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same of one kernel, which keeps the text. */
void cumu_func_report(struct cumu_func *f, enum cumu_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cumu_diag_report(struct cumu_module *m, const char *symbol, const struct ptx_diag *diag);
/* missing.c: f, or m's kernel of that name, is asked for and cannot be used. Returns err, unless the user wants the
 * process to end there (CUMU_MISSING_KERNEL). */
int cumu_func_missing(struct cumu_func *f, int err);
int cumu_kernel_missing(struct cumu_module *m, const char *name, int err);

/* ---- what host code registered (register.c) -------------------------------------------------- */

/* The module's managed variable got its memory. */
void cumu_managed_publish(struct cumu_module *m, const char *name, void *address);
/* Frees the registration tables' entries of a module. */
void cumu_vars_drop(struct cumu_module *m);
void cumu_host_func_drop(struct cumu_func *f); /* lock held */

/* ---- kernels (function.c; found by module.c) ------------------------------------------------- */

int cumu_func_inst(struct cumu_func *f, struct func_inst **out); /* as cumu_func_musa */
/* What the driver below must not be asked: SDK 3.1.0's crashes at a block of too many threads
 * (mapping/facts/musa.md B9). */
int cumu_launch_fits(const struct cumu_func *f, const struct func_inst *i, const struct cumu_launch *l);
/* What the attribute of f below is more than what programs see. */
int cumu_func_front(const struct cumu_func *f, int attribute);
struct cumu_func *cumu_func_find(struct cumu_module *m, const char *name, bool create);
/* The first of all kernels that is what `is` says; it is asked under the lock. */
struct cumu_func *cumu_func_search(bool (*is)(struct cumu_func *f, void *arg), void *arg);
/* Attributes that the program has set: for a function below that is new; the value of one. */
void cumu_func_attrs_replay(const struct cumu_func *f, MUfunction mf);
bool cumu_func_attr_set(const struct cumu_func *f, int attribute, int *value);
void cumu_func_free(struct cumu_func *f); /* with what lies below */
/* As cumu_context_gone, under the lock. */
void cumu_func_context_gone(struct cumu_func *f, MUcontext ctx, int device);

#endif
