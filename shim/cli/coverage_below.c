/* cumu coverage: the MUSA functions that the shim asks for, beside what each back end exports. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "core/config.h"
#include "core/hmap.h"
#include "core/ldcache.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 12 };

struct name {
    char *text;
    UT_hash_handle hh;
};

static void add(struct name **set, const char *text)
{
    struct name *n;
    HASH_FIND_STR(*set, text, n);
    if (n || !(n = calloc(1, sizeof *n)))
        return;
    n->text = strdup(text);
    if (n->text)
        HASH_ADD_KEYPTR(hh, *set, n->text, strlen(n->text), n);
    if (!n->text || !hmap_added(n)) {
        free(n->text);
        free(n);
    }
}

static void drop(struct name **set)
{
    struct name *n, *next;
    HASH_ITER(hh, *set, n, next) {
        HASH_DEL(*set, n);
        free(n->text);
        free(n);
    }
}

/* Functions that a shared object defines. */
static bool exports(const char *path, struct name **set)
{
    GElf_Shdr sh;
    GElf_Sym s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
        bool table = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM && sh.sh_entsize;
        Elf_Data *d = table ? elf_getdata(scn, NULL) : NULL;
        for (int i = 1; d && i < (int)(sh.sh_size / sh.sh_entsize); i++) {
            const char *text = gelf_getsym(d, i, &s) && s.st_shndx != SHN_UNDEF
                                   ? elf_strptr(elf, sh.sh_link, s.st_name) : NULL;
            if (text)
                add(set, text);
        }
    }
    if (elf)
        (void)elf_end(elf);
    if (fd >= 0)
        (void)close(fd);
    return elf != NULL;
}

static int by_text(const struct name *a, const struct name *b)
{
    return strcmp(a->text, b->text);
}

bool cumu_write_exports(const char *library, const char *to)
{
    struct name *has = NULL, *n;
    FILE *f = exports(library, &has) ? fopen(to, "we") : NULL;
    HASH_SORT(has, by_text);
    for (n = has; f && n; n = n->hh.next)
        fprintf(f, "%s\n", n->text);
    drop(&has);
    return f && fclose(f) == 0;
}

static bool host_library(const struct cumu_library *l, char path[PATH_MAX])
{
    for (const char *const *s = l->sonames; *s; s++) {
        (void)snprintf(path, PATH_MAX, "%s/host/%s", cumu_lib_dir(), *s);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static bool first(const char *found, void *path)
{
    if (access(found, R_OK) != 0)
        return false;
    (void)snprintf(path, PATH_MAX, "%s", found);
    return true;
}

bool cumu_sdk_library(const struct cumu_library *l, char *path)
{
    const char *home = cumu_env("MUSA_HOME");
    for (const char *const *s = l->sonames; *s; s++) {
        (void)snprintf(path, PATH_MAX, "%s/lib/%s", home && *home ? home : "/usr/local/musa", *s);
        if (access(path, R_OK) == 0 || cumu_ldcache_find(*s, first, path))
            return true;
    }
    return false;
}

static void print_lacking(const char *who, const char *path, struct name *wanted)
{
    struct name *has = NULL, *n, *found;
    unsigned lacking = 0;
    if (!path || !exports(path, &has)) {
        printf("  %-4s not here\n", who);
        return;
    }
    for (n = wanted; n; n = n->hh.next) {
        HASH_FIND_STR(has, n->text, found);
        lacking += !found;
    }
    printf("  %-4s lacks %u\n", who, lacking);
    lacking = 0;
    for (n = wanted; n; n = n->hh.next) {
        HASH_FIND_STR(has, n->text, found);
        if (!found && lacking++ < SHOWN)
            printf("       %s\n", n->text);
    }
    if (lacking > SHOWN)
        printf("       and %u more\n", lacking - SHOWN);
    drop(&has);
}

void cumu_coverage_below(void)
{
    const struct cumu_library *libraries = cumu_tool_symbol("cumu_libraries");
    const struct cumu_mu_symbol *mu = cumu_tool_symbol("cumu_mu_symbols");
    const uint32_t *nmu = cumu_tool_symbol("cumu_mu_count");
    char path[PATH_MAX];
    if (!libraries || !mu || !nmu)
        return;
    for (unsigned k = 0; libraries[k].name; k++) {
        struct name *wanted = NULL;
        for (const struct cumu_table *const *t = cumu_tool_tables(); *t; t++)
            for (uint32_t i = 0; i < (*t)->count; i++) {
                const struct cumu_symbol *s = &(*t)->symbols[i];
                if ((s->verb == CUMU_JUMP || s->verb == CUMU_CONV) && s->library == k && s->target)
                    add(&wanted, s->target);
            }
        for (uint32_t i = 0; i < *nmu; i++)
            if (mu[i].library == k)
                add(&wanted, mu[i].name);
        HASH_SORT(wanted, by_text);
        printf("\n%s: %u functions asked for\n", libraries[k].name, HASH_COUNT(wanted));
        print_lacking("host", host_library(&libraries[k], path) ? path : NULL, wanted);
        print_lacking("musa", cumu_sdk_library(&libraries[k], path) ? path : NULL, wanted);
        drop(&wanted);
    }
}
