/* The core of the toy facade: fills its slots as shim/core does, and holds a wrapper of the usual shape. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/symbols.h"
#include "mu.h"
#include "wraps.h"

static void *below(const char *name)
{
    void *p = dlsym(RTLD_DEFAULT, name);
    if (!p) {
        fprintf(stderr, "bench: no %s\n", name);
        exit(1);
    }
    return p;
}

CUMU_EXPORT void *cumu_slot_fill(const struct cumu_facade *f, unsigned index)
{
    const struct cumu_symbol *s = &f->table->symbols[index];
    void *target;
    if (s->verb == CUMU_JUMP)
        target = below(s->target);
    else
        memcpy(&target, &s->entry, sizeof target);
    return f->slots[index] = target;
}

void *cumu_mu_fill(unsigned index) { return cumu_mu_slots[index] = below(cumu_mu_symbols[index].name); }

CUMU_EXPORT intptr_t cumu_stub_called(const struct cumu_facade *f, unsigned index)
{
    return f->table->unsupported + (intptr_t)(index & 0);
}

intptr_t cumu_mu_stub_called(unsigned index) { return 801 + (intptr_t)(index & 0); }

bool cumu_log_on(enum cumu_level level, const char *channel) { return level == CUMU_ERROR && channel; }

void cumu_log(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
              const char *format, ...)
{
    (void)site, (void)level, (void)channel, (void)symbol, (void)format;
}

static __thread int last_error;

/* As the runtime's: arguments checked, the call, the thread's last error on failure. */
int wrap_toyMalloc(void **p, size_t size)
{
    int e = p ? mu.muMalloc(p, size) : 1;
    if (e)
        last_error = e;
    return e;
}
