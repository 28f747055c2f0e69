/* The audit module: leads every way to NVIDIA's runtime and driver to the facades. It lives in its own
 * link-map namespace, loaded by LD_AUDIT, without a C library of its own (libc.c): a second one would
 * cost each process 0.16 ms. It shares nothing with the core; `cumu check` links its readers. */
#ifndef CUMU_AUDIT_H
#define CUMU_AUDIT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUDIT_PATH = 4096 };

/* Generated (runtimes.c): the facades, newest of a library first. */
struct audit_facade {
    const char *soname;
    int version;     /* toolkit */
    int unsupported; /* what its functions answer that cumu does not have */
};
extern const struct audit_facade audit_facades[]; /* ends with NULL */

/* Generated from mapping/static: where a release of libcudart_static.a has its functions. Offsets count
 * from the start of its text, which linkers keep in one piece. */
struct audit_row {
    uint64_t digest; /* of the function's first bytes (digest.h) */
    uint32_t offset, mask;
    uint32_t name; /* offset in audit_names */
};
struct audit_release {
    const char *name; /* "13.0.96" */
    const struct audit_row *rows;
    uint64_t digest; /* of the bytes at `anchor`, which occur once at a multiple of 16 */
    uint32_t anchor, count;
    int version; /* toolkit */
};
extern const char audit_names[];
extern const struct audit_release audit_releases[];
extern const unsigned audit_release_count;

/* elf.c: an ELF file mapped for reading. Every offset in it is checked. */
struct audit_elf {
    const uint8_t *data;
    size_t size;
};
int audit_elf_open(struct audit_elf *e, const char *path); /* 0, or -1: no ELF file of this machine */
void audit_elf_close(struct audit_elf *e);
/* Functions of the symbol table of this section type, defined or undefined (imports), by name. Returns 1
 * as soon as `each` does, else 0. */
typedef int audit_symbol(void *ctx, const char *name, uint64_t value, uint64_t size);
int audit_elf_functions(const struct audit_elf *e, uint32_t section_type, bool defined, audit_symbol *each, void *ctx);
bool audit_elf_section(const struct audit_elf *e, const char *name);
/* Program header number i, NULL past the last; and the bytes in the file that it maps, NULL if they are
 * not all there. */
const ElfW(Phdr) * audit_elf_segment(const struct audit_elf *e, unsigned i);
const void *audit_elf_at(const struct audit_elf *e, uint64_t address, uint64_t size); /* the same by address */
const uint8_t *audit_elf_bytes(const struct audit_elf *e, const ElfW(Phdr) * segment);

/* runtime.c: a CUDA runtime linked into an object. */
struct audit_runtime {
    int version;                         /* toolkit; 0: none */
    const struct audit_release *release; /* NULL: its names stand in the symbol table */
    uint64_t base;                       /* address in the object that offsets of the release count from */
};
struct audit_runtime audit_runtime_find(const struct audit_elf *e);
const struct audit_release *audit_runtime_release(const struct audit_elf *e); /* NULL: none that is known */
int audit_runtime_functions(const struct audit_elf *e, const struct audit_runtime *r, audit_symbol *each, void *ctx);
/* Device code, or the runtime's storage, in an object that registers with no shared runtime, nor by trampolines to
 * one: one is linked in, found or not. */
bool audit_runtime_expected(const struct audit_elf *e);

/* torch.c. Generated (torch_boundary.c), each ending with NULL: the facades of PyTorch's CUDA libraries, and what
 * their extensions import that is renamed. */
extern const char *const audit_torch_facades[], *const audit_torch_boundary[];
/* Does this object ask for one of those libraries in a process whose PyTorch came without it? `first` heads the
 * list of loaded objects. */
bool audit_torch_wanted(const char *name, const struct link_map *asker, const struct link_map *first);
/* Renames the imports of a CUDA extension, before it is relocated. False: it is none. */
bool audit_torch_rename(const struct link_map *m);

/* redirect.c: the facade (a row of audit_facades) that stands for a name given to the loader: a soname, a
 * path, with all digits of the version or none. -1: none does. `loaded` tells whether a facade is in the
 * process already, for names without a version. */
int audit_facade_for(const char *name, bool (*loaded)(int facade));
/* The row of this library's facade ("libcudart") for a toolkit; -1: none. */
int audit_facade_of(const char *library, int version);

/* redirect.c: is the name, which has no version, one that functions of this library have ("nccl...")? */
bool audit_name_of(const char *soname, const char *name);

/* unknown.c. Does the object need the facade, by whatever name? Then its imports that the facade lacks are noted. */
enum { AUDIT_STUBS = 512, AUDIT_STUB_SIZE = 16 }; /* stubs.S has the same numbers */
bool audit_needs(const struct link_map *m, const char *soname, int facade, bool (*loaded)(int facade));
void audit_unknown_look(const struct link_map *m, const struct link_map *facade, const struct audit_facade *f);
/* All objects are there: what none of them has gets a stub. */
void audit_unknown_settle(const struct link_map *first);
void audit_unknown_forget(const struct link_map *m); /* it goes away */

/* audit.c: one line, unless the user wants none. */
void audit_say(const char *path, const char *name, const char *of, const char *what, const char *more);
/* pages.c: opens what lies in an object's memory for reading, or fails; closes it as it was. */
struct audit_pages {
    uintptr_t from;
    size_t size;
    int after;
};
bool audit_pages_open(struct audit_pages *p, const struct link_map *m, const void *at, size_t size);
void audit_pages_close(const struct audit_pages *p);

/* libc.c: can this word be written? It may be changed by the question. */
bool audit_writable(void *word);

/* patch.c: makes functions of a loaded object jump to the facade, which is opened by the first call. */
struct audit_target {
    const char *path;                /* of the facade */
    void *(*open)(const char *path); /* in the program's namespace; NULL on failure */
    void *(*symbol)(void *handle, const char *name);
};
typedef int audit_walk(void *what, audit_symbol *each, void *ctx);
/* `walk` lists the object's functions; those that the file has no code for are left alone. Returns how many
 * were patched; 0 with *why set when it cannot be done. */
unsigned audit_patch(const struct audit_elf *e, uintptr_t base, audit_walk *walk, void *what,
                     const struct audit_target *target, const char **why);

#endif
