/* CUDA extensions of PyTorch. A PyTorch without CUDA lacks the libraries that they ask for: the facades are given.
 * What they register kernels with is PyTorch's own, and only the extension's
 * calls are to be changed: its imports get another name, which the facades export, before the loader binds them. */
#include "audit/audit.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_facade(const char *name)
{
    for (unsigned i = 0; audit_torch_facades[i]; i++)
        if (strcmp(name, audit_torch_facades[i]) == 0)
            return true;
    return false;
}

/* PyTorch's own libraries ask for what they were built with. */
static bool is_torch(const struct link_map *m)
{
    const char *name = base_name(m->l_name);
    return strncmp(name, "libtorch", 8) == 0 || strncmp(name, "libc10", 6) == 0;
}

/* A PyTorch with CUDA has these libraries beside libtorch_cpu. */
static bool beside(const struct link_map *m, const char *name)
{
    char path[AUDIT_PATH];
    size_t n = (size_t)(base_name(m->l_name) - m->l_name), size = strlen(name) + 1;
    if (n + size > sizeof path)
        return true;
    memcpy(path, m->l_name, n);
    memcpy(path + n, name, size);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
}

bool audit_torch_wanted(const char *name, const struct link_map *asker, const struct link_map *first)
{
    if (!is_facade(name) || is_torch(asker))
        return false;
    for (const struct link_map *m = first; m; m = m->l_next)
        if (strncmp(base_name(m->l_name), "libtorch_cpu.so", 15) == 0)
            return !beside(m, name);
    return false;
}

struct tables {
    char *text;
    const ElfW(Sym) * symbol;
    const uint32_t *hash;
    size_t size; /* of text */
    bool needs;  /* a facade */
};

/* Dynamic entries are addresses once the loader has seen the object, as it has here. */
static struct tables read_tables(const struct link_map *m)
{
    struct tables t = {0};
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB)
            t.text = (char *)at;
        else if (d->d_tag == DT_SYMTAB)
            t.symbol = (const ElfW(Sym) *)at;
        else if (d->d_tag == DT_GNU_HASH)
            t.hash = (const uint32_t *)at;
        else if (d->d_tag == DT_STRSZ)
            t.size = d->d_un.d_val;
    }
    for (const ElfW(Dyn) *d = m->l_ld; t.text && d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && is_facade(t.text + d->d_un.d_val))
            t.needs = true;
    return t;
}

static bool is_boundary(const char *name)
{
    if (name[0] == '\0' || (name[1] != 'Z' && name[1] != 'y')) /* of C++, or Python's */
        return false;
    for (unsigned i = 0; audit_torch_boundary[i]; i++)
        if (strcmp(name, audit_torch_boundary[i]) == 0)
            return true;
    return false;
}

bool audit_torch_rename(const struct link_map *m)
{
    struct tables t = read_tables(m);
    /* Imports stand before what the hash table holds. */
    if (!t.needs || !t.symbol || !t.hash || is_torch(m))
        return false;
    struct audit_pages pages;
    bool open = false;
    for (uint32_t i = 1; i < t.hash[1]; i++) {
        char *name = t.text + t.symbol[i].st_name;
        if (t.symbol[i].st_shndx != SHN_UNDEF || !is_boundary(name))
            continue;
        if (!open && !audit_pages_open(&pages, m, t.text, t.size))
            return true;
        open = true;
        name[1] = 'Y';
    }
    if (open)
        audit_pages_close(&pages);
    return true;
}
