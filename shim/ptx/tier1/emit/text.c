/* Tier 1 emitter: its text buffers, its memory and its way out. */
#include "ptx/tier1/emit/emit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void t1_fail(struct t1_emit *e, const char *format, ...)
{
    struct ptx_diag *d = e->diag;
    va_list args;
    memset(d, 0, sizeof *d);
    d->line = e->in ? e->in->line : e->f ? e->f->line : 0;
    snprintf(d->what, sizeof d->what, "%s", e->in ? e->in->opcode : e->f ? e->f->name : "");
    va_start(args, format);
    vsnprintf(d->msg, sizeof d->msg, format, args);
    va_end(args);
    longjmp(e->out, 1);
}

void *t1_alloc(struct t1_emit *e, size_t count, size_t size)
{
    void *p = size && count < SIZE_MAX / size ? ptx_arena_alloc(e->arena, count * size + 1) : NULL;
    if (!p)
        t1_fail(e, "out of memory");
    return p;
}

const char *t1_str(struct t1_emit *e, const char *format, ...)
{
    char small[400];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0)
        t1_fail(e, "out of memory");
    char *s = t1_alloc(e, (size_t)n + 1, 1);
    if ((size_t)n < sizeof small) {
        memcpy(s, small, (size_t)n);
    } else {
        va_start(args, format);
        vsnprintf(s, (size_t)n + 1, format, args);
        va_end(args);
    }
    return s;
}

void t1_write(struct t1_emit *e, struct ptx_text *t, const char *s, size_t n)
{
    if (!ptx_text_add(t, s, n))
        t1_fail(e, "text becomes too large");
}

void t1_put(struct t1_emit *e, const char *format, ...)
{
    char small[600];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof small) {
        t1_write(e, &e->text, small, (size_t)n);
        return;
    }
    char *big = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!big)
        t1_fail(e, "out of memory");
    va_start(args, format);
    vsnprintf(big, (size_t)n + 1, format, args);
    va_end(args);
    t1_write(e, &e->text, big, (size_t)n);
    free(big);
}
