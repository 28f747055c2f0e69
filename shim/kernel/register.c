/* What host code registers at start-up: kernels by their stub's address, variables by their shadow's. */
#include "kernel/module.h"
#include "kernel/reference.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* ---- kernels: read without a lock on every launch by stub address --------------------------- */

struct slot {
    _Atomic(const void *) host;
    _Atomic(struct cumu_func *) func; /* NULL: unregistered */
};
struct table {
    size_t mask;
    struct table *old; /* outgrown tables may still be read by other threads: kept */
    struct slot slot[];
};
static _Atomic(struct table *) table;
static size_t used;

static size_t hash(const void *p) { return (size_t)(((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 20); }

static struct slot *probe(struct table *t, const void *host)
{
    for (size_t i = hash(host);; i++) {
        struct slot *s = &t->slot[i & t->mask];
        const void *have = atomic_load_explicit(&s->host, memory_order_acquire);
        if (!have || have == host)
            return s;
    }
}

struct cumu_func *cumu_host_func(const void *host)
{
    struct table *t = atomic_load_explicit(&table, memory_order_acquire);
    return t && host ? atomic_load_explicit(&probe(t, host)->func, memory_order_acquire) : NULL;
}

static void publish(struct table *t, const void *host, struct cumu_func *f)
{
    struct slot *s = probe(t, host);
    atomic_store_explicit(&s->func, f, memory_order_release);
    atomic_store_explicit(&s->host, host, memory_order_release);
}

static bool grow(void)
{
    struct table *old = atomic_load(&table);
    size_t n = old ? (old->mask + 1) * 2 : 1024;
    struct table *t = calloc(1, sizeof *t + n * sizeof *t->slot);
    if (!t)
        return false;
    t->mask = n - 1;
    t->old = old;
    used = 0;
    for (size_t i = 0; old && i <= old->mask; i++) {
        struct cumu_func *f = atomic_load(&old->slot[i].func);
        if (f) {
            publish(t, atomic_load(&old->slot[i].host), f);
            used++;
        }
    }
    atomic_store_explicit(&table, t, memory_order_release);
    return true;
}

void cumu_register_func(struct cumu_module *m, const void *host, const char *name)
{
    struct cumu_func *f = host && name ? cumu_func_find(m, name, true) : NULL;
    if (!f)
        return;
    pthread_mutex_lock(&cumu_kernel_lock);
    struct table *t = atomic_load(&table);
    if ((t && used * 2 <= t->mask) || grow()) {
        f->host = host;
        publish(atomic_load(&table), host, f);
        used++;
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
}

/* ---- variables ------------------------------------------------------------------------------ */

struct host_var {
    const void *host;
    void **pointer_at;
    char *name;
    size_t size;
    struct cumu_module *module;
    struct host_var *next; /* of the module */
    UT_hash_handle hh;
};
static struct host_var *vars; /* by host, under cumu_kernel_lock */

void cumu_register_var(struct cumu_module *m, const void *host, void **pointer_at, const char *name, size_t size)
{
    struct host_var *v = calloc(1, sizeof *v), *old;
    char *copy = name ? strdup(name) : NULL;
    if (!v || !copy) {
        free(v);
        free(copy);
        return;
    }
    v->host = host;
    v->pointer_at = pointer_at;
    v->name = copy;
    v->size = size;
    v->module = m;
    pthread_mutex_lock(&cumu_kernel_lock);
    HASH_FIND_PTR(vars, &host, old);
    if (old)
        HASH_DEL(vars, old); /* stays in its module's list, for the managed pointers */
    HASH_ADD_PTR(vars, host, v);
    v->next = *cumu_module_vars(m);
    *cumu_module_vars(m) = v;
    pthread_mutex_unlock(&cumu_kernel_lock);
}

static bool find_var(const void *host, struct cumu_module **m, const char **name, size_t *size)
{
    struct host_var *v;
    pthread_mutex_lock(&cumu_kernel_lock);
    HASH_FIND_PTR(vars, &host, v);
    if (v) {
        *m = v->module;
        *name = v->name;
        *size = v->size;
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
    return v != NULL;
}

static bool is_reference(size_t size) { return size >= (size_t)CUMU_SURFACE; }

int cumu_host_var_size(const void *host, size_t *size)
{
    struct cumu_module *m;
    const char *name;
    return find_var(host, &m, &name, size) && !is_reference(*size) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

int cumu_host_var(const void *host, uint64_t *address, size_t *size)
{
    struct cumu_module *m;
    const char *name;
    bool managed;
    size_t have;
    if (!find_var(host, &m, &name, size) || is_reference(*size))
        return CUDA_ERROR_NOT_FOUND;
    return cumu_module_global(m, name, address, &have, &managed);
}

int cumu_host_reference(const void *host, bool surface, struct cumu_reference **out, bool *as_float)
{
    struct cumu_module *m;
    const char *name;
    size_t size;
    if (!find_var(host, &m, &name, &size) ||
        (surface ? size != (size_t)CUMU_SURFACE
                 : size != (size_t)CUMU_TEXTURE && size != (size_t)CUMU_TEXTURE_AS_FLOAT))
        return CUDA_ERROR_NOT_FOUND;
    *as_float = size == (size_t)CUMU_TEXTURE_AS_FLOAT;
    return cumu_reference_get(m, name, surface, out);
}

void cumu_managed_publish(struct cumu_module *m, const char *name, void *address)
{
    pthread_mutex_lock(&cumu_kernel_lock);
    for (struct host_var *v = *cumu_module_vars(m); v; v = v->next)
        if (v->pointer_at && !strcmp(v->name, name))
            *v->pointer_at = address;
    pthread_mutex_unlock(&cumu_kernel_lock);
}

int cumu_managed_init(struct cumu_module *m)
{
    bool any = false;
    int err = CUDA_SUCCESS;
    pthread_mutex_lock(&cumu_kernel_lock);
    for (struct host_var *v = *cumu_module_vars(m); v && !any; v = v->next)
        any = v->pointer_at != NULL;
    pthread_mutex_unlock(&cumu_kernel_lock);
    if (any)
        err = cumu_module_open(m);
    CUMU_EACH_UNIT(m, u)
    {
        if (!any || err || !cumu_unit_ptx(u))
            continue;
        cumu_unit_enter(u);
        err = cumu_unit_managed(u);
        cumu_unit_leave(u);
    }
    return err;
}

/* ---- the end -------------------------------------------------------------------------------- */

void cumu_vars_drop(struct cumu_module *m)
{
    struct host_var *v, *same;
    pthread_mutex_lock(&cumu_kernel_lock);
    while ((v = *cumu_module_vars(m))) {
        *cumu_module_vars(m) = v->next;
        HASH_FIND_PTR(vars, &v->host, same);
        if (same == v)
            HASH_DEL(vars, v);
        free(v->name);
        free(v);
    }
    pthread_mutex_unlock(&cumu_kernel_lock);
}

void cumu_host_func_drop(struct cumu_func *f)
{
    struct table *t = atomic_load(&table);
    struct slot *s = t && f->host ? probe(t, f->host) : NULL;
    if (s && atomic_load(&s->func) == f)
        atomic_store(&s->func, NULL);
}

/* Does the wrapper lie in the executable itself? */
static bool in_executable(const void *wrapper)
{
    Dl_info a, b;
    return dladdr(wrapper, &a) && dladdr((void *)getauxval(AT_PHDR), &b) && a.dli_fbase == b.dli_fbase;
}

void cumu_unregister(struct cumu_module *m)
{
    /* The executable unregisters on the way out, when other threads may still be launching: what it
     * registered stays until the process ends. A plug-in's kernels go with it. */
    if (!in_executable(cumu_module_wrapper(m)))
        cumu_module_unload(m);
}
