/* Translation units: unpacks and scans PTX, lowers kernels and hands them to the library below. Everything here
 * happens once and on demand. */
#include "kernel/device.h"
#include "kernel/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/bound.h"
#include "compile/compile.h"
#include "kernel/nest.h"

enum { FEW_KERNELS = 16 }; /* are compiled for a device when they are loaded: a second or two each */

pthread_mutex_t cumu_kernel_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_over = PTHREAD_COND_INITIALIZER;

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
    const struct cumu_pack *pack;    /* that knows the unit's machine code; its text is used, or */
    const struct cumu_pack_module *packed;
    bool pack_failed; /* it cannot be */
    struct cumu_variables *variables;
};

static struct cumu_unit *add_unit(struct cumu_module *m, struct cumu_unit **list)
{
    struct cumu_unit *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->module = m;
    while (*list)
        list = &(*list)->next;
    *list = u;
    return u;
}

struct cumu_unit *cumu_unit_of_text(struct cumu_module *m, struct cumu_unit **list, char *text, size_t size)
{
    struct cumu_unit *u = text ? add_unit(m, list) : NULL;
    if (!u) {
        free(text);
        return NULL;
    }
    u->text = text;
    u->text_len = size;
    return u;
}

struct cumu_unit *cumu_unit_of_container(struct cumu_module *m, struct cumu_unit **list, const void *container,
                                         size_t size, void *owned)
{
    struct cumu_unit *u = add_unit(m, list);
    if (!u) {
        free(owned);
        return NULL;
    }
    u->container = container;
    u->container_size = size;
    u->owned = owned;
    return u;
}

struct cumu_unit *cumu_unit_of_pack(struct cumu_module *m, struct cumu_unit **list, const struct cumu_pack *pack,
                                    const struct cumu_pack_module *packed)
{
    struct cumu_unit *u = add_unit(m, list);
    if (u) {
        u->pack = pack;
        u->packed = packed;
    }
    return u;
}

struct cumu_unit *cumu_unit_next(const struct cumu_unit *u) { return u->next; }

struct cumu_module *cumu_unit_module(const struct cumu_unit *u) { return u->module; }

struct ptx_module *cumu_unit_ptx(const struct cumu_unit *u) { return u->replaced ? NULL : u->ptx; }

void cumu_unit_replace(struct cumu_unit *u) { u->replaced = true; }

bool cumu_unit_is_text(const struct cumu_unit *u) { return !u->container; }

bool cumu_unit_is_empty(const struct cumu_unit *u) { return u->no_image; }

int cumu_unit_error(const struct cumu_unit *u) { return u->error; }

unsigned cumu_unit_arch(const struct cumu_unit *u) { return u->arch; }

const char *cumu_unit_machine_code(const struct cumu_unit *u) { return u->sass[0] ? u->sass : NULL; }

const struct cumu_pack *cumu_unit_lacking(const struct cumu_unit *u, const char *kernel)
{
    const char *name;
    bool lacks = u->pack_failed || !kernel || (u->packed && !u->packed->stored);
    for (uint32_t i = 0; u->pack && !lacks && (name = cumu_pack_missing(u->pack, u->packed, i)); i++)
        lacks = strcmp(name, kernel) == 0;
    return lacks ? u->pack : NULL;
}

const uint8_t *cumu_unit_digest(struct cumu_unit *u)
{
    if (!u->digested)
        cumu_module_digest(u->ptx, u->digest);
    u->digested = true;
    return u->digest;
}

void cumu_unit_enter(struct cumu_unit *u)
{
    pthread_mutex_lock(&cumu_kernel_lock);
    while (u->busy)
        pthread_cond_wait(&turn_over, &cumu_kernel_lock);
    u->busy = true;
    pthread_mutex_unlock(&cumu_kernel_lock);
}

void cumu_unit_leave(struct cumu_unit *u)
{
    pthread_mutex_lock(&cumu_kernel_lock);
    u->busy = false;
    pthread_cond_broadcast(&turn_over);
    pthread_mutex_unlock(&cumu_kernel_lock);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* What the program asked the driver's compiler goes before what nvcc was told. */
static uint32_t most_registers(const struct cumu_unit *u, uint32_t by_options)
{
    const struct cumu_jit_request *asked = cumu_module_request(u->module);
    return asked && asked->registers ? asked->registers : by_options;
}

/* registers: that a kernel may have by the options of its fat binary; 0: it has none. */
static int scan_text(struct cumu_unit *u, const char *text, size_t len, uint32_t registers, struct ptx_diag *diag)
{
    memset(diag, 0, sizeof *diag);
    u->ptx = cumu_ptx_open(text, len, most_registers(u, registers), diag);
    if (!u->ptx)
        return diag->nomem ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
    u->arch = u->ptx->target;
    return CUDA_SUCCESS;
}

/* Remembers the first kernel of machine code: told only if nothing else of the module can be used. */
static int refuse_sass(struct cumu_unit *u, const struct fatbin_list *l)
{
    for (unsigned i = 0; i < l->n && !u->sass[0]; i++) {
        char *elf = NULL;
        size_t len = 0;
        const struct fatbin_entry *e = &l->entry[i];
        if (e->kind != FATBIN_CUBIN || fatbin_unpack(e, &elf, &len))
            continue;
        unsigned next = 0;
        const char *kernel = fatbin_cubin_kernel(elf, len, &next);
        if (kernel) {
            snprintf(u->sass, sizeof u->sass, "%s", kernel);
            u->arch = e->arch;
        }
        free(elf);
    }
    u->no_image = !u->sass[0]; /* nothing in it that could be called */
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* Whether a pack knows the container of machine code. */
static bool find_packed(struct cumu_unit *u)
{
    struct fatbin_walk w;
    return cumu_packs_any() && !fatbin_walk_open(&w, u->container, u->container_size) &&
           cumu_packs_find(w.container, (size_t)(w.container_end - w.container), &u->pack, &u->packed);
}

static int open_packed(struct cumu_unit *u)
{
    struct ptx_diag diag;
    const char *why;
    char *text = cumu_pack_text(u->pack, u->packed, &why);
    u->pack_failed = true;
    if (!text) {
        cumu_kernel_report(u->module, CUMU_ERROR, "module", "%s: container %u of %s: %s", cumu_pack_path(u->pack),
                           u->packed->number, cumu_pack_file(u->pack, u->packed), why);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    int err = scan_text(u, text, u->packed->text, 0, &diag);
    free(text);
    if (err)
        cumu_diag_report(u->module, "module", &diag);
    u->pack_failed = err != CUDA_SUCCESS;
    return err;
}

/* Chooses the PTX of a fat binary: the best entry that unpacks and scans; the others are tried because builds carry
 * entries of newer PTX than we read. Machine code alone is refused by its architecture's name. */
static int open_container(struct cumu_unit *u)
{
    struct fatbin_list l;
    int err = fatbin_list_make(&l, u->container, u->container_size, cumu_claimed_cc());
    int res = CUDA_ERROR_INVALID_IMAGE;
    if (err == FATBIN_NO_PTX) {
        res = find_packed(u) && u->packed->stored ? open_packed(u) : refuse_sass(u, &l);
    } else if (err == FATBIN_NO_IMAGE) {
        u->no_image = true;
        res = CUDA_ERROR_NO_BINARY_FOR_GPU;
    } else if (err) {
        res = err == FATBIN_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        cumu_kernel_report(u->module, CUMU_ERROR, "module", "%s", fatbin_error_text(err));
    }
    /* The best PTX that can be read; what is wrong is told of the first one. */
    struct ptx_diag first = {0}, diag;
    for (unsigned i = 0; i < l.nptx && !err; i++) {
        char *text;
        size_t len;
        int bad = fatbin_unpack(&l.entry[i], &text, &len);
        if (bad) {
            if (i == 0)
                snprintf(first.msg, sizeof first.msg, "compute_%u: %s", l.entry[i].arch, fatbin_error_text(bad));
            res = bad == FATBIN_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
            continue;
        }
        res = scan_text(u, text, len, fatbin_registers(l.entry[i].options, l.entry[i].options_len), &diag);
        free(text);
        if (res == CUDA_SUCCESS) {
            u->arch = l.entry[i].arch;
            break;
        }
        if (i == 0)
            first = diag;
    }
    if (!err && res)
        cumu_diag_report(u->module, "module", &first);
    fatbin_list_free(&l);
    return res;
}

int cumu_unit_open(struct cumu_unit *u)
{
    if (u->opened)
        return u->error;
    u->opened = true;
    if (u->text) {
        struct ptx_diag diag;
        u->error = scan_text(u, u->text, u->text_len, 0, &diag);
        if (u->error)
            cumu_diag_report(u->module, "module", &diag);
        free(u->text);
        u->text = NULL;
    } else if (!u->container) {
        u->error = u->packed->stored ? open_packed(u) : CUDA_ERROR_NO_BINARY_FOR_GPU;
    } else {
        u->error = open_container(u);
    }
    if (!u->error && (u->error = cumu_variables_new(u->module, u->ptx, &u->variables)) != 0) {
        ptx_module_close(u->ptx);
        u->ptx = NULL;
    }
    return u->error;
}

void cumu_unit_free(struct cumu_unit *u)
{
    cumu_variables_free(u->variables);
    if (u->ptx)
        ptx_module_close(u->ptx);
    free(u->owned);
    free(u->text);
    free(u);
}

/* ---- variables ------------------------------------------------------------------------------ */

int cumu_unit_managed(struct cumu_unit *u) { return cumu_variables_managed(u->variables); }

int cumu_unit_var(struct cumu_unit *u, MUcontext ctx, const char *name, uint64_t *address, size_t *size, bool *managed)
{
    return cumu_variables_find(u->variables, ctx, name, address, size, managed);
}

void cumu_unit_context_gone(struct cumu_unit *u, MUcontext ctx, int device)
{
    cumu_variables_context_gone(u->variables, ctx, device);
}

/* ---- kernels -------------------------------------------------------------------------------- */

int cumu_unit_lower(struct cumu_unit *u, struct cumu_func *f)
{
    struct ptx_diag diag = {0};
    char text[sizeof diag.msg + sizeof diag.what + 32];
    if (f->error || f->image || lir_lower_kernel(u->ptx, f->name, &f->image, &f->image_size, &diag) == 0)
        return f->error;
    ptx_diag_text(&diag, text, sizeof text);
    cumu_func_report(f, diag.gap ? CUMU_GAP : CUMU_ERROR, "%s", text);
    if (diag.nomem)
        return CUDA_ERROR_OUT_OF_MEMORY; /* there may be some when it is asked for again */
    return f->error = diag.gap ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_PTX;
}

int cumu_unit_check(struct cumu_unit *u)
{
    int err = CUDA_SUCCESS;
    unsigned kernels = 0;
    for (unsigned i = 0; !err && u->ptx && i < u->ptx->nfunc; i++) {
        struct cumu_func *f;
        if (!u->ptx->func[i].is_entry || u->ptx->func[i].is_decl)
            continue;
        err = cumu_module_func(u->module, u->ptx->func[i].name, &f);
        if (err)
            break;
        cumu_unit_enter(u);
        err = cumu_unit_lower(u, f);
        cumu_unit_leave(u);
        kernels++;
        if (err == CUDA_ERROR_NOT_SUPPORTED)
            err = CUDA_SUCCESS; /* the others can be used */
    }
    bool compile = !err && cumu_device_code() && (kernels <= FEW_KERNELS || cumu_loading_eager());
    return compile ? cumu_device_compile_all(u) : err;
}

int cumu_unit_image(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, void **image, size_t *size)
{
    int err = cumu_unit_lower(u, f);
    if (err)
        return err;
    *image = malloc(f->image_size);
    if (!*image)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(*image, f->image, f->image_size);
    *size = f->image_size;
    err = cumu_variables_bind(u->variables, f, ctx, *image);
    if (err) {
        free(*image);
        *image = NULL;
    }
    return err;
}

/* Whether err is what each call answers since an earlier kernel failed: nothing is wrong with what is asked now. */
static bool is_earlier_error(int err)
{
    size_t left, all;
    return (int)mu.muMemGetInfo(&left, &all) == err;
}

/* Tier 0's image of f, for the CPU. */
static int load_image(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, struct func_inst *inst)
{
    void *image = NULL;
    size_t size;
    int err = cumu_unit_image(u, f, ctx, &image, &size);
    if (err)
        return err;
    if (cumu_nest_launches(f) && !cumu_nest_there()) {
        cumu_func_report(f, CUMU_GAP, "launches kernels, which this MUSA library does not do");
        free(image);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    err = mu.muModuleLoadData(&inst->module, image);
    free(image);
    if (err) {
        if (err == CUDA_ERROR_OUT_OF_MEMORY)
            cumu_func_report(f, CUMU_ERROR, "there is no memory for its image");
        else if (!is_earlier_error(err))
            cumu_func_report(f, CUMU_ERROR, "the MUSA library refused its image (%d)", err);
        return err;
    }
    err = mu.muModuleGetFunction(&inst->function, inst->module, f->name);
    if (err) {
        if (err == CUDA_ERROR_OUT_OF_MEMORY)
            cumu_func_report(f, CUMU_ERROR, "there is no memory for its function");
        else
            cumu_func_report(f, CUMU_ERROR, "its image lacks the kernel (%d)", err);
        mu.muModuleUnload(inst->module);
    }
    return err;
}

/* An instance of f that nobody has seen yet. */
static int make_inst(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, struct func_inst **out)
{
    struct func_inst *inst = calloc(1, sizeof *inst);
    if (!inst)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int err = cumu_device_code() ? cumu_device_load(u, f, ctx, inst) : load_image(u, f, ctx, inst);
    if (err) {
        free(inst);
        return err;
    }
    cumu_func_attrs_replay(f, inst->function);
    mu.muCtxGetDevice(&inst->device);
    atomic_store(&inst->ctx, ctx);
    *out = inst;
    return CUDA_SUCCESS;
}

static void publish_inst(struct cumu_func *f, struct func_inst *inst)
{
    inst->next = atomic_load(&f->inst);
    atomic_store(&f->inst, inst);
}

static struct func_inst *find_inst(const struct cumu_func *f, MUcontext ctx)
{
    struct func_inst *i = atomic_load(&f->inst);
    while (i && atomic_load(&i->ctx) != ctx)
        i = i->next;
    return i;
}

/* Loads the kernels that f may launch, and those that they may, and tells the driver of all; nobody sees a new one
 * before. One that cannot be loaded is an error when it is launched. */
static void load_nested(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, struct func_inst *own)
{
    struct cumu_nested all = {.at = NULL};
    bool ok = cumu_nest_reach(&all, u, f);
    for (unsigned k = 1; ok && k < all.n; k++) {
        struct cumu_func *g = all.at[k].func;
        struct func_inst *inst = find_inst(g, ctx);
        if (!inst && make_inst(u, g, ctx, &inst) == CUDA_SUCCESS) {
            all.at[k].made = inst;
            ok = cumu_nest_reach(&all, u, g);
        }
        if (inst)
            cumu_nest_name(g, inst->function);
    }
    cumu_nest_name(f, own->function);
    for (unsigned k = 1; k < all.n; k++)
        if (all.at[k].made)
            publish_inst(all.at[k].func, all.at[k].made);
    free(all.at);
}

int cumu_unit_load_func(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx)
{
    struct func_inst *inst;
    if (find_inst(f, ctx))
        return CUDA_SUCCESS; /* another thread had the turn first */
    int err = make_inst(u, f, ctx, &inst);
    if (err)
        return err;
    if (!cumu_device_code() && cumu_nest_launches(f))
        load_nested(u, f, ctx, inst);
    publish_inst(f, inst);
    return CUDA_SUCCESS;
}
