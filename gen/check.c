/* `gen check`; see check.h. */
#include "gen/check.h"

#include <stdlib.h>
#include <string.h>

#include "gen/elfsyms.h"

static const struct facade *facade_of(const struct job *j, const char *soname)
{
    for (unsigned i = 0; soname && i < j->map->facades.count; i++)
        if (!strcmp(j->map->facades.at[i].soname, soname))
            return &j->map->facades.at[i];
    return NULL;
}

static void each_has_line(const struct job *j, const char *path, const struct facade *f, const struct elf_names *names,
                          bool lines)
{
    const struct library *l = find_library(j->map, f->library);
    for (unsigned i = 0; i < names->count; i++)
        if (!l || !find_line(l, names->at[i], f->version))
            error_at(j->errors, (struct place){path, lines ? (int)i + 1 : 0}, names->at[i],
                     "no line; expected one in mapping/api/%s.map for version %u", f->library, f->version);
}

/* "mapping/known/libcudart.so.13.symbols" -> "libcudart.so.13" */
static const char *soname_of(const struct job *j, const char *path)
{
    const char *name = strrchr(path, '/'), *tail = strstr(path, ".symbols");
    name = name ? name + 1 : path;
    return tail ? arena_copy(j->arena, name, (size_t)(tail - name)) : name;
}

void check_known(const struct job *j, const char *path)
{
    size_t length;
    char *text = read_file(j->arena, j->errors, path, &length);
    const struct facade *f = facade_of(j, soname_of(j, path));
    if (!text)
        return;
    if (!f) {
        error_at(j->errors, (struct place){path, 0}, "-",
                 "no facade of this name; expected one of "
                 "mapping/sonames.map");
        return;
    }
    struct elf_names names = {0};
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (*line != '#') /* of a list by `cumu trace --record-symbols` */
            *ARENA_PUSH(j->arena, &names) = line;
    each_has_line(j, path, f, &names, true);
    if (names.count)
        qsort(names.at, names.count, sizeof *names.at, compare_text);
    struct slots s = slots_of(j, f);
    for (unsigned i = 0; i < s.count; i++)
        if (!has_name(&names, s.at[i]->symbol))
            error_at(j->errors, s.at[i]->at, s.at[i]->symbol,
                     "%s does not export it; expected a symbol "
                     "of %s",
                     f->soname, path);
}

void check_real(const struct job *j, const char *path)
{
    struct elf_names names;
    if (!read_elf(j->arena, j->errors, path, true, &names))
        return;
    const struct facade *f = facade_of(j, names.soname);
    if (!f)
        error_at(j->errors, (struct place){path, 0}, names.soname ? names.soname : "-",
                 "no facade has this soname; expected one of mapping/sonames.map");
    else
        each_has_line(j, path, f, &names, false);
}

void check_wraps(const struct job *j, const char *core)
{
    struct elf_names names, wanted = {0};
    if (!read_elf(j->arena, j->errors, core, false, &names))
        return;
    for (unsigned i = 0; i < j->map->libraries.count; i++) {
        const struct library *l = &j->map->libraries.at[i];
        for (unsigned k = 0; k < l->exported; k++) {
            const struct map_line *line = &l->lines.at[k];
            if (line->verb != VERB_WRAP)
                continue;
            const char *name = function_name(j->arena, line);
            *ARENA_PUSH(j->arena, &wanted) = name;
            if (!has_name(&names, name))
                error_at(j->errors, line->at, line->symbol,
                         "no function %s in %s; expected it in "
                         "shim/api",
                         name, core);
        }
    }
    if (wanted.count)
        qsort(wanted.at, wanted.count, sizeof *wanted.at, compare_text);
    for (unsigned i = 0; i < names.count; i++)
        if (!strncmp(names.at[i], "wrap_", 5) && !strchr(names.at[i], '.') && !has_name(&wanted, names.at[i]))
            error_at(j->errors, (struct place){core, 0}, names.at[i],
                     "function without a line; expected "
                     "a wrap line in mapping/api");
}

void check_host(const struct job *j, const char *path)
{
    struct elf_names names;
    if (!read_elf(j->arena, j->errors, path, true, &names))
        return;
    int below = -1;
    for (unsigned i = 0; i < j->map->below.count; i++)
        for (unsigned k = 0; k < j->map->below.at[i].sonames.count; k++)
            if (names.soname && !strcmp(j->map->below.at[i].sonames.at[k], names.soname))
                below = (int)i;
    if (below < 0) {
        error_at(j->errors, (struct place){path, 0}, names.soname ? names.soname : "-",
                 "not a MUSA library; expected a soname of a `below' line");
        return;
    }
    for (unsigned i = 0; i < j->map->mu_count; i++) {
        const struct mu_symbol *m = &j->map->mu[i];
        bool there = has_name(&names, m->name);
        if (m->below != below || there == !m->not_on_host)
            continue;
        error_at(j->errors, m->line->at, m->name, "%s %s it; expected %s", path, there ? "exports" : "does not export",
                 there ? "no !host" : "!host on the line");
    }
}
