/* cumu check: which kernels of an open module can be translated. */
#include "cli/check_kernels.h"
#include "compile/progress.h"
#include "ptx/tier0/tier0.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

struct check_kernel *check_kernel_named(struct check_report *r, const char *name)
{
    struct check_kernel *k;
    HASH_FIND_STR(r->kernels, name, k);
    if (k)
        return k;
    k = calloc(1, sizeof *k);
    if (k && (k->name = strdup(name)))
        HASH_ADD_KEYPTR(hh, r->kernels, k->name, strlen(k->name), k);
    if (k && k->name && hmap_added(k))
        return k;
    if (k)
        free(k->name);
    free(k);
    r->nomem = true;
    return NULL;
}

void check_problem(struct check_report *r, const char *name, const char *text, unsigned line)
{
    struct check_kernel *k = check_kernel_named(r, name);
    if (!k || k->problem)
        return;
    k->ptx = true;
    if ((line ? asprintf(&k->problem, "line %u: %s", line, text) : asprintf(&k->problem, "%s", text)) < 0) {
        k->problem = NULL;
        r->nomem = true;
    }
}

void check_diag_problem(struct check_report *r, const char *name, const struct ptx_diag *d)
{
    char text[sizeof d->what + sizeof d->msg + 4];
    (void)snprintf(text, sizeof text, "%s%s%s", d->what, *d->what ? ": " : "", d->msg);
    check_problem(r, name, text, d->line);
}

/* The kernels of one module, lowered by as many threads as there are CPUs. */
struct lowering {
    const struct ptx_module *m;
    atomic_uint next;
    struct ptx_diag *diag; /* one a function; what is empty went well */
    const struct check_target *target;
    struct check_on_target *on; /* one a function, with a target */
    atomic_uint done;
    unsigned kernels;
    const char *file;
};

/* Now and then: a large file takes seconds. Whichever thread ends a kernel draws it. */
static void show_progress(struct lowering *l)
{
    enum { EVERY = 16 };
    const unsigned done = atomic_fetch_add(&l->done, 1) + 1;
    if (done % EVERY == 0)
        cumu_progress_line("cumu: %.70s: kernel %u of %u", l->file, done, l->kernels);
}

static void *lower_some(void *lowering)
{
    struct lowering *l = lowering;
    for (uint32_t i; (i = atomic_fetch_add(&l->next, 1)) < l->m->nfunc;) {
        const struct ptx_func *f = &l->m->func[i];
        void *image = NULL;
        size_t size;
        if (!f->is_entry || f->is_decl)
            continue;
        if (lir_lower_kernel(l->m, f->name, &image, &size, &l->diag[i]) != 0 && !*l->diag[i].msg)
            (void)snprintf(l->diag[i].msg, sizeof l->diag[i].msg, "cannot be lowered");
        else if (l->target && image)
            check_on_target(l->target, l->m, f->name, image, &l->diag[i], &l->on[i]);
        free(image);
        show_progress(l);
    }
    return NULL;
}

/* What became of the kernels of one module, so that reading it again for another capability need not ask again. */
struct check_kept {
    char *key;
    struct {
        char *name;
        struct ptx_diag diag;
        struct check_on_target on;
    } * kernel;
    uint32_t n;
    UT_hash_handle hh;
};

static void drop_kept(struct check_kept *k)
{
    for (uint32_t i = 0; k && i < k->n; i++)
        free(k->kernel[i].name);
    if (k) {
        free(k->kernel);
        free(k->key);
    }
    free(k);
}

void check_forget(struct check_kept *kept)
{
    struct check_kept *k, *next;
    HASH_ITER(hh, kept, k, next)
    {
        HASH_DEL(kept, k);
        drop_kept(k);
    }
}

/* Keeps it if there is memory for it. */
static void keep(struct check_report *r, const struct lowering *l, const char *key)
{
    struct check_kept *k = key && r->kept ? calloc(1, sizeof *k) : NULL;
    if (k) {
        k->key = strdup(key);
        k->kernel = calloc(l->m->nfunc + 1u, sizeof *k->kernel);
    }
    bool ok = k && k->key && k->kernel;
    for (uint32_t i = 0; ok && i < l->m->nfunc; i++) {
        const struct ptx_func *f = &l->m->func[i];
        if (!f->is_entry || f->is_decl)
            continue;
        k->kernel[k->n].diag = l->diag[i];
        if (l->on)
            k->kernel[k->n].on = l->on[i];
        ok = (k->kernel[k->n++].name = strdup(f->name));
    }
    if (ok) {
        HASH_ADD_KEYPTR(hh, *r->kept, k->key, strlen(k->key), k);
        ok = hmap_added(k);
    }
    if (!ok)
        drop_kept(k);
}

static void note_kernel(struct check_report *r, const char *name, const struct ptx_diag *diag,
                        const struct check_on_target *on)
{
    struct check_kernel *k = check_kernel_named(r, name);
    if (!k)
        return;
    k->ptx = true;
    if (*diag->msg)
        check_diag_problem(r, name, diag);
    k->dynamic |= on && on->dynamic;
    if (on && *on->slow && !k->slow)
        k->slow = strdup(on->slow);
}

bool check_lower_again(struct check_report *r, const char *key)
{
    struct check_kept *k = NULL;
    if (key && r->kept && !r->on_module)
        HASH_FIND_STR(*r->kept, key, k);
    for (uint32_t i = 0; k && i < k->n; i++)
        note_kernel(r, k->kernel[i].name, &k->kernel[i].diag, r->target ? &k->kernel[i].on : NULL);
    return k;
}

void check_lower(struct check_report *r, const struct ptx_module *m, const char *key)
{
    pthread_t helper[MAX_THREADS];
    unsigned helpers = 0, wanted = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    if (r->on_module) {
        r->on_module(r->on_module_ctx, m);
        return;
    }
    const size_t n = m->nfunc ? m->nfunc : 1;
    struct lowering l = {.m = m,
                         .file = r->program,
                         .diag = calloc(n, sizeof *l.diag),
                         .target = r->target,
                         .on = r->target ? calloc(n, sizeof *l.on) : NULL};
    if (!l.diag || (r->target && !l.on)) {
        r->nomem = true;
        free(l.diag);
        return;
    }
    for (uint32_t i = 0; i < m->nfunc; i++)
        l.kernels += m->func[i].is_entry && !m->func[i].is_decl;
    while (helpers < wanted && helpers < MAX_THREADS && helpers + 1 < m->nfunc &&
           pthread_create(&helper[helpers], NULL, lower_some, &l) == 0)
        helpers++;
    (void)lower_some(&l);
    while (helpers)
        (void)pthread_join(helper[--helpers], NULL);
    for (uint32_t i = 0; i < m->nfunc; i++)
        if (m->func[i].is_entry && !m->func[i].is_decl)
            note_kernel(r, m->func[i].name, &l.diag[i], l.on ? &l.on[i] : NULL);
    keep(r, &l, key);
    free(l.diag);
    free(l.on);
}
