/* Fills the slots of the facades of PyTorch's CUDA libraries, and answers for names that have no counterpart. */
#include "torch/torch.h"

#include "core/core.h"
#include "core/init.h"
#include "core/log.h"
#include "core/resolve.h"

#include <dlfcn.h>
#include <stdio.h>

void *cumu_torch_fill(const struct cumu_torch_facade *f, unsigned index)
{
    const struct cumu_torch_symbol *s = &f->symbols[index];
    bool opened;
    void *target = NULL;
    if (!cumu_active())
        target = cumu_resolve_real(f->soname, s->name, &opened);
    else if (s->wrap)
        target = cumu_code_address(s->wrap);
    else if (s->bridge)
        target = cumu_torch_bridge(s->bridge);
    else if (!s->reason)
        target = cumu_torch_find(s->target);
    if (!target) /* torch_musa may still come: ask again at the next call */
        return cumu_code_address(f->stubs[index]);
    __atomic_store_n(&f->slots[index], target, __ATOMIC_RELEASE);
    return target;
}

void cumu_torch_throw(const char *text)
{
    void (*raise)(const char *);
    *(void **)&raise = dlsym(RTLD_DEFAULT, "_ZSt21__throw_runtime_errorPKc");
    if (raise)
        raise(text);
}

void cumu_torch_missing(const struct cumu_torch_facade *f, unsigned index)
{
    const struct cumu_torch_symbol *s = &f->symbols[index];
    char text[1024];
    if (!cumu_active())
        (void)snprintf(text, sizeof text, "not opted in (CUMU=1 is not set) and there is no real %s", f->soname);
    else if (s->reason)
        (void)snprintf(text, sizeof text, "%s", s->reason);
    else if (s->bridge)
        (void)snprintf(text, sizeof text, "this PyTorch is not one that cumu serves");
    else
        (void)snprintf(text, sizeof text, "torch_musa, as loaded here, lacks %s", s->target);
    cumu_log(NULL, s->reason ? CUMU_GAP : CUMU_ERROR, "torch", s->name, "%s", text);
    char thrown[1400];
    (void)snprintf(thrown, sizeof thrown, "cumu: torch: %s: %s", s->name, text);
    cumu_torch_throw(thrown);
}
