/* Tier 0 lowering: a module's variables with their initial values. */
#include "ptx/lir/lower/lower.h"

#include <stdlib.h>
#include <string.h>

static bool defined_here(const struct ptx_var *v)
{
    return (v->space == PTX_SP_GLOBAL || v->space == PTX_SP_CONST) && !v->is_extern;
}

static uint32_t index_of(const struct ptx_module *m, const char *name)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->nvar; k++) {
        if (!defined_here(&m->var[k]))
            continue;
        if (!strcmp(m->var[k].name, name))
            return n;
        n++;
    }
    return LIR_NONE;
}

static void add_reloc(struct lir_lower *l, const struct ptx_var *v, const struct ptx_reloc *r)
{
    uint32_t var = index_of(l->module, r->sym);
    const struct ptx_func *f = var == LIR_NONE ? ptx_module_func(l->module, r->sym) : NULL;
    if (var == LIR_NONE && !f)
        lir_refuse(l, "initialiser of `%s` names `%s`, which is not defined in this module", v->name, r->sym);
    const uint32_t kernel = f && f->is_entry ? lir_extern(l, f->name) : 0;
    struct lir_reloc *out = lir_push(l, &l->relocs, sizeof *out);
    *out = (struct lir_reloc){
        .offset = r->offset,
        .addend = r->addend,
        .kind = !f            ? LIR_RELOC_VAR
                : f->is_entry ? LIR_RELOC_KERNEL
                              : LIR_RELOC_FUNC,
        .index = !f            ? var
                 : f->is_entry ? kernel
                               : f->number,
        .size = r->byte   ? 1
                : r->size ? r->size
                          : 8,
        .byte = r->byte,
    };
}

static void add_var(struct lir_lower *l, const struct ptx_var *v)
{
    uint32_t name = lir_string(l, v->name), data = l->data.n, first = l->relocs.n;
    for (uint64_t k = 0; v->init && k < v->init_size; k++)
        *(uint8_t *)lir_push(l, &l->data, 1) = v->init[k];
    for (uint32_t k = 0; k < v->nreloc; k++)
        add_reloc(l, v, &v->reloc[k]);
    struct lir_var *out = lir_push(l, &l->vars, sizeof *out);
    *out = (struct lir_var){
        .name = name,
        .align = v->align ? v->align : 1,
        .size = v->size > v->init_size ? v->size : v->init_size,
        .init = data,
        .init_size = v->init ? (uint32_t)v->init_size : 0,
        .first_reloc = first,
        .nreloc = v->nreloc,
        .constant = v->space == PTX_SP_CONST,
    };
}

int lir_lower_data(const struct ptx_module *m, void **image, size_t *size, struct ptx_diag *diag)
{
    struct ptx_diag unused;
    struct lir_lower *l = malloc(sizeof *l);
    volatile int result = -1; /* survives the longjmp of an error */
    *image = NULL;
    *size = 0;
    diag = diag ? diag : &unused;
    memset(diag, 0, sizeof *diag);
    if (!l) {
        diag->nomem = true;
        strcpy(diag->msg, "out of memory");
        return -1;
    }
    lir_lower_start(l, m, diag);
    if (!setjmp(l->out)) {
        lir_string(l, "");
        for (uint32_t k = 0; k < m->nvar; k++)
            if (defined_here(&m->var[k]))
                add_var(l, &m->var[k]);
        if (l->vars.n)
            lir_write_image(l, image, size);
        result = 0;
    }
    lir_lower_free(l);
    free(l);
    return result;
}
