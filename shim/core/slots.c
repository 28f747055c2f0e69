/* Fills a slot on the first call through it, and answers for what is not there. Not on the hot path: a filled slot
 * is one indirect jump past all of this. What each way costs: mapping/facts/loader.md W1. */
#include "core/core.h"
#include "core/error.h"
#include "core/force.h"
#include "core/init.h"
#include "core/log.h"
#include "core/record.h"
#include "core/resolve.h"
#include "core/trace.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { INITIALIZATION_ERROR = 3 }; /* the same number in runtime and driver API */
static atomic_bool said_absent;    /* one line a process, whichever call comes first */

static void *store(void **slot, void *address)
{
    __atomic_store_n(slot, address, __ATOMIC_RELEASE);
    return address;
}

/* CUMU_FORCE=...=real: what is below, without a wrapper, a conversion or the core's own doing. */
static void *forced_target(const struct cumu_table *t, const struct cumu_symbol *s)
{
    bool opened;
    cumu_init_used();
    void *p = s->target ? cumu_resolve_below(s->library, s->target, &opened) : NULL;
    if (!p)
        cumu_log(NULL, CUMU_GAP, t->library, s->name, "CUMU_FORCE: there is no MUSA function to call");
    return p;
}

static void *active_target(const struct cumu_table *t, const struct cumu_symbol *s)
{
    bool opened;
    void *own;
    enum cumu_forced forced = cumu_forced_to(s->name);
    if (forced == CUMU_FORCED_STUB)
        return NULL;
    if (forced == CUMU_FORCED_REAL && (own = forced_target(t, s)) != NULL)
        return own;
    switch ((enum cumu_verb)s->verb) {
    case CUMU_JUMP: return cumu_resolve_mu(s->library, s->target, &opened);
    case CUMU_CONV:
    case CUMU_WRAP: return cumu_code_address(s->entry);
    case CUMU_PASS:
        own = cumu_resolve_real(t->soname, s->name, &opened);
        return own || opened || !s->target || cumu_backend() != CUMU_BACKEND_MUSA
                   ? own
                   : cumu_resolve_mu(s->library, s->target, &opened);
    case CUMU_STUB: break;
    }
    return NULL;
}

/* By path: a real library may be loaded under the soname. The facade stays open for good. */
static void *open_facade(const char *soname)
{
    char path[4096];
    const char *dir = cumu_home();
    int n = dir ? snprintf(path, sizeof path, "%s/facade/%s", dir, soname) : 0;
    return n > 0 && n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* CUDA's runtime has opened the driver once it works: programs look for libcuda.so.1 among what is loaded (PyTorch, for
 * its expandable segments and symmetric memory). */
static void open_driver(const struct cumu_table *t, const struct cumu_symbol *s)
{
    static atomic_bool opened;
    if (strcmp(t->library, "cudart") == 0 && strncmp(s->name, "cuda", 4) == 0 && !cumu_survives_fork(s) &&
        !atomic_exchange(&opened, true))
        (void)open_facade("libcuda.so.1");
}

CUMU_EXPORT void *cumu_slot_fill(const struct cumu_facade *f, unsigned index)
{
    const struct cumu_symbol *s = &f->table->symbols[index];
    void *target = NULL;
    bool opened;
    cumu_init_facade(f);
    cumu_record_symbol(f->table->soname, s->name);
    if (!cumu_active())
        target = cumu_resolve_real(f->table->soname, s->name, &opened);
    else
        target = active_target(f->table, s);
    if (cumu_active())
        open_driver(f->table, s);
    if (!target || (cumu_forked() && !cumu_survives_fork(s)))
        target = cumu_code_address(f->stubs[index]);
    return store(&f->slots[index], cumu_trace_slot(f, index, target));
}

void *cumu_mu_fill(unsigned index)
{
    const struct cumu_mu_symbol *m = &cumu_mu_symbols[index];
    bool opened;
    void *target = cumu_resolve_mu(m->library, m->name, &opened);
    if (!target)
        target = cumu_code_address(cumu_mu_stubs[index]);
    return store(&cumu_mu_slots[index], target);
}

/* A stub's answer; the runtime's failures are also its last error, as in CUDA. */
static intptr_t answer(const struct cumu_table *t, const struct cumu_symbol *s, int code)
{
    if (s->returns != CUMU_RETURNS_STATUS)
        return s->returns == CUMU_RETURNS_MINUS ? -1 : 0;
    if (strcmp(t->library, "cudart") == 0)
        cumu_set_error(code);
    return code;
}

CUMU_EXPORT intptr_t cumu_stub_called(const struct cumu_facade *f, unsigned index)
{
    const struct cumu_table *t = f->table;
    const struct cumu_symbol *s = &t->symbols[index];
    bool first = __atomic_fetch_add(&f->calls[index], 1, __ATOMIC_RELAXED) == 0;
    if (!cumu_active()) {
        bool opened;
        (void)cumu_resolve_real(t->soname, s->name, &opened);
        if (opened && first)
            cumu_log(NULL, CUMU_ERROR, t->library, s->name, "the real %s lacks it", t->soname);
        if (!opened && !atomic_exchange(&said_absent, true))
            cumu_log(NULL, CUMU_ERROR, t->library, s->name,
                     "not opted in (CUMU=1 is not set) and there is no NVIDIA %s", t->soname);
        return answer(t, s, t->absent);
    }
    if (cumu_forked() && s->verb != CUMU_STUB) {
        cumu_warn(t->library, s->name, "CUDA was used before fork and cannot be used in the child");
        return answer(t, s, INITIALIZATION_ERROR);
    }
    if (cumu_forced_to(s->name) == CUMU_FORCED_STUB) {
        if (first)
            cumu_log(NULL, CUMU_GAP, t->library, s->name, "switched off by CUMU_DISABLE or CUMU_FORCE");
        return answer(t, s, t->unsupported);
    }
    if (s->verb == CUMU_PASS) {
        bool there;
        (void)cumu_resolve_real(t->soname, s->name, &there);
        if (there && first)
            cumu_log(NULL, CUMU_GAP, t->library, s->name, "the program's own %s lacks it", t->soname);
        if (!there)
            cumu_real_missed(t->soname);
        return answer(t, s, there ? t->unsupported : t->absent);
    }
    if (s->verb != CUMU_JUMP) { /* a wrapper that is not linked in counts as a stub */
        /* "Not supported" is an everyday answer of NVML's: monitors ask every device for everything; and what NVTX is
         * told changes nothing. */
        bool everyday = s->reason && (strcmp(t->library, "nvml") == 0 || strcmp(t->library, "nvtx") == 0);
        enum cumu_level level = everyday ? CUMU_INFO : CUMU_GAP;
        if (first)
            cumu_log(NULL, level, t->library, s->name, "%s", s->reason ? s->reason : "not done yet");
        return answer(t, s, t->unsupported);
    }
    bool opened;
    (void)cumu_resolve_mu(s->library, s->target, &opened);
    if (opened && first)
        cumu_log(NULL, CUMU_GAP, t->library, s->name, "the MUSA library lacks %s", s->target);
    return answer(t, s, opened ? t->unsupported : t->absent);
}

intptr_t cumu_mu_stub_called(unsigned index)
{
    const struct cumu_mu_symbol *m = &cumu_mu_symbols[index];
    const struct cumu_library *l = &cumu_libraries[m->library];
    bool first = __atomic_fetch_add(&cumu_mu_calls[index], 1, __ATOMIC_RELAXED) == 0;
    bool opened;
    (void)cumu_resolve_mu(m->library, m->name, &opened);
    if (opened && first)
        cumu_log(NULL, CUMU_GAP, l->name, m->name, "the MUSA library lacks it");
    if (m->returns != CUMU_RETURNS_STATUS)
        return 0;
    return opened ? l->unsupported : l->absent;
}

void *cumu_facade_symbol(const char *soname, const char *name)
{
    void *handle = open_facade(soname);
    if (handle)
        cumu_record_symbol(soname, name);
    return handle ? dlsym(handle, name) : NULL;
}
