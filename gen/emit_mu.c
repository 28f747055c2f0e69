/* Emits `mu`, the typed table of MUSA functions that the shim calls, with entries that resolve a
 * member on its first call. */
#include "gen/emit.h"

#include <string.h>

/* What declares the functions of the libraries below. */
#define MU_HEADERS \
    "#include \"abi/mccl.h\"\n" \
    "#include \"abi/mtml.h\"\n" \
    "#include \"abi/mublas.h\"\n" \
    "#include \"abi/mublaslt.h\"\n" \
    "#include \"abi/mudnn.h\"\n" \
    "#include \"abi/mudnn_fused.h\"\n" \
    "#include \"abi/mudnn_graph.h\"\n" \
    "#include \"abi/mudnn_heads.h\"\n" \
    "#include \"abi/mufft.h\"\n" \
    "#include \"abi/mupp.h\"\n" \
    "#include \"abi/murand.h\"\n" \
    "#include \"abi/musa.h\"\n" \
    "#include \"abi/musolver.h\"\n" \
    "#include \"abi/musparse.h\"\n"

/* A function that the host libraries export is declared in abi/musa.h, which gives it its real
 * types. */
static void emit_header(const struct job *j)
{
    struct output o = emit_open(j, "mu.h", "//", "emit_mu.c", "api");
    fprintf(o.file, "#pragma once\n" MU_HEADERS "#include \"abi/values.h\"\n\n"
                    "/* mu.musaFoo(...) calls the library below; the first call resolves it. */\n"
                    "struct cumu_mu {\n");
    for (unsigned i = 0; i < j->map->mu_count; i++) {
        const struct mu_symbol *m = &j->map->mu[i];
        const struct signature *s = m->line->signature;
        if (m->not_on_host)
            fprintf(o.file, "    %s (*%s)(%s);\n", c_type(j->arena, &s->result, true), m->name,
                    c_parameters(j->arena, s, true));
        else
            fprintf(o.file, "    __typeof__(%s) *%s;\n", m->name, m->name);
    }
    fprintf(o.file, "};\nextern __attribute__((visibility(\"hidden\"))) struct cumu_mu mu;\n\n"
                    "/* Index of a member: cumu_mu_symbols[CUMU_MU_musaFoo]. */\nenum {\n");
    for (unsigned i = 0; i < j->map->mu_count; i++)
        fprintf(o.file, "    CUMU_MU_%s = %u,\n", j->map->mu[i].name, i);
    fprintf(o.file, "};\n");
    output_close(&o);
}

/* Emits `mu` in C, for machines without our assembly and as the oracle of the tests: each member begins as a
 * function that looks the MUSA function up, replaces itself and calls it. */
static void emit_twin(const struct job *j)
{
    struct output o = emit_open(j, "mu.twin.c", "//", "emit_mu.c", "api");
    fprintf(o.file, "#include \"core/symbols.h\"\n#include \"mu.h\"\n\n"
                    "static inline void *fill(unsigned index)\n{\n    return cumu_mu_fill(index);\n}\n");
    for (unsigned i = 0; i < j->map->mu_count; i++) {
        const struct signature *s = j->map->mu[i].line->signature;
        const char *result = is_void(&s->result) ? "void" : plain_type(j->arena, &s->result, true);
        const char *parameters = plain_parameters(j->arena, s, true);
        fprintf(o.file,
                "\nstatic %s first_%u(%s) /* %s */\n{\n    %s((%s (*)(%s))fill(%u))(%s);\n}\n"
                "static intptr_t stub_%u(void) { return cumu_mu_stub_called(%u); }\n",
                result, i, parameters, j->map->mu[i].name, is_void(&s->result) ? "" : "return ", result, parameters, i,
                c_arguments(j->arena, s), i, i);
    }
    fprintf(o.file, "\nstruct cumu_mu mu = {\n");
    for (unsigned i = 0; i < j->map->mu_count; i++)
        fprintf(o.file, "    .%s = (__typeof__(mu.%s))(void (*)(void))first_%u,\n", j->map->mu[i].name,
                j->map->mu[i].name, i);
    fprintf(o.file,
            "};\nextern void *cumu_mu_slots[%u] __attribute__((alias(\"mu\")));\n\n"
            "void (*const cumu_mu_stubs[])(void) = {\n",
            j->map->mu_count);
    for (unsigned i = 0; i < j->map->mu_count; i++)
        fprintf(o.file, "    (void (*)(void))stub_%u,\n", i);
    fprintf(o.file, "    0,\n};\n");
    output_close(&o);
}

/* A jump trusts that the map's letters and abi/musa.h mean the same ABI. This file, compiled for its
 * errors only, calls each function with arguments of the map's types: a wrong number, a struct for a
 * scalar, a pointer for a number or a narrowed or re-signed integer does not compile. */
static void emit_proof(const struct job *j)
{
    struct output o = emit_open(j, "mu.proof.c", "//", "emit_mu.c", "api");
    fprintf(o.file, MU_HEADERS "#include \"abi/values.h\"\n\n"
                               "#pragma GCC diagnostic error \"-Wconversion\"\n"
                               "#pragma GCC diagnostic error \"-Wsign-conversion\"\n");
    for (unsigned i = 0; i < j->map->mu_count; i++) {
        const struct mu_symbol *m = &j->map->mu[i];
        const struct signature *s = m->line->signature;
        if (m->not_on_host)
            continue;
        const char *parameters = named_parameters(j->arena, s);
        const char *result = is_void(&s->result) ? "void" : named_type(j->arena, &s->result);
        fprintf(o.file, "#line %d \"%s\"\n__attribute__((unused)) static %s%s proof_%u(%s) { %s%s(%s); }\n",
                m->line->at.line, m->line->at.file, strchr(result, '*') ? "const " : "", result, i, parameters,
                is_void(&s->result) ? "" : "return ", m->name, c_arguments(j->arena, s));
    }
    output_close(&o);
}

void emit_mu(const struct job *j)
{
    emit_header(j);
    emit_twin(j);
    emit_proof(j);

    struct output o = emit_open(j, "mu.thunks.S", "//", "emit_mu.c", "api");
    emit_asm_entries(o.file, "    movl %r11d, %edi\n", "cumu_mu_fill",
                     "movl $\\index, %edi\n    jmp cumu_mu_stub_called@PLT", "cumu_mu_slots", "cumu_mu_stubs");
    fprintf(o.file, "    .section .data.rel,\"aw\"\n    .globl mu\n    .hidden mu\nmu:\n\n");
    for (unsigned i = 0; i < j->map->mu_count; i++)
        fprintf(o.file, "    entry %u // %s\n", i, j->map->mu[i].name);
    output_close(&o);

    o = emit_open(j, "mu.c", "//", "emit_mu.c", "api");
    fprintf(o.file, "#include \"core/symbols.h\"\n\nconst struct cumu_mu_symbol cumu_mu_symbols[] = {\n");
    for (unsigned i = 0; i < j->map->mu_count; i++) {
        const struct mu_symbol *m = &j->map->mu[i];
        const char *other = other_name(j->map, j->arena, m);
        const char *quoted = other ? arena_print(j->arena, "\"%s\"", other) : "0";
        static const char *const grades[] = {"SURE", "NAMED", "GUESSED"};
        fprintf(o.file, "    {\"%s\", %s, %d, CUMU_RETURNS_%s, CUMU_%s},\n", m->name, quoted, m->below,
                m->line->signature->status ? "STATUS" : "ZERO", grades[grade_of(j->map, j->arena, m)]);
    }
    fprintf(o.file,
            "    {0, 0, 0, 0, 0},\n};\nconst uint32_t cumu_mu_count = %u;\n"
            "uint32_t cumu_mu_calls[%u];\n",
            j->map->mu_count, j->map->mu_count + 1);
    output_close(&o);
}
