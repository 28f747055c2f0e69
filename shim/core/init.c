/* Process state: opt-in, and what fork does to it. There is no constructor; everything starts on the
 * first call.
 *
 * CUDA does not survive fork once it was used. Instead of a check in every call, the child's handler
 * points the slots of functions that return a status at their stubs, which answer
 * cudaErrorInitializationError; the rest (error strings, call configuration) keeps working. */
#include "core/config.h"
#include "core/core.h"
#include "core/init.h"
#include "core/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_FACADES = 64 };

static _Atomic(const struct cumu_facade *) facades[MAX_FACADES];
static atomic_bool used, forked;

/* They tell about errors or undo registrations, touch no device, and work in a fork child. */
static const char *const harmless[] = {
    "__cudaPopCallConfiguration", "cudaGetLastError",     "cudaPeekAtLastError",   "cuGetErrorName",
    "cuGetErrorString",           "cudaDriverGetVersion", "cudaRuntimeGetVersion", "cuDriverGetVersion"};

/* NVML has no state that a fork harms: who counts devices by it may still fork. */
static bool is_nvml(const char *name) { return strncmp(name, "nvml", 4) == 0; }

bool cumu_survives_fork(const struct cumu_symbol *s)
{
    if (s->returns != CUMU_RETURNS_STATUS || is_nvml(s->name))
        return true;
    for (unsigned i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(s->name, harmless[i]) == 0)
            return true;
    return false;
}

void cumu_init_each(void (*visit)(const struct cumu_facade *f))
{
    for (unsigned n = 0; n < MAX_FACADES; n++) {
        const struct cumu_facade *f = atomic_load_explicit(&facades[n], memory_order_acquire);
        if (f)
            visit(f);
    }
}

static void in_child(void)
{
    atomic_store_explicit(&forked, true, memory_order_relaxed);
    for (unsigned n = 0; n < MAX_FACADES; n++) {
        const struct cumu_facade *f = atomic_load_explicit(&facades[n], memory_order_relaxed);
        for (uint32_t i = 0; f && i < f->table->count; i++)
            if (!cumu_survives_fork(&f->table->symbols[i]))
                f->slots[i] = cumu_trace_slot(f, i, cumu_code_address(f->stubs[i]));
    }
}

CUMU_EXPORT bool cumu_active(void) { return cumu_opt_bool(CUMU_OPT_ACTIVE); }

bool cumu_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }

void cumu_init_used(void)
{
    if (!atomic_exchange(&used, true))
        (void)pthread_atfork(NULL, NULL, in_child);
}

void cumu_init_facade(const struct cumu_facade *f)
{
    for (unsigned n = 0; n < MAX_FACADES; n++) {
        const struct cumu_facade *there = NULL;
        if (atomic_load_explicit(&facades[n], memory_order_relaxed) == f ||
            atomic_compare_exchange_strong(&facades[n], &there, f) || there == f)
            return;
    }
}
