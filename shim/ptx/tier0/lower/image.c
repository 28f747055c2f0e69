/* Tier 0 lowering: the lists that become an image, the writer, and the externs of a written image.
 */
#include "ptx/tier0/lower/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void leave(struct t0_lower *l, struct ptx_diag kind, const char *format, va_list args)
{
    struct ptx_diag *d = l->diag;
    *d = kind;
    if (l->at) {
        d->line = l->at->line;
        snprintf(d->what, sizeof d->what, "%s", l->at->opcode ? l->at->opcode : "");
    } else if (l->f) {
        d->line = l->f->line;
        snprintf(d->what, sizeof d->what, "%s", l->f->name);
    }
    vsnprintf(d->msg, sizeof d->msg, format, args);
    longjmp(l->out, 1);
}

/* The standard wants va_end in the function of va_start; longjmp never comes back to it. */
void t0_fail(struct t0_lower *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    leave(l, (struct ptx_diag){.gap = true}, format, args);
}

void t0_refuse(struct t0_lower *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    leave(l, (struct ptx_diag){0}, format, args);
}

void t0_out_of_memory(struct t0_lower *l)
{
    *l->diag = (struct ptx_diag){.nomem = true, .msg = "out of memory"};
    longjmp(l->out, 1);
}

void *t0_push(struct t0_lower *l, struct t0_list *list, size_t element)
{
    if (list->n == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 64;
        void *p = cap > list->cap ? realloc(list->p, cap * element) : NULL;
        if (!p)
            t0_out_of_memory(l);
        list->p = p;
        list->cap = cap;
    }
    void *at = (char *)list->p + list->n++ * element;
    memset(at, 0, element);
    return at;
}

uint32_t t0_string(struct t0_lower *l, const char *s)
{
    uint32_t at = l->strings.n;
    do
        *(char *)t0_push(l, &l->strings, 1) = *s;
    while (*s++);
    return at;
}

void t0_lower_start(struct t0_lower *l, const struct ptx_module *m, struct ptx_diag *diag)
{
    memset(l, 0, sizeof *l);
    l->module = m;
    l->diag = diag;
    l->regs_top = T0_ROW_MAX; /* the sink */
    l->dynamic_align = 16;
}

void t0_lower_free(struct t0_lower *l)
{
#define T0_SECTION(field, type) free(l->field.p);
    T0_SECTIONS
#undef T0_SECTION
    free(l->row_bucket);
    free(l->areas.p);
    ptx_calls_free(&l->reached);
    free(l->reg);
    free(l->slot);
    free(l->block_pc);
    free(l->layout);
    free(l->place);
    free(l->waits);
    free(l->fixups.p);
}

void t0_write_image(struct t0_lower *l, void **image, size_t *size)
{
    struct t0_image head = {.magic = T0_IMAGE_MAGIC, .version = T0_IMAGE_VERSION, .nops = T0_NOPS};
    uint64_t at = (sizeof head + 7) & ~(uint64_t)7;
    if (!l->strings.n)
        t0_string(l, "");
#define T0_SECTION(field, type)                                                                   \
    head.field = (struct t0_section){(uint32_t)at, l->field.n};                                   \
    at = (at + (uint64_t)l->field.n * sizeof(type) + 7) & ~(uint64_t)7;
    T0_SECTIONS
#undef T0_SECTION
    if (at > UINT32_MAX)
        t0_fail(l, "image passes 4 GiB");
    head.size = at;
    char *out = calloc(1, at);
    if (!out)
        t0_out_of_memory(l);
    memcpy(out, &head, sizeof head);
#define T0_SECTION(field, type)                                                                   \
    if (l->field.n)                                                                               \
        memcpy(out + head.field.offset, l->field.p, l->field.n * sizeof(type));
    T0_SECTIONS
#undef T0_SECTION
    *image = out;
    *size = at;
}

const char *t0_image_extern(const void *image, unsigned i)
{
    const struct t0_image *m = image;
    const char *base = image;
    if (i >= m->externs.count)
        return NULL;
    const struct t0_extern *e = (const void *)(base + m->externs.offset);
    return base + m->strings.offset + e[i].name;
}

void t0_image_bind(void *image, unsigned i, uint64_t address)
{
    const struct t0_image *m = image;
    struct t0_extern *e = (void *)((char *)image + m->externs.offset);
    if (i >= m->externs.count)
        return;
    e[i].address = address;
    e[i].bound = 1;
}
