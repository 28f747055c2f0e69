/* Emits what the core links in: a symbol table per soname, the prototypes of wrappers, the list of
 * MUSA libraries, and the version lists of cuGetProcAddress. */
#include "gen/emit.h"

#include <string.h>

static void emit_string(FILE *f, const char *text)
{
    if (!text) {
        fprintf(f, "0");
        return;
    }
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', f);
}

void add_wraps(const struct job *j, const struct library *l, struct slots *wraps)
{
    for (unsigned k = 0; k < l->exported; k++) {
        const struct map_line *line = &l->lines.at[k];
        bool known = line->verb != VERB_WRAP;
        for (unsigned n = 0; n < wraps->count && !known; n++)
            known = !strcmp(function_name(j->arena, wraps->at[n]), function_name(j->arena, line));
        if (!known)
            *ARENA_PUSH(j->arena, wraps) = line;
    }
}

static void emit_wraps(const struct job *j)
{
    struct output o = emit_open(j, "wraps.h", "//", "emit_core.c", "api");
    fprintf(o.file, "#pragma once\n#include \"abi/cuda.h\"\n#include \"abi/values.h\"\n\n"
                    "struct CUevent_st;\n");
    struct slots wraps = {0};
    for (unsigned i = 0; i < j->map->libraries.count; i++)
        add_wraps(j, &j->map->libraries.at[i], &wraps);
    for (unsigned k = 0; k < wraps.count; k++) {
        const struct signature *s = wraps.at[k]->signature;
        const char *type = c_type(j->arena, &s->result, false);
        fprintf(o.file, "%s%s%s(%s);\n", type, type[strlen(type) - 1] == '*' ? "" : " ",
                function_name(j->arena, wraps.at[k]), c_parameters(j->arena, s, false));
    }
    output_close(&o);
}

/* What a stub of the signature answers. Of a stub alone: a wrapper that returns an int may mean failure by 0. */
static const char *returned_by(const struct map_line *l)
{
    const struct signature *s = l->signature;
    if (s->status)
        return "CUMU_RETURNS_STATUS";
    return l->verb == VERB_STUB && !s->result.stars && !strcmp(s->result.letter->name, "i") ? "CUMU_RETURNS_MINUS"
                                                                                            : "CUMU_RETURNS_ZERO";
}

/* Emits a soname's symbol table. It lies in the core, not in the facade, so that a facade is nothing but slots and
 * trampolines, and the tool can read all tables in one place. */
static void emit_symbols(const struct job *j, const struct facade *f)
{
    struct slots s = slots_of(j, f);
    const struct library *library = find_library(j->map, f->library);
    struct output o = emit_open(j, arena_print(j->arena, "%s.symbols.c", f->soname), "//", "emit_core.c",
                                arena_print(j->arena, "api/%s.map", f->library));
    fprintf(o.file, "#include \"core/symbols.h\"\n#include \"conv.h\"\n#include \"wraps.h\"\n\n");
    /* Weak, so that a core with a wrapper missing still links; `make check-gen` refuses it. */
    for (unsigned i = 0; i < s.count; i++)
        if (effective(s.at[i])->verb == VERB_WRAP)
            fprintf(o.file, "#pragma weak %s\n", entry_name(j->arena, library, effective(s.at[i])));
    fprintf(o.file, "\nstatic const struct cumu_symbol symbols[] = {\n");
    for (unsigned i = 0; i < s.count; i++) {
        const struct map_line *l = effective(s.at[i]);
        /* Of a wrapper: the function of the same name below, for CUMU_FORCE. */
        const char *target = l->verb == VERB_WRAP ? musa_name(j->arena, s.at[i]->symbol)
                             : l->target          ? l->target
                             : l->aliased         ? l->aliased->target
                                                  : NULL;
        int mu = target ? find_mu(j->map, target) : -1;
        static const char *const verbs[] = {"JUMP", "CONV", "WRAP", "STUB", "PASS"};
        fprintf(o.file, "    {\"%s\", ", s.at[i]->symbol);
        emit_string(o.file, mu >= 0 ? target : NULL);
        fprintf(o.file, ", ");
        emit_string(o.file, l->verb == VERB_STUB ? l->reason : NULL);
        fprintf(o.file, ", ");
        if (l->verb == VERB_CONV || l->verb == VERB_WRAP)
            fprintf(o.file, "(void (*)(void))%s", entry_name(j->arena, library, l));
        else
            fprintf(o.file, "0");
        fprintf(o.file, ", CUMU_%s, %s, %d, %u},\n", verbs[l->verb], returned_by(l), mu >= 0 ? j->map->mu[mu].below : 0,
                l->call);
    }
    fprintf(o.file,
            "};\n\n"
            "extern __attribute__((visibility(\"default\"))) const struct cumu_table cumu_table_%s;\n"
            "const struct cumu_table cumu_table_%s = {\n"
            "    \"%s\", \"%s\", symbols, %u, %lld, %lld, ",
            c_name(j->arena, f->soname), c_name(j->arena, f->soname), f->soname, f->library, s.count,
            library->unsupported, library->absent);
    emit_string(o.file, f->origin);
    fprintf(o.file, ",\n};\n");
    output_close(&o);
}

void emit_tables(const struct job *j)
{
    const struct map *m = j->map;
    for (unsigned i = 0; i < m->facades.count; i++)
        emit_symbols(j, &m->facades.at[i]);
    emit_wraps(j);
    struct output o = emit_open(j, "tables.c", "//", "emit_core.c", "sonames.map");
    fprintf(o.file, "#include \"core/symbols.h\"\n\n#include <stddef.h>\n\n");
    for (unsigned i = 0; i < m->facades.count; i++)
        fprintf(o.file, "extern const struct cumu_table cumu_table_%s;\n", c_name(j->arena, m->facades.at[i].soname));
    fprintf(o.file, "\nconst struct cumu_table *const cumu_tables[] = {\n");
    for (unsigned i = 0; i < m->facades.count; i++)
        fprintf(o.file, "    &cumu_table_%s,\n", c_name(j->arena, m->facades.at[i].soname));
    fprintf(o.file, "    NULL,\n};\n\nconst struct cumu_library cumu_libraries[] = {\n");
    for (unsigned i = 0; i < m->below.count; i++) {
        const struct below *b = &m->below.at[i];
        fprintf(o.file, "    {\"%s\", (const char *const[]){", b->name);
        for (unsigned k = 0; k < b->sonames.count; k++)
            fprintf(o.file, "\"%s\", ", b->sonames.at[k]);
        fprintf(o.file, "NULL}, %lld, %lld},\n", b->unsupported, b->absent);
    }
    fprintf(o.file, "    {NULL, NULL, 0, 0},\n};\n");
    output_close(&o);
}

/* First version: plain name; second: _v2; and so on, as far as the map has them. A per-thread form
 * takes the suffix of the greatest plain version not above its own. */
static void emit_base(const struct job *j, const struct base_name *b, FILE *f)
{
    const struct library *l = find_library(j->map, b->library);
    fprintf(f, "    {\"%s\", (const struct cumu_version[]){", b->name);
    for (unsigned thread = 0; thread < 2; thread++) {
        unsigned count = thread ? b->thread_versions : b->versions;
        const unsigned *version = thread ? b->thread_version : b->version;
        for (unsigned i = 0; i < count; i++) {
            unsigned form = i + 1;
            if (thread)
                for (form = 1; form < b->versions && b->version[form] <= version[i]; form++) {
                }
            const char *suffix = form > 1 ? arena_print(j->arena, "_v%u", form) : "";
            const char *name = arena_print(j->arena, "%s%s%s", b->name, suffix, thread ? b->thread_suffix : "");
            bool there = l && find_line(l, name, VERSION_MAX);
            if (!there)
                error_at(j->errors, b->at, b->name,
                         "version %u would be %s, which the map lacks; "
                         "expected a line for it",
                         version[i], name);
            fprintf(f, "{%u, %u, \"%s\"}, ", version[i], thread, name);
        }
    }
    fprintf(f, "}, %u},\n", b->versions + b->thread_versions);
}

void emit_bases(const struct job *j)
{
    struct output o = emit_open(j, "bases.c", "//", "emit_core.c", "api (versions files)");
    fprintf(o.file, "#include \"core/symbols.h\"\n\nconst struct cumu_base cumu_bases[] = {\n");
    for (unsigned i = 0; i < j->map->bases.count; i++)
        emit_base(j, &j->map->bases.at[i], o.file);
    fprintf(o.file, "    {0, 0, 0},\n};\nconst uint32_t cumu_base_count = %u;\n", j->map->bases.count);
    output_close(&o);
}
