/* Emits the headers that both sides include: values, names and texts of the enums, layouts of the structs. */
#include <string.h>

#include "gen/types.h"

static void emit_side(const struct types *t, FILE *f, bool musa)
{
    for (unsigned i = 0; i < t->enums.count; i++) {
        const struct enum_type *n = &t->enums.at[i];
        bool open = false; /* a side that has none of the names has no enum */
        for (unsigned k = 0; k < n->rows.count; k++) {
            const struct enum_row *r = &n->rows.at[k];
            const char *name = !musa ? r->cuda : r->repeat ? NULL : r->musa;
            if (name && !open)
                fprintf(f, "\nenum { /* %s */\n", musa ? n->musa : n->cuda);
            if (name)
                fprintf(f, "    %s = %lld,\n", name, musa ? r->musa_value : r->cuda_value);
            open |= name != NULL;
        }
        fputs(open ? "};\n" : "", f);
    }
}

void emit_enums(const struct types *t, FILE *cuda, FILE *musa)
{
    emit_side(t, cuda, false);
    emit_side(t, musa, true);
}

/* Prints a text as a C string. The MUSA side says it of MUSA. */
static void emit_text(FILE *f, const char *text, bool musa)
{
    static const char *const words[][2] = {{"CUDA", "MUSA"}, {"cuda", "musa"}, {"NVLink", "MTLink"}};
    enum { WORDS = sizeof words / sizeof *words };
    if (!text) {
        fputs("NULL", f);
        return;
    }
    fputc('"', f);
    while (*text) {
        unsigned i = 0;
        while (i < WORDS && (!musa || strncmp(text, words[i][0], strlen(words[i][0]))))
            i++;
        if (i < WORDS)
            fputs(words[i][1], f);
        else
            fputc(*text, f);
        text += i < WORDS ? strlen(words[i][0]) : 1;
    }
    fputc('"', f);
}

/* `#define CUMU_TEXTS_ENUM {number, "name", "text"}, ...': initialisers of a table of struct cumu_text. */
static void emit_rows(const struct types *t, FILE *f, bool musa)
{
    for (unsigned i = 0; i < t->enums.count; i++) {
        const struct enum_type *n = &t->enums.at[i];
        bool open = false; /* a side that has none of the names has no table */
        for (unsigned k = 0; k < n->rows.count && !n->flags; k++) {
            const struct enum_row *r = &n->rows.at[k];
            const char *name = !musa ? r->cuda : r->repeat ? NULL : r->musa;
            if (!name)
                continue;
            if (!open)
                fprintf(f, "\n#define CUMU_TEXTS_%s", musa ? n->musa : n->cuda);
            fprintf(f, " \\\n    {%lld, \"%s\", ", musa ? r->musa_value : r->cuda_value, name);
            emit_text(f, r->text, musa);
            fputs("},", f);
            open = true;
        }
        fputs(open ? "\n" : "", f);
    }
}

void emit_texts(const struct types *t, FILE *cuda, FILE *musa)
{
    emit_rows(t, cuda, false);
    emit_rows(t, musa, true);
}

/* One CUDA layout as a C struct that the compiler checks field by field. Gaps that C's alignment
 * does not make by itself become `reserved_N`. */
static void emit_layout(const struct struct_type *s, unsigned l, FILE *f)
{
    const char *name = s->cuda, *layout = s->layout[l].name;
    long at = 0;
    fprintf(f, "\nstruct cumu_%s_%s {\n", name, layout);
    for (unsigned i = 0; i < s->fields.count; i++) {
        const struct field_row *r = &s->fields.at[i];
        const struct field_type *type = find_field_type(r->type);
        if (r->offset[l] < 0 || !type)
            continue;
        long align = type->size, natural = (at + align - 1) / align * align;
        if (r->offset[l] > natural)
            fprintf(f, "    char reserved_%ld[%ld];\n", at, r->offset[l] - at);
        fprintf(f, "    %s%s%s", type->c, type->c[strlen(type->c) - 1] == '*' ? "" : " ", r->name);
        if (r->dims)
            fprintf(f, "[%u]", r->dims);
        fprintf(f, ";\n");
        at = r->offset[l] + align * (r->dims ? (long)r->dims : 1);
    }
    if (s->layout[l].size - at >= 8)
        fprintf(f, "    char reserved_%ld[%ld];\n", at, s->layout[l].size - at);
    fprintf(f, "};\n_Static_assert(sizeof(struct cumu_%s_%s) == %ld, \"%s %s\");\n", name, layout, s->layout[l].size,
            name, layout);
    for (unsigned i = 0; i < s->fields.count; i++)
        if (s->fields.at[i].offset[l] >= 0)
            fprintf(f, "_Static_assert(offsetof(struct cumu_%s_%s, %s) == %ld, \"%s\");\n", name, layout,
                    s->fields.at[i].name, s->fields.at[i].offset[l], s->fields.at[i].name);
}

void emit_structs(const struct types *t, FILE *cuda, FILE *musa)
{
    fprintf(cuda, "#include <stddef.h>\n");
    fprintf(musa, "#include <stddef.h>\n\n#include \"abi/musa.h\"\n");
    for (unsigned i = 0; i < t->structs.count; i++) {
        const struct struct_type *s = &t->structs.at[i];
        for (unsigned l = 0; l < s->layouts; l++) {
            if (strcmp(s->layout[l].name, "musa")) {
                emit_layout(s, l, cuda);
                continue;
            }
            fprintf(musa, "\n_Static_assert(sizeof(%s) == %ld, \"%s\");\n", s->musa, s->layout[l].size, s->musa);
            for (unsigned k = 0; k < s->fields.count; k++)
                if (s->fields.at[k].offset[l] >= 0)
                    fprintf(musa, "_Static_assert(offsetof(%s, %s) == %ld, \"%s\");\n", s->musa, s->fields.at[k].name,
                            s->fields.at[k].offset[l], s->fields.at[k].name);
        }
    }
}
