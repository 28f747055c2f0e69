/* Memory of the PTX front end: bump arenas freed as a whole, and the one way out on an error. */
#ifndef CUMU_PTX_ARENA_H
#define CUMU_PTX_ARENA_H

#include <setjmp.h>

#include "ptx/ir.h"

/* Zeroed memory; NULL when the system has none or the arena's budget is spent. */
struct ptx_arena *ptx_arena_new(void);
void *ptx_arena_alloc(struct ptx_arena *a, size_t size);
void ptx_arena_free(struct ptx_arena *a); /* NULL is fine */

/* One public call of the front end. Errors anywhere below jump back to the setjmp of that call, so
 * that the code in between needs no error paths; arenas make that leak-free. */
struct ptx_ctx {
    jmp_buf out;
    struct ptx_diag *diag; /* never NULL */
    struct ptx_arena *arena;
};

/* Runs a phase of the analysis on a parsed function, with memory of its arena. If it fails, all that f was given by
 * parsing and the phases before is dropped: -1, and *diag (may be NULL) says why: memory, or a limit of ours. */
int ptx_phase(struct ptx_func *f, struct ptx_diag *diag, void (*phase)(struct ptx_ctx *c, struct ptx_func *f));

_Noreturn void ptx_fail(struct ptx_ctx *c, unsigned line, const char *what, size_t what_len, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Zeroed memory from the context's arena; does not return when there is none. */
void *ptx_alloc(struct ptx_ctx *c, size_t count, size_t size);
/* NUL-terminated copy. */
char *ptx_strdup(struct ptx_ctx *c, const char *s, size_t len);
/* Room for one more element of a growing array; *cap is updated, the new pointer returned. */
void *ptx_grow(struct ptx_ctx *c, void *array, uint32_t count, uint32_t *cap, size_t size);

#define PTX_NEW(c, type, count) ((type *)ptx_alloc((c), (count), sizeof(type)))
#define PTX_PUSH(c, array, count, cap) \
    ((count) < (cap) ? (void)0 : (void)((array) = ptx_grow((c), (array), (count), &(cap), sizeof *(array))))

#endif
