/* The MUSA emitter: one kernel with the functions it reaches. */
#include "ptx/musa/emit/emit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char mu_prelude_text[], mu_prelude_end[], mu_prelude_async[], mu_prelude_async_end[];
extern const char mu_prelude_video[], mu_prelude_video_end[], mu_prelude_matrix[], mu_prelude_matrix_end[];
extern const char mu_prelude_packed[], mu_prelude_packed_end[];
extern const char mu_prelude_barrier[], mu_prelude_barrier_end[], mu_prelude_wide[], mu_prelude_wide_end[];

static const struct lir_kernel_rec *record(const struct mu_emit *e)
{
    return LIR_AT(e->image, kernels, struct lir_kernel_rec);
}

/* ---- control ---- */

static bool control(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    const char *ended = e->function ? " 1" : "";
    switch (i->op) {
    case LIR_JOIN:
    case LIR_TEX_ARGS: return true;
    case LIR_CALL: mu_call(e); return true;
    case LIR_SYSCALL: mu_syscall(e); return true;
    case LIR_RET:
        if (e->function) {
            if (e->fn->ret_size)
                mu_put(e, "copy(out, slot + %u, %u);\n", e->fn->ret, e->fn->ret_size);
            mu_put(e, "return 0;\n");
        } else {
            mu_put(e, "return;\n");
        }
        return true;
    case LIR_EXIT: mu_put(e, "return%s;\n", ended); return true;
    case LIR_TRAP: mu_put(e, "trap();\nreturn%s;\n", ended); return true;
    default: return false;
    }
}

void mu_end_copies(struct mu_emit *e)
{
    if (e->copies)
        mu_put(e, "copies_done();\n");
    e->copies = false;
}

/* The LIR has no wait of asynchronous copies, as the CPU's are done at once: those that stand together, with nothing
 * but arithmetic between them, are under way together, and waited for behind the last. */
static void order_copies(struct mu_emit *e)
{
    const struct lir_insn *i = e->at->op == LIR_GUARD ? e->at + 1 : e->at;
    const bool guarded = e->at > LIR_AT(e->image, code, struct lir_insn) && e->at[-1].op == LIR_GUARD;
    if (!guarded && i->op != LIR_CP_ASYNC && i->op != LIR_JOIN && !lir_operands[i->op])
        mu_end_copies(e);
    e->copies |= e->at->op == LIR_CP_ASYNC;
}

void mu_instruction(struct mu_emit *e)
{
    const struct lir_insn *i = e->at;
    order_copies(e);
    if (i->op == LIR_GUARD) {
        mu_put(e, "if (%s%s) {\n", i->aux & 1 ? "!" : "", mu_get(e, i->a, 'p').s);
        return;
    }
    const bool guarded = i > LIR_AT(e->image, code, struct lir_insn) && i[-1].op == LIR_GUARD;
    if (i->op == LIR_TILE || i->op == LIR_WGMMA || i->op == LIR_TCMMA)
        mu_fail(e, "tensor maps, wgmma, tcgen05 and multimem are not supported on MUSA devices");
    if (!control(e) && !mu_memory(e) && !mu_warp(e) && !mu_matrix(e) && !mu_texture(e) && !mu_alu(e))
        mu_fail(e, "operation %u has no text", i->op);
    if (guarded)
        mu_put(e, "}\n");
}

static void find_labels(struct mu_emit *e)
{
    const struct lir_insn *code = LIR_AT(e->image, code, struct lir_insn);
    const uint32_t *target = LIR_AT(e->image, targets, uint32_t);
    for (uint32_t k = 0; k < e->image->code.count; k++)
        if (code[k].op == LIR_BRA || code[k].op == LIR_BRP)
            e->label[code[k].imm] = 1;
    for (uint32_t k = 0; k < e->image->targets.count; k++)
        e->label[target[k]] = 1;
}

/* ---- functions ---- */

/* The body first, since it says which registers there are. */
static void body(struct mu_emit *e)
{
    const struct lir_insn *code = LIR_AT(e->image, code, struct lir_insn);
    e->above = e->text;
    e->text = (struct ptx_text){0};
    e->uses_cc = e->uses_stack = false;
    for (uint32_t k = e->fn->entry; k < e->end; k++)
        e->uses_stack |= code[k].op == LIR_ALLOCA || code[k].op == LIR_STACKSAVE;
    if (e->flat)
        mu_flat(e);
    else
        mu_flow(e);
    e->below = e->text;
    e->text = e->above;
    e->above = (struct ptx_text){0};
    for (uint32_t k = 0; k < e->image->externs.count; k++)
        mu_put(e, "    const u64 x%u = " MU_EXTERNS "[%u];\n    (void)x%u;\n", k, k, k);
    if (e->fn->local_size)
        mu_put(e, "    alignas(16) u8 local[%u];\n", e->fn->local_size);
    if (e->uses_stack)
        mu_put(e, "    alignas(16) u8 stack[CM_STACK];\n    u64 top = (u64)stack;\n");
    if (e->fn->slot)
        mu_put(e, "    alignas(16) u8 slot[%u];\n", e->fn->slot);
    mu_declare(e);
    mu_declare_sums(e);
    if (!e->function && e->parts & MU_BARRIER)
        mu_put(e, "    CM_BARRIERS_BEGIN\n");
    if (e->function && e->fn->param_size)
        mu_put(e, "    copy(slot + %u, in, %u);\n", e->fn->param, e->fn->param_size);
    mu_write_indented(e, e->below.p ? e->below.p : "", e->below.n);
    free(e->below.p);
    e->below = (struct ptx_text){0};
}

static void function(struct mu_emit *e, uint32_t index)
{
    const struct lir_fn *fn = LIR_AT(e->image, funcs, struct lir_fn);
    e->function = index;
    e->fn = &fn[index];
    e->end = index + 1 < e->image->funcs.count ? fn[index + 1].entry : e->image->code.count;
    memset(e->used, 0, record(e)->regs_size / LIR_ROW_ALIGN + 1);
    if (index) {
        mu_signature(e, index, "\n{\n");
        body(e);
        mu_put(e, "}\n");
        return;
    }
    mu_put(e, "CM_KERNEL CM_BOUNDS(%u) void %s(", record(e)->max_threads, e->info->symbol);
    mu_params(e);
    mu_put(e, ")\n{\n");
    body(e);
    mu_put(e, "}\n} // namespace cm\n");
}

/* ---- the whole ---- */

static void symbol_of(struct mu_info *info, const char *kernel)
{
    size_t n = (size_t)snprintf(info->symbol, sizeof info->symbol, "cumu_%.150s", kernel);
    for (size_t k = 0; k < n && k < sizeof info->symbol; k++)
        if (!isalnum((unsigned char)info->symbol[k]) && info->symbol[k])
            info->symbol[k] = '_';
}

static void prelude(struct mu_emit *e)
{
    const struct {
        unsigned part;
        const char *from, *to;
    } parts[] = {
        {MU_ASYNC, mu_prelude_async, mu_prelude_async_end},    {MU_VIDEO, mu_prelude_video, mu_prelude_video_end},
        {MU_MATRIX, mu_prelude_matrix, mu_prelude_matrix_end}, {MU_BARRIER, mu_prelude_barrier, mu_prelude_barrier_end},
        {MU_WIDE, mu_prelude_wide, mu_prelude_wide_end},       {MU_PACKED, mu_prelude_packed, mu_prelude_packed_end},
    };
    mu_put(e, "/* cumu %u: %s */\n", MU_VERSION, e->info->symbol);
    mu_constants(e);
    mu_write(e, mu_prelude_text, (size_t)(mu_prelude_end - mu_prelude_text));
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (e->parts & parts[k].part)
            mu_write(e, parts[k].from, (size_t)(parts[k].to - parts[k].from));
}

/* What the text of one place needs to know of others. */
static void scan(struct mu_emit *e)
{
    const struct lir_insn *i = LIR_AT(e->image, code, struct lir_insn);
    const struct lir_row *row = LIR_AT(e->image, rows, struct lir_row);
    uint64_t id;
    for (const struct lir_insn *end = i + e->image->code.count; i < end; i++) {
        if (i->op == LIR_BAR && i->aux & LIR_BAR_COUNT)
            e->parts |= MU_BARRIER;
        if (i->op == LIR_BAR && (i->aux & LIR_BAR_KIND) == LIR_BAR_ARRIVE &&
            !(mu_constant(e, i->a, &id) && id == LIR_BARRIER_CLUSTER)) {
            e->parts |= MU_BARRIER;
            e->arrives = true;
        }
        if (i->op == LIR_ATOM && ptx_type_size(i->aux >> LIR_ATOM_TYPE_SHIFT & 0x1f) == 16)
            e->parts |= MU_WIDE;
    }
    for (uint32_t k = 0; k < e->image->rows.count; k++)
        if (row[k].kind == LIR_ROW_SREG && (row[k].index == PTX_SR_ENVREG0 + 1 || row[k].index == PTX_SR_ENVREG0 + 2))
            e->parts |= MU_WORKSPACE;
}

/* The whole text: macros that tell the prelude which parts are used, the functions that the kernel reaches, the
 * kernel. What needs a part finds it while it is written, so the prelude is put in front at the end. */
static void emit_all(struct mu_emit *e)
{
    const struct lir_row *row = LIR_AT(e->image, rows, struct lir_row);
    const struct lir_kernel_rec *rec = record(e);
    const uint32_t *cluster = rec->cluster.dims;
    if (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1)
        mu_fail(e, "clusters of %u x %u x %u blocks have no counterpart in MUSA", cluster[0], cluster[1], cluster[2]);
    for (uint32_t k = 0; k < e->image->rows.count; k++)
        e->row[row[k].offset / LIR_ROW_ALIGN] = k + 1;
    find_labels(e);
    scan(e);
    e->info->shared = rec->uses_dynamic ? rec->dynamic_offset : rec->shared_size;
    e->info->dynamic = rec->uses_dynamic;
    e->info->nextern = e->image->externs.count;
    e->info->barriers = e->parts & MU_BARRIER;
    mu_put(e, "#define CM_IN_FRONT %uu\n", e->info->dynamic ? e->info->shared : 0);
    if (rec->uses_dynamic)
        mu_put(e, "CM_SHARED_EXTERN\n");
    else
        mu_put(e, "CM_SHARED(%u)\n", rec->shared_size ? rec->shared_size : 1);
    if (e->image->externs.count)
        mu_put(e, "CM_EXTERNS(%u)\n", e->image->externs.count);
    if (e->parts & MU_BARRIER)
        mu_put(e, "CM_BARRIERS\n");
    if (e->parts & MU_WORKSPACE)
        mu_put(e, "CM_WORKSPACE\n");
    mu_put(e, "namespace cm {\n");
    for (uint32_t k = 1; k < e->image->funcs.count; k++)
        mu_signature(e, k, ";\n");
    for (uint32_t k = 1; k < e->image->funcs.count; k++)
        function(e, k);
    function(e, 0);
    e->below = e->text;
    e->text = (struct ptx_text){0};
    prelude(e);
    e->info->prelude = (uint32_t)e->text.n;
    mu_write(e, e->below.p, e->below.n);
}

static void release(struct mu_emit *e)
{
    free(e->text.p);
    free(e->above.p);
    free(e->below.p);
    free(e->row);
    free(e->used);
    free(e->label);
    free(e->block);
    ptx_arena_free(e->graph.arena);
    free(e);
}

static bool only_prelude(struct mu_emit *e)
{
    if (setjmp(e->out))
        return false;
    prelude(e);
    return true;
}

char *mu_prelude(size_t *size)
{
    struct mu_emit *e = calloc(1, sizeof *e);
    struct mu_info info = {.symbol = "all parts"};
    struct ptx_diag diag;
    char *text = NULL;
    if (!e)
        return NULL;
    *e = (struct mu_emit){.info = &info, .diag = &diag, .parts = ~0u};
    if (only_prelude(e)) {
        text = e->text.p;
        *size = e->text.n;
        e->text.p = NULL;
    }
    release(e);
    return text;
}

int mu_emit(const struct ptx_module *m, const char *kernel, const void *image, enum mu_target target, char **text,
            size_t *size, struct mu_info *info, struct ptx_diag *diag)
{
    struct mu_emit *e = calloc(1, sizeof *e);
    volatile int result = -1; /* survives the longjmp of an error */
    *text = NULL;
    *size = 0;
    memset(diag, 0, sizeof *diag);
    snprintf(diag->what, sizeof diag->what, "%.63s", kernel);
    strcpy(diag->msg, "out of memory");
    if (!e)
        return -1;
    *e = (struct mu_emit){.module = m,
                          .entry = ptx_module_func(m, kernel),
                          .image = image,
                          .diag = diag,
                          .info = info,
                          .any = target == MU_ANY || target == MU_ANY_FLAT,
                          .flat = target >= MU_MUSA_FLAT};
    memset(info, 0, sizeof *info);
    symbol_of(info, kernel);
    const size_t cells = record(e)->regs_size / LIR_ROW_ALIGN + 1;
    e->row = calloc(cells, sizeof *e->row);
    e->used = calloc(cells, 1);
    e->label = calloc(e->image->code.count + 1, 1);
    e->block = calloc(e->image->code.count + 1, sizeof *e->block);
    e->graph = (struct ptx_ctx){.diag = diag, .arena = ptx_arena_new()};
    if (e->entry && e->row && e->used && e->label && e->block && e->graph.arena && !setjmp(e->graph.out) &&
        !setjmp(e->out)) {
        emit_all(e);
        *text = e->text.p;
        *size = e->text.n;
        e->text.p = NULL;
        result = 0;
    }
    release(e);
    return result;
}
