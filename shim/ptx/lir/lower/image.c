/* Tier 0 lowering: the lists that become an image, the writer, and the externs of a written image.
 */
#include "ptx/lir/lower/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void leave(struct lir_lower *l, struct ptx_diag kind, const char *format, va_list args)
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
void lir_fail(struct lir_lower *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    leave(l, (struct ptx_diag){.gap = true}, format, args);
}

void lir_refuse(struct lir_lower *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    leave(l, (struct ptx_diag){0}, format, args);
}

void lir_out_of_memory(struct lir_lower *l)
{
    *l->diag = (struct ptx_diag){.nomem = true, .msg = "out of memory"};
    longjmp(l->out, 1);
}

void *lir_push(struct lir_lower *l, struct lir_list *list, size_t element)
{
    if (list->n == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 64;
        void *p = cap > list->cap ? realloc(list->p, cap * element) : NULL;
        if (!p)
            lir_out_of_memory(l);
        list->p = p;
        list->cap = cap;
    }
    void *at = (char *)list->p + list->n++ * element;
    memset(at, 0, element);
    return at;
}

uint32_t lir_string(struct lir_lower *l, const char *s)
{
    uint32_t at = l->strings.n;
    do
        *(char *)lir_push(l, &l->strings, 1) = *s;
    while (*s++);
    return at;
}

void lir_lower_start(struct lir_lower *l, const struct ptx_module *m, struct ptx_diag *diag)
{
    memset(l, 0, sizeof *l);
    l->module = m;
    l->diag = diag;
    l->regs_top = LIR_ROW_MAX; /* the sink */
    l->dynamic_align = 16;
}

void lir_lower_free(struct lir_lower *l)
{
#define LIR_SECTION(field, type) free(l->field.p);
    LIR_SECTIONS
#undef LIR_SECTION
    free(l->row_bucket);
    free(l->areas.p);
    ptx_calls_free(&l->reached);
    free(l->reg);
    free(l->read);
    free(l->slot);
    free(l->block_pc);
    free(l->layout);
    free(l->place);
    free(l->waits);
    free(l->loop_def);
    free(l->fixups.p);
}

/* Packs all sections into one block without pointers: a header with offsets and counts, each section aligned to 8
 * bytes. The list of sections expands twice, to place and to copy, so that they cannot differ. */
void lir_write_image(struct lir_lower *l, void **image, size_t *size)
{
    struct lir_image head = {.magic = LIR_IMAGE_MAGIC, .version = LIR_IMAGE_VERSION, .nops = LIR_NOPS};
    uint64_t at = (sizeof head + 7) & ~(uint64_t)7;
    if (!l->strings.n)
        lir_string(l, "");
#define LIR_SECTION(field, type) \
    head.field = (struct lir_section){(uint32_t)at, l->field.n}; \
    at = (at + (uint64_t)l->field.n * sizeof(type) + 7) & ~(uint64_t)7;
    LIR_SECTIONS
#undef LIR_SECTION
    if (at > UINT32_MAX)
        lir_fail(l, "image passes 4 GiB");
    head.size = at;
    char *out = calloc(1, at);
    if (!out)
        lir_out_of_memory(l);
    memcpy(out, &head, sizeof head);
#define LIR_SECTION(field, type) \
    if (l->field.n) \
        memcpy(out + head.field.offset, l->field.p, l->field.n * sizeof(type));
    LIR_SECTIONS
#undef LIR_SECTION
    *image = out;
    *size = at;
}

const char *lir_image_extern(const void *image, unsigned i)
{
    const struct lir_image *m = image;
    const char *base = image;
    if (i >= m->externs.count)
        return NULL;
    const struct lir_extern *e = (const void *)(base + m->externs.offset);
    return base + m->strings.offset + e[i].name;
}

void lir_image_bind(void *image, unsigned i, uint64_t address)
{
    const struct lir_image *m = image;
    struct lir_extern *e = (void *)((char *)image + m->externs.offset);
    if (i >= m->externs.count)
        return;
    e[i].address = address;
    e[i].bound = 1;
}
