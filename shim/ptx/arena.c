/* Bump arenas and the error exit of the PTX front end. */
#include "ptx/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_MIN = 1 << 14, CHUNK_MAX = 1 << 22 };
/* A 27 MB module of real code needs about 2 GB in full SSA form; beyond this something is wrong. */
static const size_t budget = (size_t)6 << 30;

struct chunk {
    struct chunk *next;
    size_t used, size;
    max_align_t data[];
};

struct ptx_arena {
    struct chunk *head;
    size_t next_size, total;
};

struct ptx_arena *ptx_arena_new(void)
{
    struct ptx_arena *a = calloc(1, sizeof *a);
    if (a)
        a->next_size = CHUNK_MIN;
    return a;
}

static struct chunk *chunk_new(struct ptx_arena *a, size_t need)
{
    bool own = need > a->next_size / 2;
    size_t size = own ? need : a->next_size;
    if (size > budget - a->total)
        return NULL;
    /* calloc: large chunks come zeroed from the kernel without being touched */
    struct chunk *c = calloc(1, sizeof *c + size);
    if (!c)
        return NULL;
    a->total += size;
    c->size = size;
    if (own && a->head) { /* keep filling the current chunk */
        c->next = a->head->next;
        a->head->next = c;
        return c;
    }
    c->next = a->head;
    a->head = c;
    if (a->next_size < CHUNK_MAX)
        a->next_size *= 2;
    return c;
}

void *ptx_arena_alloc(struct ptx_arena *a, size_t size)
{
    if (size > budget)
        return NULL;
    size = (size + 15) & ~(size_t)15;
    struct chunk *c = a->head;
    if (!c || c->size - c->used < size) {
        c = chunk_new(a, size);
        if (!c)
            return NULL;
    }
    void *p = (char *)c->data + c->used;
    c->used += size;
    return p;
}

void ptx_arena_free(struct ptx_arena *a)
{
    if (!a)
        return;
    for (struct chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

void ptx_fail(struct ptx_ctx *c, unsigned line, const char *what, size_t what_len, const char *fmt, ...)
{
    struct ptx_diag *d = c->diag;
    d->line = line;
    size_t n = what_len < sizeof d->what ? what_len : sizeof d->what - 1;
    for (size_t i = 0; i < n; i++) /* the text is somebody's input: keep it printable */
        d->what[i] = (unsigned char)what[i] < 32 || what[i] == 127 ? ' ' : what[i];
    d->what[n] = 0;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->msg, sizeof d->msg, fmt, ap);
    va_end(ap);
    longjmp(c->out, 1);
}

int ptx_phase(struct ptx_func *f, struct ptx_diag *diag, void (*phase)(struct ptx_ctx *c, struct ptx_func *f))
{
    struct ptx_diag local;
    struct ptx_ctx c = {.diag = diag ? diag : &local, .arena = f->arena};
    *c.diag = (struct ptx_diag){0};
    if (setjmp(c.out)) {
        c.diag->gap = !c.diag->nomem;
        if (!c.diag->line)
            c.diag->line = f->line;
        ptx_func_drop(f);
        return -1;
    }
    phase(&c, f);
    return 0;
}

static _Noreturn void run_out(struct ptx_ctx *c)
{
    c->diag->nomem = true;
    ptx_fail(c, 0, "", 0, "out of memory");
}

void *ptx_alloc(struct ptx_ctx *c, size_t count, size_t size)
{
    void *p = size && count > SIZE_MAX / size ? NULL : ptx_arena_alloc(c->arena, count * size);
    if (!p)
        run_out(c);
    return p;
}

char *ptx_strdup(struct ptx_ctx *c, const char *s, size_t len)
{
    char *p = ptx_alloc(c, len + 1, 1);
    memcpy(p, s, len);
    return p;
}

void *ptx_grow(struct ptx_ctx *c, void *array, uint32_t count, uint32_t *cap, size_t size)
{
    uint32_t n = *cap ? *cap * 2 : 16;
    if (n <= *cap)
        run_out(c);
    void *p = ptx_alloc(c, n, size);
    if (count)
        memcpy(p, array, count * size);
    *cap = n;
    return p;
}
