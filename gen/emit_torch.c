/* Emits the facades of PyTorch's CUDA libraries, and the numbers of each release, for shim/torch. */
#include <string.h>

#include "gen/emit.h"
#include "gen/torch.h"

/* What one name is, decided once for slots, data and the version script. */
struct export
{
    const char *symbol, *target;
    const struct torch_line *line;
};
struct exports {
    struct export *at;
    unsigned count, room;
};

static void sort_out(const struct job *j, const struct torch_library *l, struct exports *calls, struct exports *data)
{
    const struct torch *t = j->map->torch;
    for (unsigned i = 0; i < l->names.count; i++) {
        const char *symbol = l->names.at[i].text, *bad = symbol;
        struct export x = {symbol, mangle_to_musa(j->arena, t, symbol, &bad), find_torch_line(t, symbol)};
        if (!x.target)
            error_at(j->errors, l->at, symbol, "not understood at '%s'; expected a mangled name", bad);
        else if (x.line && x.line->target)
            x.target = x.line->target;
        if (x.line && x.line->size)
            *ARENA_PUSH(j->arena, data) = x;
        else if (!is_mangled_data(symbol)) /* other variables have no storage here: the loader names them */
            *ARENA_PUSH(j->arena, calls) = x;
    }
    for (unsigned i = 0; i < t->boundary.count; i++) {
        const struct torch_line *line = &t->boundary.at[i];
        *ARENA_PUSH(j->arena, calls) = (struct export){
            arena_print(j->arena, "%cY%s", line->symbol[0], line->symbol + 2), line->symbol, line};
    }
}

/* Emits the assembly of a PyTorch facade. Data that the real library exports is reserved with its size, because
 * programs have copy relocations on it. */
static void emit_trampolines(const struct job *j, const struct torch_library *l, const struct exports *calls,
                             const struct exports *data)
{
    struct output o = emit_open(j, arena_print(j->arena, "%s.tramp.S", l->soname), "//", "emit_torch.c",
                                arena_print(j->arena, "torch/%s.exports", l->soname));
    emit_asm_entries(o.file,
                     "    leaq cumu_torch_this(%rip), %rdi\n"
                     "    movl %r11d, %esi\n",
                     "cumu_torch_fill",
                     "movl $\\index, %esi\n"
                     "    leaq cumu_torch_this(%rip), %rdi\n"
                     "    jmp cumu_torch_missing@PLT",
                     "cumu_torch_slots", "cumu_torch_stubs");
    fprintf(o.file, "    .macro trampoline name index\n"
                    "    entry \\index\n"
                    "    .text\n"
                    "    .balign 16\n"
                    "    .globl \\name\n"
                    "    .type \\name, @function\n"
                    "\\name:\n"
                    "    .cfi_startproc\n"
                    "    endbr64\n"
                    "    jmp *cumu_torch_slots+8*\\index(%%rip)\n"
                    "    .cfi_endproc\n"
                    "    .size \\name, .-\\name\n"
                    "    .endm\n\n");
    for (unsigned i = 0; i < calls->count; i++)
        fprintf(o.file, "    trampoline %s %u\n", calls->at[i].symbol, i);
    for (unsigned i = 0; i < data->count; i++)
        fprintf(o.file,
                "    .bss\n    .balign 16\n    .globl %1$s\n    .type %1$s, @object\n"
                "    .size %1$s, %2$u\n%1$s:\n    .zero %2$u\n",
                data->at[i].symbol, data->at[i].line->size);
    output_close(&o);
}

/* Emits the tables of a PyTorch facade: for each name torch_musa's, the wrapper, the bridge's function or why it
 * cannot be served. */
static void emit_slots(const struct job *j, const struct torch_library *l, const struct exports *calls,
                       const struct exports *data)
{
    struct output o = emit_open(j, arena_print(j->arena, "%s.slots.c", l->soname), "//", "emit_torch.c",
                                arena_print(j->arena, "torch/%s.exports", l->soname));
    fprintf(o.file, "#include \"torch/torch.h\"\n\nextern void *cumu_torch_slots[];\n"
                    "extern void (*const cumu_torch_stubs[])(void);\n"
                    "extern const struct cumu_torch_facade cumu_torch_this;\n");
    for (unsigned i = 0; i < calls->count; i++)
        if (calls->at[i].line && calls->at[i].line->wrap)
            fprintf(o.file, "void %s(void);\n", calls->at[i].line->wrap);
    fprintf(o.file, "\nstatic const struct cumu_torch_symbol symbols[] = {\n");
    for (unsigned i = 0; i < calls->count; i++) {
        const struct export *x = &calls->at[i];
        const char *wrap = x->line ? x->line->wrap : NULL, *reason = x->line ? x->line->reason : NULL;
        const char *bridge = x->line ? x->line->bridge : NULL;
        fprintf(o.file, "    {\"%s\", \"%s\", ", x->symbol, x->target);
        fprintf(o.file, wrap ? "%s, " : "0, ", wrap);
        fprintf(o.file, bridge ? "\"%s\", " : "0, ", bridge);
        fprintf(o.file, reason ? "\"%s\"},\n" : "0},\n", reason);
    }
    fprintf(o.file, "    {0, 0, 0, 0, 0},\n};\n");
    for (unsigned i = 0; i < data->count; i++)
        fprintf(o.file, "extern void *%s;\n", data->at[i].symbol);
    fprintf(o.file, "static const struct cumu_torch_data data[] = {\n");
    for (unsigned i = 0; i < data->count; i++)
        fprintf(o.file, "    {\"%s\", &%s},\n", data->at[i].symbol, data->at[i].symbol);
    fprintf(o.file,
            "    {0, 0},\n};\n\n"
            "const struct cumu_torch_facade cumu_torch_this = {\"%s\", symbols, data, cumu_torch_slots, "
            "cumu_torch_stubs};\n\n"
            "/* An extension comes with the facade; what it registers follows at once. */\n"
            "__attribute__((constructor)) static void loaded(void)\n"
            "{\n    cumu_torch_loaded(&cumu_torch_this);\n}\n",
            l->soname);
    output_close(&o);

    o = emit_open(j, arena_print(j->arena, "%s.ver", l->soname), "#", "emit_torch.c",
                  arena_print(j->arena, "torch/%s.exports", l->soname));
    fprintf(o.file, "{\n  global:\n");
    for (unsigned i = 0; i < calls->count + data->count; i++)
        fprintf(o.file, "    %s;\n", i < calls->count ? calls->at[i].symbol : data->at[i - calls->count].symbol);
    fprintf(o.file, "  local:\n    *;\n};\n");
    output_close(&o);
}

/* For the audit module: the imports it renames. */
static void emit_boundary(const struct job *j)
{
    const struct torch *t = j->map->torch;
    struct output o = emit_open(j, "torch_boundary.c", "//", "emit_torch.c", "torch/names.rules");
    fprintf(o.file, "#include \"audit/audit.h\"\n\nconst char *const audit_torch_boundary[] = {\n");
    for (unsigned i = 0; i < t->boundary.count; i++)
        fprintf(o.file, "    \"%s\",\n", t->boundary.at[i].symbol);
    fprintf(o.file, "    0,\n};\nconst char *const audit_torch_facades[] = {\n");
    for (unsigned i = 0; i < t->libraries.count; i++)
        fprintf(o.file, "    \"%s\",\n", t->libraries.at[i].soname);
    fprintf(o.file, "    0,\n};\n");
    output_close(&o);
}

static void emit_numbers(const struct job *j)
{
    const struct torch *t = j->map->torch;
    struct output o = emit_open(j, "torch_tables.c", "//", "emit_torch.c", "torch");
    fprintf(o.file, "#include \"torch/torch.h\"\n\nconst char *const cumu_torch_below[] = {\n");
    for (unsigned i = 0; i < t->below.count; i++)
        fprintf(o.file, "    \"%s\",\n", t->below.at[i].text);
    fprintf(o.file, "    0,\n};\n");
    for (unsigned i = 0; i < t->releases.count; i++) {
        const struct torch_release *r = &t->releases.at[i];
        fprintf(o.file, "static const struct cumu_torch_number numbers%u[] = { /* %s */\n", i, r->version);
        for (unsigned k = 0; k < r->numbers.count; k++) {
            const struct torch_number *n = &r->numbers.at[k];
            fprintf(o.file, "    {\"%s\", \"%s\", %u, %u, %d},\n", n->cuda, n->musa, n->from, n->to, n->device);
        }
        fprintf(o.file, "    {0, 0, 0, 0, 0},\n};\n");
    }
    fprintf(o.file, "const struct cumu_torch_release cumu_torch_releases[] = {\n");
    for (unsigned i = 0; i < t->releases.count; i++)
        fprintf(o.file, "    {\"%s\", numbers%u},\n", t->releases.at[i].version, i);
    fprintf(o.file, "    {0, 0},\n};\n");
    output_close(&o);
}

/* A rule about a name that no library exports is a mistake in one of the two. */
static void check_lines(const struct job *j)
{
    const struct torch *t = j->map->torch;
    for (unsigned i = 0; i < t->lines.count; i++) {
        bool found = false;
        for (unsigned k = 0; k < t->libraries.count; k++)
            for (unsigned n = 0; n < t->libraries.at[k].names.count; n++)
                found |= find_torch_line(t, t->libraries.at[k].names.at[n].text) == &t->lines.at[i];
        if (!found)
            error_at(j->errors, t->lines.at[i].at, t->lines.at[i].symbol,
                     "in no list of exports; expected a name of mapping/torch/*.exports");
    }
}

void emit_torch(const struct job *j)
{
    check_lines(j);
    for (unsigned i = 0; i < j->map->torch->libraries.count; i++) {
        const struct torch_library *l = &j->map->torch->libraries.at[i];
        struct exports calls = {0}, data = {0};
        sort_out(j, l, &calls, &data);
        emit_trampolines(j, l, &calls, &data);
        emit_slots(j, l, &calls, &data);
    }
    emit_numbers(j);
    emit_boundary(j);
}
