/* The PTX of a program. */
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

const struct class_info classes[NCLASSES] = {[C_INT] = {"r", "b32", V_INT, NINT},
                                             [C_UNI] = {"u", "b32", V_UNI, NUNI},
                                             [C_WIDE] = {"d", "b64", V_WIDE, NWIDE},
                                             [C_SHORT] = {"h", "b16", V_SHORT, NSHORT},
                                             [C_FLOAT] = {"f", "f32", V_FLOAT, NFLOAT},
                                             [C_PRED] = {"p", "pred", V_PRED, NPRED},
                                             [C_COUNT] = {"c", "b32", V_COUNT, NCOUNT},
                                             [C_FLAG] = {"q", "pred", V_FLAG, NFLAG},
                                             [C_MASK] = {"m", "b32", V_MASK, NMASK},
                                             [C_COUNT64] = {"w", "b64", V_COUNT64, NCOUNT64},
                                             [C_COUNT16] = {"x", "b16", V_COUNT16, NCOUNT16}};

enum class class_of(int v) { enum class c = C_INT; while (v >= classes[c].first + classes[c].n) c++; return c; }

unsigned bits_of(enum class c) { return c == C_WIDE || c == C_COUNT64 ? 64 : c == C_SHORT || c == C_COUNT16 ? 16 : 32; }

static FILE *f;
static const struct program *prog;
static const struct graph *g;
static int func; /* NFUNCS: the kernel */

/* The register's name; good for the next fifteen calls. */
static const char *reg(int v)
{
    static char name[16][16];
    static int k;
    k = (k + 1) % 16;
    const struct class_info *c = &classes[class_of(v)];
    snprintf(name[k], sizeof name[k], "%%%s%d", c->name, v - c->first);
    return name[k];
}

/* Variable a, or the immediate. */
static const char *source(int a, uint32_t imm, enum class c)
{
    static char text[4][24];
    static int k;
    if (a != NONE)
        return reg(a);
    k = (k + 1) % 4;
    float x = (float)(int)imm;
    uint32_t bits;
    memcpy(&bits, &x, 4);
    snprintf(text[k], sizeof text[k], c == C_FLOAT ? "0f%08X" : "%u",
             c == C_FLOAT       ? bits
             : bits_of(c) == 16 ? imm & 0x7fff
                                : imm);
    return text[k];
}

static const char *guard(const struct op *o)
{
    static char text[24];
    text[0] = '\0';
    if (o->guard != NONE)
        snprintf(text, sizeof text, "@%s%s ", o->not ? "!" : "", reg(o->guard));
    return text;
}

static const char *bits(enum class c) { return bits_of(c) == 64 ? "64" : bits_of(c) == 16 ? "16" : "32"; }

static void put_arithmetic(const struct op *o)
{
    static const char *const name[] = {"add.s", "sub.s", "mul.lo.s", "and.b", "or.b",
                                       "xor.b", "shr.u", "shl.b",    "min.u", "max.u"};
    static const char *const real[] = {"add.rn.f32", "sub.rn.f32", "mul.rn.f32", "min.f32", "max.f32",
                                       "add.rn.f32", "sub.rn.f32", "sub.rn.f32", "min.f32", "max.f32"};
    enum class c = class_of(o->d);
    if (c == C_PRED || c == C_FLAG)
        fprintf(f, "%s%s.pred %s, %s, %s;\n", guard(o),
                o->op == OP_AND  ? "and"
                : o->op == OP_OR ? "or"
                                 : "xor",
                reg(o->d), reg(o->a), reg(o->b));
    else if (c == C_FLOAT) /* the result stays small */
        fprintf(f, "%s%s %s, %s, %s;\n%smin.f32 %s, %s, 0f4B000000;\n%smax.f32 %s, %s, 0fCB000000;\n", guard(o),
                real[o->op], reg(o->d), reg(o->a), source(o->b, o->imm, c), guard(o), reg(o->d), reg(o->d), guard(o),
                reg(o->d), reg(o->d));
    else
        fprintf(f, "%s%s%s %s, %s, %s;\n", guard(o), name[o->op], bits(c), reg(o->d), reg(o->a),
                source(o->b, o->imm, c));
}

/* Shorts are sources of 32 bits by way of a conversion; floats by their bits. */
static void put_move(const struct op *o)
{
    enum class d = class_of(o->d), s = o->a == NONE ? d : class_of(o->a);
    const char *to = reg(o->d), *from = source(o->a, o->imm, d);
    fputs(guard(o), f);
    if (d == s || (d != C_FLOAT && d != C_WIDE && d != C_SHORT && s != C_FLOAT && s != C_WIDE && s != C_SHORT))
        fprintf(f, "mov.%s %s, %s;\n", classes[d].type, to, from);
    else if (d == C_FLOAT)
        fprintf(f, "cvt.rn.f32.u%s %s, %s;\n%smin.f32 %s, %s, 0f4B000000;\n", bits(s), to, from, guard(o), to, to);
    else if (s == C_FLOAT)
        fprintf(f, "cvt.rzi.s%s.f32 %s, %s;\n", bits(d), to, from);
    else
        fprintf(f, "cvt.u%s.u%s %s, %s;\n", bits(d), bits(s), to, from);
}

static void put_setp(const struct op *o)
{
    static const char *const cmp[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    enum class c = class_of(o->a);
    fprintf(f, "%ssetp.%s.%s%s %s, %s, %s;\n", guard(o), cmp[o->sub], c == C_FLOAT ? "f" : "u", bits(c), reg(o->d),
            reg(o->a), source(o->b, o->imm, c));
}

/* %ta (or %sa, which is shared): the address of the slot. */
static const char *put_slot(const struct op *o)
{
    static const char *const base[] = {"%bown", "%bsh", "%bloc"};
    static char text[40];
    if (o->a == NONE) {
        snprintf(text, sizeof text, "%s+%u", base[o->sub], 4 * (o->imm % SLOTS));
        return text;
    }
    fprintf(f, "and.b32 %%t, %s, %d;\nshl.b32 %%t, %%t, 2;\n", reg(o->a), SLOTS - 1);
    if (o->sub == SP_SHARED) {
        fprintf(f, "add.s32 %%sa, %%t, %%bsh;\n");
        return "%sa";
    }
    fprintf(f, "cvt.u64.u32 %%ta, %%t;\nadd.s64 %%ta, %%ta, %s;\n", base[o->sub]);
    return "%ta";
}

static void put_memory(const struct op *o)
{
    static const char *const space[] = {".global", ".shared", ".local"}, *const kind[] = {"add.u32", "max.u32",
                                                                                          "min.u32", "xor.b32",
                                                                                          "or.b32",  "and.b32"};
    static const char *const atom[] = {"add.u32", "exch.b32", "max.u32"};
    if (o->op == OP_INPUT) {
        fprintf(f,
                "add.s32 %%t, %s, %u;\nand.b32 %%t, %%t, %d;\nmul.wide.u32 %%ta, %%t, 4;\nadd.s64 "
                "%%ta, %%ta, %%bin;\n"
                "%sld.global.u32 %s, [%%ta];\n",
                reg(o->a), o->imm, INPUTS - 1, guard(o), reg(o->d));
    } else if (o->op == OP_RED) {
        fprintf(f,
                "and.b32 %%t, %s, %d;\nmul.wide.u32 %%ta, %%t, 4;\nadd.s64 %%ta, %%ta, "
                "%%bacc;\n%sred.global.%s [%%ta+%u], %s;\n",
                reg(o->a), ACC_WORDS - 1, guard(o), kind[o->imm], o->imm * ACC_WORDS * 4, reg(o->b));
    } else {
        const char *where = put_slot(o), *v = o->vol && o->sub != SP_LOCAL ? ".volatile" : "";
        if (o->op == OP_LOAD)
            fprintf(f, "%sld%s%s.u32 %s, [%s];\n", guard(o), v, space[o->sub], reg(o->d), where);
        else if (o->op == OP_STORE)
            fprintf(f, "%sst%s%s.u32 [%s], %s;\n", guard(o), v, space[o->sub], where, reg(o->b));
        else if (o->imm / SLOTS % NATOMS == ATOM_CAS)
            fprintf(f, "%satom%s.cas.b32 %s, [%s], %u, %s;\n", guard(o), space[o->sub], reg(o->d), where,
                    o->imm % SLOTS, reg(o->b));
        else
            fprintf(f, "%satom%s.%s %s, [%s], %s;\n", guard(o), space[o->sub], atom[o->imm / SLOTS % NATOMS], reg(o->d),
                    where, reg(o->b));
    }
}

static void put_call(const struct op *o)
{
    fprintf(f,
            "{\n.param .b32 a;\n.param .b32 b;\n.param .b64 cin;\n.param .b64 cown;\n.param .b64 "
            "cacc;\n.param .b32 v;\n"
            "st.param.b32 [a], %s;\nst.param.b32 [b], %s;\nst.param.b64 [cin], "
            "%%bin;\nst.param.b64 [cown], %%bown;\n"
            "st.param.b64 [cacc], %%bacc;\n%scall (v), f%llu_%u, (a, b, cin, cown, "
            "cacc);\nld.param.b32 %%t, [v];\n}\n%smov.b32 %s, %%t;\n",
            reg(o->a), reg(o->b), guard(o), (unsigned long long)prog->seed, o->imm, guard(o), reg(o->d));
}

static void put_together(const struct op *o)
{
    static const char *const vote[] = {"any", "all", "uni"}, *const redux[] = {"add.u32", "or.b32", "max.u32"},
                             *const block[] = {"and", "or", "popc"};
    switch (o->op) {
    case OP_BAR: fprintf(f, "bar.sync 0;\n"); break;
    case OP_BAR_RED:
        fprintf(f, "bar.red.%s.%s %s, 0, %s;\n", block[o->sub], o->sub == 2 ? "u32" : "pred", reg(o->d), reg(o->a));
        break;
    case OP_PEER:
        fprintf(f,
                "st.shared.u32 [%%bsh+%u], %s;\nbar.sync 0;\nrem.u32 %%t, %s, %%nt;\nmad.lo.u32 "
                "%%t, %%t, %d, %%bsh0;\n"
                "ld.shared.u32 %s, [%%t+%u];\nbar.sync 0;\n",
                4 * o->imm, reg(o->b), reg(o->a), SLOTS * 4, reg(o->d), 4 * o->imm);
        break;
    case OP_SYNC: fprintf(f, "bar.warp.sync %s;\n", reg(o->c)); break;
    case OP_BALLOT: fprintf(f, "vote.sync.ballot.b32 %s, %s, %s;\n", reg(o->d), reg(o->a), reg(o->c)); break;
    case OP_VOTE: fprintf(f, "vote.sync.%s.pred %s, %s, %s;\n", vote[o->sub], reg(o->d), reg(o->a), reg(o->c)); break;
    case OP_REDUX: fprintf(f, "redux.sync.%s %s, %s, %s;\n", redux[o->sub], reg(o->d), reg(o->a), reg(o->c)); break;
    case OP_LAST:
        fprintf(f, "bfind.u32 %%t, %s;\nshfl.sync.idx.b32 %s, %s, %%t, 31, %s;\n", reg(o->c), reg(o->d), reg(o->a),
                reg(o->c));
        break;
    default:
        fprintf(f,
                "and.b32 %%t, %s, 31;\nshr.u32 %%s, %s, %%t;\nand.b32 %%s, %%s, 1;\nsetp.ne.u32 "
                "%%qs, %%s, 0;\n"
                "selp.b32 %%t, %%t, %%lane, %%qs;\nshfl.sync.idx.b32 %s, %s, %%t, 31, %s;\n",
                reg(o->b), reg(o->c), reg(o->d), reg(o->a), reg(o->c));
    }
}

static void put_return(const char *before)
{
    if (func < NFUNCS)
        fprintf(f, "%sst.param.b32 [v], %%r0;\n%sret;\n", before, before);
    else
        fprintf(f, "%sbra DONE;\n", before);
}

static void put_op(const struct op *o)
{
    if (o->op <= OP_MAX)
        put_arithmetic(o);
    else if (o->op == OP_MOVE)
        put_move(o);
    else if (o->op == OP_SETP)
        put_setp(o);
    else if (o->op == OP_SELECT)
        fprintf(f, "%sselp.%s%s %s, %s, %s, %s;\n", guard(o), class_of(o->d) == C_FLOAT ? "f" : "b",
                bits(class_of(o->d)), reg(o->d), reg(o->a), reg(o->b), reg(o->c));
    else if (o->op <= OP_RED)
        put_memory(o);
    else if (o->op == OP_CALL)
        put_call(o);
    else if (o->op == OP_RETURN)
        put_return(guard(o));
    else if (o->op == OP_EXIT)
        fprintf(f, "%sexit;\n", guard(o));
    else
        put_together(o);
}

/* A jump to the block that follows in the text is none. */
static void put_end(const struct block *b, int number, int next)
{
    const char *uni = b->uniform ? ".uni" : "";
    switch (b->end) {
    case END_GO:
        if (b->to[0] != next)
            fprintf(f, "bra%s L%d;\n", prog->seed & 1 ? ".uni" : "", b->to[0]);
        break;
    case END_IF:
        if (b->to[0] == next) {
            fprintf(f, "@%s%s bra%s L%d;\n", b->not ? "" : "!", reg(b->flag), uni, b->to[1]);
            break;
        }
        fprintf(f, "@%s%s bra%s L%d;\n", b->not ? "!" : "", reg(b->flag), uni, b->to[0]);
        if (b->to[1] != next)
            fprintf(f, "bra L%d;\n", b->to[1]);
        break;
    case END_TABLE:
        fprintf(f, "T%d: .branchtargets ", number);
        for (int k = 0; k < b->nto; k++)
            fprintf(f, "%sL%d", k ? ", " : "", b->to[k]);
        fprintf(f, ";\nbrx.idx %s, T%d;\n", reg(b->index), number);
        break;
    default: put_return("");
    }
}

static void put_blocks(void)
{
    for (int k = 0; k < g->norder; k++) {
        const struct block *b = &g->block[g->order[k]];
        if (k)
            fprintf(f, "L%d:\n", g->order[k]);
        for (int i = 0; i < b->n; i++)
            put_op(&g->op[b->first + i]);
        put_end(b, g->order[k], k + 1 < g->norder ? g->order[k + 1] : NONE);
    }
}

static bool used[NVARS], touched[3]; /* variables; spaces whose slots a program uses */

static void find_used(void)
{
    memset(touched, 0, sizeof touched);
    for (int v = 0; v < NVARS; v++)
        used[v] = v < V_STORED && func == NFUNCS && prog->keep[v];
    for (int k = 0; k < g->nop; k++) {
        if (g->op[k].op == OP_LOAD || g->op[k].op == OP_STORE || g->op[k].op == OP_ATOM)
            touched[g->op[k].sub] = true;
        const int v[] = {g->op[k].d, g->op[k].a, g->op[k].b, g->op[k].c, g->op[k].guard};
        for (int i = 0; i < 5; i++)
            if (v[i] != NONE)
                used[v[i]] = true;
    }
    for (int k = 0; k < g->nblock; k++)
        used[g->block[k].end == END_IF      ? g->block[k].flag
             : g->block[k].end == END_TABLE ? g->block[k].index
                                            : 0] = true;
}

/* Registers; those of loops and conditions begin as 0. */
static void put_registers(void)
{
    for (int c = 0; c < NCLASSES; c++)
        fprintf(f, ".reg .%s %%%s<%d>;\n", classes[c].type, classes[c].name, classes[c].n);
    fprintf(f, ".reg .b32 %%t, %%s, %%lin, %%nt, %%lane, %%gid, %%bsh, %%bsh0, %%sa;\n.reg .pred %%qs;\n"
               ".reg .b64 %%ta, %%bin, %%bown, %%bacc, %%bloc, %%bout;\n");
    find_used();
    for (int v = V_COUNT; v < NVARS; v++)
        if (used[v])
            fprintf(f, class_of(v) == C_FLAG ? "setp.ne.u32 %s, 0, 0;\n" : "mov.b%2$s %1$s, 0;\n", reg(v),
                    bits(class_of(v)));
}

/* Variables begin as mixtures of the first two. The reference does the same. */
static void put_mix(void)
{
    int last = NINT - 1;
    while (last > NWIDE + 1 && !used[last]) /* those before it are made into the others */
        last--;
    for (int k = 2; k <= last; k++)
        fprintf(f, "mad.lo.s32 %%r%d, %%r%d, %d, %%r%d;\n", k, k - 1, 77 * k + 1, k - 2);
    for (int k = 0; k < NWIDE; k++)
        if (used[V_WIDE + k])
            fprintf(f, "mul.wide.u32 %%d%d, %%r%d, %%r%d;\n", k, k, k + 2);
    for (int k = 0; k < NSHORT; k++)
        if (used[V_SHORT + k])
            fprintf(f, "cvt.u16.u32 %%h%d, %%r%d;\n", k, k + 1);
    for (int k = 0; k < NFLOAT; k++)
        if (used[V_FLOAT + k])
            fprintf(f, "and.b32 %%t, %%r%d, 255;\ncvt.rn.f32.u32 %%f%d, %%t;\n", k + 2, k);
    for (int k = 0; k < NPRED; k++)
        if (used[V_PRED + k])
            fprintf(f, "and.b32 %%t, %%r%d, %d;\nsetp.ne.u32 %%p%d, %%t, 0;\n", k + 1, 4 << k, k);
}

static void put_function(int n)
{
    func = n;
    fprintf(f,
            ".func (.param .b32 v) f%llu_%d(.param .b32 a, .param .b32 b, .param .b64 pin, .param "
            ".b64 pown, .param .b64 pacc)\n{\n",
            (unsigned long long)prog->seed, n);
    put_registers();
    fprintf(f, "ld.param.b32 %%r0, [a];\nld.param.b32 %%r1, [b];\nld.param.b64 %%bin, "
               "[pin];\nld.param.b64 %%bown, [pown];\n"
               "ld.param.b64 %%bacc, [pacc];\n");
    for (int k = 0; k < NUNI; k++)
        fprintf(f, "mov.b32 %%u%d, %d;\n", k, 3 * k + 1);
    put_mix();
}

static void put_kernel(void)
{
    func = NFUNCS;
    fprintf(f,
            ".visible .entry k(.param .u64 pout, .param .u64 pin, .param .u64 pown, .param .u64 "
            "pacc, .param .u32 pn)\n{\n"
            ".shared .align 16 .b8 sh[%d];\n.local .align 16 .b8 loc[%d];\n",
            MAX_THREADS * SLOTS * 4, SLOTS * 4);
    put_registers();
    fprintf(f,
            "mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%tid.y;\nmov.u32 %%r2, %%tid.z;\nmov.u32 %%t, "
            "%%ntid.y;\n"
            "mad.lo.u32 %%lin, %%r2, %%t, %%r1;\nmov.u32 %%nt, %%ntid.x;\nmad.lo.u32 %%lin, %%lin, "
            "%%nt, %%r0;\n"
            "mul.lo.u32 %%nt, %%nt, %%t;\nmov.u32 %%t, %%ntid.z;\nmul.lo.u32 %%nt, %%nt, "
            "%%t;\nmov.u32 %%lane, %%laneid;\n"
            "mov.u32 %%u0, %%ctaid.x;\nmad.lo.u32 %%gid, %%u0, %d, %%lin;\nld.param.u32 %%u1, "
            "[pn];\nmov.u32 %%u2, %%nt;\n"
            "mov.u32 %%u3, %u;\nld.param.u64 %%bin, [pin];\nld.param.u64 %%bacc, "
            "[pacc];\nld.param.u64 %%bown, [pown];\n"
            "mul.wide.u32 %%ta, %%gid, %d;\nadd.s64 %%bown, %%bown, %%ta;\nld.param.u64 %%bout, "
            "[pout];\n"
            "mul.wide.u32 %%ta, %%gid, 8;\nadd.s64 %%bout, %%bout, %%ta;\nmov.u64 %%bloc, "
            "loc;\nmov.u32 %%bsh0, sh;\n"
            "mad.lo.u32 %%bsh, %%lin, %d, %%bsh0;\n",
            MAX_THREADS, (unsigned)(prog->seed * 40503u), SLOTS * 4, SLOTS * 4);
    /* the lanes of this warp that are there */
    fprintf(f, "sub.u32 %%t, %%lin, %%lane;\nsub.u32 %%t, %%nt, %%t;\nmin.u32 %%t, %%t, "
               "32;\nsub.u32 %%t, 32, %%t;\n"
               "mov.u32 %%m0, -1;\nshr.u32 %%m0, %%m0, %%t;\n");
    for (int k = 0; k < SLOTS; k++) {
        if (touched[SP_LOCAL])
            fprintf(f, "st.local.u32 [%%bloc+%d], %%lane;\n", 4 * k);
        if (touched[SP_SHARED])
            fprintf(f, "st.shared.u32 [%%bsh+%d], %%lin;\n", 4 * k);
    }
    fprintf(f, "mul.wide.u32 %%ta, %%lin, 4;\nadd.s64 %%ta, %%ta, %%bin;\nld.global.u32 %%r1, "
               "[%%ta];\nadd.s32 %%r0, %%r0, %%u0;\n");
    put_mix();
}

static void put_results(void)
{
    fprintf(f, "DONE:\n");
    for (int v = 0; v < V_STORED; v++) {
        enum class c = class_of(v);
        unsigned place = (unsigned)v * MAX_GRID * MAX_THREADS * 8;
        if (!prog->keep[v])
            continue;
        if (c == C_PRED)
            fprintf(f, "selp.b32 %%t, 1, 0, %s;\nst.global.u32 [%%bout+%u], %%t;\n", reg(v), place);
        else
            fprintf(f, "st.global.b%s [%%bout+%u], %s;\n", bits(c), place, reg(v));
    }
    fprintf(f, "ret;\n}\n");
}

/* Does function `from`, or one that it calls, call n? Functions call those before them. */
static bool is_called(const struct graphs *all, int n, int from)
{
    const struct graph *caller = &all->of[from];
    for (int k = 0; k < caller->nop; k++) {
        const int to = (int)caller->op[k].imm;
        if (caller->op[k].op == OP_CALL && (to == n || (to > n && is_called(all, n, to))))
            return true;
    }
    return false;
}

char *program_text(const struct program *p, const struct graphs *all)
{
    char *text = NULL;
    size_t size;
    prog = p;
    f = open_memstream(&text, &size);
    fprintf(f, ".version 8.3\n.target sm_90\n.address_size 64\n");
    for (int k = 0; k < p->nfunc; k++) {
        if (!is_called(all, k, NFUNCS))
            continue;
        g = &all->of[k];
        put_function(k);
        put_blocks();
        fprintf(f, "}\n");
    }
    g = &all->of[NFUNCS];
    put_kernel();
    put_blocks();
    put_results();
    fclose(f);
    return text;
}
