/* Tier 0 lowering: calls. A .param variable is a place in the lane slot of its function; a call
 * copies arguments into the callee's slot and the result back. */
#include "ptx/lir/lower/lower.h"

#include "ptx/front/front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum lir_syscall call;
} syscalls[] = {{"vprintf", LIR_SYS_VPRINTF},
                {"__assertfail", LIR_SYS_ASSERT},
                {"malloc", LIR_SYS_MALLOC},
                {"free", LIR_SYS_FREE},
                {"__cumu_device", LIR_SYS_DEVICE}};

static uint32_t var_size(const struct ptx_var *v)
{
    uint64_t size = v->size ? v->size : ptx_type_size(v->type);
    return size > 1u << 20 ? 1u << 20 : (uint32_t)size;
}

static uint32_t place_after(uint32_t top, const struct ptx_var *v)
{
    uint32_t align = v->align ? v->align : 1;
    return (top + align - 1) & ~(align - 1);
}

/* Byte of the k-th of these parameters, k == n: bytes of all. The same for callers and callees. */
static uint32_t param_at(const struct ptx_var *v, uint32_t n, uint32_t k)
{
    uint32_t top = 0, at = 0;
    for (uint32_t j = 0; j < n && j <= k; j++) {
        at = place_after(top, &v[j]);
        top = at + var_size(&v[j]);
    }
    return k < n ? at : top;
}

/* Lays out the bytes of a lane that hold a function's parameters, its results, its .param variables, and at the end
 * arguments that are registers or numbers. */
void lir_plan_slots(struct lir_lower *l)
{
    struct ptx_func *f = l->f;
    uint32_t top = 0, most = 0, n = f->nparam + f->nret + f->nlocal;
    l->slot = realloc(l->slot, (n + 1) * sizeof *l->slot);
    if (!l->slot)
        lir_out_of_memory(l);
    memset(l->slot, 0, (n + 1) * sizeof *l->slot);
    if (!f->is_entry) {
        for (uint32_t k = 0; k < f->nparam; k++)
            l->slot[k] = param_at(f->param, f->nparam, k);
        l->fn.param_size = top = param_at(f->param, f->nparam, f->nparam);
        l->fn.ret = top = (top + 15) & ~15u;
        for (uint32_t k = 0; k < f->nret; k++)
            l->slot[f->nparam + k] = top + param_at(f->ret, f->nret, k);
        l->fn.ret_size = param_at(f->ret, f->nret, f->nret);
        top += l->fn.ret_size;
    }
    for (uint32_t k = 0; k < f->nlocal; k++) {
        if (f->local[k].space != PTX_SP_PARAM)
            continue;
        l->slot[f->nparam + f->nret + k] = top = place_after(top, &f->local[k]);
        top += var_size(&f->local[k]);
    }
    top = (top + 15) & ~15u;
    for (uint32_t k = 0; k < f->ninstr; k++) { /* room for arguments that are not .param variables */
        const struct ptx_instr *i = &f->instr[k];
        uint32_t need = i->op == PTX_OP_CALL ? 16u * (i->src[1].n + i->dst[0].n) : 0;
        most = need > most ? need : most;
    }
    l->arg_top = top;
    l->fn.slot = top + most;
    if (l->fn.slot > 1u << 17)
        lir_fail(l, "parameters take too much space");
}

const struct ptx_func *lir_callee(struct lir_lower *l, int32_t sym)
{
    const struct ptx_func *f = &l->module->func[PTX_SYM_INDEX(sym)];
    if (f->is_decl)
        f = ptx_module_func(l->module, f->name);
    return f && !f->is_decl ? f : NULL;
}

uint32_t lir_reach(struct lir_lower *l, const struct ptx_func *f)
{
    uint32_t index;
    if (!ptx_calls_reach(&l->reached, f, &index))
        lir_out_of_memory(l);
    return index;
}

static void add_edge(struct lir_lower *l, uint32_t callee)
{
    if (!ptx_calls_add(&l->reached, l->index, callee))
        lir_out_of_memory(l);
}

static void reach_named(struct lir_lower *l, int32_t sym)
{
    if (sym < 0 || PTX_SYM_BAND(sym) != PTX_SYM_FUNC(0))
        return;
    const struct ptx_func *f = lir_callee(l, sym);
    if (f && !f->is_entry)
        lir_reach(l, f);
}

/* Functions that stand in a mov of this text. */
static void reach_moved(struct lir_lower *l, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), "mov", 3));) {
        for (p += 3; p < end && *p != ';' && *p != '\n'; p++) {
            const char *name = p;
            while (p < end && (isalnum((unsigned char)*p) || strchr("_$%", *p)) && *p)
                p++;
            if (p == name)
                continue;
            reach_named(l, ptx_module_symbol(l->module, name, (size_t)(p - name)));
            p--;
        }
    }
}

/* Functions whose address is in a variable or moved to a register anywhere in the module: another
 * kernel may have stored it where this one reads it. */
void lir_reach_targets(struct lir_lower *l)
{
    const struct ptx_module *m = l->module;
    for (uint32_t k = 0; k < m->nvar; k++)
        for (uint32_t r = 0; r < m->var[k].nreloc; r++)
            reach_named(l, ptx_module_symbol(m, m->var[k].reloc[r].sym, strlen(m->var[k].reloc[r].sym)));
    for (uint32_t k = 0; k < m->nfunc; k++)
        if (!m->func[k].is_decl)
            reach_moved(l, m->func[k].body, m->func[k].body_len);
}

static struct lir_insn *lane_access(struct lir_lower *l, unsigned op, uint32_t row, uint32_t at, unsigned type)
{
    struct lir_insn *i = lir_emit(l, op);
    unsigned size = ptx_type_size(type), log2 = size ? (unsigned)__builtin_ctz(size) : 2;
    i->d = row;
    i->a = lir_fn_slots(&l->fn);
    i->c = l->fn.slot;
    i->imm = (int32_t)at;
    i->aux = (uint16_t)(log2 | (size <= 2 ? 0u : size == 4 ? 1u : size == 8 ? 2u : 3u) << LIR_MEM_DST_SHIFT);
    return i;
}

/* Moves a register from or to a place in the slot; a predicate is a word there. */
static void lane_move(struct lir_lower *l, unsigned op, uint32_t row, uint32_t at, unsigned type)
{
    if (type != PTX_PRED) {
        lane_access(l, op, row, at, type);
        return;
    }
    const uint32_t zero = lir_imm(l, LIR_CLASS_32, 0), one = lir_imm(l, LIR_CLASS_32, 1);
    const uint32_t word = lir_temp(l, LIR_CLASS_32);
    if (op == LIR_LANE_LD) {
        lane_access(l, op, word, at, PTX_U32);
        struct lir_insn *i = lir_emit(l, LIR_SETP_U32);
        *i = (struct lir_insn){.op = LIR_SETP_U32, .aux = PTX_NE << LIR_CMP_SHIFT, .d = row, .a = word, .b = zero};
    } else {
        struct lir_insn *i = lir_emit(l, LIR_SELP_B32);
        *i = (struct lir_insn){.op = LIR_SELP_B32, .d = word, .a = one, .b = zero, .c = row};
        lane_access(l, op, word, at, PTX_U32);
    }
    l->used[LIR_CLASS_32]--;
}

void lir_reg_params(struct lir_lower *l, bool at_entry)
{
    const struct ptx_func *f = l->f;
    const struct ptx_var *v = at_entry ? f->param : f->ret;
    uint32_t n = at_entry ? f->nparam : f->nret;
    for (uint32_t k = 0; !f->is_entry && k < n; k++)
        if (v[k].reg >= 0)
            lane_move(l, at_entry ? LIR_LANE_LD : LIR_LANE_ST, l->reg[v[k].reg], l->slot[at_entry ? k : f->nparam + k],
                      f->reg[v[k].reg].type);
}

/* Place in the slot of one argument or result of a call. */
static uint32_t passed_at(struct lir_lower *l, const struct ptx_opnd *o, uint32_t *scratch)
{
    const struct ptx_var *v = o->kind == PTX_O_SYM ? ptx_symbol(l->f, o->sym) : NULL;
    if (v && v->space == PTX_SP_PARAM) {
        uint32_t band = (uint32_t)PTX_SYM_BAND(o->sym), k = (uint32_t)PTX_SYM_INDEX(o->sym);
        return l->slot[k + (band == PTX_BAND_LOCAL ? l->f->nparam + l->f->nret : 0)];
    }
    *scratch += 16;
    return *scratch - 16;
}

static bool is_variable(struct lir_lower *l, const struct ptx_opnd *o)
{
    const struct ptx_var *v = o->kind == PTX_O_SYM ? ptx_symbol(l->f, o->sym) : NULL;
    return v && v->space == PTX_SP_PARAM;
}

struct shape {
    const struct ptx_var *param, *ret;
    uint32_t nparam, nret;
};

/* The parameters and results of what is called: of a known function, of a prototype, or of the first of a list of
 * targets. Names that the device runtime defines (vprintf, malloc...) become system calls; what only libcudadevrt
 * defines is refused by name. */
static struct shape shape_of(struct lir_lower *l, const struct ptx_instr *i, enum lir_syscall *sys)
{
    const struct ptx_opnd *proto = &i->src[2];
    const struct ptx_func *f = NULL;
    *sys = LIR_SYS_NONE;
    if (i->src[0].kind == PTX_O_SYM) {
        f = &l->module->func[PTX_SYM_INDEX(i->src[0].sym)];
        const struct ptx_func *def = lir_callee(l, i->src[0].sym);
        for (size_t k = 0; !def && k < sizeof syscalls / sizeof *syscalls; k++)
            if (!strcmp(f->name, syscalls[k].name))
                *sys = syscalls[k].call;
        /* what the device runtime has beside device_calls.def; what libcudadevrt calls itself */
        if (!def && !*sys && (!strncmp(f->name, "cuda", 4) || !strncmp(f->name, "__cuda", 6)))
            lir_fail(l, "call of `%s`, which this device runtime (dynamic parallelism) does not have", f->name);
        l->launches |= *sys == LIR_SYS_DEVICE;
        if (!def && !*sys)
            lir_refuse(l, "call of `%s`, which is not defined in this module", f->name);
    } else if (proto->kind == PTX_O_SYM && PTX_SYM_BAND(proto->sym) == PTX_BAND_FUNC) {
        f = &l->module->func[PTX_SYM_INDEX(proto->sym)]; /* .calltargets: its first function */
    } else if (proto->kind == PTX_O_SYM) {
        const struct ptx_proto *p = &l->f->proto[PTX_SYM_INDEX(proto->sym)];
        return (struct shape){p->param, p->ret, p->nparam, p->nret};
    }
    if (!f)
        lir_refuse(l, "call without a prototype");
    return (struct shape){f->param, f->ret, f->nparam, f->nret};
}

/* A call: its arguments into slots, the record of what is copied where, the call with a join behind it, its results
 * out of slots. */
void lir_lower_call(struct lir_lower *l, const struct ptx_instr *i)
{
    enum lir_syscall sys;
    struct shape s = shape_of(l, i, &sys);
    struct lir_call call = {.caller = l->index, .fn = LIR_NONE, .syscall = sys};
    uint32_t scratch = l->arg_top;
    if (i->src[1].n != s.nparam || i->dst[0].n != s.nret)
        lir_refuse(l, "number of arguments or results differs from the prototype's");
    const struct ptx_func *callee = i->src[0].kind == PTX_O_SYM && !sys ? lir_callee(l, i->src[0].sym) : NULL;
    if (callee) {
        call.fn = lir_reach(l, callee);
        add_edge(l, call.fn);
    } else if (!sys) {
        call.target = lir_source(l, &i->src[0], LIR_CLASS_64);
        add_edge(l, PTX_ANY_CALLEE);
        l->has_indirect = true;
    }
    call.first = l->args.n;
    call.narg = s.nparam;
    for (uint32_t k = 0; k < s.nparam; k++) {
        const struct ptx_opnd *o = &l->f->opnd[i->src[1].first + k];
        uint32_t at = passed_at(l, o, &scratch), size = var_size(&s.param[k]);
        if (!is_variable(l, o)) {
            unsigned type = o->kind == PTX_O_REG ? l->f->reg[o->reg].type : s.param[k].type;
            lane_move(l, LIR_LANE_ST, lir_source(l, o, lir_class_of(type)), at, type);
        }
        if (at + (uint64_t)size > l->fn.slot)
            lir_refuse(l, "argument is smaller than the parameter");
        struct lir_arg *arg = lir_push(l, &l->args, sizeof *arg);
        *arg = (struct lir_arg){at, size, param_at(s.param, s.nparam, k)};
    }
    const struct ptx_opnd *result = s.nret ? &l->f->opnd[i->dst[0].first] : NULL;
    if (result) { /* more than one only in registers, which have their places side by side */
        call.ret = s.nret == 1 ? passed_at(l, result, &scratch) : scratch;
        call.ret_size = param_at(s.ret, s.nret, s.nret);
        if (call.ret + (uint64_t)call.ret_size > l->fn.slot)
            lir_refuse(l, "result is larger than its variable");
    }
    struct lir_call *record = lir_push(l, &l->calls, sizeof *record);
    *record = call;
    lir_emit(l, sys ? LIR_SYSCALL : LIR_CALL)->imm = (int32_t)(l->calls.n - 1);
    if (sys == LIR_SYS_ASSERT)
        lir_emit(l, LIR_EXIT);
    if (!sys)
        lir_emit(l, LIR_JOIN); /* lanes come back one split at a time */
    for (uint32_t k = 0; k < s.nret; k++)
        if (result[k].kind == PTX_O_REG)
            lane_move(l, LIR_LANE_LD, l->reg[result[k].reg], call.ret + param_at(s.ret, s.nret, k),
                      l->f->reg[result[k].reg].type);
        else if (s.nret > 1 && result[k].kind != PTX_O_SINK)
            lir_fail(l, "several results of a call go to registers");
}
