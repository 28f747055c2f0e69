/* Emits the logging stub libraries: MUSA libraries whose functions write one line with their typed
 * arguments to the file named by CUMU_STUB_LOG and return 0. Tests compare it with what the
 * application called. */
#include "gen/emit.h"

#include <string.h>

static void emit_function(const struct job *j, const struct mu_symbol *m, FILE *f)
{
    const struct signature *s = m->line->signature;
    const char *result = is_void(&s->result) ? "void" : plain_type(j->arena, &s->result);
    const char *format = "", *values = "";
    for (unsigned i = 0; i < s->count; i++) {
        const struct value *v = &s->argument[i];
        const char *one = "%p", *value = arena_print(j->arena, "a%u", i);
        if (!v->stars && !strcmp(v->letter->name, "dim3")) {
            one = "{%d %d %d}";
            value = arena_print(j->arena, "a%u.at[0], a%u.at[1], a%u.at[2]", i, i, i);
        } else if (!v->stars && v->letter->size) {
            one = arena_print(j->arena, "{%u bytes %%s}", v->letter->size);
            value = arena_print(j->arena, "stub_bytes(&a%u, sizeof a%u, (char[257]){0})", i, i);
        } else if (!v->stars && v->letter->format) {
            one = v->letter->format;
            if (!strcmp(one, "%s")) {
                one = "\\\"%s\\\"";
                value = arena_print(j->arena, "a%u ? (const char *)a%u : \"(null)\"", i, i);
            }
        }
        format = arena_print(j->arena, "%s%s%s", format, i ? ", " : "", one);
        values = arena_print(j->arena, "%s, %s", values, value);
    }
    const char *parameters = plain_parameters(j->arena, s);
    fprintf(f, "\n%s %s(%s);\n%s %s(%s)\n{\n    stub_line(\"%s(%s)\\n\"%s);\n", result, m->name,
            parameters, result, m->name, parameters, m->name, format, values);
    if (!is_void(&s->result))
        fprintf(f, "    %s r;\n    memset(&r, 0, sizeof r);\n    return r;\n", result);
    fprintf(f, "}\n");
}

void emit_stub_libraries(const struct job *j)
{
    for (unsigned b = 0; b < j->map->below.count; b++) {
        struct output o = emit_open(j, arena_print(j->arena, "stub.%s.c", j->map->below.at[b].name), "//",
                                    "emit_stublib.c", "api");
        fprintf(o.file, "#include \"abi/values.h\"\n#include \"gen/stublog.h\"\n\n"
                        "#pragma GCC visibility push(default)\n");
        for (unsigned i = 0; i < j->map->mu_count; i++)
            if (j->map->mu[i].below == (int)b)
                emit_function(j, &j->map->mu[i], o.file);
        output_close(&o);
    }
}
