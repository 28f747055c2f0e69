/* What becomes of each instruction of the ISA: a form of each (shim/ptx/front/isa.txt) is lowered for the interpreter,
 * written as C and as MUSA C++, and compared with shim/ptx/INSTRUCTIONS.md. usage: instructions_test [-u], which writes
 * that table anew. What runs and is listed as refused is only told: who adds an instruction need not wait for the
 * table. Each opcode (ops.def) and each name that has forms (forms.def) is among them. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "ptx/lir/lir.h"
#include "ptx/musa/musa.h"
#include "ptx/tier1/tier1.h"

#define FORMS "shim/ptx/front/isa.txt"
#define TABLE "shim/ptx/INSTRUCTIONS.md"
enum { LINE = 400, WHY = 200 };

static const char head[] =
    ".version 9.2\n.target sm_120a\n.address_size 64\n.func f()\n{\nret;\n}\n.visible .entry k()\n{\n.reg .pred %p<8>; .reg .b8 %c<8>; .reg .b16 "
    "%h<8>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .b128 %q<4>; .reg .f32 %f<40>; .reg .f64 %fd<8>;\n.shared .align "
    "1024 .b8 sh[2048];\n";

/* What a back end says of the form: NULL if it runs. */
static void try_form(const char *form, char why[3][WHY])
{
    char text[sizeof head + LINE + 40];
    struct ptx_diag diag = {0};
    void *image = NULL;
    size_t size;
    char *c = NULL, *musa = NULL;
    struct mu_info info;
    snprintf(text, sizeof text, "%s%s;\nret;\n}\n", head, form);
    struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
    if (!m || lir_lower_kernel(m, "k", &image, &size, &diag)) {
        for (unsigned k = 0; k < 3; k++)
            snprintf(why[k], WHY, "%s", diag.msg);
    } else {
        if (t1_emit(m, "k", T1_SHAPE_FLAT, T1_AVX2, &c, &size, &diag))
            snprintf(why[1], WHY, "%s", diag.msg);
        if (mu_emit(m, "k", image, MU_MUSA, &musa, &size, &info, &diag))
            snprintf(why[2], WHY, "%s", diag.msg);
    }
    free(c);
    free(musa);
    free(image);
    if (m)
        ptx_module_close(m);
}

/* Length of the opcode; a table of labels may stand before it. */
static int name_of(const char **form)
{
    if (!strncmp(*form, "T: ", 3))
        *form = strchr(*form, ';') + 2;
    return (int)strcspn(*form, " ");
}

static void row_of(const char *form, char *row, size_t size, bool runs[3])
{
    char why[3][WHY] = {"", "", ""};
    try_form(form, why);
    const int length = name_of(&form);
    size_t n = (size_t)snprintf(row, size, "| `%.*s` |", length, form);
    for (unsigned k = 0; k < 3; k++) {
        runs[k] = !*why[k];
        if (k && !strcmp(why[k], why[0]) && *why[0])
            n += (size_t)snprintf(row + n, size - n, " the same |");
        else
            n += (size_t)snprintf(row + n, size - n, " %s |", *why[k] ? why[k] : "runs");
    }
    for (char *p = row + 4; p < row + n; p++)
        if (*p == '|' && p[1] != ' ' && p[1] != '\0')
            *p = '/';
    snprintf(row + n, size - n, "\n");
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (f && text && !fread(text, 1, (1 << 20) - 1, f))
        *text = '\0';
    if (f)
        fclose(f);
    return text;
}

/* Whether a form of this name is in isa.txt. */
static bool has_form(const char *forms, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = forms; (at = strstr(at, name)); at += n)
        if ((at == forms || at[-1] == '\n' || (at[-1] == ' ' && at[-2] == ';')) && strchr(". \n", at[n]))
            return true;
    return false;
}

static void check_names(void)
{
    static const char *const names[] = {
#define PTX_OP(id, name) name,
#include "ptx/front/ops.def"
#undef PTX_OP
#define FORM(name, modifiers, operands) name,
#include "ptx/front/forms.def"
#undef FORM
    };
    char *forms = read_all(FORMS);
    unsigned found = 0;
    for (size_t k = 0; forms && k < sizeof names / sizeof *names; k++) {
        const bool has = has_form(forms, names[k]);
        found += has;
        EXPECT(has, "%s is in %s", names[k], FORMS);
    }
    check(found == sizeof names / sizeof *names, "%u opcodes and forms have a line in %s", found, FORMS);
    free(forms);
}

int main(int argc, char **argv)
{
    static const char title[] =
        "# What becomes of each instruction\n\nOf PTX ISA 9.2, a form of each; `build/tests/ptx/instructions_test -u` writes "
        "this of\n[front/isa.txt](front/isa.txt) and the opcode tables. The columns: tier 0, the interpreter; tier 1, compiled "
        "C, where what\nhas no C of its own calls the interpreter; and MUSA C++. What is refused is refused by name, with the "
        "kernel and the\nPTX line, before anything runs.\n";
    const bool write = argc > 1 && !strcmp(argv[1], "-u");
    char line[LINE], row[LINE + 4 * WHY];
    unsigned forms = 0, all[3] = {0}, behind = 0;
    FILE *in = fopen(FORMS, "r"), *out = write ? fopen(TABLE, "w") : NULL;
    char *have = read_all(TABLE);
    if (!check(in && have && (out || !write), "%s and %s can be read", FORMS, TABLE))
        return check_end("instructions");
    if (out)
        fputs(title, out);
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "## ", 3) && out)
            fprintf(out, "\n%s\n\n| form | tier 0 | tier 1 | MUSA |\n|---|---|---|---|\n", line);
        if (*line == '#' || !*line)
            continue;
        bool runs[3];
        row_of(line, row, sizeof row, runs);
        forms++;
        for (unsigned k = 0; k < 3; k++)
            all[k] += runs[k];
        if (out)
            fputs(row, out);
        else if (!strstr(have, row)) {
            char name[LINE];
            const char *form = line;
            const int length = name_of(&form);
            snprintf(name, sizeof name, "| `%.*s` |", length, form);
            const char *old = strstr(have, name);
            const size_t n = old ? strcspn(old, "\n") : 0;
            unsigned listed = 0, now = (unsigned)runs[0] + runs[1] + runs[2];
            for (const char *p = old; p && p < old + n; p++)
                listed += !strncmp(p, "| runs ", 7);
            check(old && listed <= now, "%s is what it is listed as: %.*s", name, (int)n, old ? old : "");
            behind++;
        }
    }
    if (out)
        fprintf(out, "\n%u forms: tier 0 runs %u, tier 1 %u, MUSA %u.\n", forms, all[0], all[1], all[2]);
    if (behind)
        printf("# %s is behind by %u forms: %s -u\n", TABLE, behind, argv[0]);
    fclose(in);
    if (out)
        fclose(out);
    else
        check_names();
    free(have);
    check(forms > 250, "%u forms, of which tier 0 runs %u, tier 1 %u and MUSA %u", forms, all[0], all[1], all[2]);
    return check_end("instructions");
}
