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

/* The same function under its other name, with or without _v2, where that takes the same arguments. */
static const char *other_name(const char *name)
{
    const struct cumu_mu_symbol *mu = cumu_tool_symbol("cumu_mu_symbols"), *m = NULL;
    const uint32_t *n = cumu_tool_symbol("cumu_mu_count");
    if (mu && n)
        m = bsearch(name, mu, *n, sizeof *mu, by_name);
    return m ? m->other : NULL;
}

/* The plain function that a form for the per-thread default stream is made of where it is missing. */
static const char *plain_form(const char *name)
{
    const struct cumu_per_thread *form = cumu_tool_symbol("cumu_per_thread"), *f = NULL;
    const uint32_t *n = cumu_tool_symbol("cumu_per_thread_count");
    if (form && n)
        f = bsearch(name, form, *n, sizeof *form, by_name);
    return f ? f->base : NULL;
}

static bool under(const struct cumu_name *has, const char *name)
{
    return name && cumu_names_find(has, name);
}

static void compare(const char *library, const struct cumu_name *has, const struct cumu_name *wanted)
{
    unsigned all = 0, there = 0, other = 0, made = 0;
    for (const struct cumu_name *n = wanted; n; n = n->hh.next, all++) {
        const char *plain = plain_form(n->text);
        if (cumu_names_find(has, n->text))
            there++;
        else if (under(has, other_name(n->text)))
            other++;
        else if (plain && (under(has, plain) || under(has, other_name(plain))))
            made++;
    }
    doctor_line("asked for", "%u", all);
    doctor_line("there", "%u", there);
    doctor_line("under another name", "%u", other);
    doctor_line("made of the plain function", "%u", made);
    doctor_section("lacking %s", library);
    for (const struct cumu_name *n = wanted; n; n = n->hh.next) {
        const char *plain = plain_form(n->text);
        if (!cumu_names_find(has, n->text) && !under(has, other_name(n->text)) &&
            !(plain && (under(has, plain) || under(has, other_name(plain)))))
            doctor_line(n->text, "%u", n->uses);
    }
}

/* C names of MUSA's: a library's C++ ones and what it carries along are nobody's interface. */
static void list_exports(const char *file, const struct cumu_name *has)
{
    doctor_section("exports %s", file);
    for (const struct cumu_name *n = has; n; n = n->hh.next)
        if (doctor_is_name(n->text, "") && (strncmp(n->text, "mu", 2) == 0 || strncmp(n->text, "mccl", 4) == 0 ||
                                            strncmp(n->text, "mtrtc", 5) == 0))
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
