/* Inside of shim/kernel: what a module, its translation units and its kernels consist of. */
#ifndef CUMU_KERNEL_MODULE_H
#define CUMU_KERNEL_MODULE_H

#include <stdatomic.h>

#include "core/hmap.h"
#include "core/log.h"
#include "fatbin/fatbin.h"
#include "compile/hash.h"
#include "kernel/kernel.h"
#include "mu.h"
#include "ptx/tier1/tier1.h"

/* A __managed__ variable: one copy for all contexts, made at first use. */
struct managed {
    struct managed *next;
    const struct ptx_var *var;
    void *address; /* NULL until made; set under the unit's turn */
    MUcontext made_in;
};

/* The unit's variables in one context. Lists only grow; a context that is gone leaves ctx NULL. */
struct data_inst {
    struct data_inst *next;
    _Atomic(MUcontext) ctx;
    int device;
    MUmodule module;    /* of images; NULL when the unit has no variables */
    MUdeviceptr memory; /* of devices: all variables in one piece, 0 likewise */
    uint64_t *address;  /* of each, by their number in the unit's data image */
};

/* One PTX module. Whoever works on it (scans, lowers, loads) has the unit's turn: `busy` is a turn, not
 * a mutex, so that nothing is locked while the library below runs. */
struct cumu_unit {
    struct cumu_unit *next;
    struct cumu_module *module;
    const void *container; /* fat binary, or */
    size_t container_size;
    void *owned; /* copy of a loaded container, NULL when it is the program's */
    char *text;  /* PTX text of its own, freed once scanned */
    size_t text_len;
    bool busy, opened, replaced; /* replaced: its contents live on in the linked unit */
    int error;                   /* why it cannot be used */
    bool no_image;               /* nothing but an empty container: not an error in itself */
    struct ptx_module *ptx;
    bool digested;
    uint8_t digest[CUMU_HASH_BYTES]; /* cumu_module_digest of ptx, once digested */
    unsigned arch;                   /* 75: the PTX taken was made for compute_75 */
    char sass[128];                  /* a kernel of a unit that holds machine code only */
    struct managed *managed;
    struct data_inst *data;
    void *variables; /* of devices: the data image, which names them */
};

struct cumu_module {
    uint32_t kind; /* CUMU_H_MODULE; first word of every handle */
    bool opened;
    int error;
    const void *wrapper; /* of a registered module */
    struct cumu_unit *units;
    struct cumu_func *funcs; /* by name */
    struct host_var *vars;
    struct cumu_reference *references;
    const struct cumu_jit_log *log;  /* during the load only */
    struct cumu_module *prev, *next; /* all modules */
};

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
    atomic_uint launches[T1_NSHAPES];      /* until settled */
};

struct func_attr {
    struct func_attr *next;
    int attribute, value;
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
extern struct cumu_module *cumu_modules;

/* unit.c. Turns are taken without the lock held. */
struct cumu_unit *cumu_unit_new(struct cumu_module *m, const void *container, size_t size);
void cumu_unit_free(struct cumu_unit *u);
void cumu_unit_enter(struct cumu_unit *u);
void cumu_unit_leave(struct cumu_unit *u);
/* Lowers every kernel of the unit now (takes the turn), and for a device compiles them if they are few. The result is
 * what CUDA would refuse the PTX for, or what no kernel could be used for; a kernel that is beyond us alone answers an
 * error when it is used. */
int cumu_unit_check(struct cumu_unit *u);
/* The rest needs the turn. */
int cumu_unit_open(struct cumu_unit *u);
int cumu_unit_managed(struct cumu_unit *u); /* gives managed variables their memory */
int cumu_unit_data(struct cumu_unit *u, MUcontext ctx, struct data_inst **out);
/* Address of a variable in ctx; CUDA_ERROR_NOT_FOUND. */
int cumu_unit_var(struct cumu_unit *u, MUcontext ctx, const char *name, uint64_t *address, size_t *size, bool *managed);
int cumu_unit_load_func(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx);
/* Lowers f to f->image; what is wrong with it is the result. */
int cumu_unit_lower(struct cumu_unit *u, struct cumu_func *f);
/* f's tier 0 image with its variables bound to ctx, malloc'ed. */
int cumu_unit_image(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, void **image, size_t *size);

/* An empty module, and images added to it (PTX text, fat binary, wrapper) before it is opened. */
struct cumu_module *cumu_module_new(void);
int cumu_module_add(struct cumu_module *m, const void *data, size_t size);
/* Scans all units, links them if they need each other. */
int cumu_module_open(struct cumu_module *m);

/* The reason of a failure: to the log, and to the error log of a JIT load in progress. */
void cumu_kernel_report(struct cumu_module *m, enum cumu_level level, const char *symbol, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same of one kernel, which keeps the text. */
void cumu_func_report(struct cumu_func *f, enum cumu_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* missing.c: f, or the kernel of that name, is asked for and cannot be used. Returns err, unless the user wants the
 * process to end there (CUMU_MISSING_KERNEL). */
int cumu_func_missing(struct cumu_func *f, int err);
int cumu_kernel_missing(const char *name, int err);
/* register.c: the module's managed variable got its memory. */
void cumu_managed_publish(struct cumu_module *m, const char *name, void *address);
/* Frees the registration tables' entries of a module. */
void cumu_vars_drop(struct cumu_module *m);
/* function.c */
int cumu_func_inst(struct cumu_func *f, struct func_inst **out); /* as cumu_func_musa */
/* What the driver below must not be asked: SDK 3.1.0's crashes at a block of too many threads
 * (mapping/facts/musa.md B9). */
int cumu_launch_fits(const struct cumu_func *f, const struct func_inst *i, const struct cumu_launch *l);
/* What the attribute of f below is more than what programs see. */
int cumu_func_front(const struct cumu_func *f, int attribute);
struct cumu_func *cumu_func_find(struct cumu_module *m, const char *name, bool create);
void cumu_func_unload(struct cumu_func *f); /* instances; the handle itself stays */

#endif
