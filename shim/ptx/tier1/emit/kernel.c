/* Tier 1 emitter: a kernel with everything it reaches, as one C text. */
#include "ptx/tier1/emit/emit.h"

#include "ptx/lir/image.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INSTRUCTIONS = 20000 }; /* beyond it the compiler takes minutes (mapping/facts/ptx.md N2) */

uint32_t t1_reach(struct t1_emit *e, const struct ptx_func *f)
{
    uint32_t index;
    if (!ptx_calls_reach(&e->reached, f, &index))
        t1_fail(e, "out of memory");
    return index;
}

static void check_recursion(struct t1_emit *e)
{
    bool cycle;
    uint64_t most;
    if (!ptx_calls_follow(&e->reached, NULL, NULL, &cycle, &most))
        t1_fail(e, "out of memory");
    if (cycle)
        t1_fail(e, "recursion is not supported");
}

/* What the analysis may assume of a block of this class: no axis of one thread, nothing exact. */
static struct ptx_shape shape_of(enum t1_shape s)
{
    static const uint32_t block[T1_NSHAPES][3] = {[T1_SHAPE_LINEAR] = {32, 2, 2},
                                                  [T1_SHAPE_HALF] = {16, 3, 3},
                                                  [T1_SHAPE_FLAT] = {32, 2, 2},
                                                  [T1_SHAPE_ANY] = {7, 3, 3}};
    struct ptx_shape shape = {.warps = s == T1_SHAPE_LINEAR};
    memcpy(shape.block, block[s], sizeof shape.block);
    return shape;
}

bool t1_of_part(const struct ptx_instr *in)
{
    return in->scope != PTX_SCOPE_CLUSTER && (in->sub == PTX_SUB_ARRIVE || in->src[0].kind != PTX_O_IMM ||
                                              (in->nsrc > 1 && in->src[1].kind != PTX_O_NONE));
}

/* Barriers and spin loops decide how warps are run; known before any text is written. */
static void scan(struct t1_emit *e, const struct ptx_func *f)
{
    if (f->ninstr > MAX_INSTRUCTIONS)
        t1_fail(e, "function of more than %u instructions", MAX_INSTRUCTIONS);
    for (uint32_t i = 0; i < f->ninstr; i++)
        if ((f->instr[i].op == PTX_OP_BAR || f->instr[i].op == PTX_OP_BARRIER) && f->instr[i].sub != PTX_SUB_WARP_SYNC)
            e->fibres = true, e->clusters |= f->instr[i].scope == PTX_SCOPE_CLUSTER,
            e->parts |= t1_of_part(&f->instr[i]);
        else if (f->instr[i].op == PTX_OP_WGMMA)
            e->fibres = e->parts = true;
        else if (f->instr[i].op == PTX_OP_MMA)
            e->multiplies = true;
}

const char *t1_kernel_param(struct t1_emit *e, uint64_t offset, const char *t)
{
    uint32_t k = 0;
    while (k < e->nparam && (e->param[k].offset != offset || strcmp(e->param[k].t, t) != 0))
        k++;
    if (k == e->nparam) {
        if (e->nparam == e->param_cap) {
            uint32_t cap = e->param_cap ? 2 * e->param_cap : 16;
            struct t1_param *more = t1_alloc(e, cap, sizeof *more);
            if (e->nparam)
                memcpy(more, e->param, e->nparam * sizeof *more);
            e->param = more;
            e->param_cap = cap;
        }
        e->param[e->nparam++] = (struct t1_param){(uint32_t)offset, t};
    }
    return t1_str(e, "args->%s_%u", t, (unsigned)offset);
}

/* What the kernel loads of its parameters, in a struct: unlike memory, stores of the kernel are known not to
 * change it, so that it is loaded once for all warps. */
static void put_params(struct t1_emit *e)
{
    const char *given = t1_given(e);
    t1_put(e, "struct t1_args {\nuint32_t given;\n");
    for (uint32_t k = 0; k < e->nparam; k++)
        t1_put(e, "%s %s_%u;\n", strcmp(e->param[k].t, "u64") ? "uint32_t" : "uint64_t", e->param[k].t,
               e->param[k].offset);
    /* in place: of a struct that it returns gcc makes a second copy, which waits for the first one's stores */
    t1_put(e, "};\nT1_INLINE void t1_args_of(struct t1_args *args, const uint8_t *params)\n{\n(void)params;\n");
    for (uint32_t k = 0; k < e->nparam; k++)
        t1_put(e, "args->%s_%u = t1_ld_%s(params + %uu);\n", e->param[k].t, e->param[k].offset, e->param[k].t,
               e->param[k].offset);
    t1_put(e, "args->given = %s;\n}\n", given);
}

static void analyse(struct t1_emit *e, struct ptx_func *f, const struct ptx_shape *shape)
{
    struct ptx_diag diag = {0};
    if (ptx_analyse(f, shape, &diag)) {
        *e->diag = diag;
        longjmp(e->out, 1);
    }
}

/* The passes over a function, in order: analysis, choice of what runs loose, plan. A loose block lets lanes part where
 * they were together before, which may make more blocks loose: analysed again until nothing changes, four times at
 * most. */
static void prepare(struct t1_emit *e, struct ptx_func *f, const struct ptx_shape *shape)
{
    e->f = f;
    f->separate_loops = e->separate;
    analyse(e, f, shape);
    scan(e, f);
    e->loose = t1_must_be_loose(e);
    if (e->loose) {
        ptx_func_drop(f);
        f->split_at_waits = true;
        analyse(e, f, shape);
        for (unsigned round = 0; t1_must_be_loose(e); round++) { /* diverged lanes may diverge more */
            if (round == 4)
                t1_fail(e, "lanes may wait for each other in too many places");
            for (uint32_t n = 0; f->irreducible && n < f->nblock; n++)
                f->block[n].loose = true;
            analyse(e, f, shape);
        }
    }
    if (e->loose || e->spins || e->clusters || e->parts)
        t1_race_refuse(e, "lanes, blocks or parts of them that wait for each other");
    t1_plan(e);
}

/* A function that was parsed again has other variables than before, in the same order: they keep their places. */
static void keep_places(struct t1_emit *e, const struct ptx_func *f, uintptr_t was)
{
    for (uint32_t k = 0; k < e->nshared; k++) {
        const uintptr_t in = (uintptr_t)e->shared[k].var - was;
        if (in < f->nlocal * sizeof *f->local)
            e->shared[k].var = &f->local[in / sizeof *f->local];
    }
}

/* The text of each function that the kernel reaches; of a kernel that is written twice (given.c) both. */
static void emit_all(struct t1_emit *e, const struct ptx_func *kernel)
{
    struct ptx_shape shape = shape_of(e->shape);
    t1_reach(e, kernel);
    for (uint32_t k = 0; k < e->reached.nfunc; k++) {
        struct ptx_func *f = e->reached.func[k];
        prepare(e, f, &shape);
        if (k == 0 && !e->loose && !e->watched && !e->raced)
            e->ngiven = t1_find_given(f, e->given);
        e->heading = e->ngiven ? "static __attribute__((noinline)) void t1_kernel_any" : "T1_KERNEL t1_kernel";
        t1_function(e, f, k);
        if (k == 0 && e->ngiven) {
            struct ptx_shape rows = shape;
            rows.given = e->given;
            rows.few_blocks = true;
            const uintptr_t locals = (uintptr_t)f->local;
            do {
                rows.ngiven = e->ngiven;
                ptx_func_drop(f);
                prepare(e, f, &rows);
            } while (t1_find_more(f, e->given, &e->ngiven));
            keep_places(e, f, locals);
            e->heading = "T1_INLINE void t1_kernel_rows";
            t1_function(e, f, k);
            t1_put_choice(e);
        }
        e->f = NULL;
    }
    check_recursion(e);
}

/* What a warp's calls may need of its stack; pages that nothing touches cost address space only. The frame of a large
 * kernel grows with its text: 67 kB of PyTorch's sums of 4 x 4 f32, where a value that lives across a barrier takes 128
 * bytes of the frame, and more of the text. */
static size_t stack_size(const struct t1_emit *e, size_t text)
{
    enum { LEAST = 65536, CALLS = 262144, CHECKED = 4194304 };
    const size_t frame = (LEAST + text + LEAST - 1) / LEAST * LEAST;
    const size_t other = e->checked ? CHECKED : e->reached.nfunc > 1 || e->deep ? CALLS : LEAST;
    return frame > other ? frame : other;
}

/* Puts the whole file together: settings that the prelude reads as macros, the prelude, declarations, bodies. A
 * kernel without barriers is forced inline into the loop over warps, which then needs no fibres; one that has them
 * is not, as each warp calls it on a stack of its own. */
static void finish(struct t1_emit *e, char **text, size_t *size)
{
    struct ptx_text body = e->top;
    uint32_t dynamic = (e->shared_top + e->dynamic_align - 1) & ~(e->dynamic_align - 1);
    e->top = (struct ptx_text){0};
    e->text.n = 0;
    t1_put(e, "#define T1_NAME %s\n", t1_c_name(e, e->reached.func[0]->name));
    put_params(e);
    for (uint32_t k = 1; k < e->reached.nfunc; k++)
        t1_put(e, "static uint32_t f_%u(struct t1_block *, uint32_t, uint32_t, pu32 *, pu32 *, uint64_t);\n", k);
    t1_write(e, &e->text, body.p, body.n);
    e->f = e->reached.func[0];
    t1_mark_line(e, e->f->ninstr ? e->f->instr : NULL);
    e->f = NULL;
    t1_put(e, "T1_MAIN(t1_kernel)\n");
    t1_spread_lines(e);
    free(body.p);
    struct ptx_text all = e->text;
    e->text = (struct ptx_text){0};
    bool fibres = e->fibres || e->spins;
    t1_put(e,
           "#define T1_VERSION %uu\n#define T1_SHAPE %d\n#define T1_FIBRES %d\n#define T1_CLUSTERS %d\n"
           "#define T1_PARTS %d\n#define T1_DYNAMIC %uu\n#define T1_WATCHED %d\n",
           T1_VERSION, (int)e->shape, fibres, e->clusters, e->parts, dynamic,
           e->watched ? T1_EMIT_WATCHED
           : e->raced ? T1_EMIT_RACED
                      : 0);
    if (e->lines)
        t1_put(e, "#line 1 \"tier1-prelude\"\n");
    t1_put(e, "#define T1_STACK %zu\n", stack_size(e, all.n));
    t1_put(e, "#define T1_KERNEL static %s void\n",
           fibres ? "__attribute__((noinline))" : "inline __attribute__((always_inline))");
    t1_put_prelude(e, all.p, all.n);
    t1_write(e, &e->text, all.p, all.n);
    free(all.p);
    *text = e->text.p;
    *size = e->text.n;
    e->text = (struct ptx_text){0};
}

/* Names of the image's externs, whose order is that of struct t1_block's. */
static void find_externs(struct t1_emit *e, const void *image)
{
    const char *name;
    uint32_t n = 0;
    while (lir_image_extern(image, n))
        n++;
    const char **names = t1_alloc(e, n + 1, sizeof *names);
    for (uint32_t k = 0; (name = lir_image_extern(image, k)); k++)
        names[k] = t1_str(e, "%s", name);
    e->externs = names;
    e->nextern = n;
}

int t1_emit(const struct ptx_module *m, const char *kernel, enum t1_shape shape, enum t1_isa isa, char **text,
            size_t *size, struct ptx_diag *diag)
{
    return t1_emit_as(m, kernel, shape, isa, 0, text, size, diag);
}

int t1_emit_as(const struct ptx_module *m, const char *kernel, enum t1_shape shape, enum t1_isa isa, unsigned options,
               char **text, size_t *size, struct ptx_diag *diag)
{
    struct ptx_diag unused;
    const struct ptx_func *f = ptx_module_func(m, kernel);
    void *image = NULL;
    size_t image_size;
    volatile int result = -1; /* survives the longjmp of an error */
    *text = NULL;
    *size = 0;
    diag = diag ? diag : &unused;
    if (lir_lower_kernel(m, kernel, &image, &image_size, diag))
        return -1;
    struct t1_emit *e = calloc(1, sizeof *e);
    struct ptx_arena *arena = ptx_arena_new();
    if (!e || !arena) {
        free(e);
        free(image);
        ptx_arena_free(arena);
        strcpy(diag->msg, "out of memory");
        return -1;
    }
    e->module = m;
    e->diag = diag;
    e->arena = arena;
    e->shape = shape;
    e->isa = isa;
    e->checked = options & T1_EMIT_CHECKED;
    e->separate = !(options & T1_EMIT_SHARED_HEADERS);
    e->lines = options & T1_EMIT_LINES;
    e->watched = options & T1_EMIT_WATCHED;
    e->raced = options & T1_EMIT_RACED;
    e->whole = options & T1_EMIT_WHOLE;
    e->image = image;
    e->np = isa == T1_AVX512 ? 2 : isa == T1_AVX2 ? 4 : 8;
    e->nl = 32 / e->np;
    e->dynamic_align = 16;
    if (!setjmp(e->out)) {
        find_externs(e, image);
        emit_all(e, f);
        finish(e, text, size);
        result = 0;
    }
    ptx_calls_free(&e->reached);
    free(e->text.p);
    free(e->top.p);
    free(e);
    free(image);
    ptx_arena_free(arena);
    return result;
}
