/* Tier 1 emitter: calls of device functions and of the device's runtime. A .param variable of a function
 * is rows of 32-bit words, one word of all lanes beside the next, so that accesses of any size agree. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

enum { WORDS_LIMIT = 1 << 12 }; /* 32-bit words of a call's parameters */

static uint32_t size_of(struct t1_emit *e, const struct ptx_var *v)
{
    uint64_t size = v->size ? v->size : ptx_type_size(v->type);
    if (size > 4 * WORDS_LIMIT)
        t1_fail(e, "`%s`: parameter takes too much space", v->name);
    return (uint32_t)size;
}

static uint32_t place_after(struct t1_emit *e, uint32_t top, const struct ptx_var *v)
{
    uint32_t align = v->align > 4 ? v->align : 4;
    if (top > 4 * WORDS_LIMIT)
        t1_fail(e, "parameters take too much space");
    return (top + align - 1) & ~(align - 1);
}

/* Byte of the k-th of these variables, k == n: bytes of all. The same for callers and callees. */
static uint32_t place_of(struct t1_emit *e, const struct ptx_var *v, uint32_t n, uint32_t k)
{
    uint32_t top = 0, at = 0;
    for (uint32_t j = 0; j < n && j <= k; j++) {
        at = place_after(e, top, &v[j]);
        top = at + size_of(e, &v[j]);
    }
    return k < n ? at : (top + 3) & ~3u;
}

void t1_param_plan(struct t1_emit *e)
{
    const struct ptx_func *f = e->f;
    uint32_t top = 0;
    e->param_at = t1_alloc(e, f->nlocal + 1, sizeof *e->param_at);
    for (uint32_t k = 0; k < f->nlocal; k++) {
        if (f->local[k].space != PTX_SP_PARAM)
            continue;
        e->param_at[k] = top = place_after(e, top, &f->local[k]);
        top += size_of(e, &f->local[k]);
    }
    e->param_top = (top + 3) & ~3u;
    for (uint32_t k = 0; !f->is_entry && k < f->nparam + f->nret; k++)
        if ((k < f->nparam ? &f->param[k] : &f->ret[k - f->nparam])->reg >= 0)
            t1_fail(e, "parameters in registers are not supported");
}

/* They begin as 0: lanes are blended into them, and a C compiler may drop such a value wholly where
 * the other lanes' is indeterminate. */
void t1_param_declare(struct t1_emit *e)
{
    if (e->param_top)
        t1_put(e, "pu32 par[%u] = {{0}};\n", e->param_top / 4 * e->np);
}

/* Array and byte of a .param variable of this function; NULL: it is none. */
static const char *place(struct t1_emit *e, int32_t sym, uint32_t *at)
{
    const struct ptx_func *f = e->f;
    const struct ptx_var *v = sym >= 0 ? ptx_symbol(f, sym) : NULL;
    uint32_t band = (uint32_t)PTX_SYM_BAND(sym), k = (uint32_t)PTX_SYM_INDEX(sym);
    if (!v || v->space != PTX_SP_PARAM || (band == PTX_BAND_PARAM && f->is_entry))
        return NULL;
    if (band == PTX_BAND_LOCAL) {
        *at = e->param_at[k];
        return "par";
    }
    bool result = k >= f->nparam;
    *at = result ? place_of(e, f->ret, f->nret, k - f->nparam) : place_of(e, f->param, f->nparam, k);
    return result ? "rets" : "args";
}

static const char *word(struct t1_emit *e, const char *array, uint32_t byte, unsigned k)
{
    return t1_str(e, "%s[%u]", array, byte / 4 * e->np + k);
}

static void put_word(struct t1_emit *e, const char *array, uint32_t byte, unsigned k, const char *x)
{
    const char *w = word(e, array, byte, k);
    t1_put(e, "%s = t1_blend_u32(T1_MASK32(%s, %u), %s, %s);\n", w, e->mask, k, w, x);
}

/* Writes a value of `size` bytes for the running lanes. */
static void put(struct t1_emit *e, const char *array, uint32_t byte, unsigned size, const struct t1_arg *a)
{
    for (unsigned k = 0; k < e->np; k++) {
        if (size == 8) {
            const char *lo = t1_piece(e, a, 2 * k), *hi = t1_piece(e, a, 2 * k + 1);
            put_word(e, array, byte, k, t1_str(e, "t1_join_u32(t1_trunc_u64(%s), t1_trunc_u64(%s))", lo, hi));
            put_word(e, array, byte + 4, k, t1_str(e, "t1_join_u32(t1_high_u64(%s), t1_high_u64(%s))", lo, hi));
        } else if (size == 4) {
            put_word(e, array, byte, k, t1_piece(e, a, k));
        } else {
            uint32_t shift = 8 * (byte & 3), mask = (size == 1 ? 0xffu : 0xffffu) << shift;
            put_word(e, array, byte, k,
                     t1_str(e, "((%s & 0x%xu) | (%s << %u & 0x%xu))", word(e, array, byte, k), ~mask, t1_piece(e, a, k),
                            shift, mask));
        }
    }
}

/* Reads one into a value. */
static void get(struct t1_emit *e, const char *array, uint32_t byte, unsigned type, const struct ptx_opnd *o,
                int32_t value)
{
    unsigned size = ptx_type_size(type), reg = ptx_type_size(e->f->reg[o->reg].type);
    bool sign = ptx_extends_sign(type);
    for (unsigned k = 0; k < e->np; k++) {
        const char *x = word(e, array, byte, k);
        if (size == 8) {
            for (unsigned h = 0; h < 2; h++)
                t1_def_piece(e, value, 2 * k + h,
                             t1_str(e, "(t1_zext_u32(t1_half_u32(%s, %u)) | t1_zext_u32(t1_half_u32(%s, %u)) << 32)", x,
                                    h, word(e, array, byte + 4, k), h));
            continue;
        }
        if (size < 4) {
            unsigned up = 32 - 8 * (byte & 3) - 8 * size, down = 32 - 8 * size;
            x = sign ? t1_str(e, "(pu32)((ps32)(%s << %u) >> %u)", x, up, down)
                     : t1_str(e, "(%s << %u >> %u)", x, up, down);
            if (sign && reg <= 2)
                x = t1_str(e, "(%s & 0xffffu)", x);
        }
        for (unsigned h = 0; reg == 8 && h < 2; h++)
            t1_def_piece(e, value, 2 * k + h, t1_str(e, "t1_%sext_u32(t1_half_u32(%s, %u))", sign ? "s" : "z", x, h));
        if (reg != 8)
            t1_def_piece(e, value, k, x);
    }
    t1_def_done(e, value);
}

/* ld.param and st.param of a call: pieces of an array, as a parameter's place is known. False: memory. */
bool t1_param_access(struct t1_emit *e, bool store)
{
    const struct ptx_instr *in = e->in;
    const struct ptx_opnd *o = &in->src[0], *data = store ? &in->src[1] : &in->dst[0];
    const int32_t *value = store ? &e->f->instr_src[e->at][1] : &e->f->instr_dst[e->at][0];
    unsigned n = 1, size = ptx_type_size(in->type[0]);
    uint32_t at;
    const char *array = o->reg < 0 ? place(e, o->sym, &at) : NULL;
    if (!array)
        return false;
    if (data->kind == PTX_O_VEC) {
        n = data->n;
        value = &e->f->opnd_value[data->first];
        data = &e->f->opnd[data->first];
    }
    at += (uint32_t)o->imm;
    const struct ptx_var *v = ptx_symbol(e->f, o->sym);
    if ((at & (size - 1)) || o->imm + (uint64_t)size * n > ((size_of(e, v) + 3) & ~3u))
        t1_fail(e, "access outside a parameter");
    for (unsigned k = 0; k < n; k++, at += size) {
        if (store) {
            struct t1_arg a = t1_source(e, &data[k], value[k], size == 8 ? T1_K_64 : T1_K_32);
            put(e, array, at, size, &a);
        } else if (data[k].kind == PTX_O_REG && e->value[value[k]].used) {
            get(e, array, at, in->type[0], &data[k], value[k]);
        }
    }
    return true;
}

/* ---- calls ---- */

/* Copies between this function's variable and the rows of a call. */
static void copy_rows(struct t1_emit *e, const char *to, uint32_t to_byte, const char *from, uint32_t from_byte,
                      uint32_t size, bool masked)
{
    for (uint32_t w = 0; w < (size + 3) / 4; w++)
        for (unsigned k = 0; k < e->np; k++)
            if (masked)
                put_word(e, to, to_byte + 4 * w, k, word(e, from, from_byte + 4 * w, k));
            else
                t1_put(e, "%s = %s;\n", word(e, to, to_byte + 4 * w, k), word(e, from, from_byte + 4 * w, k));
}

static void put_arguments(struct t1_emit *e, const struct ptx_func *callee)
{
    const struct ptx_opnd *list = &e->in->src[1];
    for (uint32_t k = 0; k < callee->nparam; k++) {
        const struct ptx_opnd *o = &e->f->opnd[list->first + k];
        uint32_t to = place_of(e, callee->param, callee->nparam, k), from, size = size_of(e, &callee->param[k]);
        const char *array = o->kind == PTX_O_SYM ? place(e, o->sym, &from) : NULL;
        if (array) {
            if (size_of(e, ptx_symbol(e->f, o->sym)) < size)
                t1_fail(e, "argument is smaller than the parameter");
            copy_rows(e, "ca", to, array, from, size, false);
            continue;
        }
        if (size > 8)
            t1_fail(e, "argument of a kind that is not supported");
        struct t1_arg a = t1_source(e, o, e->f->opnd_value[list->first + k], size == 8 ? T1_K_64 : T1_K_32);
        put(e, "ca", to, size, &a);
    }
}

static void get_result(struct t1_emit *e, const struct ptx_func *callee)
{
    if (!callee->nret)
        return;
    const struct ptx_opnd *list = &e->in->dst[0], *o = &e->f->opnd[list->first];
    uint32_t to, size = size_of(e, &callee->ret[0]);
    const char *array = o->kind == PTX_O_SYM ? place(e, o->sym, &to) : NULL;
    if (array) {
        if (size_of(e, ptx_symbol(e->f, o->sym)) < size)
            t1_fail(e, "result is larger than its variable");
        copy_rows(e, array, to, "cr", 0, size, true);
    } else if (o->kind == PTX_O_REG && e->value[e->f->opnd_value[list->first]].used) {
        get(e, "cr", 0, e->f->reg[o->reg].type, o, e->f->opnd_value[list->first]);
    }
}

#define LANE32(w) "((t1_u32 *)&ca[" #w " * T1_P])[l]"
#define LANE64(w) "(" LANE32(w) " | (uint64_t)((t1_u32 *)&ca[(" #w " + 1) * T1_P])[l] << 32)"
#define RESULT(w) "((t1_u32 *)&cr[" #w " * T1_P])[l]"

static const struct {
    const char *name, *text; /* for lane l */
} runtime[] = {
    {"vprintf",
     RESULT(0) " = (uint32_t)b->services->print(b, (const char *)" LANE64(0) ", (const uint8_t *)" LANE64(2) ");"},
    {"malloc", "uint64_t p = (uint64_t)b->services->dev_malloc(b, " LANE64(0) ");\n" RESULT(
                   0) " = (uint32_t)p;\n" RESULT(1) " = (uint32_t)(p >> 32);"},
    {"free", "if (" LANE64(0) ") b->services->dev_free(b, (void *)" LANE64(0) ");"},
    {"__assertfail", "b->services->assert_fail(b, (const char *)" LANE64(0) ", (const char *)" LANE64(2) ", " LANE32(
                         4) ", (const char *)" LANE64(6) ", warp, l);"},
    {"__cumu_device", "uint64_t p = b->services->device(b, 32 * warp + l, " LANE32(0) ", (const uint64_t *)" LANE64(
                          2) ");\n" RESULT(0) " = (uint32_t)p;\n" RESULT(1) " = (uint32_t)(p >> 32);"},
};

static const char *runtime_text(const char *name)
{
    for (size_t k = 0; k < sizeof runtime / sizeof *runtime; k++)
        if (!strcmp(name, runtime[k].name))
            return runtime[k].text;
    return NULL;
}

/* Lanes that left the kernel inside the callee. */
static void drop_gone(struct t1_emit *e)
{
    bool div = e->info[e->block].div;
    e->info[e->block].loses = true;
    t1_put(e, "if (out) { %s &= ~out; %s}\n", e->f->is_entry ? "live" : "gone |= out; live",
           div ? "m &= ~out; " : "if (!live) goto done; ");
}

/* A call of a function of the module, or of one that CUDA has on every device (vprintf, malloc). Arguments and
 * results are arrays of pieces; lanes that exit in the callee come back as a mask. */
void t1_call(struct t1_emit *e)
{
    const struct ptx_instr *in = e->in;
    if (in->src[0].kind != PTX_O_SYM || PTX_SYM_BAND(in->src[0].sym) != PTX_BAND_FUNC)
        t1_fail(e, "indirect calls are not supported");
    const struct ptx_func *f = &e->module->func[PTX_SYM_INDEX(in->src[0].sym)], *def = f;
    if (f->is_decl)
        def = ptx_module_func(e->module, f->name);
    def = def && !def->is_decl ? def : NULL;
    const char *text = def ? NULL : runtime_text(f->name);
    if (e->watched && text && !strcmp(f->name, "free"))
        t1_fail(e, "wrong frees are found by the interpreter");
    if (text && strcmp(f->name, "vprintf") && strcmp(f->name, "__assertfail"))
        t1_race_refuse(e, "calls of the device runtime");
    if (!def && !text)
        t1_fail(e, "call of `%s`, which is not defined in this module", f->name);
    if (in->src[1].n != f->nparam || in->dst[0].n != f->nret || f->nret > 1)
        t1_fail(e, "number of arguments or results differs from the prototype's");
    uint32_t words = place_of(e, f->param, f->nparam, f->nparam) / 4;
    uint32_t result = place_of(e, f->ret, f->nret, f->nret) / 4;
    t1_put(e, "{\npu32 ca[%u], cr[%u] = {{0}};\n", (words ? words : 1) * e->np, (result ? result : 1) * e->np);
    put_arguments(e, f);
    if (text) {
        t1_put(e, "T1_FOR_LANES(l, %s) {\n%s\n}\n", e->mask, text);
        if (!strcmp(f->name, "__assertfail")) { /* does not come back */
            t1_put(e, "const uint32_t out = %s;\n", e->mask);
            drop_gone(e);
        }
    } else {
        uint32_t index = t1_reach(e, def);
        if (!ptx_calls_add(&e->reached, e->index, index))
            t1_fail(e, "out of memory");
        t1_put(e, "uint32_t out = 0;\n%sout = f_%u(b, warp, %s, ca, cr, frame + %lluull);\n",
               e->guarded ? t1_str(e, "if (%s) ", e->mask) : "", index, e->mask,
               (unsigned long long)((e->f->local_size + 15) & ~15ull));
        drop_gone(e);
    }
    get_result(e, f);
    t1_put(e, "}\n");
}
