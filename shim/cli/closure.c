/* Reads an ELF closure, searching as ld.so(8) does: DT_RPATH of the object and its
 * loaders, LD_LIBRARY_PATH, DT_RUNPATH, ld.so.cache, the default folders; then the folders of Python packages. */
#include "audit/audit.h"
#include "cli/closure.h"
#include "core/ldcache.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OBJECTS = 4096, MAX_TLS = 64 << 20 };

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
enum { MACHINE_HERE = EM_AARCH64 };
#else
#define MULTIARCH "x86_64-linux-gnu"
enum { MACHINE_HERE = EM_X86_64 };
#endif
static const char default_dirs[] = "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib";

static bool push(char ***list, const char *s)
{
    size_t n = 0;
    while (*list && (*list)[n])
        n++;
    char **grown = realloc(*list, (n + 2) * sizeof **list);
    if (!grown)
        return false;
    *list = grown;
    grown[n] = strdup(s);
    grown[n + 1] = NULL;
    return grown[n] != NULL;
}

static bool set(char **field, const char *s)
{
    free(*field);
    *field = strdup(s);
    return *field != NULL;
}

static bool read_entry(struct cumu_object *o, int64_t tag, const char *s)
{
    return tag == DT_NEEDED ? push(&o->needed, s) : tag == DT_RPATH ? set(&o->rpath, s) : set(&o->runpath, s);
}

static uint64_t dynamic_value(const ElfW(Dyn) * d, size_t n, int64_t tag)
{
    for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == tag)
            return d[i].d_un.d_val;
    return 0;
}

static bool read_dynamic(struct cumu_object *o, const struct audit_elf *e, const ElfW(Dyn) * d, size_t n)
{
    uint64_t size = dynamic_value(d, n, DT_STRSZ);
    const char *text = audit_elf_at(e, dynamic_value(d, n, DT_STRTAB), size);
    bool good = true;
    if (!text || !size || text[size - 1])
        return true;
    for (size_t i = 0; i < n && good && d[i].d_tag != DT_NULL; i++)
        if ((d[i].d_tag == DT_NEEDED || d[i].d_tag == DT_RPATH || d[i].d_tag == DT_RUNPATH) && d[i].d_un.d_val < size)
            good = read_entry(o, d[i].d_tag, text + d[i].d_un.d_val);
    return good;
}

static bool read_object(struct cumu_object *o)
{
    struct audit_elf e;
    const ElfW(Phdr) * p;
    bool good = true, fixed = false;
    size_t tls = 0;
    if (audit_elf_open(&e, o->path))
        return true;
    for (unsigned i = 0; (p = audit_elf_segment(&e, i)) && good; i++) {
        const void *bytes = p->p_type == PT_DYNAMIC ? audit_elf_bytes(&e, p) : NULL;
        const size_t n = p->p_filesz / sizeof(ElfW(Dyn));
        if (p->p_type == PT_TLS && p->p_memsz < MAX_TLS && p->p_align < MAX_TLS)
            tls = p->p_memsz + p->p_align;
        if (bytes && p->p_offset % 8 == 0) {
            good = read_dynamic(o, &e, bytes, n);
            fixed = dynamic_value(bytes, n, DT_FLAGS) & DF_STATIC_TLS;
        }
    }
    o->static_tls = fixed ? tls : 0;
    audit_elf_close(&e);
    return good;
}

/* Does the file suit this machine? ld.so skips others on its search path, and so do we. */
static bool suits(const char *path)
{
    unsigned char ident[20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = read(fd, ident, sizeof ident) == (ssize_t)sizeof ident && memcmp(ident, ELFMAG, SELFMAG) == 0 &&
                ident[EI_CLASS] == ELFCLASS64 && (ident[18] | ident[19] << 8) == MACHINE_HERE;
    (void)close(fd);
    return good;
}

/* Puts `dir/soname` into out with $ORIGIN, $LIB and $PLATFORM expanded; false if it does not fit. */
static bool expand(char *out, size_t size, const char *dir, size_t len, const char *origin, const char *soname)
{
    static const struct {
        const char *name, *value; /* NULL = $ORIGIN */
    } tokens[] = {{"{ORIGIN}", NULL},        {"ORIGIN", NULL},         {"{LIB}", "lib/" MULTIARCH},
                  {"LIB", "lib/" MULTIARCH}, {"{PLATFORM}", "x86_64"}, {"PLATFORM", "x86_64"}};
    size_t used = 0;
    for (size_t i = 0; i < len;) {
        const char *piece = dir + i;
        size_t n = 1, skip = 1;
        for (unsigned t = 0; dir[i] == '$' && t < sizeof tokens / sizeof *tokens; t++) {
            size_t tn = strlen(tokens[t].name);
            if (i + 1 + tn <= len && memcmp(dir + i + 1, tokens[t].name, tn) == 0) {
                piece = tokens[t].value ? tokens[t].value : origin;
                n = strlen(piece);
                skip = 1 + tn;
                break;
            }
        }
        if (used + n >= size)
            return false;
        memcpy(out + used, piece, n);
        used += n;
        i += skip;
    }
    int n = snprintf(out + used, size - used, "%s%s", used ? "/" : "", soname);
    return n > 0 && (size_t)n < size - used;
}

static bool search_list(char *out, const char *list, const char *object, const char *soname)
{
    char origin[PATH_MAX];
    (void)snprintf(origin, sizeof origin, "%s", object ? object : ".");
    char *slash = strrchr(origin, '/');
    if (slash)
        *slash = 0;
    else
        (void)snprintf(origin, sizeof origin, ".");
    for (const char *d = list; d && *d;) {
        size_t n = strcspn(d, ":;");
        if (expand(out, PATH_MAX, n ? d : ".", n ? n : 1, origin, soname) && suits(out))
            return true;
        d += n + (d[n] != 0);
    }
    return false;
}

static bool from_cache(const char *path, void *ctx)
{
    if (!suits(path))
        return false;
    (void)snprintf(ctx, PATH_MAX, "%s", path);
    return true;
}

static bool locate(const struct cumu_closure *c, unsigned user, const char *soname, const char *library_path,
                   char out[PATH_MAX])
{
    const struct cumu_object *o = &c->objects[user];
    if (strchr(soname, '/')) {
        (void)snprintf(out, PATH_MAX, "%s", soname);
        return suits(out);
    }
    /* DT_RPATH counts for the object and for those that loaded it, unless the object has DT_RUNPATH. */
    for (unsigned i = user; !o->runpath; i = c->objects[i].parent) {
        const struct cumu_object *r = &c->objects[i];
        if (r->rpath && !r->runpath && search_list(out, r->rpath, r->path, soname))
            return true;
        if (i == 0)
            break;
    }
    return search_list(out, library_path, NULL, soname) || search_list(out, o->runpath, o->path, soname) ||
           cumu_ldcache_find(soname, from_cache, out) || search_list(out, default_dirs, NULL, soname) ||
           (o->path && cumu_neighbour_find(out, o->path, soname, suits));
}

const struct cumu_object *cumu_closure_find(const struct cumu_closure *c, const char *soname)
{
    for (unsigned i = 0; i < c->count; i++)
        if (strcmp(c->objects[i].soname, soname) == 0)
            return &c->objects[i];
    return NULL;
}

static struct cumu_object *add(struct cumu_closure *c, const char *soname, unsigned parent)
{
    struct cumu_object *grown = realloc(c->objects, (c->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    c->objects = grown;
    struct cumu_object *o = &grown[c->count];
    *o = (struct cumu_object){.soname = strdup(soname), .parent = parent};
    if (!o->soname)
        return NULL;
    c->count++;
    return o;
}

/* What the objects from that one on need, and what those need. */
static bool follow(struct cumu_closure *c, unsigned from, const char *library_path, bool (*is_facade)(const char *))
{
    for (unsigned i = from; i < c->count; i++)
        for (unsigned k = 0; c->objects[i].needed && c->objects[i].needed[k]; k++) {
            const char *soname = c->objects[i].needed[k];
            char found[PATH_MAX];
            if (cumu_closure_find(c, soname) || c->count == MAX_OBJECTS)
                continue;
            struct cumu_object *o = add(c, soname, i);
            if (!o)
                return false;
            o->facade = is_facade && is_facade(soname);
            if (o->facade || !locate(c, i, soname, library_path, found))
                continue;
            o->path = strdup(found);
            if (!o->path || !read_object(o))
                return false;
        }
    return true;
}

bool cumu_closure_read(struct cumu_closure *c, const char *path, const char *library_path,
                       bool (*is_facade)(const char *soname))
{
    *c = (struct cumu_closure){0};
    struct cumu_object *o = add(c, path, 0);
    if (!o || !(o->path = realpath(path, NULL)))
        return o != NULL;
    return read_object(o) && follow(c, 0, library_path, is_facade);
}

bool cumu_closure_preload(struct cumu_closure *c, const char *name, const char *library_path)
{
    char found[PATH_MAX];
    if (!c->count || cumu_closure_find(c, name) || !locate(c, 0, name, library_path, found))
        return true;
    struct cumu_object *o = add(c, name, 0);
    return o && (o->path = strdup(found)) && read_object(o) && follow(c, c->count - 1, library_path, NULL);
}

void cumu_closure_free(struct cumu_closure *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        struct cumu_object *o = &c->objects[i];
        for (unsigned k = 0; o->needed && o->needed[k]; k++)
            free(o->needed[k]);
        free(o->needed);
        free(o->path);
        free(o->soname);
        free(o->rpath);
        free(o->runpath);
    }
    free(c->objects);
    *c = (struct cumu_closure){0};
}
