/* Emits the logging stub libraries: MUSA libraries whose functions write one line with their typed
 * arguments to the file named by CUMU_STUB_LOG and return 0. And, per facade, a program that calls
 * every jump with made-up arguments and logs what must arrive below: both logs must be equal. */
#include "gen/emit.h"

#include <string.h>

/* The printf format and the values of one logged call, `name(arg, arg)`. */
static void describe(const struct job *j, const struct signature *s, const char **format, const char **values)
{
    *format = *values = "";
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
        *format = arena_print(j->arena, "%s%s%s", *format, i ? ", " : "", one);
        *values = arena_print(j->arena, "%s, %s", *values, value);
    }
}

static void emit_function(const struct job *j, const struct mu_symbol *m, FILE *f)
{
    const struct signature *s = m->line->signature;
    const char *result = is_void(&s->result) ? "void" : plain_type(j->arena, &s->result, true);
    const char *format, *values, *parameters = plain_parameters(j->arena, s, true);
    describe(j, s, &format, &values);
    fprintf(f, "\n%s %s(%s);\n%s %s(%s)\n{\n    stub_line(\"%s(%s)\\n\"%s);\n", result, m->name, parameters, result,
            m->name, parameters, m->name, format, values);
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

void emit_calls(const struct job *j, const struct facade *f)
{
    struct slots slots = slots_of(j, f);
    struct output o = emit_open(j, arena_print(j->arena, "%s.calls.c", f->soname), "//", "emit_stublib.c",
                                arena_print(j->arena, "api/%s.map", f->library));
    fprintf(o.file, "#include \"abi/values.h\"\n#include \"gen/stublog.h\"\n\n"
                    "#include \"calls.h\"\n\nvoid call_all(void)\n{\n");
    for (unsigned i = 0; i < slots.count; i++) {
        const struct map_line *l = effective(slots.at[i]);
        const struct signature *s = l->signature;
        if (l->verb != VERB_JUMP)
            continue;
        const char *format, *values;
        describe(j, s, &format, &values);
        fprintf(o.file, "    {\n        %s (*f)(%s) = symbol(\"%s\");\n",
                is_void(&s->result) ? "void" : plain_type(j->arena, &s->result, true),
                plain_parameters(j->arena, s, true), slots.at[i]->symbol);
        for (unsigned k = 0; k < s->count; k++) {
            const struct value *v = &s->argument[k];
            if (!v->stars && !strcmp(v->letter->name, "s"))
                fprintf(o.file, "        void *a%u = (char[]){\"text %u\"};\n", k, k);
            else
                fprintf(o.file, "        %s a%u;\n        make_value(&a%u, sizeof a%u);\n",
                        plain_type(j->arena, v, true), k, k, k);
        }
        fprintf(o.file, "        app_line(\"%s(%s)\\n\"%s);\n        f(%s);\n    }\n", l->target, format, values,
                c_arguments(j->arena, s));
    }
    fprintf(o.file, "}\n");
    output_close(&o);
}
