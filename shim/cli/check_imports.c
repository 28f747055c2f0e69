/* cumu check: which CUDA symbols a file imports, from which library, and how the runtime is linked. */
#include "audit/audit.h"
#include "cli/cli.h"
#include "cli/report.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA's libraries by the start of their soname. Kept ones need no GPU and stay the program's own;
 * the others have to be replaced whole. */
static const struct {
    const char *start;
    bool kept;
} nvidia[] = {{"libnvrtc", true},        {"libnvJitLink", true},  {"libnvvm", true},       {"libnvToolsExt", true},
              {"libnvtx3interop", true}, {"libcudart.so", false}, {"libcuda.so", false},   {"libcublas", false},
              {"libnvblas", false},      {"libcufft", false},     {"libcurand", false},    {"libcusolver", false},
              {"libcusparse", false},    {"libcudnn", false},     {"libnccl", false},      {"libnvidia-ml", false},
              {"libcupti", false},       {"libnpp", false},       {"libnvjpeg", false},    {"libcufile", false},
              {"libcutensor", false},    {"libnvshmem", false},   {"libnvcuvid", false},   {"libnvidia-encode", false},
              {"libcudss", false},       {"libnvinfer", false},   {"libcustatevec", false}};

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static int vendor_library(const char *soname)
{
    for (unsigned k = 0; k < sizeof nvidia / sizeof *nvidia; k++)
        if (starts(soname, nvidia[k].start))
            return (int)k;
    return -1;
}

bool check_is_vendors(const char *soname) { return vendor_library(soname) >= 0; }

void check_libraries(struct check_report *r, const struct cumu_closure *c)
{
    for (unsigned i = 1; i < c->count; i++) {
        const struct cumu_object *o = &c->objects[i];
        int vendor = vendor_library(o->soname);
        bool kept = vendor >= 0 && nvidia[vendor].kept;
        if (vendor < 0 && !o->path && !o->facade)
            check_fatal(r, "needs %s, which is not found", o->soname);
        if (vendor < 0 && !o->facade)
            continue;
        struct check_library *l = check_grow(r, &r->library, &r->nlibrary, sizeof *l);
        if (!l)
            return;
        l->soname = check_keep(r, o->soname);
        l->node = "";
        l->how = o->facade ? "facade" : !o->path ? "missing" : kept ? "kept" : "own";
        r->gaps += strcmp(l->how, "own") == 0; /* loads, and does what it can without a device of NVIDIA's */
        if (strcmp(l->how, "missing") == 0)
            check_fatal(r, kept ? "needs %s, which is not found" : "needs %s, which cumu does not have", o->soname);
    }
}

static const struct cumu_table *table_of(const struct check_report *r, const char *soname)
{
    for (const struct cumu_table *const *t = r->tables; *t; t++)
        if (strcmp((*t)->soname, soname) == 0)
            return *t;
    return NULL;
}

static void add(struct check_report *r, const char *name, const char *soname, const struct cumu_symbol *entry,
                bool data)
{
    for (size_t i = 0; i < r->nsymbol; i++)
        if (strcmp(r->symbol[i].name, name) == 0 && strcmp(r->symbol[i].soname, soname) == 0)
            return;
    struct check_symbol *s = check_grow(r, &r->symbol, &r->nsymbol, sizeof *s);
    if (!s)
        return;
    s->name = entry ? entry->name : check_keep(r, name);
    s->soname = check_keep(r, soname);
    s->entry = entry;
    s->data = data;
}

static const char *section_name(Elf *elf, const GElf_Shdr *sh)
{
    size_t names;
    const char *s = elf_getshdrstrndx(elf, &names) == 0 ? elf_strptr(elf, names, sh->sh_name) : NULL;
    return s ? s : "";
}

static bool listed(const struct check_report *r, const char *soname)
{
    for (size_t i = 0; i < r->nlibrary; i++)
        if (strcmp(r->library[i].soname, soname) == 0)
            return true;
    return false;
}

/* A string that a program could hand to dlopen: the name of a library of NVIDIA's, alone. */
static void opened(struct check_report *r, const char *s, size_t room)
{
    size_t n = strnlen(s, room < 64 ? room : 64);
    const char *so = memmem(s, n, ".so", 3);
    int vendor = so && n < 64 && n < room && strspn(so + 3, ".0123456789") == n - (size_t)(so + 3 - s)
                     ? vendor_library(s)
                     : -1;
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)(n && s[n - 1] == '.' ? n - 1 : n),
                   s); /* "libcudart.so." + version */
    if (vendor < 0 || listed(r, name))
        return;
    struct check_library *l = check_grow(r, &r->library, &r->nlibrary, sizeof *l);
    if (!l)
        return;
    l->soname = check_keep(r, name);
    l->node = "";
    l->how = cumu_has_facade(name) ? "facade" : nvidia[vendor].kept ? "kept" : "missing";
    l->opened = true;
}

void check_strings(struct check_report *r, Elf *elf)
{
    GElf_Shdr sh;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS || sh.sh_flags & SHF_EXECINSTR ||
            !(sh.sh_flags & SHF_ALLOC) || !strstr(section_name(elf, &sh), "rodata"))
            continue;
        Elf_Data *d = elf_rawdata(scn, NULL);
        const char *start = d ? d->d_buf : NULL, *last = start ? start + d->d_size : NULL;
        for (const char *s = start; s && (s = memmem(s, (size_t)(last - s), "lib", 3)); s += 3)
            if (s == start || s[-1] < ' ' || s[-1] > '~') /* before it may be a table, of no text */
                opened(r, s, (size_t)(last - s));
    }
}

struct versions { /* .gnu.version and .gnu.version_r of one file */
    Elf_Data *sym, *need;
    GElf_Shdr need_header;
};

/* Library a versioned import asks for ("libcudart.so.13") and the node; NULL for an unversioned one. */
static const char *version_file(Elf *elf, const struct versions *v, int index, const char **node)
{
    GElf_Versym want;
    if (!v->sym || !v->need || !gelf_getversym(v->sym, index, &want) || (want & 0x7fff) < 2)
        return NULL;
    GElf_Verneed n;
    for (int at = 0; gelf_getverneed(v->need, at, &n); at += (int)n.vn_next) {
        GElf_Vernaux a;
        int aux = at + (int)n.vn_aux;
        for (unsigned i = 0; i < n.vn_cnt && gelf_getvernaux(v->need, aux, &a); i++) {
            *node = elf_strptr(elf, v->need_header.sh_link, a.vna_name);
            if ((a.vna_other & 0x7fff) == (want & 0x7fff))
                return elf_strptr(elf, v->need_header.sh_link, n.vn_file);
            aux += (int)a.vna_next;
        }
        if (!n.vn_next)
            break;
    }
    return NULL;
}

static void note_node(struct check_report *r, const char *soname, const char *node)
{
    for (size_t i = 0; i < r->nlibrary && node; i++)
        if (!*r->library[i].node && strcmp(r->library[i].soname, soname) == 0)
            r->library[i].node = check_keep(r, node);
}

static int same_name(void *name, const char *other, uint64_t value, uint64_t size)
{
    (void)value, (void)size;
    return strcmp(name, other) == 0;
}

/* Does some object that is not ours export it? */
static bool exported(const struct cumu_closure *c, const char *name)
{
    bool found = false;
    struct audit_elf e;
    for (unsigned i = 0; i < c->count && !found; i++)
        if (!c->objects[i].facade && c->objects[i].path && audit_elf_open(&e, c->objects[i].path) == 0) {
            found = audit_elf_functions(&e, SHT_DYNSYM, true, same_name, (void *)(uintptr_t)name);
            audit_elf_close(&e);
        }
    return found;
}

/* One import: of the library that its version names, of the facade that has it, or, by how it begins, of the facade
 * that would have it if cumu knew it. */
static void import(struct check_report *r, const struct cumu_closure *c, const char *name, const char *file,
                   const char *node, const GElf_Sym *symbol)
{
    bool weak = GELF_ST_BIND(symbol->st_info) == STB_WEAK;
    bool data = GELF_ST_TYPE(symbol->st_info) == STT_OBJECT || GELF_ST_TYPE(symbol->st_info) == STT_TLS;
    const struct cumu_table *t = file ? table_of(r, file) : NULL;
    const char *newer = NULL;
    if (file) {
        note_node(r, file, node);
        const struct cumu_symbol *s = t ? cumu_table_find(t, name) : NULL;
        if (s || (t && !weak))
            add(r, name, file, s, data);
        return;
    }
    for (unsigned i = 1; i < c->count; i++) {
        const char *soname = c->objects[i].soname;
        t = c->objects[i].facade ? table_of(r, soname) : NULL;
        const struct cumu_symbol *s = t ? cumu_table_find(t, name) : NULL;
        if (s) {
            add(r, name, soname, s, data);
            return;
        }
        if (t && audit_name_of(soname, name))
            newer = soname;
    }
    if (newer && !weak && !exported(c, name))
        add(r, name, newer, NULL, data);
}

struct runtime_signs {
    bool imports, registers; /* the runtime's symbols; fat binaries for it */
};

static void dynamic_symbols(struct check_report *r, const struct cumu_closure *c, Elf *elf, Elf_Scn *scn,
                            const GElf_Shdr *sh, const struct versions *v, struct runtime_signs *signs)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    int n = data && sh->sh_entsize ? (int)(sh->sh_size / sh->sh_entsize) : 0;
    for (int i = 1; i < n; i++) {
        GElf_Sym s;
        if (!gelf_getsym(data, i, &s) || s.st_shndx != SHN_UNDEF)
            continue;
        const char *name = elf_strptr(elf, sh->sh_link, s.st_name);
        if (!name || !*name)
            continue;
        const char *node = NULL, *file = version_file(elf, v, i, &node);
        signs->imports |= starts(name, "__cudaRegister") || strcmp(name, "cudaMalloc") == 0 ||
                          (file && starts(file, "libcudart.so"));
        import(r, c, name, file, node, &s);
    }
}

void check_imports(struct check_report *r, const struct cumu_closure *c, const char *path, const char *name, Elf *elf)
{
    struct versions v = {0};
    struct runtime_signs signs = {0};
    GElf_Shdr sh;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
        if (gelf_getshdr(s, &sh)) {
            if (sh.sh_type == SHT_GNU_versym)
                v.sym = elf_getdata(s, NULL);
            if (sh.sh_type == SHT_GNU_verneed) {
                v.need = elf_getdata(s, NULL);
                v.need_header = sh;
            }
            signs.registers |= strcmp(section_name(elf, &sh), ".nvFatBinSegment") == 0;
        }
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
        if (gelf_getshdr(s, &sh) && sh.sh_type == SHT_DYNSYM)
            dynamic_symbols(r, c, elf, s, &sh, &v, &signs);
    struct audit_elf file;
    struct audit_runtime embedded = {0};
    bool expected = false;
    if (audit_elf_open(&file, path) == 0) {
        embedded = audit_runtime_find(&file);
        expected = !embedded.version && audit_runtime_expected(&file);
        audit_elf_close(&file);
    }
    if (embedded.version) /* what will be patched when it runs */
        r->runtime = CHECK_STATIC_RUNTIME;
    else if (expected && !signs.imports && !signs.registers && strcmp(name, r->program) != 0) {
        r->gaps++; /* a library without kernels: the program may do without what it does with CUDA */
        if (!r->unreached)
            r->unreached = check_keep(r, name);
    } else if (expected && !signs.imports) { /* fat binaries that nobody's function registers */
        r->runtime = CHECK_STATIC_RUNTIME;
        char known[256] = "";
        for (unsigned i = audit_release_count; i--;) /* newest first */
            (void)snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "",
                           audit_releases[i].name);
        check_fatal(r,
                    "%s has the CUDA runtime linked in, is stripped, and its release is not known to cumu (known: %s)",
                    name, known);
    } else if ((signs.imports || signs.registers) && r->runtime == CHECK_NO_RUNTIME)
        r->runtime = CHECK_SHARED_RUNTIME;
}
