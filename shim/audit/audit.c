/* LD_AUDIT entry points. Names given to the loader are led to the facades before it searches; a runtime that is in
 * the process all the same, linked into something or opened past the search (dlmopen of a path), is patched before
 * constructors run, so that even the registration of kernels goes to the facade. The loader's lock is held in all of
 * this. Why there are no hooks on dlopen and dlsym: mapping/facts/loader.md G3 to G5 and H1. */
#include "audit/audit.h"
#include "core/tools.h"
#include "core/wanted.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { MAX_NEW = 1024, FACADES = 128 };

/* Objects that came since the last consistent state. */
static struct link_map *fresh[MAX_NEW];
static unsigned nfresh;
static struct link_map *first; /* the program: head of the base namespace's list, there to the end */
static char dir[AUDIT_PATH];   /* folder of the facades, beside this file; ends with '/' */
static bool own_cudnn;         /* CUMU_CUDNN: programs keep the cuDNN that they bring */
static size_t home;            /* length of our folder in it */
static bool active, quiet;

extern void *__libc_stack_end; /* the loader's: argc, argv, environment */

/* The environment as the loader saw it. */
static const char *getenv_first(const char *name)
{
    size_t n = strlen(name), argc = *(size_t *)__libc_stack_end;
    char **e = (char **)__libc_stack_end + 1;
    if (argc > 1u << 20 || e[argc])
        return NULL;
    for (e += argc + 1; *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

static size_t add(char *to, size_t at, size_t size, const char *s)
{
    size_t n = strlen(s);
    if (n >= size - at)
        n = size - at - 1;
    memcpy(to + at, s, n);
    to[at + n] = 0;
    return at + n;
}

void audit_say(const char *path, const char *name, const char *of, const char *what, const char *more)
{
    static char line[AUDIT_PATH + 512];
    const char *const parts[] = {"cumu: gap: audit: ", path, ": ", name, of, what, more, "\n"};
    size_t n = 0;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        n = add(line, n, sizeof line, parts[i]);
    if (!quiet && write(2, line, n) < 0)
        quiet = true;
}

static void say(const char *path, const char *what) { audit_say(path, "", "", what, ""); }

static bool ours(const struct link_map *m) { return strncmp(m->l_name, dir, home) == 0; }

/* Dynamic entries are addresses in most objects and offsets in some (the vDSO). */
static uintptr_t dynamic(const struct link_map *m, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr;
    return 0;
}

static const char *soname(const struct link_map *m)
{
    const char *text = (const char *)dynamic(m, DT_STRTAB);
    for (const ElfW(Dyn) *d = m->l_ld; text && d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME)
            return text + d->d_un.d_val;
    return "";
}

/* Whoever has a runtime inside opens the driver by hand. This looks at memory that relocation reads
 * anyway and spares most objects the look at their file. Imports stand before what the hash table holds;
 * where it holds nothing, or there is an old one only, the file is looked at. */
static bool opens_libraries(const struct link_map *m)
{
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)dynamic(m, DT_SYMTAB);
    const char *text = (const char *)dynamic(m, DT_STRTAB);
    const uint32_t *hash = (const uint32_t *)dynamic(m, DT_GNU_HASH); /* buckets, first symbol in them, ... */
    if (!symbol || !text || !hash || hash[1] <= 1)
        return true;
    for (uint32_t i = 1; i < hash[1]; i++)
        if (symbol[i].st_shndx == SHN_UNDEF && strcmp(text + symbol[i].st_name, "dlsym") == 0)
            return true;
    return false;
}

static bool loaded(int facade)
{
    for (const struct link_map *m = first; m; m = m->l_next)
        if (ours(m) && strcmp(m->l_name + strlen(dir), audit_facades[facade].soname) == 0)
            return true;
    return false;
}

static const char *facade_path(int facade)
{
    static char paths[FACADES][AUDIT_PATH];
    if (facade < 0 || facade >= FACADES)
        return NULL;
    if (!*paths[facade])
        add(paths[facade], add(paths[facade], 0, AUDIT_PATH, dir), AUDIT_PATH, audit_facades[facade].soname);
    return paths[facade];
}

/* Facades of PyTorch's libraries are in a folder of their own: where there is a real one, it is used. */
static const char *torch_path(const char *name)
{
    static char path[AUDIT_PATH];
    size_t n = add(path, 0, home + 1, dir);
    add(path, add(path, n, AUDIT_PATH, "torch/"), AUDIT_PATH, name);
    return path;
}

/* One of them is in the process, or about to be; it never leaves. */
static bool torch_there;

static bool torch_loaded(void)
{
    for (const struct link_map *m = first; m && !torch_there; m = m->l_next)
        torch_there = ours(m) && strncmp(m->l_name + home, "torch/", 6) == 0;
    return torch_there;
}

/* Names are changed before the loader binds them. From glibc 2.41 on that is before it says that all is consistent, so
 * an extension is looked at when it comes, and those that came together when the first facade is given to one. */
static void torch_rename(const struct link_map *m)
{
    if (!ours(m) && torch_loaded())
        (void)audit_torch_rename(m);
}

static void torch_give(void)
{
    if (torch_there)
        return;
    torch_there = true;
    for (const struct link_map *m = first; m; m = m->l_next)
        torch_rename(m);
}

/* The program's own dlmopen and dlsym; this namespace has none. */
static struct {
    const char *name;
    uintptr_t address;
} program_dl[] = {{"dlmopen", 0}, {"dlsym", 0}};

static int take(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    const struct link_map *m = ctx;
    (void)size;
    for (unsigned i = 0; i < 2; i++)
        if (!program_dl[i].address && strcmp(name, program_dl[i].name) == 0)
            program_dl[i].address = m->l_addr + value;
    return program_dl[0].address && program_dl[1].address;
}

static void *program_function(unsigned i)
{
    struct audit_elf e;
    for (struct link_map *m = first; m && !program_dl[i].address; m = m->l_next)
        if ((strncmp(soname(m), "libc.so", 7) == 0 || strncmp(soname(m), "libdl.so", 8) == 0) &&
            audit_elf_open(&e, m->l_name) == 0) {
            audit_elf_functions(&e, SHT_DYNSYM, true, take, m);
            audit_elf_close(&e);
        }
    return (void *)program_dl[i].address;
}

static void *open_facade(const char *path)
{
    void *(*open)(Lmid_t, const char *, int);
    void *f = program_function(0);
    memcpy(&open, &f, sizeof open);
    void *handle = f ? open(LM_ID_BASE, path, 2 /* RTLD_NOW */) : NULL;
    if (!handle)
        say(path, "cannot be opened");
    return handle;
}

static void *symbol_of(void *handle, const char *name)
{
    void *(*symbol)(void *, const char *);
    void *f = program_function(1);
    memcpy(&symbol, &f, sizeof symbol);
    return f ? symbol(handle, name) : NULL;
}

/* Paths that were led to a facade, by facade: that of a compiler opens the program's own copy. And releases of runtimes
 * that are linked in, beside no shared one. */
static char wanted[FACADES][AUDIT_PATH];
static const char *linked_in[FACADES];

static void note_release(const struct audit_elf *e, const struct audit_runtime *found, int facade)
{
    if (facade < 0 || facade >= FACADES || linked_in[facade] || loaded(facade))
        return;
    const struct audit_release *r = found->release ? found->release : audit_runtime_release(e);
    linked_in[facade] = r ? r->name : NULL;
}

struct embedded {
    const struct audit_elf *e;
    struct audit_runtime runtime;
};

static int walk_embedded(void *what, audit_symbol *each, void *ctx)
{
    const struct embedded *x = what;
    return audit_runtime_functions(x->e, &x->runtime, each, ctx);
}

static int walk_exported(void *what, audit_symbol *each, void *ctx)
{
    return audit_elf_functions(what, SHT_DYNSYM, true, each, ctx);
}

static void patch(const struct link_map *m, const struct audit_elf *e, const char *path, int facade, audit_walk *walk,
                  void *what)
{
    const char *why;
    struct audit_target target = {facade_path(facade), open_facade, symbol_of};
    if (facade < 0)
        say(path, "is or has a CUDA runtime of a version that cumu has no facade for");
    else if (!audit_patch(e, m->l_addr, walk, what, &target, &why))
        say(path, why);
}

static void serve(const struct link_map *m)
{
    const char *path = m->l_name[0] ? m->l_name : "/proc/self/exe", *name = soname(m);
    bool runtime = strncmp(name, "libcudart", 9) == 0, driver = strncmp(name, "libcuda.so", 10) == 0;
    struct audit_elf e;
    if (ours(m) || (!runtime && !driver && !opens_libraries(m)) || audit_elf_open(&e, path))
        return;
    struct embedded x = {&e, {0}};
    if (runtime || driver)
        patch(m, &e, path, audit_facade_for(name, loaded), walk_exported, &e);
    else if ((x.runtime = audit_runtime_find(&e)).version) {
        int facade = audit_facade_of("libcudart", x.runtime.version);
        note_release(&e, &x.runtime, facade);
        patch(m, &e, path, facade, walk_embedded, &x);
    } else if (audit_runtime_expected(&e))
        say(path, "has the CUDA runtime linked in, is stripped, and its release is not known to cumu; "
                  "its CUDA calls will fail");
    audit_elf_close(&e);
}

/* Our folder, from the name that the loader was given. */
static bool find_home(const char *list)
{
    static const char self[] = "/libcumu-audit.so";
    for (const char *s = list; s && *s;) {
        size_t n = 0;
        while (s[n] && s[n] != ':')
            n++;
        home = n - (sizeof self - 2);
        if (*s == '/' && n >= sizeof self && home < sizeof dir - 16 &&
            strncmp(s + home - 1, self, sizeof self - 1) == 0) {
            memcpy(dir, s, home);
            memcpy(dir + home, "facade/", 8);
            return true;
        }
        s += n + (s[n] != 0);
    }
    return false;
}

/* The path that the kernel was given for this program; behind the environment's end are the auxiliary values. */
static const char *started_as(char **environment)
{
    while (*environment)
        environment++;
    for (const ElfW(auxv_t) *a = (const void *)(environment + 1); a->a_type != AT_NULL; a++)
        if (a->a_type == AT_EXECFN)
            return (const char *)a->a_un.a_val;
    return "";
}

/* A program that cumu has its own of (ptxas, nvidia-smi) makes room for that one before anything of it runs, whoever
 * started it and from wherever it lies. It is told by argv[0] where it lay. A program without a dynamic loader does not
 * come here, nor one that is not there: nodes/exec.c. */
static void become_own_tool(void)
{
    static char path[AUDIT_PATH], tool[AUDIT_PATH];
    const char *wish = getenv_first("CUMU_TOOLS");
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *name = n > 0 ? cumu_tool_named(path) : NULL;
    if (!name || strncmp(path, dir, home) == 0 || (wish && strcmp(wish, "real") == 0))
        return;
    size_t at = add(tool, add(tool, 0, home + 1, dir), sizeof tool, CUMU_TOOLS_FOLDER);
    add(tool, at, sizeof tool, name);
    char **argv = (char **)__libc_stack_end + 1, *first_word = argv[0],
         **environment = argv + *(size_t *)__libc_stack_end + 1;
    /* Ours may be a file of that name, not a link to the tool: it was started here already then. */
    if (!first_word || strcmp(started_as(environment), tool) == 0)
        return;
    argv[0] = path;
    (void)execve(tool, argv, environment);
    argv[0] = first_word; /* ours is not there: the program goes on */
}

EXPORT unsigned la_version(unsigned version)
{
    const char *on = getenv_first("CUMU"), *log = getenv_first("CUMU_LOG");
    active = on && strcmp(on, "1") == 0 && find_home(getenv_first("LD_AUDIT"));
    own_cudnn = cumu_cudnn_is_own(getenv_first("CUMU_CUDNN"), getenv_first("CUMU_BACKEND"));
    quiet = log && (strncmp(log, "off", 3) == 0 || strncmp(log, "error", 5) == 0);
    if (active)
        become_own_tool();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static int row_named(const char *soname)
{
    for (int i = 0; i < FACADES && audit_facades[i].soname; i++)
        if (strcmp(audit_facades[i].soname, soname) == 0)
            return i;
    return -1;
}

static const char *wanted_path(const char *soname)
{
    int row = row_named(soname);
    return row >= 0 && wanted[row][0] ? wanted[row] : NULL;
}

static const char *wanted_name(const char *soname)
{
    static char text[AUDIT_PATH];
    const char *path = wanted_path(soname);
    int row = row_named(soname);
    size_t n = 0;
    if (!path && (row < 0 || !linked_in[row]))
        return NULL;
    if (path) {
        n = add(text, n, sizeof text, path);
    } else {
        n = add(text, n, sizeof text, "/libcudart.so.");
        n = add(text, n, sizeof text, linked_in[row]);
    }
    add(text, n, sizeof text, "/");
    return text;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const struct link_map *asker = (const struct link_map *)*cookie;
    const char *path = NULL;
    /* Anywhere but in the facades' folder. NULL would say so, too, but glibc then looks at the errno that its last
     * open left, and searches the rest of the path only if that was ENOENT. */
    static char nowhere[] = "/no/such/folder/of/cumu";
    if (active && own_cudnn && asker && !ours(asker) && cumu_is_cudnn(name))
        return flag == LA_SER_LIBPATH && strncmp(name, dir, strlen(dir)) == 0 ? nowhere : (char *)(uintptr_t)name;
    if (!active || flag != LA_SER_ORIG || !asker)
        return (char *)(uintptr_t)name;
    if (ours(asker)) { /* a facade may want the real one */
        if (strncmp(name, CUMU_WANTED, sizeof CUMU_WANTED - 1) == 0)
            path = wanted_path(name + sizeof CUMU_WANTED - 1);
        else if (strncmp(name, CUMU_WANTED_NAME, sizeof CUMU_WANTED_NAME - 1) == 0)
            path = wanted_name(name + sizeof CUMU_WANTED_NAME - 1);
    } else if (audit_torch_wanted(name, asker, first)) {
        path = torch_path(name);
        torch_give();
    } else {
        int facade = audit_facade_for(name, loaded);
        path = facade_path(facade);
        if (path && strrchr(name, '/') && strncmp(name, dir, home) != 0) /* not the preload of a facade */
            add(wanted[facade], 0, AUDIT_PATH, name);
    }
    return (char *)(uintptr_t)(path ? path : name);
}

/* Facades that are in the process, by row. */
static const struct link_map *here[FACADES];

static int row_of(const struct link_map *m) { return row_named(m->l_name + strlen(dir)); }

static void look_at(const struct link_map *m, int row)
{
    if (audit_needs(m, audit_facades[row].soname, row, loaded))
        audit_unknown_look(m, here[row], &audit_facades[row]);
}

/* An object and the facade that it needs meet here, whichever comes later. */
static void look_for_unknown(const struct link_map *m)
{
    int row = strncmp(m->l_name, dir, strlen(dir)) == 0 ? row_of(m) : -1;
    if (row >= 0) {
        here[row] = m;
        for (const struct link_map *other = first; other; other = other->l_next)
            if (!ours(other))
                look_at(other, row);
    } else if (!ours(m)) {
        for (int i = 0; i < FACADES; i++)
            if (here[i])
                look_at(m, i);
    }
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    if (active && namespace == LM_ID_BASE && !first)
        first = map;
    if (active && nfresh < MAX_NEW)
        fresh[nfresh++] = map;
    if (active)
        torch_rename(map);
    if (active && namespace == LM_ID_BASE)
        look_for_unknown(map);
    return 0; /* no binding is of interest, so calls cost nothing */
}

EXPORT void la_activity(uintptr_t *cookie, unsigned state)
{
    (void)cookie;
    if (!active || state != LA_ACT_CONSISTENT)
        return;
    for (unsigned i = 0; i < nfresh; i++) {
        torch_rename(fresh[i]);
        serve(fresh[i]);
    }
    nfresh = 0;
    audit_unknown_settle(first);
}

/* A map may go away before the list is served, when an open fails half-way. */
EXPORT unsigned la_objclose(uintptr_t *cookie)
{
    for (unsigned i = 0; i < nfresh; i++)
        if ((uintptr_t)fresh[i] == *cookie)
            fresh[i] = fresh[--nfresh];
    for (int i = 0; i < FACADES; i++)
        if ((uintptr_t)here[i] == *cookie)
            here[i] = NULL;
    audit_unknown_forget((const struct link_map *)*cookie);
    return 0;
}
