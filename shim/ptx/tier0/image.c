/* Tier 0 execution: loads an image. Everything that execution relies on is checked here, once, so
 * that the interpreter needs no checks of its own. */
#include "ptx/tier0/warp.h"
#include "ptx/base/base.h"
#include "ptx/lir/matrix.h"
#include "ptx/lir/tile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const struct lir_image *image;
    uint32_t regs_size, param_size;
};

static bool sections_ok(const struct lir_image *m)
{
#define LIR_SECTION(field, type) \
    if (m->field.offset % 8 || m->field.offset > m->size || \
        m->field.count > (m->size - m->field.offset) / sizeof(type)) \
        return false;
    LIR_SECTIONS
#undef LIR_SECTION
    return m->strings.count && !LIR_AT(m, strings, char)[m->strings.count - 1] && m->lines.count == m->code.count &&
           m->kernels.count <= 1 && (m->code.count != 0) == (m->kernels.count == 1);
}

static bool range_ok(uint64_t first, uint64_t count, uint64_t all) { return first <= all && count <= all - first; }

static bool string_ok(const struct check *c, uint32_t s) { return s < c->image->strings.count; }

static bool row_ok(const struct check *c, uint32_t offset)
{
    return offset % LIR_ROW_ALIGN == 0 && range_ok(offset, LIR_ROW_MAX, c->regs_size);
}

static bool lane_op_ok(const struct check *c, const struct lir_insn *i)
{
    return row_ok(c, i->d) && i->a % LIR_ROW_ALIGN == 0 && i->imm >= 0 &&
           range_ok(i->a, (uint64_t)LIR_LANES * i->c, c->regs_size) &&
           range_ok((uint64_t)i->imm, i->op == LIR_LANE_ADDR ? 0 : 1u << (i->aux & LIR_MEM_LOG2_SIZE), i->c);
}

static bool matrix_ok(const struct check *c, uint32_t index, bool product)
{
    const struct lir_image *m = c->image;
    const struct lir_matrix *x = LIR_AT(m, matrices, struct lir_matrix) + index;
    const uint32_t *row = LIR_AT(m, operands, uint32_t);
    if (index >= m->matrices.count || !lir_matrix_fits(x) || product != (x->kind == LIR_MATRIX_MMA) ||
        !range_ok(x->first, lir_mx_regs(x), m->operands.count))
        return false;
    for (unsigned k = 0; k < lir_mx_regs(x); k++)
        if (!row_ok(c, row[x->first + k]))
            return false;
    return true;
}

static bool tile_ok(const struct check *c, uint32_t index, unsigned op)
{
    const struct lir_image *m = c->image;
    const struct lir_tile *x = LIR_AT(m, tiles, struct lir_tile) + index;
    const uint32_t *row = LIR_AT(m, operands, uint32_t);
    if (index >= m->tiles.count || op != lir_tile_op(x->kind) || !x->nrow || x->nrow != lir_tile_rows(x) ||
        !range_ok(x->first, x->nrow, m->operands.count))
        return false;
    for (unsigned k = 0; k < x->nrow; k++)
        if (!row_ok(c, row[x->first + k]))
            return false;
    return true;
}

/* Is this an instruction that handlers may trust? They check nothing: every row, branch target, table index and
 * follower is checked here, once, as an image may come from a file that somebody else wrote. */
static bool insn_ok(const struct check *c, const struct lir_insn *i, bool last)
{
    const struct lir_image *m = c->image;
    const struct lir_call *calls = LIR_AT(m, calls, struct lir_call);
    uint32_t imm = (uint32_t)i->imm;

    if (i->op == LIR_OP_INVALID || i->op >= LIR_NOPS || (i->op < LIR_GUARD && !lir_table[i->op]))
        return false;
    if (i->op == LIR_LANE_LD || i->op == LIR_LANE_ST || i->op == LIR_LANE_ADDR)
        return lane_op_ok(c, i);
    if (!row_ok(c, i->d) || !row_ok(c, i->a) || !row_ok(c, i->b) || !row_ok(c, i->c) || !row_ok(c, i->e))
        return false;
    switch (i->op) {
    case LIR_LD_KPARAM: return i->imm >= 0 && range_ok(imm, 1u << (i->aux & LIR_MEM_LOG2_SIZE), c->param_size);
    case LIR_SHFL: return row_ok(c, imm);
    case LIR_MMA:
    case LIR_WMMA_LD:
    case LIR_WMMA_ST: return !last && matrix_ok(c, imm, i->op == LIR_MMA);
    case LIR_TILE:
    case LIR_WGMMA:
    case LIR_TCMMA: return !last && tile_ok(c, imm, i->op);
    case LIR_TEX: return !last && i[1].op == LIR_TEX_ARGS && i[1].aux == lir_tex_more(imm);
    case LIR_SULD:
    case LIR_SUST:
    case LIR_SURED: return !last && i[1].op == LIR_TEX_ARGS;
    case LIR_TEX_ARGS: return !last && (!i->aux || (i[1].op == LIR_TEX_ARGS && i[1].aux == i->aux - 1));
    case LIR_GUARD: return !last && i[1].op < LIR_SHFL;
    case LIR_BRA:
    case LIR_BRP: return imm < m->code.count && (i->op == LIR_BRA || !last);
    case LIR_BRX: return imm < m->tables.count;
    case LIR_CALL:
    case LIR_SYSCALL:
        return !last && imm < m->calls.count && (calls[imm].syscall != LIR_SYS_NONE) == (i->op == LIR_SYSCALL);
    default: return !last || i->op == LIR_RET || i->op == LIR_EXIT || i->op == LIR_TRAP;
    }
}

static bool code_ok(const struct check *c)
{
    const struct lir_image *m = c->image;
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    const struct lir_line *lines = LIR_AT(m, lines, struct lir_line);
    const struct lir_table *tables = LIR_AT(m, tables, struct lir_table);
    const uint32_t *targets = LIR_AT(m, targets, uint32_t);
    for (uint32_t k = 0; k < m->code.count; k++)
        if (!insn_ok(c, &code[k], k + 1 == m->code.count) || !string_ok(c, lines[k].text))
            return false;
    const struct lir_loc *loc = LIR_AT(m, locs, struct lir_loc);
    for (uint32_t k = 0; k < m->locs.count; k++)
        if (!string_ok(c, loc[k].file) || !string_ok(c, loc[k].call_file) || (k && loc[k].line < loc[k - 1].line))
            return false;
    for (uint32_t k = 0; k < m->tables.count; k++)
        if (!range_ok(tables[k].first, tables[k].count, m->targets.count))
            return false;
    for (uint32_t k = 0; k < m->targets.count; k++)
        if (targets[k] >= m->code.count)
            return false;
    return true;
}

/* The same for functions and calls: frames, parameters and results lie where the registers and slots of the image
 * are. */
static bool funcs_ok(const struct check *c)
{
    const struct lir_image *m = c->image;
    const struct lir_fn *f = LIR_AT(m, funcs, struct lir_fn);
    const struct lir_call *call = LIR_AT(m, calls, struct lir_call);
    const struct lir_arg *arg = LIR_AT(m, args, struct lir_arg);
    for (uint32_t k = 0; k < m->funcs.count; k++, f++)
        if (!string_ok(c, f->name) || f->entry >= m->code.count || f->regs % LIR_ROW_ALIGN ||
            !range_ok(f->regs, lir_fn_size(f), c->regs_size) || f->slot % 8 ||
            !range_ok(f->param, f->param_size, f->slot) || !range_ok(f->ret, f->ret_size, f->slot) ||
            f->local_size > LIR_LOCAL_LIMIT)
            return false;
    f = LIR_AT(m, funcs, struct lir_fn);
    for (uint32_t k = 0; k < m->calls.count; k++, call++) {
        if (call->caller >= m->funcs.count || (call->fn != LIR_NONE && call->fn >= m->funcs.count) ||
            !row_ok(c, call->target) || call->syscall >= LIR_NSYS ||
            !range_ok(call->first, call->narg, m->args.count) ||
            !range_ok(call->ret, call->ret_size, f[call->caller].slot))
            return false;
        for (uint32_t n = 0; n < call->narg; n++)
            if (!range_ok(arg[call->first + n].src, arg[call->first + n].size, f[call->caller].slot))
                return false;
    }
    return true;
}

static bool rows_ok(const struct check *c)
{
    const struct lir_image *m = c->image;
    const struct lir_row *r = LIR_AT(m, rows, struct lir_row);
    const struct lir_extern *e = LIR_AT(m, externs, struct lir_extern);
    for (uint32_t k = 0; k < m->rows.count; k++)
        if (!row_ok(c, r[k].offset) || r[k].kind >= LIR_ROW_KINDS ||
            (r[k].kind == LIR_ROW_EXTERN && r[k].index >= m->externs.count))
            return false;
    for (uint32_t k = 0; k < m->externs.count; k++)
        if (!string_ok(c, e[k].name))
            return false;
    return true;
}

static bool kernel_ok(struct check *c)
{
    const struct lir_image *m = c->image;
    const struct lir_kernel_rec *k = LIR_AT(m, kernels, struct lir_kernel_rec);
    const struct lir_param *p = LIR_AT(m, params, struct lir_param);
    if (!m->kernels.count)
        return !m->rows.count && !m->funcs.count && !m->calls.count;
    if (!string_ok(c, k->name) || k->fn >= m->funcs.count || k->regs_size > LIR_REGS_LIMIT ||
        k->regs_size < LIR_ROW_MAX || k->regs_size % LIR_ROW_ALIGN || k->shared_size > 1u << 20 ||
        k->dynamic_offset > 1u << 20 || k->dynamic_offset < k->shared_size || k->local_size > LIR_LOCAL_LIMIT ||
        k->local_size % 16 || k->param_size > 1u << 16 || !range_ok(k->first_param, k->nparam, m->params.count))
        return false;
    for (uint32_t n = 0; n < k->nparam; n++)
        if (!range_ok(p[k->first_param + n].offset, p[k->first_param + n].size, k->param_size))
            return false;
    c->regs_size = k->regs_size;
    c->param_size = k->param_size;
    return true;
}

static bool vars_ok(const struct check *c)
{
    const struct lir_image *m = c->image;
    const struct lir_var *v = LIR_AT(m, vars, struct lir_var);
    const struct lir_reloc *r = LIR_AT(m, relocs, struct lir_reloc);
    for (uint32_t k = 0; k < m->vars.count; k++, v++) {
        if (!string_ok(c, v->name) || v->size > 1ull << 40 || v->init_size > v->size || !v->align ||
            v->align & (v->align - 1) || v->align > 1u << 20 || !range_ok(v->init, v->init_size, m->data.count) ||
            !range_ok(v->first_reloc, v->nreloc, m->relocs.count))
            return false;
        for (uint32_t n = 0; n < v->nreloc; n++) {
            const struct lir_reloc *x = r + v->first_reloc + n;
            if (x->size > 8 || x->byte > 8 || !range_ok(x->offset, x->size, v->size) || x->kind > LIR_RELOC_KERNEL ||
                (x->kind == LIR_RELOC_VAR && x->index >= m->vars.count) ||
                (x->kind == LIR_RELOC_KERNEL && x->index >= m->externs.count))
                return false;
        }
    }
    return true;
}

static const char *invalid(const struct lir_image *m)
{
    struct check c = {m, 0, 0};
    if (!sections_ok(m))
        return "sections outside the image";
    if (!kernel_ok(&c))
        return "invalid kernel record";
    if (!funcs_ok(&c))
        return "invalid function or call record";
    if (!rows_ok(&c))
        return "invalid row record";
    if (!code_ok(&c))
        return "invalid instruction";
    return vars_ok(&c) ? NULL : "invalid variable record";
}

/* Allocates and initialises the variables of the image. */
static bool define_vars(struct t0_module *m)
{
    const struct lir_image *image = m->image;
    const struct lir_var *v = LIR_AT(image, vars, struct lir_var);
    for (uint32_t k = 0; k < image->vars.count; k++) {
        m->var[k] = m->env.global_alloc(m->env.ctx, v[k].size ? v[k].size : 1, v[k].align);
        if (!m->var[k])
            return false;
        if (v[k].constant && !t0_constant_add(m->var[k], v[k].size))
            return false;
        memcpy(m->var[k], LIR_AT(image, data, uint8_t) + v[k].init, v[k].init_size);
    }
    for (uint32_t k = 0; k < image->vars.count; k++) {
        const struct lir_reloc *r = LIR_AT(image, relocs, struct lir_reloc) + v[k].first_reloc;
        for (uint32_t n = 0; n < v[k].nreloc; n++, r++) {
            uint64_t value = r->kind == LIR_RELOC_FUNC     ? LIR_FUNC_TAG | r->index
                             : r->kind == LIR_RELOC_KERNEL ? LIR_AT(image, externs, struct lir_extern)[r->index].address
                                                           : (uint64_t)(uintptr_t)m->var[r->index];
            value += (uint64_t)r->addend;
            if (r->byte)
                value = value >> 8 * (r->byte - 1) & 0xff;
            memcpy((uint8_t *)m->var[k] + r->offset, &value, r->size);
        }
        if (v[k].constant && m->env.global_constant)
            m->env.global_constant(m->env.ctx, m->var[k]);
    }
    return true;
}

/* An image may come from anywhere: it is copied, then every offset, index and operand in it is checked once, so that
 * the interpreter checks none. */
struct t0_module *t0_module_load(const void *image, size_t size, const struct t0_env *env, const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_uint_fast64_t serial = 1;
    const struct lir_image *head = image;
    struct t0_module *m = NULL;
    const char *reason = "not a tier-0 image";

    pthread_once(&once, t0_sched_init);
    if (size < sizeof *head || memcmp(image, LIR_IMAGE_MAGIC, 8))
        goto fail;
    reason = NULL; /* no memory */
    m = calloc(1, sizeof *m);
    if (!m || !(m->image = malloc(size)))
        goto fail;
    memcpy(m->image, image, size);
    m->env = *env;
    reason = "image of another version";
    if (m->image->version != LIR_IMAGE_VERSION || m->image->nops != LIR_NOPS)
        goto fail;
    reason = "truncated image";
    if (m->image->size != size)
        goto fail;
    reason = invalid(m->image);
    if (reason)
        goto fail;
    reason = NULL; /* no memory */
    m->nkernel = m->image->kernels.count;
    m->kernel = calloc(m->nkernel + 1, sizeof *m->kernel);
    m->var = calloc(m->image->vars.count + 1, sizeof *m->var);
    if (!m->kernel || !m->var || !define_vars(m))
        goto fail;
    for (uint32_t k = 0; k < m->nkernel; k++)
        m->kernel[k] = (struct t0_kernel){m, LIR_AT(m->image, kernels, struct lir_kernel_rec) + k,
                                          atomic_fetch_add(&serial, 1)};
    t0_base_loaded(m);
    return m;
fail:
    t0_module_unload(m);
    if (why)
        *why = reason;
    return NULL;
}

void t0_module_unload(struct t0_module *m)
{
    if (!m)
        return;
    for (uint32_t k = 0; m->var && k < m->image->vars.count; k++)
        if (m->var[k]) {
            if (LIR_AT(m->image, vars, struct lir_var)[k].constant)
                t0_constant_remove(m->var[k]);
            m->env.global_free(m->env.ctx, m->var[k]);
        }
    free(m->var);
    t0_verdicts_free(m->verdicts);
    base_free((struct base_code *)(uintptr_t)m->base);
    free(m->kernel);
    free(m->image);
    free(m);
}

struct t0_kernel *t0_module_kernel(struct t0_module *m, const char *name)
{
    for (uint32_t k = 0; k < m->nkernel; k++)
        if (!strcmp(LIR_AT(m->image, strings, char) + m->kernel[k].rec->name, name))
            return &m->kernel[k];
    return NULL;
}

int t0_module_global(struct t0_module *m, const char *name, void **address, size_t *size)
{
    const struct lir_var *v = LIR_AT(m->image, vars, struct lir_var);
    for (uint32_t k = 0; k < m->image->vars.count; k++) {
        if (strcmp(LIR_AT(m->image, strings, char) + v[k].name, name))
            continue;
        if (address)
            *address = m->var[k];
        if (size)
            *size = (size_t)v[k].size;
        return 0;
    }
    return -1;
}

void t0_kernel_info(const struct t0_kernel *k, struct t0_kernel_info *out)
{
    const struct lir_image *m = k->module->image;
    const struct lir_kernel_rec *r = k->rec;
    *out = (struct t0_kernel_info){.name = LIR_AT(m, strings, char) + r->name,
                                   .nparam = r->nparam,
                                   .param_size = r->param_size,
                                   .param = LIR_AT(m, params, struct lir_param) + r->first_param,
                                   .shared_size = r->shared_size,
                                   .local_size = r->own_local,
                                   .num_regs = r->num_regs,
                                   .max_threads = r->max_threads,
                                   .reqntid = {r->reqntid[0], r->reqntid[1], r->reqntid[2]},
                                   .cluster = r->cluster,
                                   .uses_grid_sync = r->uses_grid_sync != 0,
                                   .may_wait = r->may_wait != 0,
                                   .cancels = r->cancels != 0,
                                   .launches = r->launches != 0};
}
