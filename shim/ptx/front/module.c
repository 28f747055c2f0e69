/* Opening a module: directives, variables, function headers. Bodies are only skipped, so that a
 * library's 11 MB module costs milliseconds until one of its kernels is launched. */
#include "ptx/front/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    struct ptx_lex lex;
    struct ptx_module *m;
    uint32_t var_cap, func_cap, alias_cap, nalias, source_cap;
    struct {
        struct ptx_tok name, target;
    } * alias;
};

enum { SYM_VAR, SYM_FUNC };

int32_t ptx_module_symbol(const struct ptx_module *m, const char *s, size_t len)
{
    const struct ptx_sym *e = ptx_sym_find(m->names, s, len);
    if (!e)
        return -1;
    return e->kind == SYM_FUNC ? PTX_SYM_FUNC(e->id) : e->id;
}

struct ptx_func *ptx_module_func(const struct ptx_module *m, const char *name)
{
    const struct ptx_sym *e = ptx_sym_find(m->names, name, strlen(name));
    return e && e->kind == SYM_FUNC ? &m->func[e->id] : NULL;
}

struct ptx_var *ptx_module_var(const struct ptx_module *m, const char *name)
{
    const struct ptx_sym *e = ptx_sym_find(m->names, name, strlen(name));
    return e && e->kind == SYM_VAR ? &m->var[e->id] : NULL;
}

/* ---- variables ------------------------------------------------------------------------------- */

static void add_var(struct scan *s, struct ptx_var *v)
{
    struct ptx_module *m = s->m;
    bool fresh;
    struct ptx_sym *e = ptx_sym_add(m->names, v->name, strlen(v->name), &fresh);
    if (!fresh) {
        if (e->kind != SYM_VAR || (!m->var[e->id].is_extern && !v->is_extern))
            ptx_fail(s->lex.ctx, v->line, v->name, strlen(v->name), "defined twice");
        if (!v->is_extern) /* the definition replaces its declaration */
            m->var[e->id] = *v;
        return;
    }
    e->kind = SYM_VAR;
    e->id = (int32_t)m->nvar;
    PTX_PUSH(s->lex.ctx, m->var, m->nvar, s->var_cap);
    m->var[m->nvar++] = *v;
}

char *ptx_inner_name(struct ptx_ctx *c, const struct ptx_module *m, const char *s, size_t len, const char *at)
{
    size_t size = len + sizeof "@18446744073709551615"; /* no name of a program has an @ */
    char *name = ptx_alloc(c, size, 1);
    snprintf(name, size, "%.*s@%llu", (int)len, s, (unsigned long long)(at - m->text));
    return name;
}

/* The names behind a declaration's types; inner: they stand in a body. */
static void read_declared(struct scan *s, const struct ptx_decl *d, bool inner)
{
    struct ptx_lex *l = &s->lex;
    do {
        struct ptx_tok name = l->tok;
        struct ptx_var v;
        uint32_t many;
        ptx_read_var(l, d, &v, &many);
        if (ptx_is(l, '=')) {
            if (d->space == PTX_SP_SHARED || d->is_extern || many)
                ptx_unexpected(l, "';': this variable takes no initialiser");
            ptx_read_init(l, &v);
        }
        if (v.unsized && !v.is_extern)
            ptx_fail(l->ctx, v.line, v.name, strlen(v.name), "array without a size");
        for (uint32_t k = 0; k < (many ? many : 1); k++) {
            v.name = many ? ptx_counted_name(l->ctx, name.s, name.len, k) : v.name;
            if (inner)
                v.name = ptx_inner_name(l->ctx, s->m, v.name, strlen(v.name), name.s);
            add_var(s, &v);
        }
    } while (ptx_accept(l, ','));
}

/* Global and constant variables that the body declares, found before it is parsed: they are the module's, with a place
 * from the time it is loaded. A body that has neither word by itself is not looked at twice. */
static void read_inner_vars(struct scan *s, const struct ptx_func *f)
{
    static const char *const words[] = {".global", ".const"};
    const char *const end = f->body + f->body_len;
    bool any = false;
    for (unsigned k = 0; k < 2; k++)
        for (const char *p = f->body; (p = memmem(p, (size_t)(end - p), words[k], strlen(words[k]))); p++)
            any |= p > f->body && strchr(" \t\r\n;{}/", p[-1]);
    if (!any)
        return;
    struct ptx_lex outer = s->lex, *l = &s->lex;
    ptx_lex_start(l, outer.ctx, f->body, f->body_len, f->body_line);
    for (bool begins = true; l->tok.kind != PTX_T_EOF;) {
        if (begins && (ptx_is_word(l, words[0]) || ptx_is_word(l, words[1]))) {
            struct ptx_decl d;
            ptx_read_decl(l, &d);
            read_declared(s, &d, true);
        }
        begins = ptx_is(l, ';') || ptx_is(l, '{') || ptx_is(l, '}') || ptx_is(l, ':');
        ptx_next(l);
    }
    s->lex = outer;
}

static void read_vars(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    struct ptx_decl d;
    ptx_read_decl(l, &d);
    if (d.space == PTX_SP_NONE || d.space == PTX_SP_REG || d.space == PTX_SP_LOCAL || d.space == PTX_SP_PARAM ||
        d.type == PTX_PRED)
        ptx_fail(l->ctx, d.line, l->tok.s, l->tok.len, "bad module variable; expected .global, .const or .shared");
    read_declared(s, &d, false);
    ptx_expect(l, ';', "after a variable");
}
/* ---- functions ------------------------------------------------------------------------------- */

static void read_dims(struct ptx_lex *l, uint32_t *out, unsigned max, uint64_t limit)
{
    for (unsigned i = 0; i < max; i++)
        out[i] = 1;
    for (unsigned i = 0; i < max; i++) {
        out[i] = (uint32_t)ptx_const_int(l, "launch dimension", 0, limit);
        if (!ptx_accept(l, ','))
            return;
    }
    ptx_unexpected(l, "at most three numbers");
}

/* One performance directive between header and body; false when the token starts none. */
static bool read_directive(struct ptx_lex *l, struct ptx_func *f)
{
    static const char *const ignored[] = {".maxnctapersm", ".abi_preserve", ".abi_preserve_control"};
    uint32_t scratch[3];
    if (ptx_accept_word(l, ".maxntid")) {
        read_dims(l, f->maxntid, 3, 1 << 20);
    } else if (ptx_accept_word(l, ".reqntid")) {
        read_dims(l, f->reqntid, 3, 1 << 20);
    } else if (ptx_accept_word(l, ".reqnctapercluster")) {
        f->cluster_dim_explicit = true;
        read_dims(l, f->reqnctapercluster, 3, 1 << 20);
    } else if (ptx_accept_word(l, ".maxclusterrank")) {
        read_dims(l, &f->maxclusterrank, 1, UINT32_MAX);
    } else if (ptx_accept_word(l, ".minnctapersm")) {
        read_dims(l, &f->minnctapersm, 1, 1 << 20);
    } else if (ptx_accept_word(l, ".maxnreg")) {
        read_dims(l, &f->maxnreg, 1, 1 << 20);
    } else if (ptx_accept_word(l, ".noreturn")) {
        f->noreturn = true;
    } else if (ptx_accept_word(l, ".explicitcluster")) {
        f->cluster_dim_explicit = true;
    } else if (ptx_accept_word(l, ".pragma")) {
        do {
            if (l->tok.kind != PTX_T_STRING)
                ptx_unexpected(l, "a string");
            ptx_next(l);
        } while (ptx_accept(l, ','));
        ptx_expect(l, ';', "after .pragma");
    } else if (ptx_accept_word(l, ".blocksareclusters")) {
        f->blocks_are_clusters = true;
    } else if (!ptx_accept_word(l, ".unified")) {
        for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
            if (ptx_accept_word(l, ignored[i])) {
                read_dims(l, scratch, 1, UINT32_MAX);
                return true;
            }
        }
        return false;
    }
    return true;
}

static void add_func(struct scan *s, struct ptx_func *f)
{
    struct ptx_module *m = s->m;
    bool fresh;
    struct ptx_sym *e = ptx_sym_add(m->names, f->name, strlen(f->name), &fresh);
    if (!fresh && (e->kind != SYM_FUNC || (!m->func[e->id].is_decl && !f->is_decl)))
        ptx_fail(s->lex.ctx, f->line, f->name, strlen(f->name), "defined twice");
    if (fresh || !f->is_decl) {
        e->kind = SYM_FUNC;
        e->id = (int32_t)m->nfunc;
    }
    PTX_PUSH(s->lex.ctx, m->func, m->nfunc, s->func_cap);
    f->number = m->nfunc;
    m->func[m->nfunc++] = *f;
}

/* Current token is .entry or .func, linkage already read. */
static void read_func(struct scan *s, bool visible, bool is_extern)
{
    struct ptx_lex *l = &s->lex;
    struct ptx_func f = {.module = s->m, .visible = visible, .line = l->tok.line, .is_entry = ptx_is_word(l, ".entry")};
    ptx_next(l);
    while (l->tok.kind == PTX_T_DOT) {
        if (ptx_accept_word(l, ".attribute")) {
            while (!ptx_is(l, ')') && l->tok.kind != PTX_T_EOF)
                ptx_next(l); /* .unified(a, b) ends with two */
            while (ptx_accept(l, ')')) {
            }
        } else if (!read_directive(l, &f)) {
            ptx_unexpected(l, "a function name");
        }
    }
    if (!f.is_entry && ptx_is(l, '('))
        f.nret = ptx_read_params(l, &f.ret, NULL, &f.params_in_regs);
    struct ptx_tok name = ptx_ident(l, "a function name");
    f.name = ptx_strdup(l->ctx, name.s, name.len);
    if (ptx_is(l, '('))
        f.nparam = ptx_read_params(l, &f.param, &f.param_size, f.is_entry ? NULL : &f.params_in_regs);
    while (read_directive(l, &f)) {
    }
    if (ptx_is(l, '{')) {
        if (is_extern)
            ptx_fail(l->ctx, f.line, f.name, name.len, ".extern function has a body");
        f.body_line = l->tok.line;
        f.body = ptx_skip_braces(l, &f.body_len);
        f.end_line = l->tok.line;
        read_inner_vars(s, &f);
    } else {
        ptx_expect(l, ';', "or a body after a function header");
        f.is_decl = true;
    }
    add_func(s, &f);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void read_version(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    struct ptx_tok t = l->tok;
    unsigned v[2] = {0, 0}, k = 0;
    for (uint32_t i = 0; i < t.len; i++) {
        if (t.s[i] == '.' && k == 0)
            k = 1;
        else if (t.s[i] >= '0' && t.s[i] <= '9' && v[k] < 1000)
            v[k] = v[k] * 10 + (unsigned)(t.s[i] - '0');
        else
            k = 2;
        if (k == 2)
            break;
    }
    if (k != 1)
        ptx_unexpected(l, "a version like 8.0");
    s->m->version_major = v[0];
    s->m->version_minor = v[1];
    ptx_next(l);
}

static void read_target(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    do {
        struct ptx_tok t = ptx_ident(l, "a target like sm_75");
        if (t.len > 3 && (!memcmp(t.s, "sm_", 3))) {
            unsigned v = 0;
            uint32_t i = 3;
            for (; i < t.len && t.s[i] >= '0' && t.s[i] <= '9' && v < 10000; i++)
                v = v * 10 + (unsigned)(t.s[i] - '0');
            if (i + 1 < t.len || (i < t.len && t.s[i] != 'a' && t.s[i] != 'f') || i == 3)
                ptx_fail(l->ctx, t.line, t.s, t.len, "bad target; expected one like sm_75 or sm_90a");
            s->m->target = v;
            s->m->target_suffix = i < t.len ? t.s[i] : 0;
        }
    } while (ptx_accept(l, ','));
}

static void read_address_size(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    struct ptx_tok t = l->tok;
    s->m->address_size = (unsigned)ptx_const_int(l, "address size", 32, 64);
    if (s->m->address_size != 64) /* no 64-bit process can use it, here or with CUDA */
        ptx_fail(l->ctx, t.line, t.s, t.len, "modules of 32-bit addresses are not supported");
}

/* .file 1 "name", time, size    .section .debug_x { ... }
 * Debug sections say nothing that is needed here; files are what .loc directives name by number. */
static void read_debug(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    bool section = ptx_is_word(l, ".section");
    bool file = ptx_is_word(l, ".file");
    uint32_t line = l->tok.line;
    ptx_next(l);
    size_t len;
    if (section) {
        while (!ptx_is(l, '{') && l->tok.line == line && l->tok.kind != PTX_T_EOF)
            ptx_next(l);
        while (!ptx_is(l, '{') && l->tok.kind == PTX_T_EOF)
            ptx_unexpected(l, "'{' after .section");
        if (!ptx_is(l, '{'))
            ptx_unexpected(l, "'{' after .section");
        ptx_skip_braces(l, &len);
        return;
    }
    if (file && l->tok.line == line && l->tok.kind == PTX_T_INT) {
        uint32_t number = (uint32_t)ptx_number(l, &l->tok).bits;
        ptx_next(l);
        if (l->tok.line == line && l->tok.kind == PTX_T_STRING) {
            PTX_PUSH(l->ctx, s->m->source, s->m->nsource, s->source_cap);
            s->m->source[s->m->nsource++] = (struct ptx_source){number, ptx_strdup(l->ctx, l->tok.s, l->tok.len)};
        }
    }
    while (l->tok.line == line && l->tok.kind != PTX_T_EOF)
        ptx_next(l);
}

static void read_alias(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    PTX_PUSH(l->ctx, s->alias, s->nalias, s->alias_cap);
    s->alias[s->nalias].name = ptx_ident(l, "a function name");
    ptx_expect(l, ',', "in .alias");
    s->alias[s->nalias++].target = ptx_ident(l, "a function name");
    ptx_expect(l, ';', "after .alias");
}

static void bind_aliases(struct scan *s)
{
    for (uint32_t i = 0; i < s->nalias; i++) {
        const struct ptx_tok *n = &s->alias[i].name, *t = &s->alias[i].target;
        struct ptx_sym *from = ptx_sym_find(s->m->names, n->s, n->len);
        struct ptx_sym *to = ptx_sym_find(s->m->names, t->s, t->len);
        if (!from || from->kind != SYM_FUNC)
            ptx_fail(s->lex.ctx, n->line, n->s, n->len, "alias has no .func declaration");
        if (!to || to->kind != SYM_FUNC)
            ptx_fail(s->lex.ctx, t->line, t->s, t->len, "alias of an undeclared function");
        from->id = to->id;
    }
}

/* Linkage may come before .entry/.func as well as before a variable: look ahead, then go back. */
static bool starts_func(struct scan *s)
{
    struct ptx_lex *l = &s->lex, at = *l;
    bool visible = false, is_extern = false;
    for (;; ptx_next(l)) {
        if (ptx_is_word(l, ".visible") || ptx_is_word(l, ".weak") || ptx_is_word(l, ".common"))
            visible = true;
        else if (ptx_is_word(l, ".extern"))
            is_extern = true;
        else
            break;
    }
    if (ptx_is_word(l, ".entry") || ptx_is_word(l, ".func")) {
        read_func(s, visible, is_extern);
        return true;
    }
    *l = at;
    return false;
}

/* Walks over the top level of a module: variables and declarations are read, bodies of functions only found. One
 * library may hold thousands of kernels of which a program launches ten, so a body is parsed when it is asked for.
 * */
static void scan_module(struct scan *s)
{
    struct ptx_lex *l = &s->lex;
    if (!ptx_accept_word(l, ".version"))
        ptx_unexpected(l, ".version at the start of PTX text");
    read_version(s);
    while (l->tok.kind != PTX_T_EOF) {
        if (l->tok.kind != PTX_T_DOT) {
            if (ptx_accept(l, ';'))
                continue;
            ptx_unexpected(l, "a directive");
        }
        if (starts_func(s))
            continue;
        if (ptx_accept_word(l, ".target"))
            read_target(s);
        else if (ptx_accept_word(l, ".version"))
            read_version(s);
        else if (ptx_accept_word(l, ".address_size"))
            read_address_size(s);
        else if (ptx_is_word(l, ".file") || ptx_is_word(l, ".section") || ptx_is_word(l, ".loc"))
            read_debug(s);
        else if (ptx_is_word(l, ".pragma"))
            read_directive(l, &(struct ptx_func){0});
        else if (ptx_accept_word(l, ".alias"))
            read_alias(s);
        else
            read_vars(s);
    }
    bind_aliases(s);
}

/* Functions of the device runtime library that programs declare and never define. The handle of a graph's
 * conditional node is the address of its value. */
static const struct {
    const char *name, *text;
} device_runtime[] = {
    {"cudaGraphSetConditional", ".func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
                                "{\n"
                                "    .reg .b32 %r<1>;\n"
                                "    .reg .b64 %rd<1>;\n"
                                "    ld.param.b64 %rd0, [handle];\n"
                                "    ld.param.b32 %r0, [value];\n"
                                "    st.b32 [%rd0], %r0;\n"
                                "    ret;\n"
                                "}\n"},
};

static void add_text(struct scan *s, const char *text)
{
    ptx_lex_start(&s->lex, s->lex.ctx, text, strlen(text), 1);
    (void)starts_func(s);
}

static void add_device_runtime(struct scan *s)
{
    const uint32_t n = s->m->nfunc;
    bool any = false;
    for (size_t i = 0; i < sizeof device_runtime / sizeof *device_runtime; i++) {
        const struct ptx_func *f = ptx_module_func(s->m, device_runtime[i].name);
        if (f && f->is_decl)
            add_text(s, device_runtime[i].text);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct ptx_func *f = &s->m->func[i];
        const char *text = ptx_module_func(s->m, f->name) == f ? ptx_device_function(s->lex.ctx, f) : NULL;
        if (!text)
            continue;
        f->is_decl = true; /* what NVIDIA's library defines calls what its drivers alone have */
        if (!any)
            add_text(s, ptx_device_call);
        any = true;
        add_text(s, text);
    }
}

static void open_module(struct scan *s, struct ptx_ctx *c, const char *text, size_t len)
{
    while (len && !text[len - 1]) /* containers pad with NULs */
        len--;
    if (len >= UINT32_MAX)
        ptx_fail(c, 0, "", 0, "text of 4 GiB or more");
    struct ptx_module *m = s->m = PTX_NEW(c, struct ptx_module, 1);
    m->arena = c->arena;
    m->address_size = 32;
    m->text = ptx_strdup(c, text, len);
    m->text_len = len;
    m->names = PTX_NEW(c, struct ptx_symtab, 1);
    ptx_symtab_start(m->names, c);
    ptx_lex_start(&s->lex, c, m->text, len, 1);
    scan_module(s);
    add_device_runtime(s);
    m->names->ctx = NULL; /* it lived on the caller's stack; nothing is added from here on */
}

struct ptx_module *ptx_module_open(const char *text, size_t len, struct ptx_diag *diag)
{
    struct ptx_diag local;
    struct ptx_ctx c = {.diag = diag ? diag : &local, .arena = ptx_arena_new()};
    struct scan s = {0};
    *c.diag = (struct ptx_diag){0};
    if (!c.arena) {
        c.diag->nomem = true;
        strcpy(c.diag->msg, "out of memory");
        return NULL;
    }
    if (setjmp(c.out)) {
        ptx_arena_free(c.arena);
        return NULL;
    }
    open_module(&s, &c, text, len);
    return s.m;
}

void ptx_module_close(struct ptx_module *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->nfunc; i++)
        ptx_func_drop(&m->func[i]);
    ptx_arena_free(m->arena);
}
