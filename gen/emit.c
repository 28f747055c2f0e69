/* What the emitters share: banners, the slots of a facade, plain C types, and the type headers. */
#include "gen/emit.h"

#include <ctype.h>
#include <string.h>

struct output emit_open(const struct job *j, const char *name, const char *comment, const char *emitter,
                        const char *from)
{
    return output_open(j->arena, j->errors, j->dir, name, comment,
                       arena_print(j->arena, "%s from mapping/%s", emitter, from));
}

struct slots slots_of(const struct job *j, const struct facade *f)
{
    struct slots s = {0};
    const struct library *l = find_library(j->map, f->library);
    for (unsigned i = 0; l && i < l->exported; i++)
        if (l->lines.at[i].since <= f->version && f->version <= l->lines.at[i].until)
            *ARENA_PUSH(j->arena, &s) = &l->lines.at[i];
    return s;
}

const char *c_name(struct arena *a, const char *soname)
{
    char *name = arena_print(a, "%s", soname);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    return name;
}

const char *plain_type(struct arena *a, const struct value *v, bool musa)
{
    const char *type = musa || v->letter->size ? v->letter->musa : v->letter->cuda;
    if (!musa && type[0] == 'C') /* a handle that has a name only in abi/cuda.h */
        type = "void *";
    if (v->stars || type[strlen(type) - 1] == '*' || v->letter->format == NULL || v->letter->size) {
        if (!v->stars && v->letter->size)
            return strchr("FM", v->letter->name[0]) ? v->letter->musa
                                                    : arena_print(a, "struct cumu_s%u", v->letter->size);
        return "void *";
    }
    return type;
}

const char *named_type(struct arena *a, const struct value *v)
{
    return v->letter->size && !v->stars ? v->letter->musa : plain_type(a, v, true);
}

const char *named_parameters(struct arena *a, const struct signature *s)
{
    const char *text = s->count ? "" : "void";
    for (unsigned i = 0; i < s->count; i++)
        text = arena_print(a, "%s%s%s a%u", text, i ? ", " : "", named_type(a, &s->argument[i]), i);
    return text;
}

const char *plain_parameters(struct arena *a, const struct signature *s, bool musa)
{
    const char *text = s->count ? "" : "void";
    for (unsigned i = 0; i < s->count; i++) {
        const char *type = plain_type(a, &s->argument[i], musa);
        text = arena_print(a, "%s%s%s%sa%u", text, i ? ", " : "", type, type[strlen(type) - 1] == '*' ? "" : " ", i);
    }
    return text;
}

void emit_types(const struct job *j)
{
    const struct {
        const char *cuda, *musa, *from;
        void (*emit)(const struct types *, FILE *, FILE *);
    } files[] = {
        {"cuda_enums.h", "musa_enums.h", "types (enum files)", emit_enums},
        {"cuda_texts.h", "musa_texts.h", "types (enum files)", emit_texts},
        {"cuda_structs.h", "musa_structs.h", "types (struct files)", emit_structs},
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        struct output c = emit_open(j, files[i].cuda, "//", "emit_types.c", files[i].from);
        struct output m = emit_open(j, files[i].musa, "//", "emit_types.c", files[i].from);
        fprintf(c.file, "#pragma once\n");
        fprintf(m.file, "#pragma once\n");
        files[i].emit(&j->map->types, c.file, m.file);
        output_close(&c);
        output_close(&m);
    }
}
