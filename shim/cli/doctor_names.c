/* cumu doctor: where each MUSA library is, what it exports, and what of that which the shim asks for it lacks. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"
#include "cli/doctor_file.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *row)
{
    return strcmp(name, *(const char *const *)row); /* both tables' rows begin with it */
}

/* The row of that name in one of the core's tables; NULL: there is none. */
static const void *find_row(const char *table, const char *count, size_t size, const char *name)
{
    const void *rows = cumu_tool_symbol(table);
    const uint32_t *n = cumu_tool_symbol(count);
    return rows && n ? bsearch(name, rows, *n, size, by_name) : NULL;
}

/* How a library serves a function: itself, under its other name (with or without _v2, where that takes the same
 * arguments), or, for the per-thread default stream, by the plain function. */
enum found { NOWHERE, BY_NAME, BY_OTHER_NAME, BY_PLAIN_FORM };
static enum found find_form(const struct cumu_name *has, const char *name)
{
    const struct cumu_mu_symbol *m = find_row("cumu_mu_symbols", "cumu_mu_count", sizeof *m, name);
    const struct cumu_per_thread *f = find_row("cumu_per_thread", "cumu_per_thread_count", sizeof *f, name);
    if (cumu_names_find(has, name))
        return BY_NAME;
    if (m && m->other && cumu_names_find(has, m->other))
        return BY_OTHER_NAME;
    return f && find_form(has, f->base) ? BY_PLAIN_FORM : NOWHERE;
}

static void compare(const char *library, const struct cumu_name *has, const struct cumu_name *wanted)
{
    unsigned all = 0, found[BY_PLAIN_FORM + 1] = {0};
    for (const struct cumu_name *n = wanted; n; n = n->hh.next, all++)
        found[find_form(has, n->text)]++;
    doctor_line("asked for", "%u", all);
    doctor_line("there", "%u", found[BY_NAME]);
    doctor_line("under another name", "%u", found[BY_OTHER_NAME]);
    doctor_line("made of the plain function", "%u", found[BY_PLAIN_FORM]);
    doctor_section("lacking %s", library);
    for (const struct cumu_name *n = wanted; n; n = n->hh.next)
        if (find_form(has, n->text) == NOWHERE)
            doctor_line(n->text, "%u", n->uses);
}

/* C names of MUSA's: a library's C++ ones and what it carries along are nobody's interface. */
static void list_exports(const char *file, const struct cumu_name *has)
{
    doctor_section("exports %s", file);
    for (const struct cumu_name *n = has; n; n = n->hh.next)
        if (doctor_is_name(n->text, "") &&
            (strncmp(n->text, "mu", 2) == 0 || strncmp(n->text, "mccl", 4) == 0 || strncmp(n->text, "mtrtc", 5) == 0))
            doctor_line(n->text, "%s", "");
}

void cumu_doctor_names(void)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX], real[PATH_MAX];
    for (unsigned k = 0; l && l[k].name; k++) {
        struct cumu_name *has = NULL, *wanted = NULL;
        bool found = cumu_sdk_library(&l[k], path);
        doctor_section("library %s", l[k].name);
        if (!found || !cumu_names_exported(path, &has)) {
            doctor_line("file", found ? "cannot be read" : "not found");
            continue;
        }
        const char *base = strrchr(path, '/');
        doctor_line("file", "%s", path);
        if (realpath(path, real) && strcmp(real, path) != 0)
            doctor_line("which is", "%s", real);
        cumu_names_wanted(k, &wanted);
        compare(l[k].name, has, wanted);
        list_exports(base ? base + 1 : path, has);
        cumu_names_free(&has);
        cumu_names_free(&wanted);
    }
}
