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

static struct cumu_name *add(struct cumu_name **set, const char *text)
{
    struct cumu_name *n;
    HASH_FIND_STR(*set, text, n);
    if (n || !(n = calloc(1, sizeof *n)))
        return n;
    n->text = strdup(text);
    if (n->text)
        HASH_ADD_KEYPTR(hh, *set, n->text, strlen(n->text), n);
    if (n->text && hmap_added(n))
        return n;
    free(n->text);
    free(n);
    return NULL;
}

void cumu_names_free(struct cumu_name **set)
{
    struct cumu_name *n, *next;
    HASH_ITER(hh, *set, n, next)
    {
        HASH_DEL(*set, n);
        free(n->text);
        free(n);
    }
}

const struct cumu_name *cumu_names_find(const struct cumu_name *set, const char *text)
{
    const struct cumu_name *n;
    HASH_FIND_STR(set, text, n);
    return n;
}

static int by_text(const struct cumu_name *a, const struct cumu_name *b) { return strcmp(a->text, b->text); }

bool cumu_names_exported(const char *path, struct cumu_name **set)
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
            const char *text = gelf_getsym(d, i, &s) && s.st_shndx != SHN_UNDEF ? elf_strptr(elf, sh.sh_link, s.st_name)
                                                                                : NULL;
            if (text)
                (void)add(set, text);
        }
    }
    if (elf)
        (void)elf_end(elf);
    if (fd >= 0)
        (void)close(fd);
    HASH_SORT(*set, by_text);
    return elf != NULL;
}

/* ---- what is asked for, and by how many programs ------------------------------------------------- */

/* mapping/uses.tsv: a CUDA function and the number of programs that import it, one a line, "#" in front of others. */
extern const char cumu_uses_text[], cumu_uses_end[];

static unsigned programs_that_use(const char *cuda)
{
    static struct cumu_name *uses;
    const char *at = uses ? cumu_uses_end : cumu_uses_text;
    while (at < cumu_uses_end) {
        char name[128];
        const char *tab = strchr(at, '\t'), *end = strchr(at, '\n');
        struct cumu_name *n = NULL;
        if (*at != '#' && tab < end && snprintf(name, sizeof name, "%.*s", (int)(tab - at), at) > 0)
            n = add(&uses, name);
        if (n)
            n->uses = (unsigned)strtoul(tab + 1, NULL, 10);
        at = end + 1;
    }
    const struct cumu_name *n = cumu_names_find(uses, cuda);
    return n ? n->uses : 0;
}

/* The MUSA function that stands behind a wrapper: named, or CUDA's under MUSA's prefix. */
static const char *nominal(const struct cumu_symbol *s, char text[160])
{
    static const char *const prefix[][2] = {{"cuda", "musa"}, {"nccl", "mccl"}, {"cu", "mu"}};
    for (unsigned k = 0; !s->target && k < sizeof prefix / sizeof *prefix; k++)
        if (strncmp(s->name, prefix[k][0], strlen(prefix[k][0])) == 0) {
            (void)snprintf(text, 160, "%s%s", prefix[k][1], s->name + strlen(prefix[k][0]));
            return text;
        }
    return s->target ? s->target : s->name;
}

void cumu_names_wanted(unsigned library, struct cumu_name **set)
{
    const struct cumu_mu_symbol *mu = cumu_tool_symbol("cumu_mu_symbols");
    const uint32_t *nmu = cumu_tool_symbol("cumu_mu_count");
    char text[160];
    for (uint32_t i = 0; mu && nmu && i < *nmu; i++)
        if (mu[i].library == library)
            (void)add(set, mu[i].name);
    for (const struct cumu_table *const *t = cumu_tool_tables(); t && *t; t++)
        for (uint32_t i = 0; i < (*t)->count; i++) {
            const struct cumu_symbol *s = &(*t)->symbols[i];
            bool direct = s->verb == CUMU_JUMP || s->verb == CUMU_CONV;
            if (direct && s->library == library && s->target)
                (void)add(set, s->target);
        }
    /* A function is used by as many programs as use the CUDA function that most of them use. */
    for (const struct cumu_table *const *t = cumu_tool_tables(); t && *t; t++)
        for (uint32_t i = 0; i < (*t)->count; i++) {
            const struct cumu_symbol *s = &(*t)->symbols[i];
            unsigned uses = s->verb == CUMU_STUB ? 0 : programs_that_use(s->name);
            struct cumu_name *n;
            if (!uses)
                continue;
            const char *name = nominal(s, text);
            HASH_FIND_STR(*set, name, n);
            if (n && n->uses < uses)
                n->uses = uses;
        }
    HASH_SORT(*set, by_text);
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

static void print_lacking(const char *who, const char *path, struct cumu_name *wanted)
{
    struct cumu_name *has = NULL, *n;
    unsigned lacking = 0;
    if (!path || !cumu_names_exported(path, &has)) {
        printf("  %-4s not here\n", who);
        return;
    }
    for (n = wanted; n; n = n->hh.next)
        lacking += !cumu_names_find(has, n->text);
    printf("  %-4s lacks %u\n", who, lacking);
    lacking = 0;
    for (n = wanted; n; n = n->hh.next)
        if (!cumu_names_find(has, n->text) && lacking++ < SHOWN)
            printf("       %s\n", n->text);
    if (lacking > SHOWN)
        printf("       and %u more\n", lacking - SHOWN);
    cumu_names_free(&has);
}

void cumu_coverage_below(void)
{
    const struct cumu_library *libraries = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX];
    for (unsigned k = 0; libraries && libraries[k].name; k++) {
        struct cumu_name *wanted = NULL;
        cumu_names_wanted(k, &wanted);
        printf("\n%s: %u functions asked for\n", libraries[k].name, HASH_COUNT(wanted));
        print_lacking("host", host_library(&libraries[k], path) ? path : NULL, wanted);
        print_lacking("musa", cumu_sdk_library(&libraries[k], path) ? path : NULL, wanted);
        cumu_names_free(&wanted);
    }
}
