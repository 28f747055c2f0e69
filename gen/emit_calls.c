/* Emits what the tracer needs to read a call without its prototype: for each distinct signature the kind of
 * every argument and where the System V ABI of x86-64 puts it, and the names of enum values. */
#include "gen/emit.h"

#include <string.h>

/* Places of an argument's first two eight-byte parts, as in shim/core/calls.h. */
enum { FLOATING = 8, STACK = 16, MEMORY = 255 };

struct walk {
    unsigned general, floating, stack; /* taken so far; stack in eight bytes */
};

/* Does part n of the struct travel in a floating-point register? */
static bool floats(const struct value *v, unsigned n)
{
    if (v->stars)
        return false;
    if (!strcmp(v->letter->kind, "MIXED"))
        return n == 1;
    return !strcmp(v->letter->kind, "FLOAT") || !strcmp(v->letter->kind, "DOUBLE");
}

static unsigned parts(const struct value *v) { return v->stars ? 1 : (scalar_size(v) + 7) / 8; }

/* A struct of up to two parts goes into registers if all of it fits, else to the stack. */
static void place(struct walk *w, const struct value *v, unsigned at[2])
{
    unsigned n = parts(v), general = 0, floating = 0;
    for (unsigned i = 0; i < n && n <= 2; i++)
        *(floats(v, i) ? &floating : &general) += 1;
    at[1] = 0;
    if (n > 2 || w->general + general > 6 || w->floating + floating > 8) {
        at[0] = STACK + w->stack;
        at[1] = n == 2 ? at[0] + 1 : 0;
        w->stack += n;
        return;
    }
    for (unsigned i = 0; i < n; i++)
        at[i] = floats(v, i) ? FLOATING + w->floating++ : w->general++;
}

/* What a call may have written where the argument points to: one value of a type that is no constant. How
 * long texts are, and what is in structs, the signature does not say. */
static bool is_output(const struct value *v)
{
    const char *kind = v->letter->kind;
    bool constant = !strncmp(v->letter->cuda, "const", 5) && strcmp(kind, "STRING");
    return v->stars == 1 && !constant && !v->letter->size && strcmp(kind, "CHAR");
}

static void emit_value(const struct job *j, const struct value *v, const unsigned at[2], FILE *f)
{
    unsigned values = v->values ? (unsigned)(v->values - j->map->types.enums.at) + 1 : 0;
    fprintf(f, "{CUMU_ARG_%s, %u, %u, %d, {%u, %u}, %u}", v->letter->kind, v->stars, scalar_size(v), is_output(v),
            at[0], at[1], values);
}

static void emit_enum(const struct enum_type *t, unsigned number, FILE *f)
{
    unsigned offset = 0, count = 0;
    fprintf(f, "\nstatic const struct cumu_enum_row enum_%u[] = {\n", number);
    for (unsigned i = 0; i < t->rows.count; i++) {
        const struct enum_row *r = &t->rows.at[i];
        if (!r->cuda)
            continue;
        fprintf(f, "    {%lld, %u},\n", (long long)(int)r->cuda_value, offset);
        offset += (unsigned)strlen(r->cuda) + 1;
        count++;
    }
    fprintf(f, "%s};\nenum { count_%u = %u };\nstatic const char names_%u[] =", count ? "" : "    {0, 0}\n", number,
            count, number);
    for (unsigned i = 0; i < t->rows.count; i++)
        if (t->rows.at[i].cuda)
            fprintf(f, "\n    \"%s\\0\"", t->rows.at[i].cuda);
    fprintf(f, "%s;\n", count ? "" : " \"\"");
}

/* Bytes of the arguments as members of a struct, each in whole words at the end: what the tracer copies is words. */
static unsigned struct_size(const struct signature *s)
{
    unsigned end = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const struct value *v = &s->argument[i];
        unsigned size = v->stars ? 8 : scalar_size(v), align = size && size < 8 ? size : 8;
        end = (end + align - 1) / align * align + (size + 7) / 8 * 8;
    }
    return end;
}

/* CUPTI's users get these libraries' arguments in the call's frame, which has room for so many. */
static void emit_room(const struct map *m, FILE *f)
{
    static const char *const traced[] = {"cuda", "cudart"};
    for (unsigned i = 0; i < sizeof traced / sizeof *traced; i++) {
        const struct library *l = find_library(m, traced[i]);
        const struct map_line *most = NULL;
        for (unsigned k = 0; l && k < l->exported; k++) {
            const struct map_line *line = effective(&l->lines.at[k]);
            if (!most || struct_size(line->signature) > struct_size(most->signature))
                most = line;
        }
        if (most)
            fprintf(f, "_Static_assert(CUMU_PARAMS >= %u, \"the arguments of %s\");\n", struct_size(most->signature),
                    most->symbol);
    }
}

void emit_signatures(const struct job *j)
{
    const struct map *m = j->map;
    struct output o = emit_open(j, "calls.c", "//", "emit_calls.c", "api and types");
    fprintf(o.file, "#include \"core/calls.h\"\n#include \"core/trace.h\"\n");
    emit_room(m, o.file);
    for (unsigned i = 0; i < m->types.enums.count; i++)
        emit_enum(&m->types.enums.at[i], i, o.file);
    fprintf(o.file, "\nconst struct cumu_enum cumu_enums[] = {\n");
    for (unsigned i = 0; i < m->types.enums.count; i++)
        fprintf(o.file, "    {enum_%u, names_%u, count_%u},\n", i, i, i);
    fprintf(o.file, "    {0, 0, 0},\n};\n\nconst struct cumu_argument cumu_arguments[] = {\n");
    for (unsigned i = 0; i < m->calls.count; i++) {
        const struct signature *s = m->calls.at[i];
        struct walk w = {.general = parts(&s->result) > 2};
        fprintf(o.file, "    /* %s */\n", s->text);
        for (unsigned k = 0; k < s->count; k++) {
            unsigned at[2];
            place(&w, &s->argument[k], at);
            fprintf(o.file, "    ");
            emit_value(j, &s->argument[k], at, o.file);
            fprintf(o.file, ",\n");
        }
    }
    fprintf(o.file, "    {CUMU_ARG_VOID, 0, 0, 0, {0, 0}, 0},\n};\n\n"
                    "const struct cumu_prototype cumu_prototypes[] = {\n");
    unsigned first = 0;
    for (unsigned i = 0; i < m->calls.count; i++) {
        const struct signature *s = m->calls.at[i];
        struct walk w = {.general = parts(&s->result) > 2}, back = {0};
        unsigned at[2] = {MEMORY, 0};
        for (unsigned k = 0; k < s->count; k++)
            place(&w, &s->argument[k], (unsigned[2]){0});
        if (parts(&s->result) <= 2)
            place(&back, &s->result, at);
        fprintf(o.file, "    {%u, %u, %u, %d, ", first, s->count, w.stack, s->status);
        emit_value(j, &s->result, at, o.file);
        fprintf(o.file, "},\n");
        first += s->count;
    }
    fprintf(o.file, "};\nconst uint32_t cumu_prototype_count = %u;\n", m->calls.count);
    output_close(&o);
}
