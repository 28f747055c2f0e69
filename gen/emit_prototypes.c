/* Emits a test: for each distinct signature a function that calls another of that type with made-up arguments,
 * and one to be called, which records what arrives. The compiler knows where arguments go; the tracer's
 * table says so too, and tests/trace compares both. */
#include "gen/emit.h"

#include <string.h>

static void emit_made(const struct job *j, const struct value *v, unsigned k, FILE *f)
{
    const char *type = plain_type(j->arena, v, false);
    if (!v->stars && !strcmp(v->letter->kind, "STRING"))
        fprintf(f, "    void *a%u = (char[]){\"text \\\"%u\\\"\"};\n    make_text(&a%u);\n", k, k, k);
    else
        fprintf(f, "    %s a%u;\n    make(%s, &a%u, sizeof a%u);\n", type, k, v->values ? "true" : "false", k, k);
    fprintf(f, "    passed(CUMU_ARG_%s, %u, %u, &a%u, sizeof a%u);\n", v->letter->kind, v->stars, scalar_size(v), k, k);
}

static void emit_pair(const struct job *j, const struct signature *s, unsigned n, FILE *f)
{
    const char *result = is_void(&s->result) ? "void" : plain_type(j->arena, &s->result, false);
    const char *parameters = plain_parameters(j->arena, s, false);
    fprintf(f, "\n/* %s */\nstatic %s target_%u(%s)\n{\n", s->text, result, n, parameters);
    for (unsigned k = 0; k < s->count; k++)
        fprintf(f, "    arrived(&a%u, sizeof a%u);\n", k, k);
    if (!is_void(&s->result))
        fprintf(f, "    %s r;\n    give(CUMU_ARG_%s, %u, %u, &r, sizeof r);\n    return r;\n", result,
                s->result.letter->kind, s->result.stars, scalar_size(&s->result));
    fprintf(f, "}\nstatic void call_%u(void (*function)(void))\n{\n", n);
    for (unsigned k = 0; k < s->count; k++)
        emit_made(j, &s->argument[k], k, f);
    const char *keep = is_void(&s->result) ? "" : arena_print(j->arena, "%s r = ", result);
    fprintf(f, "    %s((%s (*)(%s))function)(%s);\n", keep, result, parameters, c_arguments(j->arena, s));
    if (!is_void(&s->result))
        fprintf(f, "    got(&r, sizeof r);\n");
    fprintf(f, "}\n");
}

void emit_prototypes(const struct job *j)
{
    struct output o = emit_open(j, "prototypes.c", "//", "emit_prototypes.c", "api");
    fprintf(o.file, "#include \"abi/values.h\"\n#include \"tests/trace/prototypes.h\"\n");
    for (unsigned i = 0; i < j->map->calls.count; i++)
        emit_pair(j, j->map->calls.at[i], i, o.file);
    fprintf(o.file, "\nconst struct pair pairs[] = {\n");
    for (unsigned i = 0; i < j->map->calls.count; i++)
        fprintf(o.file, "    {\"%s\", (void (*)(void))target_%u, call_%u},\n", j->map->calls.at[i]->text, i, i);
    fprintf(o.file, "};\n");
    output_close(&o);
}
