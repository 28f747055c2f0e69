/* Emits what stands for a function of the per-thread default stream (X_ptsz, X_ptds) where an SDK exports only X: SDK
 * 3.1.0 has none of these forms (mapping/facts/musa.md L7). */
#include "gen/emit.h"

#include <string.h>

static bool is_stream(const struct value *v) { return !v->stars && strcmp(v->letter->name, "st") == 0; }

/* The arguments, with the thread's own stream wherever the default one was meant. */
static const char *own_arguments(struct arena *a, const struct signature *s)
{
    const char *text = "";
    for (unsigned i = 0; i < s->count; i++)
        text = arena_print(a, is_stream(&s->argument[i]) ? "%s%sOWN(a%u)" : "%s%sa%u", text, i ? ", " : "", i);
    return text;
}

static void emit_form(const struct job *j, FILE *f, unsigned index, enum per_thread how, const char *base)
{
    const struct mu_symbol *m = &j->map->mu[index];
    const struct signature *s = m->line->signature;
    const char *arguments = own_arguments(j->arena, s), *prefix = j->map->below.at[m->below].prefix;
    const char *wait = arena_print(j->arena, "mu.%sStreamSynchronize(OWN(NULL))", prefix);
    const char *type = named_type(j->arena, &s->result);
    fprintf(f, "static %s form_%u(%s) /* %s */\n{\n", type, index, named_parameters(j->arena, s), m->name);
    if (how == PER_THREAD_PLAIN)
        fprintf(f, "    return mu.%s(%s);\n", base, arguments);
    else if (how == PER_THREAD_ASYNC)
        fprintf(f, "    %s r = mu.%s(%s%sOWN(NULL));\n    return r ? r : %s;\n", type, base, arguments,
                s->count ? ", " : "", wait);
    else
        fprintf(f, "    %s r = %s;\n    return r ? r : mu.%s(%s);\n", type, wait, base, arguments);
    fprintf(f, "}\n");
}

void emit_per_thread(const struct job *j)
{
    struct output o = emit_open(j, "per_thread.c", "//", "emit_per_thread.c", "api");
    const char *rows = "";
    unsigned count = 0;
    fprintf(o.file, "#include \"core/symbols.h\"\n#include \"mu.h\"\n\n"
                    "#define OWN(stream) ((stream) ? (stream) : MU_STREAM_PER_THREAD)\n\n");
    for (unsigned i = 0; i < j->map->mu_count; i++) {
        const struct mu_symbol *base;
        enum per_thread how = per_thread_base(j->map, j->arena, &j->map->mu[i], &base);
        if (how == PER_THREAD_NONE)
            continue;
        emit_form(j, o.file, i, how, base->name);
        rows = arena_print(j->arena, "%s    {\"%s\", \"%s\", (void (*)(void))form_%u},\n", rows, j->map->mu[i].name,
                           base->name, i);
        count++;
    }
    fprintf(o.file,
            "\nconst struct cumu_per_thread cumu_per_thread[] = {\n%s    {0, 0, 0},\n};\n"
            "const uint32_t cumu_per_thread_count = %u;\n",
            rows, count);
    output_close(&o);
}
