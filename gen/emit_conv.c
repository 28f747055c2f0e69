/* Emits conversions: enum values in, call, error code out. Enums declared equal pass unchanged. */
#include "gen/emit.h"

#include <string.h>

static bool translated(const struct value *v) { return v->values && !v->stars && !v->values->equal; }

enum { SMALL = 16 }; /* values of an enum whose switch goes into every conversion */

/* A switch per enum and direction. An unknown value becomes the declared default and is said, out of the
 * way of the others. Conversions use it inline, or of a large one (errors) the answer for 0. */
static void emit_translation(const struct enum_type *n, bool down, FILE *f)
{
    const char *way = down ? "to_musa" : "from_musa";
    const struct enum_row *zero = NULL;
    bool small = n->rows.count <= SMALL;
    fprintf(f,
            "\nstatic __attribute__((noinline, cold)) int unknown_%s_%s(int value)\n{\n"
            "    static uint64_t said;\n    unknown_value(&said, \"%s\", value);\n    return %lld;\n}\n"
            "static %s int switch_%s_%s(int value)\n{\n    switch (value) {\n",
            n->cuda, way, n->cuda, n->fallback,
            small ? "inline __attribute__((always_inline))" : "__attribute__((noinline))", n->cuda, way);
    for (unsigned i = 0; i < n->rows.count; i++) {
        const struct enum_row *r = &n->rows.at[i];
        if (!r->musa || (!r->cuda && (down || !r->answers)))
            continue;
        long long from = down ? r->cuda_value : r->musa_value;
        bool first = true; /* several names of one number: the first row decides */
        for (unsigned k = 0; k < i; k++)
            first &= !((n->rows.at[k].cuda || n->rows.at[k].answers) && n->rows.at[k].musa &&
                       from == (down ? n->rows.at[k].cuda_value : n->rows.at[k].musa_value));
        if (first && !from)
            zero = r;
        if (first)
            fprintf(f, "    case %lld: return %lld; /* %s */\n", from, down ? r->musa_value : r->cuda_value,
                    down      ? r->musa
                    : r->cuda ? r->cuda
                              : r->musa);
    }
    fprintf(f, "    }\n    return unknown_%s_%s(value);\n}\n", n->cuda, way);
    fprintf(f, "static inline __attribute__((always_inline)) int %s_%s(int value)\n{\n", n->cuda, way);
    if (!small && zero)
        fprintf(f, "    if (value == 0)\n        return %lld; /* %s */\n", down ? zero->musa_value : zero->cuda_value,
                down ? zero->musa : zero->cuda);
    fprintf(f,
            "    return switch_%s_%s(value);\n}\n"
            "int cumu_%s_%s(int value)\n{\n    return %s_%s(value);\n}\n",
            n->cuda, way, n->cuda, way, n->cuda, way);
}

/* Sizes that fit no int are refused: the MUSA function has no wider form. */
static void emit_narrowing(const struct job *j, const struct library *lib, const struct map_line *l, FILE *f)
{
    const char *test = "";
    for (unsigned i = 0; i < l->signature->count; i++)
        if (narrowed(&l->signature->argument[i]))
            test = arena_print(j->arena, "%s%sa%u != (int)a%u", test, *test ? " || " : "", i, i);
    if (*test)
        fprintf(f, "    if (%s)\n        return too_large(\"%s\", \"%s\", %lld);\n", test, lib->name, l->symbol,
                lib->unsupported);
}

/* The end of a function that lets no error of the library below be seen. */
static void emit_quietly(const char *result, const char *call, FILE *f)
{
    fprintf(f, "    int last = mu.musaPeekAtLastError();\n    %s r = %s;\n    quieten(last);\n    return r;\n}\n",
            result, call);
}

/* Emits one conversion: arguments cast, narrowed to int or translated by the enum tables, the call through `mu`, the
 * status translated back. Structs by value are copied through memory, since C knows no cast between two struct types
 * of one layout. */
static void emit_function(const struct job *j, const struct library *lib, const struct map_line *l, FILE *f)
{
    const struct signature *s = l->signature;
    bool returns = !is_void(&s->result);
    const char *result = c_type(j->arena, &s->result, false);
    fprintf(f, "\n%s%s%s(%s)\n{\n", result, result[strlen(result) - 1] == '*' ? "" : " ", function_name(j->arena, l),
            c_parameters(j->arena, s, false));
    emit_narrowing(j, lib, l, f);
    const char *arguments = "";
    for (unsigned i = 0; i < s->count; i++) {
        const struct value *v = &s->argument[i];
        const char *text = arena_print(j->arena, "a%u", i);
        if (narrowed(v)) {
            text = arena_print(j->arena, "(int)a%u", i);
        } else if (translated(v)) {
            text = arena_print(j->arena, "%s_to_musa(a%u)", v->values->cuda, i);
        } else if (v->letter->size && !v->stars && strcmp(v->letter->cuda, v->letter->musa)) {
            fprintf(f, "    %s b%u;\n    memcpy(&b%u, &a%u, sizeof b%u);\n", v->letter->musa, i, i, i, i);
            text = arena_print(j->arena, "b%u", i);
        } else if (strcmp(c_type(j->arena, v, false), c_type(j->arena, v, true))) {
            text = arena_print(j->arena, "(void *)a%u", i);
        }
        arguments = arena_print(j->arena, "%s%s%s", arguments, i ? ", " : "", text);
    }
    const char *call = arena_print(j->arena, "mu.%s(%s)", l->target, arguments);
    if (translated(&s->result))
        call = arena_print(j->arena, "%s_from_musa(%s)", s->result.values->cuda, call);
    if (lib->quiet && returns)
        emit_quietly(result, call, f);
    else
        fprintf(f, "    %s%s;\n}\n", returns ? "return " : "", call);
}

/* What the slots of a quiet library's wrappers hold, or of an older release's, whose status is translated; `known` are
 * those of the libraries of the same kind before it. */
static void emit_wraps_around(const struct job *j, const struct library *lib, struct slots *known, FILE *h, FILE *c)
{
    unsigned first = known->count;
    add_wraps(j, lib, known);
    for (unsigned i = first; i < known->count; i++) {
        const struct map_line *line = known->at[i];
        const struct signature *s = line->signature;
        if (!s->status)
            continue;
        const char *name = function_name(j->arena, line);
        const char *result = c_type(j->arena, &s->result, false);
        const char *head = arena_print(j->arena, "%s %s(%s)", result, entry_name(j->arena, lib, line),
                                       c_parameters(j->arena, s, false));
        fprintf(h, "%s;\n", head);
        /* weak, as in the tables: of a wrapper that is missing `make check-gen` tells */
        fprintf(c, "\n#pragma weak %s\n%s\n{\n", name, head);
        const char *call = arena_print(j->arena, "%s(%s)", name, c_arguments(j->arena, s));
        if (lib->status)
            call = arena_print(j->arena, "cumu_%s_to_musa(%s)", lib->status->cuda, call);
        if (lib->quiet)
            emit_quietly(result, call, c);
        else
            fprintf(c, "    return %s;\n}\n", call);
    }
}

/* The form of an older interface: its library's own handle, characters for enum values, scalars by value, a result that
 * is returned, an error that is kept. */
static void emit_older(const struct job *j, const struct library *lib, const struct map_line *l, FILE *f)
{
    const struct signature *s = l->signature, *newer = l->aliased->signature;
    const char *result = c_type(j->arena, &s->result, false);
    const char *arguments = arena_print(j->arena, "cumu_%s_handle()", lib->name);
    for (unsigned i = 0; i < s->count; i++) {
        const struct value *v = &s->argument[i], *w = &newer->argument[i + 1];
        bool scalar = w->letter->cuda[strlen(w->letter->cuda) - 1] == '*' &&
                      (v->letter->size || strchr("fd", *v->letter->name));
        const char *text = w->values ? arena_print(j->arena, "cumu_%s_of(a%u)", w->values->cuda, i)
                                     : arena_print(j->arena, "%sa%u", scalar ? "&" : "", i);
        arguments = arena_print(j->arena, "%s, %s", arguments, text);
    }
    bool returns = !is_void(&s->result);
    fprintf(f, "\n%s %s(%s)\n{\n", result, function_name(j->arena, l), c_parameters(j->arena, s, false));
    if (returns)
        fprintf(f, "    %s r = {0};\n", result);
    fprintf(f, "    cumu_%s_done(\"%s\", conv_%s(%s%s));\n%s}\n", lib->name, l->symbol, l->aliased->symbol, arguments,
            returns ? ", &r" : "", returns ? "    return r;\n" : "");
}

/* What the older forms call (shim/api). */
static void declare_older(const struct job *j, FILE *f)
{
    const struct types *t = &j->map->types;
    for (unsigned i = 0; i < j->map->libraries.count; i++) {
        const struct library *l = &j->map->libraries.at[i];
        bool any = false;
        for (unsigned k = 0; k < l->exported; k++)
            any |= l->lines.at[k].verb == VERB_CONV && l->lines.at[k].alias;
        if (any)
            fprintf(f, "void *cumu_%s_handle(void);\nvoid cumu_%s_done(const char *symbol, int status);\n", l->name,
                    l->name);
        for (unsigned n = 0; any && n < t->enums.count; n++)
            fprintf(f, "int cumu_%s_of(char letter);\n", t->enums.at[n].cuda);
    }
}

void emit_conversions(const struct job *j)
{
    struct output h = emit_open(j, "conv.h", "//", "emit_conv.c", "api and types");
    struct output c = emit_open(j, "conv.c", "//", "emit_conv.c", "api and types");
    fprintf(h.file, "#pragma once\n#include \"abi/cuda.h\"\n#include \"abi/values.h\"\n\n");
    declare_older(j, h.file);
    bool quiet = false;
    for (unsigned i = 0; i < j->map->libraries.count; i++)
        quiet |= j->map->libraries.at[i].quiet;
    fprintf(c.file, "#include \"conv.h\"\n#include \"core/log.h\"\n#include \"mu.h\"\n"
                    "#include \"wraps.h\"\n\n#include <stdint.h>\n#include <string.h>\n\n"
                    "/* Each number is said once, as far as its last six bits tell. */\n"
                    "__attribute__((noinline, cold, unused)) static void unknown_value(uint64_t *said,\n"
                    "                                                                  const char *name, int value)\n"
                    "{\n    const uint64_t bit = UINT64_C(1) << ((unsigned)value & 63);\n"
                    "    if (!(__atomic_fetch_or(said, bit, __ATOMIC_RELAXED) & bit))\n"
                    "        cumu_log(NULL, CUMU_GAP, \"conv\", name, \"unknown value %%d\", value);\n}\n"
                    "__attribute__((noinline, cold, unused)) static int too_large(const char *library,\n"
                    "                                                             const char *name, int code)\n"
                    "{\n    cumu_gap(library, name, \"a size above 2147483647\");\n    return code;\n}\n");
    if (quiet) /* what a library leaves there, of its own launches, is nothing that the program did */
        fprintf(c.file, "static inline void quieten(int last)\n{\n    if (!last && mu.musaPeekAtLastError())\n"
                        "        mu.musaGetLastError();\n}\n");
    struct slots known = {0}, known_older = {0};
    const struct types *t = &j->map->types;
    for (unsigned i = 0; i < t->enums.count; i++) {
        const struct enum_type *n = &t->enums.at[i];
        if (n->equal || n->flags)
            continue;
        fprintf(h.file, "int cumu_%s_to_musa(int value);\nint cumu_%s_from_musa(int value);\n", n->cuda, n->cuda);
        emit_translation(n, true, c.file);
        emit_translation(n, false, c.file);
    }
    for (unsigned i = 0; i < j->map->libraries.count; i++) {
        const struct library *l = &j->map->libraries.at[i];
        for (unsigned k = 0; k < l->exported; k++) {
            const struct map_line *line = &l->lines.at[k];
            if (line->verb != VERB_CONV)
                continue;
            const char *result = c_type(j->arena, &line->signature->result, false);
            fprintf(h.file, "%s%s%s(%s);\n", result, result[strlen(result) - 1] == '*' ? "" : " ",
                    function_name(j->arena, line), c_parameters(j->arena, line->signature, false));
            (line->alias ? emit_older : emit_function)(j, l, line, c.file);
        }
        if (l->quiet || l->status)
            emit_wraps_around(j, l, l->status ? &known_older : &known, h.file, c.file);
    }
    output_close(&h);
    output_close(&c);
}
