/* Modules and functions as text: what tests compare and `cumu ptx` prints. */
#include "ptx/front/front.h"
#include "ptx/analysis/ssa.h"

#include <string.h>

static const char *const space_names[] = {"generic", "reg", "param", "global", "shared", "const", "local"};

static void dump_var(const struct ptx_var *v, FILE *out)
{
    fprintf(out, ".%s .%s", space_names[v->space], ptx_type_name(v->type));
    if (v->vec > 1)
        fprintf(out, ".v%u", v->vec);
    fprintf(out, " %s align %u size %llu", v->name, (unsigned)v->align, (unsigned long long)v->size);
    if (v->space == PTX_SP_PARAM || v->space == PTX_SP_LOCAL)
        fprintf(out, " at %llu", (unsigned long long)v->offset);
    fprintf(out, "%s%s%s%s\n", v->is_extern ? " extern" : "", v->visible ? " visible" : "",
            v->is_managed ? " managed" : "", v->is_pointer ? " ptr" : "");
    if (v->init_size) {
        fprintf(out, "    init");
        for (uint64_t i = 0; i < v->init_size && i < 64; i++)
            fprintf(out, "%s%02x", i % 4 ? "" : " ", v->init[i]);
        fprintf(out, "%s\n", v->init_size > 64 ? " ..." : "");
    }
    for (uint32_t i = 0; i < v->nreloc; i++) {
        const struct ptx_reloc *r = &v->reloc[i];
        fprintf(out, "    at %llu: %s%s%s%+lld size %u", (unsigned long long)r->offset, r->generic ? "generic(" : "",
                r->sym, r->generic ? ")" : "", (long long)r->addend, r->size);
        fprintf(out, r->byte ? " byte %u\n" : "\n", r->byte - 1u);
    }
}

static void dump_header(const struct ptx_func *f, FILE *out)
{
    fprintf(out, "%s %s%s%s%s\n", f->is_entry ? "entry" : "func", f->name, f->is_decl ? " extern" : "",
            f->visible ? " visible" : "", f->noreturn ? " noreturn" : "");
    for (uint32_t i = 0; i < f->nret; i++) {
        fprintf(out, "  result ");
        dump_var(&f->ret[i], out);
    }
    for (uint32_t i = 0; i < f->nparam; i++) {
        fprintf(out, "  ");
        dump_var(&f->param[i], out);
    }
    if (f->maxntid[0])
        fprintf(out, "  maxntid %u %u %u\n", f->maxntid[0], f->maxntid[1], f->maxntid[2]);
    if (f->reqntid[0])
        fprintf(out, "  reqntid %u %u %u\n", f->reqntid[0], f->reqntid[1], f->reqntid[2]);
}

void ptx_dump_module(const struct ptx_module *m, FILE *out)
{
    char suffix[2] = {m->target_suffix, 0};
    fprintf(out, "version %u.%u target sm_%u%s address %u\n", m->version_major, m->version_minor, m->target, suffix,
            m->address_size);
    for (uint32_t i = 0; i < m->nvar; i++)
        dump_var(&m->var[i], out);
    for (uint32_t i = 0; i < m->nfunc; i++)
        dump_header(&m->func[i], out);
}

static void put_block(FILE *out, const char *what, int32_t block)
{
    if (block >= 0)
        fprintf(out, " %s B%d", what, (int)block);
    else
        fprintf(out, " %s -", what);
}

static void put_value(const struct ptx_func *f, int32_t v, FILE *out)
{
    static const char *const names[] = {"", ":U", ":Ug", ":A", ":Ag", ":V"};
    const struct ptx_value *a = &f->value[v];
    fprintf(out, " v%d%s", (int)v, names[a->kind]);
    if (a->kind == PTX_C_AFFINE || a->kind == PTX_C_AFFINE_G)
        fprintf(out, "(%lld)", (long long)a->stride);
    if (a->align_log2)
        fprintf(out, "^%u", a->align_log2);
    if (a->has_range)
        fprintf(out, "[%lld,%lld]", (long long)a->lo, (long long)a->hi);
}

static void dump_instr(struct ptx_ctx *c, struct ptx_func *f, uint32_t i, struct ptx_slots *s, FILE *out)
{
    char text[512];
    fprintf(out, "    %s", ptx_instr_text(f, &f->instr[i], text, sizeof text));
    if (f->instr_src) {
        ptx_slots_of(c, f, i, s);
        if (s->n)
            fprintf(out, "  //");
        for (uint32_t k = 0; k < s->n; k++)
            if (s->slot[k].role == PTX_DEF)
                put_value(f, *s->slot[k].value, out);
        for (uint32_t k = 0, first = 1; k < s->n; k++) {
            if (s->slot[k].role == PTX_DEF)
                continue;
            fprintf(out, "%s %sv%d", first ? " <-" : "", s->slot[k].role == PTX_OLD ? "old " : "",
                    (int)*s->slot[k].value);
            first = 0;
        }
    }
    fprintf(out, "\n");
}

static void dump_block(struct ptx_ctx *c, struct ptx_func *f, uint32_t k, struct ptx_slots *s, FILE *out)
{
    const struct ptx_block *b = &f->block[k];
    fprintf(out, "  B%u:", k);
    for (uint32_t p = 0; p < b->npred; p++)
        put_block(out, p ? "," : "from", b->pred[p]);
    for (uint32_t p = 0; p < b->nsucc; p++)
        put_block(out, p ? "," : "to", b->succ[p]);
    put_block(out, "idom", b->idom);
    put_block(out, "ipdom", b->ipdom);
    if (b->loop_header >= 0)
        fprintf(out, " loop B%d depth %u", (int)b->loop_header, (unsigned)b->loop_depth);
    fprintf(out, "%s%s%s\n", b->divergent ? " divergent" : "", b->join ? " join" : "",
            b->left_divergently ? " left-divergently" : "");
    for (uint32_t p = 0; p < b->nphi; p++) {
        fprintf(out, "    phi %s  //", f->reg[b->phi[p].reg].name);
        put_value(f, b->phi[p].dst, out);
        for (uint32_t q = 0; q < b->npred; q++)
            fprintf(out, "%s v%d", q ? "" : " <-", (int)b->phi[p].src[q]);
        fprintf(out, "\n");
    }
    for (uint32_t i = 0; i < b->count; i++)
        dump_instr(c, f, b->first + i, s, out);
}

void ptx_dump_func(const struct ptx_func *f, FILE *out)
{
    struct ptx_diag diag;
    struct ptx_ctx c = {.diag = &diag, .arena = ptx_arena_new()};
    struct ptx_arena *own = c.arena;
    dump_header(f, out);
    if (!f->parsed || !own || setjmp(c.out)) { /* the only failure is memory for an operand list */
        ptx_arena_free(own);
        return;
    }
    for (uint32_t i = 0; i < f->nlocal; i++) {
        fprintf(out, "  ");
        dump_var(&f->local[i], out);
    }
    struct ptx_func *fn = (struct ptx_func *)(uintptr_t)f; /* slots point into it; nothing is written */
    struct ptx_slots slots = {0};
    for (uint32_t k = 0; k < f->nblock; k++)
        dump_block(&c, fn, k, &slots, out);
    for (uint32_t i = 0; !f->block && i < f->ninstr; i++) {
        for (uint32_t l = 0; l < f->nlabel; l++)
            if (f->label_instr[l] == (int32_t)i)
                fprintf(out, "  %s:\n", f->label_name[l]);
        dump_instr(&c, fn, i, &slots, out);
    }
    if (f->irreducible)
        fprintf(out, "  irreducible\n");
    ptx_arena_free(own);
}
