/* Bodies: declarations, scopes, labels and instructions of one function, parsed when it is needed.
 */
#include "ptx/front/front.h"

#include <stdlib.h>
#include <string.h>

/* Braces in braces; registers that a body may declare besides one for each byte of its text: name<n> declares n. */
enum { MAX_SCOPES = 256, FREE_REGS = 65536, OPCODE_MOST = 256 };

/* ---- labels ---------------------------------------------------------------------------------- */

static struct ptx_label *label_in(struct ptx_parser *p, const char *s, uint32_t len, uint32_t hash, uint32_t scope)
{
    struct ptx_label *e = p->label_bucket[(hash + scope * 31) & (p->nbucket - 1)];
    while (e && !(e->hash == hash && e->scope == scope && e->len == len && !memcmp(e->s, s, len)))
        e = e->next;
    return e;
}

static struct ptx_label *label_get(struct ptx_parser *p, const struct ptx_tok *t)
{
    uint32_t hash = ptx_hash(t->s, t->len);
    struct ptx_label *e = label_in(p, t->s, t->len, hash, p->scope);
    if (e)
        return e;
    struct ptx_label **bucket = &p->label_bucket[(hash + p->scope * 31) & (p->nbucket - 1)];
    e = PTX_NEW(p->ctx, struct ptx_label, 1);
    *e = (struct ptx_label){.s = t->s,
                            .len = t->len,
                            .hash = hash,
                            .scope = p->scope,
                            .instr = -1,
                            .line = t->line,
                            .id = (int32_t)p->nlabel,
                            .next = *bucket};
    *bucket = e;
    PTX_PUSH(p->ctx, p->label, p->nlabel, p->label_cap);
    p->label[p->nlabel++] = e;
    return e;
}

int32_t ptx_label_ref(struct ptx_parser *p, const struct ptx_tok *name) { return label_get(p, name)->id; }

int32_t ptx_label_here(struct ptx_parser *p, const char *name)
{
    struct ptx_label *e = PTX_NEW(p->ctx, struct ptx_label, 1);
    *e = (struct ptx_label){.s = name,
                            .len = (uint32_t)strlen(name),
                            .scope = p->scope,
                            .instr = (int32_t)p->f->ninstr,
                            .line = p->lex.tok.line,
                            .id = (int32_t)p->nlabel};
    PTX_PUSH(p->ctx, p->label, p->nlabel, p->label_cap);
    p->label[p->nlabel++] = e;
    return e->id;
}

/* A reference may mean a label of an enclosing scope: known only now that all are read. */
static const struct ptx_label *label_target(struct ptx_parser *p, int32_t ref)
{
    const struct ptx_label *r = p->label[ref], *e = r;
    for (uint32_t scope = r->scope; !e || e->instr < 0; scope = p->scope_parent[scope]) {
        e = label_in(p, r->s, r->len, r->hash, scope);
        if ((!e || e->instr < 0) && scope == 0)
            ptx_fail(p->ctx, r->line, r->s, r->len, "undefined label");
    }
    return e;
}

static void resolve_labels(struct ptx_parser *p)
{
    struct ptx_func *f = p->f;
    int32_t *final = PTX_NEW(p->ctx, int32_t, p->nlabel);
    f->label_instr = PTX_NEW(p->ctx, int32_t, p->nlabel);
    f->label_name = PTX_NEW(p->ctx, const char *, p->nlabel);
    for (uint32_t i = 0; i < p->nlabel; i++) {
        const struct ptx_label *e = p->label[i];
        if (e->instr < 0)
            continue;
        final[i] = (int32_t)f->nlabel;
        f->label_instr[f->nlabel] = e->instr;
        f->label_name[f->nlabel++] = ptx_strdup(p->ctx, e->s, e->len);
    }
    for (uint32_t i = 0; i < p->nlabel; i++)
        if (p->label[i]->instr < 0)
            final[i] = final[label_target(p, (int32_t)i)->id];
    for (uint32_t i = 0; i < f->ninstr; i++)
        if (f->instr[i].nsrc && f->instr[i].src[0].kind == PTX_O_BLOCK)
            f->instr[i].src[0].reg = final[f->instr[i].src[0].reg];
    for (uint32_t i = 0; i < f->nbtab; i++)
        for (uint32_t k = 0; k < f->btab[i].n; k++)
            f->btab[i].label[k] = final[f->btab[i].label[k]];
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void declare_range(struct ptx_parser *p, const struct ptx_decl *d, const struct ptx_tok *name)
{
    struct ptx_lex *l = &p->lex;
    bool fresh;
    struct ptx_tok t = l->tok;
    uint64_t n = ptx_const_count(l, "register count", 0, UINT32_MAX);
    if (n > p->reg_budget)
        ptx_fail(p->ctx, t.line, name->s, name->len, "more registers declared than the function's text can use");
    p->reg_budget -= n;
    struct ptx_sym *e = ptx_sym_add_range(&p->names, name->s, name->len, &fresh);
    if (!fresh)
        ptx_fail(p->ctx, t.line, name->s, name->len, "declared twice in one scope");
    e->kind = PTX_K_RANGE;
    e->id = d->type;
    e->count = (uint32_t)n;
    e->map = PTX_NEW(p->ctx, int32_t, n);
    if (!ptx_accept(l, '>'))
        ptx_unexpected(l, "'>' after a register count");
}

static struct ptx_sym *declare(struct ptx_parser *p, const struct ptx_tok *name, uint8_t kind)
{
    bool fresh;
    struct ptx_sym *e = ptx_sym_add(&p->names, name->s, name->len, &fresh);
    if (!fresh)
        ptx_fail(p->ctx, name->line, name->s, name->len, "declared twice in one scope");
    e->kind = kind;
    return e;
}

static int32_t declare_reg(struct ptx_parser *p, const char *s, uint32_t len, uint32_t line, const struct ptx_decl *d)
{
    struct ptx_tok t = {.s = s, .len = len, .line = line};
    if (!p->reg_budget--)
        ptx_fail(p->ctx, line, s, len, "more registers declared than the function's text can use");
    struct ptx_sym *e = declare(p, &t, d->vec > 1 ? PTX_K_VECREG : PTX_K_REG);
    int32_t r = (int32_t)p->f->nreg;
    e->id = r;
    e->count = d->vec;
    for (unsigned i = 0; i < d->vec; i++) {
        char *name = ptx_strdup(p->ctx, s, len + 2); /* room for the component's name */
        name[len] = d->vec > 1 ? '.' : 0;
        name[len + 1] = "xyzwefgh"[i];
        ptx_new_reg(p, name, d->vec > 1 ? len + 2 : len, d->type);
    }
    if (s[len - 1] >= '0' && s[len - 1] <= '9')
        p->digit_names = true;
    return r;
}

/* .reg .v2 .b32 x<4>: x0 to x3, vectors each. */
static void declare_vectors(struct ptx_parser *p, const struct ptx_decl *d, const struct ptx_tok *name)
{
    struct ptx_lex *l = &p->lex;
    uint64_t n = ptx_const_count(l, "register count", 0, UINT32_MAX);
    for (uint64_t k = 0; k < n; k++) {
        char *s = ptx_counted_name(p->ctx, name->s, name->len, (uint32_t)k);
        declare_reg(p, s, (uint32_t)strlen(s), name->line, d);
    }
    ptx_expect(l, '>', "after a register count");
}

static void read_regs(struct ptx_parser *p, const struct ptx_decl *d)
{
    struct ptx_lex *l = &p->lex;
    do {
        struct ptx_tok name = ptx_ident(l, "a register name");
        if (ptx_accept(l, '<')) {
            if (d->vec > 1)
                declare_vectors(p, d, &name);
            else
                declare_range(p, d, &name);
        } else {
            declare_reg(p, name.s, name.len, name.line, d);
        }
    } while (ptx_accept(l, ','));
}

/* Offsets of .local variables are final; .shared ones get theirs when a kernel is put together,
 * since every function it calls may declare some. */
static void declare_local(struct ptx_parser *p, const struct ptx_var *var, const struct ptx_tok *name)
{
    struct ptx_func *f = p->f;
    PTX_PUSH(p->ctx, f->local, f->nlocal, p->local_cap);
    struct ptx_var *v = &f->local[f->nlocal];
    *v = *var;
    if (v->space == PTX_SP_LOCAL) {
        v->offset = (f->local_size + v->align - 1) & ~(uint64_t)(v->align - 1);
        f->local_size = v->offset + v->size;
        if (f->local_size > (uint64_t)1 << 32)
            ptx_fail(p->ctx, name->line, name->s, name->len, "local memory passes 4 GiB");
    }
    declare(p, name, PTX_K_VAR)->id = PTX_SYM_LOCAL((int32_t)f->nlocal);
    f->nlocal++;
}

/* Variables of a body. Global and constant ones are the module's under a name of their own (ptx_inner_name). */
static void read_locals(struct ptx_parser *p, const struct ptx_decl *d)
{
    struct ptx_lex *l = &p->lex;
    const struct ptx_module *m = p->f->module;
    do {
        struct ptx_tok name = l->tok;
        struct ptx_var v;
        uint32_t many;
        ptx_read_var(l, d, &v, &many);
        if (ptx_is(l, '=') && (d->space == PTX_SP_GLOBAL || d->space == PTX_SP_CONST))
            ptx_read_init(l, &v);
        for (uint32_t k = 0; k < (many ? many : 1); k++) {
            struct ptx_tok own = name;
            if (many) {
                v.name = own.s = ptx_counted_name(p->ctx, name.s, name.len, k);
                own.len = (uint32_t)strlen(own.s);
            }
            if (d->space == PTX_SP_GLOBAL || d->space == PTX_SP_CONST) {
                const char *inner = ptx_inner_name(p->ctx, m, own.s, own.len, name.s);
                declare(p, &own, PTX_K_VAR)->id = ptx_module_symbol(m, inner, strlen(inner));
            } else {
                declare_local(p, &v, &own);
            }
        }
    } while (ptx_accept(l, ','));
}

/* label: .branchtargets a, b;   label: .calltargets f, g;   label: .callprototype ...; */
static bool read_table(struct ptx_parser *p, const struct ptx_tok *label)
{
    struct ptx_lex *l = &p->lex;
    struct ptx_func *f = p->f;
    if (ptx_accept_word(l, ".branchtargets")) {
        uint32_t cap = 0;
        PTX_PUSH(p->ctx, f->btab, f->nbtab, p->btab_cap);
        struct ptx_branch_table *b = &f->btab[f->nbtab];
        *b = (struct ptx_branch_table){.name = ptx_strdup(p->ctx, label->s, label->len)};
        do {
            struct ptx_tok t = ptx_ident(l, "a label");
            PTX_PUSH(p->ctx, b->label, b->n, cap);
            b->label[b->n++] = ptx_label_ref(p, &t);
        } while (ptx_accept(l, ','));
        declare(p, label, PTX_K_BTAB)->id = (int32_t)f->nbtab++;
    } else if (ptx_accept_word(l, ".calltargets")) {
        int32_t first = -1;
        do {
            struct ptx_tok t = ptx_ident(l, "a function");
            int32_t sym = ptx_module_symbol(f->module, t.s, t.len);
            if (sym < 0 || PTX_SYM_BAND(sym) != PTX_BAND_FUNC)
                ptx_fail(p->ctx, t.line, t.s, t.len, "undeclared function in .calltargets");
            first = first < 0 ? sym : first;
        } while (ptx_accept(l, ','));
        declare(p, label, PTX_K_TARGETS)->id = first;
    } else if (ptx_accept_word(l, ".callprototype")) {
        PTX_PUSH(p->ctx, f->proto, f->nproto, p->proto_cap);
        struct ptx_proto *pr = &f->proto[f->nproto];
        *pr = (struct ptx_proto){.name = ptx_strdup(p->ctx, label->s, label->len)};
        if (ptx_is(l, '('))
            pr->nret = ptx_read_params(l, &pr->ret, NULL, NULL);
        ptx_ident(l, "'_'");
        if (ptx_is(l, '('))
            pr->nparam = ptx_read_params(l, &pr->param, NULL, NULL);
        while (l->tok.kind == PTX_T_DOT) { /* .noreturn, .abi_preserve n */
            ptx_next(l);
            if (l->tok.kind == PTX_T_INT)
                ptx_next(l);
        }
        declare(p, label, PTX_K_PROTO)->id = (int32_t)f->nproto++;
    } else {
        return false;
    }
    ptx_expect(l, ';', "after a table of targets");
    return true;
}

static uint32_t line_number(struct ptx_lex *l, uint32_t text_line)
{
    uint32_t n = 0;
    if (l->tok.line == text_line && l->tok.kind == PTX_T_INT) {
        n = (uint32_t)ptx_number(l, &l->tok).bits;
        ptx_next(l);
    }
    return n;
}

/* .loc file line column, function_name label + n, inlined_at file line column: ends with its text line. */
static void read_loc(struct ptx_parser *p)
{
    struct ptx_lex *l = &p->lex;
    uint32_t at = l->tok.line;
    bool is_loc = ptx_is_word(l, ".loc");
    ptx_next(l);
    if (is_loc) {
        PTX_PUSH(p->ctx, p->f->loc, p->f->nloc, p->loc_cap);
        struct ptx_loc *loc = &p->f->loc[p->f->nloc++];
        loc->at = at;
        loc->file = line_number(l, at);
        loc->line = line_number(l, at);
        while (l->tok.line == at && l->tok.kind != PTX_T_EOF && !ptx_is_word(l, "inlined_at"))
            ptx_next(l);
        if (l->tok.line == at && ptx_accept_word(l, "inlined_at")) {
            loc->call_file = line_number(l, at);
            loc->call_line = line_number(l, at);
        }
    }
    while (l->tok.line == at && l->tok.kind != PTX_T_EOF)
        ptx_next(l);
}

static void read_directive(struct ptx_parser *p)
{
    struct ptx_lex *l = &p->lex;
    if (ptx_is_word(l, ".loc") || ptx_is_word(l, ".file")) {
        read_loc(p);
        return;
    }
    if (ptx_accept_word(l, ".pragma")) {
        while (l->tok.kind == PTX_T_STRING || ptx_is(l, ','))
            ptx_next(l);
    } else {
        struct ptx_decl d;
        ptx_read_decl(l, &d);
        if (d.space == PTX_SP_REG)
            read_regs(p, &d);
        else if (d.space != PTX_SP_NONE)
            read_locals(p, &d);
        else
            ptx_unexpected(l, "a state space in front of the type");
    }
    ptx_expect(l, ';', "after a declaration");
}

/* ---- instructions ---------------------------------------------------------------------------- */

static const struct ptx_opcode *opcode(struct ptx_parser *p, const char *s, size_t len, uint32_t line)
{
    bool fresh;
    struct ptx_sym *e = ptx_sym_add(&p->opcode_names, s, len, &fresh);
    if (fresh) {
        PTX_PUSH(p->ctx, p->opcode, p->nopcode, p->opcode_cap);
        ptx_decode(p->ctx, s, len, line, &p->opcode[p->nopcode]);
        p->opcode[p->nopcode].in.opcode = ptx_strdup(p->ctx, s, len);
        e->id = (int32_t)p->nopcode++;
    }
    return &p->opcode[e->id];
}

/* Reads an opcode with its modifiers. They may stand apart from what they follow, as CUTLASS's `lop3 .b32`: such an
 * opcode is looked up as it is joined. */
static const struct ptx_opcode *read_opcode(struct ptx_parser *p, uint32_t line)
{
    struct ptx_lex *l = &p->lex;
    char joined[OPCODE_MOST];
    const char *s = l->tok.s;
    size_t len = ptx_opcode_span(l);
    if (l->tok.kind != PTX_T_DOT)
        return opcode(p, s, len, line);
    memcpy(joined, s, len < sizeof joined ? len : 0);
    while (l->tok.kind == PTX_T_DOT) {
        const char *word = l->tok.s;
        const size_t more = ptx_opcode_span(l), at = len;
        len += more;
        if (len >= sizeof joined)
            ptx_fail(p->ctx, line, word, more, "an opcode of too many words");
        memcpy(joined + at, word, more);
    }
    s = joined;
    if (!ptx_sym_find(&p->opcode_names, s, len)) /* the table keeps what it is given */
        s = ptx_strdup(p->ctx, s, len);
    return opcode(p, s, len, line);
}

struct ptx_instr *ptx_push_instr(struct ptx_parser *p)
{
    struct ptx_func *f = p->f;
    if (f->ninstr >= INT32_MAX / 2)
        ptx_fail(p->ctx, 0, "", 0, "too many instructions");
    PTX_PUSH(p->ctx, f->instr, f->ninstr, p->instr_cap);
    return &f->instr[f->ninstr++];
}

/* Reads a guard, an opcode with its modifiers and the operands, and checks them by the opcode's signature. Opcodes
 * are looked up as text once per spelling and function. What back ends need not know of is rewritten by ptx_expand
 * before the instruction is kept. */
static void read_instr(struct ptx_parser *p)
{
    struct ptx_lex *l = &p->lex;
    int32_t guard = -1;
    bool neg = false;
    uint32_t line = l->tok.line;
    if (ptx_accept(l, '@')) {
        neg = ptx_accept(l, '!');
        struct ptx_tok t = ptx_ident(l, "a predicate");
        guard = ptx_find_reg(p, t.s, t.len);
        if (guard < 0 || p->f->reg[guard].type != PTX_PRED)
            ptx_fail(p->ctx, t.line, t.s, t.len,
                     guard < 0 ? "undeclared register as a guard" : "guard is not a predicate");
        if (l->tok.kind != PTX_T_IDENT)
            ptx_unexpected(l, "an instruction after its guard");
    }
    const struct ptx_opcode *oc = read_opcode(p, line);
    struct ptx_instr in = oc->in;
    in.guard = guard;
    in.guard_neg = neg;
    in.line = line;
    const struct ptx_module *m = p->f->module;
    if (in.op == PTX_OP_WMMA && (m->version_major > 6 || (m->version_major == 6 && m->version_minor >= 3)) &&
        !strstr(in.opcode, ".aligned"))
        ptx_fail(p->ctx, line, in.opcode, strlen(in.opcode),
                 "wmma without .aligned, which PTX ISA 6.3 and later ask for");
    if (in.op == PTX_OP_CALL)
        ptx_read_call(p, &in);
    else
        ptx_read_operands(p, oc, &in);
    ptx_expand(p, &in);
    ptx_expect(l, ';', "after an instruction");
    *ptx_push_instr(p) = in;
}

/* Reads one statement of a body: an instruction, a label, a branch table, a directive, or one side of a scope's
 * braces. Names of a scope end with it, labels as well, so scopes are numbered and know their parents. */
static void read_statement(struct ptx_parser *p, unsigned *depth)
{
    struct ptx_lex *l = &p->lex;
    if (l->tok.kind == PTX_T_IDENT) {
        if (!ptx_colon_follows(l)) {
            read_instr(p);
            return;
        }
        struct ptx_tok name = l->tok;
        ptx_next(l);
        ptx_next(l);
        if (l->tok.kind == PTX_T_DOT && read_table(p, &name))
            return;
        struct ptx_label *e = label_get(p, &name);
        if (e->instr >= 0)
            ptx_fail(p->ctx, name.line, name.s, name.len, "label defined twice");
        e->instr = (int32_t)p->f->ninstr;
    } else if (ptx_is(l, '@')) {
        read_instr(p);
    } else if (l->tok.kind == PTX_T_DOT) {
        read_directive(p);
    } else if (ptx_accept(l, '{')) {
        if (++*depth > MAX_SCOPES)
            ptx_fail(p->ctx, l->tok.line, "{", 1, "scopes nested more than %d deep", MAX_SCOPES);
        PTX_PUSH(p->ctx, p->scope_parent, p->nscope, p->scope_cap);
        p->scope_parent[p->nscope] = p->scope;
        p->scope = p->nscope++;
        p->names.depth++;
    } else if (*depth && ptx_accept(l, '}')) {
        --*depth;
        p->scope = p->scope_parent[p->scope];
        ptx_scope_leave(&p->names);
    } else if (!ptx_accept(l, ';')) {
        ptx_unexpected(l, "an instruction");
    }
}

/* Execution never runs off the end: what has no ret there gets one. */
static void close_body(struct ptx_parser *p)
{
    struct ptx_func *f = p->f;
    bool open = !f->ninstr;
    if (!open) {
        const struct ptx_instr *in = &f->instr[f->ninstr - 1];
        open = in->guard >= 0 ||
               (in->op != PTX_OP_RET && in->op != PTX_OP_EXIT && in->op != PTX_OP_TRAP && in->op != PTX_OP_BRA);
    }
    for (uint32_t i = 0; i < p->nlabel; i++)
        open |= p->label[i]->instr == (int32_t)f->ninstr;
    if (!open)
        return;
    *ptx_push_instr(p) = (struct ptx_instr){
        .op = PTX_OP_RET, .opcode = "ret", .vec = 1, .guard = -1, .line = p->lex.line};
}

/* Room for the instructions of a body, as many as it has semicolons; fewer where these stand closer together than
 * instructions can. What ptx_expand adds makes it grow. */
static void reserve_instrs(struct ptx_parser *p)
{
    enum { SHORTEST = 8 };
    struct ptx_func *f = p->f;
    const char *const end = f->body + f->body_len;
    size_t n = 16;
    for (const char *s = f->body; (s = memchr(s, ';', (size_t)(end - s))); s++)
        n++;
    n = n < f->body_len / SHORTEST + 16 ? n : f->body_len / SHORTEST + 16;
    if (n > INT32_MAX / 2)
        return;
    f->instr = PTX_NEW(p->ctx, struct ptx_instr, n);
    p->instr_cap = (uint32_t)n;
}

/* Parses a function's body: parameters are declared, then statements read to the end, then branches bound to labels.
 * Buckets and the budget of registers grow with the text, so that hostile text cannot ask for more memory than its
 * length explains. */
static void parse_body(struct ptx_parser *p)
{
    struct ptx_func *f = p->f;
    unsigned depth = 0;
    ptx_symtab_start(&p->names, p->ctx);
    ptx_symtab_start(&p->opcode_names, p->ctx);
    p->reg_budget = FREE_REGS + f->body_len;
    reserve_instrs(p);
    for (p->nbucket = 16; p->nbucket < f->body_len / 128;)
        p->nbucket *= 2;
    p->label_bucket = PTX_NEW(p->ctx, struct ptx_label *, p->nbucket);
    PTX_PUSH(p->ctx, p->scope_parent, p->nscope, p->scope_cap);
    p->nscope = 1;
    for (uint32_t i = 0; i < f->nparam + f->nret; i++) {
        struct ptx_var *v = i < f->nparam ? &f->param[i] : &f->ret[i - f->nparam];
        struct ptx_tok name = {.s = v->name, .len = (uint32_t)strlen(v->name), .line = v->line};
        struct ptx_decl d = {.type = v->type, .vec = v->parts ? v->parts : v->vec};
        if (v->space == PTX_SP_REG) {
            v->reg = declare_reg(p, name.s, name.len, name.line, &d);
            for (uint8_t k = 1; k < v->parts; k++, i++)
                v[k].reg = v->reg + k;
        } else if (strcmp(v->name, "_"))
            declare(p, &name, PTX_K_VAR)->id = PTX_SYM_PARAM((int32_t)i);
    }
    p->names.depth++; /* locals may shadow parameters */
    ptx_lex_start(&p->lex, p->ctx, f->body, f->body_len, f->body_line);
    while (p->lex.tok.kind != PTX_T_EOF)
        read_statement(p, &depth);
    if (depth)
        ptx_unexpected(&p->lex, "'}'");
    close_body(p);
    resolve_labels(p);
    ptx_contract(p);
}

static bool is_newer(const struct ptx_module *m)
{
    return m->version_major > PTX_NEWEST_MAJOR ||
           (m->version_major == PTX_NEWEST_MAJOR && m->version_minor > PTX_NEWEST_MINOR);
}

int ptx_func_parse(struct ptx_func *f, struct ptx_diag *diag)
{
    struct ptx_diag local;
    struct ptx_ctx c = {.diag = diag ? diag : &local};
    if (f->parsed)
        return 0;
    *c.diag = (struct ptx_diag){0};
    if (f->is_decl) {
        c.diag->line = f->line;
        strncpy(c.diag->what, f->name, sizeof c.diag->what - 1);
        strcpy(c.diag->msg, "function is declared but has no body here");
        return -1;
    }
    f->arena = c.arena = ptx_arena_new();
    if (!c.arena) {
        c.diag->nomem = true;
        strcpy(c.diag->msg, "out of memory");
        return -1;
    }
    if (setjmp(c.out)) {
        c.diag->gap |= is_newer(f->module) && !c.diag->nomem;
        ptx_func_drop(f);
        return -1;
    }
    struct ptx_parser *p = PTX_NEW(&c, struct ptx_parser, 1);
    p->ctx = &c;
    p->f = f;
    parse_body(p);
    f->parsed = true;
    return 0;
}

/* What stands behind `arena` in struct ptx_func belongs to the steps, up to its end. */
void ptx_func_drop(struct ptx_func *f)
{
    ptx_arena_free(f->arena);
    f->parsed = false;
    size_t keep = offsetof(struct ptx_func, arena);
    memset((char *)f + keep, 0, sizeof *f - keep);
}

/* Parameters come along, since those in registers are told which. */
struct ptx_func *ptx_func_copy(const struct ptx_func *f)
{
    const size_t nvar = (size_t)f->nparam + f->nret;
    struct ptx_func *copy = calloc(1, sizeof *copy + nvar * sizeof *copy->param);
    if (!copy)
        return NULL;
    memcpy(copy, f, offsetof(struct ptx_func, parsed));
    copy->param = (struct ptx_var *)(copy + 1);
    copy->ret = copy->param + f->nparam;
    if (f->nparam)
        memcpy(copy->param, f->param, f->nparam * sizeof *f->param);
    if (f->nret)
        memcpy(copy->ret, f->ret, f->nret * sizeof *f->ret);
    return copy;
}

void ptx_func_free(struct ptx_func *copy)
{
    if (copy)
        ptx_func_drop(copy);
    free(copy);
}
