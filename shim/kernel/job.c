/* One kernel's compilation: its key and image, the object from the cache or a compiler, and what launches use of it. */
#include "kernel/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config.h"
#include "core/resolve.h"
#include "core/trace.h"
#include "kernel/device.h"
#include "kernel/missed.h"

enum {
    LONG_TEXT = 135000,    /* bytes: takes longer than a process may wait at its end */
    COMPILE_NS = 60000000, /* of any kernel, and of a byte of PTX: seen over 800 kernels, tests/bench/README.md */
    COMPILE_BYTE_NS = 30000,
    SHARE = 8 /* of that time, spent in the interpreter: worth it */
};

static bool watches(void) { return cumu_opt_has(CUMU_OPT_CHECK, "memory") || cumu_opt_has(CUMU_OPT_CHECK, "init"); }

static bool races(void) { return cumu_opt_has(CUMU_OPT_CHECK, "race"); }

/* Whether tools look at kernels that compiled code knows nothing of: memcheck and initcheck together, racecheck and
 * synccheck alone have objects of their own. Synccheck leaves those that have nothing to look at. */
static bool interprets(void) { return cumu_opt_has(CUMU_OPT_CHECK, "sync") + races() + watches() > 1; }

static unsigned options(void)
{
    return (cumu_object_debugged() ? T1_EMIT_LINES : 0) | (watches() ? T1_EMIT_WATCHED : races() ? T1_EMIT_RACED : 0);
}

enum jit_mode cumu_jit_mode(void)
{
    static atomic_int known = -1;
    int m = atomic_load_explicit(&known, memory_order_relaxed);
    if (m < 0) {
        const char *text = cumu_opt_text(CUMU_OPT_JIT);
        m = !strcmp(text, "wait")    ? JIT_WAIT
            : !strcmp(text, "eager") ? JIT_EAGER
            : !strcmp(text, "1")     ? JIT_BACKGROUND
                                     : JIT_OFF;
        if (cumu_device_code() && (cumu_opt_has(CUMU_OPT_CHECK, "memory") || cumu_opt_has(CUMU_OPT_CHECK, "race") ||
                                   cumu_opt_has(CUMU_OPT_CHECK, "init")))
            cumu_error("jit", NULL, "CUMU_CHECK sees accesses of kernels on the CPU only: CUMU_BACKEND=host");
        if (m != JIT_OFF && (cumu_device_code() || interprets()))
            m = JIT_OFF; /* devices' kernels are compiled from the start */
        atomic_store(&known, m);
    }
    return (enum jit_mode)m;
}

struct job *cumu_job_new(struct cumu_func *f, struct func_inst *i, enum t1_shape shape)
{
    size_t size = strlen(f->name) + 1;
    struct job *j = calloc(1, sizeof *j + size);
    if (!j)
        return NULL;
    j->f = f;
    j->inst = i;
    j->ctx = atomic_load(&i->ctx);
    j->shape = shape;
    memcpy(j->name, f->name, size);
    return j;
}

void cumu_job_free(struct job *j)
{
    free(j->text);
    free(j->image);
    free(j);
}

/* ---- whose kernel may go --------------------------------------------------------------------- */

/* Whether the job's kernel is still wanted; from now on it stays until done(). */
static bool take(struct job *j)
{
    pthread_mutex_lock(&cumu_jit.lock);
    j->busy = j->f != NULL && !cumu_jit.leaving;
    pthread_mutex_unlock(&cumu_jit.lock);
    return j->busy;
}

static void done(struct job *j)
{
    pthread_mutex_lock(&cumu_jit.lock);
    j->busy = false;
    pthread_cond_broadcast(&cumu_jit.idle);
    pthread_mutex_unlock(&cumu_jit.lock);
}

static void settle(struct job *j, enum cumu_jit_state state)
{
    if (!take(j))
        return;
    atomic_store(&j->inst->jit[j->shape], state);
    done(j);
}

void cumu_jit_note(const char *kernel, const char *how, unsigned ms)
{
    if (cumu_trace_times_work())
        cumu_trace_event(&(struct cumu_event){.kind = CUMU_EVENT_COMPILE,
                                              .library = "compile",
                                              .name = kernel,
                                              .start = cumu_trace_now() - ms * 1000000ull,
                                              .duration = ms * 1000000ull,
                                              .timed = ms != 0,
                                              .process = (long)getpid(),
                                              .note = how});
}

static void forget(const struct job *j)
{
    pthread_mutex_lock(&cumu_jit.lock);
    cumu_missed_forget(&j->key);
    pthread_mutex_unlock(&cumu_jit.lock);
}

static void refuse(struct job *j, const char *why)
{
    atomic_fetch_add(&cumu_jit.refused, 1);
    cumu_info("jit", j->name, "stays on tier 0: %s", why);
    cumu_jit_note(j->name, "stays on tier 0", 0);
    settle(j, CUMU_JIT_SETTLED);
}

/* Makes the job's context current, which our own threads have none of; returns what was. */
static MUcontext enter(MUcontext ctx)
{
    MUcontext now = NULL;
    (void)mu.muCtxGetCurrent(&now);
    if (now != ctx)
        (void)mu.muCtxSetCurrent(ctx); /* one that is gone fails what follows */
    return now;
}

static void leave(MUcontext ctx, MUcontext before)
{
    if (before != ctx)
        (void)mu.muCtxSetCurrent(before);
}

/* Key and bound image. */
static bool prepare(struct job *j)
{
    if (!take(j))
        return false;
    struct cumu_unit *u = j->f->unit;
    cumu_unit_enter(u);
    cumu_object_key(&j->key, cumu_unit_ptx(u), cumu_unit_digest(u), j->name, j->shape, cumu_object_isa(), options());
    const struct ptx_func *ptx = ptx_module_func(cumu_unit_ptx(u), j->name);
    j->worth = cumu_jit_mode() != JIT_BACKGROUND || !cumu_jit.spent
                   ? 0
                   : (COMPILE_NS + COMPILE_BYTE_NS * (uint64_t)(ptx ? ptx->body_len : 0)) / SHARE;
    MUcontext now = enter(j->ctx); /* for the addresses of the module's variables */
    bool bound = cumu_unit_image(u, j->f, j->ctx, &j->image, &j->image_size) == CUDA_SUCCESS;
    leave(j->ctx, now);
    cumu_unit_leave(u);
    done(j);
    if (!bound)
        refuse(j, "its image cannot be bound");
    return bound;
}

/* Text, for a compiler. */
static bool emit(struct job *j)
{
    struct ptx_diag diag = {0};
    char why[sizeof diag.msg + sizeof diag.what + 32];
    if (!take(j))
        return false;
    cumu_unit_enter(j->f->unit);
    int bad = t1_emit_as(cumu_unit_ptx(j->f->unit), j->name, j->shape, cumu_object_isa(), options(), &j->text,
                         &j->text_size, &diag);
    cumu_unit_leave(j->f->unit);
    done(j);
    if (!bad) {
        pthread_mutex_lock(&cumu_jit.lock);
        j->lengthy = j->text_size > LONG_TEXT;
        pthread_cond_broadcast(&cumu_jit.idle);
        pthread_mutex_unlock(&cumu_jit.lock);
        return true;
    }
    j->text = NULL;
    ptx_diag_text(&diag, why, sizeof why);
    refuse(j, why);
    return false;
}

static void publish(struct job *j, MUmodule module, MUfunction function)
{
    bool used = false;
    if (take(j)) {
        struct func_inst *i = j->inst;
        cumu_unit_enter(j->f->unit);
        if (atomic_load(&i->ctx) == j->ctx) {
            cumu_func_attrs_replay(j->f, function);
            i->fast_module[j->shape] = module;
            atomic_store_explicit(&i->fast[j->shape], function, memory_order_release);
            if (cumu_jit.take_over)
                (void)cumu_jit.take_over(i->function, function);
            used = true;
        }
        atomic_store(&i->jit[j->shape], CUMU_JIT_SETTLED);
        cumu_unit_leave(j->f->unit);
        done(j);
    }
    if (!used)
        (void)mu.muModuleUnload(module);
}

static void load(struct job *j, const struct cumu_compiled *o, const char *how)
{
    char path[PATH_MAX];
    void *image = NULL;
    size_t size;
    MUmodule module = NULL;
    MUfunction function = NULL;
    const struct t1_parts parts = {.lir_image = j->image,
                                   .lir_size = j->image_size,
                                   .object = o->data,
                                   .object_size = o->size,
                                   .shape = j->shape,
                                   .path = cumu_object_debugged() && cumu_cache_file(&j->key, path) ? path : NULL};
    if (t1_image_pack(&parts, &image, &size) != 0) {
        refuse(j, "out of memory");
        return;
    }
    MUcontext now = enter(j->ctx);
    int err = mu.muModuleLoadData(&module, image);
    free(image);
    if (!err && (err = mu.muModuleGetFunction(&function, module, j->name)) != 0)
        (void)mu.muModuleUnload(module);
    if (!err) {
        cumu_info("jit", j->name, "tier 1 ready: %s (%u compiled in %u ms, %u cached, %u refused)", how,
                  atomic_load(&cumu_jit.compiled), atomic_load(&cumu_jit.total_ms), atomic_load(&cumu_jit.cached),
                  atomic_load(&cumu_jit.refused));
        publish(j, module, function);
    } else {
        refuse(j, "the MUSA library does not take its object");
    }
    leave(j->ctx, now);
}

/* By a launch that waits for its compiled code, or by one that runs in the interpreter meanwhile and that blocks not
 * begun, or the next launches, take over from: then the compiler must not starve beside the workers. */
static bool is_waited_for(struct job *j)
{
    const bool hurry = cumu_jit_mode() != JIT_BACKGROUND || j->tries; /* with idle time it did not come to an end */
    if (hurry || !take(j))
        return hurry;
    bool waited = cumu_jit.under_way && cumu_jit.under_way(j->inst->function);
    done(j);
    return waited;
}

void cumu_job_work(struct job *j)
{
    struct cumu_compiled o;
    char how[32];
    if (!prepare(j))
        return;
    enum cumu_made made = cumu_object_find(&o, &j->key);
    j->absent = made == CUMU_MADE_ABSENT && !j->compile;
    if (made == CUMU_MADE_ABSENT && j->compile) {
        pthread_mutex_lock(&cumu_jit.lock);
        cumu_missed_begun(&j->key);
        pthread_mutex_unlock(&cumu_jit.lock);
        if (!emit(j)) {
            forget(j);
            return;
        }
        made = cumu_object_make(&o, &j->key, j->name, j->text, j->text_size, j->shape, cumu_object_isa(),
                                !is_waited_for(j));
    }
    if (made != CUMU_MADE_ABSENT)
        forget(j);
    switch (made) {
    case CUMU_MADE_ABSENT: return;
    case CUMU_MADE_FAILED: refuse(j, o.why); return;
    case CUMU_MADE_CACHED:
        atomic_fetch_add(&cumu_jit.cached, 1);
        (void)snprintf(how, sizeof how, "from the cache");
        cumu_jit_note(j->name, how, 0);
        break;
    case CUMU_MADE_COMPILED:
        atomic_fetch_add(&cumu_jit.compiled, 1);
        atomic_fetch_add(&cumu_jit.total_ms, o.ms);
        (void)snprintf(how, sizeof how, "compiled in %u ms", o.ms);
        cumu_jit_note(j->name, how, o.ms);
        break;
    }
    if (take(j)) { /* else nobody waits for it */
        done(j);
        load(j, &o, how);
    }
    free(o.data);
}
