/* Finds a CUDA runtime that is linked into an object. With a symbol table it is found by its names. Stripped, it is
 * found by its release: libcudart_static.a is one object with one piece of text, so the functions of a release keep
 * their distances wherever they are linked. Eight bytes that each release has once (the anchor) lead to its start;
 * then the first bytes of every function must have their digests, or it is not taken for that release. The tables
 * come from mapping/static; gen/README.md says how to add one. What was measured: mapping/facts/cuda.md T2. */
#include "audit/audit.h"
#include "audit/digest.h"

#include <elf.h>
#include <string.h>

enum { TLS_PAGE = 4096 };

struct traits {
    bool runtime, properties_v2, textures;
};

/* Before 12.2 its own functions are called __cudart and a number. */
static bool is_old_local(const char *name)
{
    return strncmp(name, "__cudart", 8) == 0 && name[8] >= '0' && name[8] <= '9';
}

static int look(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct traits *t = ctx;
    (void)value, (void)size;
    if (strncmp(name, "libcudart_static_", 17) == 0 || is_old_local(name))
        t->runtime = true;
    else if (strcmp(name, "cudaGetDeviceProperties_v2") == 0)
        t->properties_v2 = true;
    else if (strcmp(name, "__cudaRegisterTexture") == 0)
        t->textures = true;
    return 0;
}

/* Is the text that starts `at` bytes into the segment that release? */
static bool verified(const struct audit_release *r, const uint8_t *segment, uint64_t size, uint64_t at)
{
    for (unsigned i = 0; i < r->count; i++) {
        const struct audit_row *row = &r->rows[i];
        uint64_t from = at + row->offset;
        if (from > size || AUDIT_COVER > size - from || audit_digest(segment + from, row->mask) != row->digest)
            return false;
    }
    return true;
}

static bool search(const uint8_t *text, const ElfW(Phdr) * segment, struct audit_runtime *found)
{
    /* A section's alignment holds for its address; that of the segment's first byte may be any. */
    uint64_t start = -segment->p_vaddr & (AUDIT_ALIGN - 1), size = segment->p_filesz;
    for (uint64_t at = start; at + AUDIT_ANCHOR <= size; at += AUDIT_ALIGN) {
        uint64_t digest = audit_anchor(text + at);
        for (unsigned i = 0; i < audit_release_count; i++) {
            const struct audit_release *r = &audit_releases[i];
            if (digest != r->digest || at < r->anchor || !verified(r, text, size, at - r->anchor))
                continue;
            *found = (struct audit_runtime){r->version, r, segment->p_vaddr + at - r->anchor};
            return true;
        }
    }
    return false;
}

struct imports {
    bool registers;
};

static int look_imports(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct imports *i = ctx;
    (void)value, (void)size;
    i->registers |= strcmp(name, "__cudaRegisterFatBinary") == 0;
    return i->registers;
}

/* Implib.so's trampolines, as XLA and TensorFlow have them for cudart: each jumps to what dlopen finds. */
static int is_trampoline(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    (void)ctx, (void)value, (void)size;
    return strcmp(name, "_cudart_tramp_resolve") == 0;
}

/* The runtime has a page of thread-local storage that is aligned to a page, which nobody else has: that
 * tells it in objects without device code of their own. */
static bool has_tls_page(const struct audit_elf *e)
{
    const ElfW(Phdr) * p;
    for (unsigned i = 0; (p = audit_elf_segment(e, i)); i++)
        if (p->p_type == PT_TLS && p->p_align >= TLS_PAGE)
            return true;
    return false;
}

bool audit_runtime_expected(const struct audit_elf *e)
{
    struct imports i = {0};
    if (!audit_elf_section(e, ".nvFatBinSegment") && !has_tls_page(e))
        return false;
    audit_elf_functions(e, SHT_DYNSYM, false, look_imports, &i);
    return !i.registers && !audit_elf_functions(e, SHT_SYMTAB, true, is_trampoline, NULL);
}

/* By its text alone, whether it has symbols or not. */
static struct audit_runtime by_text(const struct audit_elf *e)
{
    struct audit_runtime found = {0};
    const ElfW(Phdr) * p;
    for (unsigned i = 0; (p = audit_elf_segment(e, i)) && !found.version; i++) {
        const uint8_t *text = p->p_type == PT_LOAD && p->p_flags & PF_X ? audit_elf_bytes(e, p) : NULL;
        if (text)
            (void)search(text, p, &found);
    }
    return found;
}

struct audit_runtime audit_runtime_find(const struct audit_elf *e)
{
    struct audit_runtime found = {0};
    struct traits t = {0};
    audit_elf_functions(e, SHT_SYMTAB, true, look, &t);
    if (t.runtime) {
        found.version = t.properties_v2 ? 12 : t.textures ? 11 : 13;
        return found;
    }
    return has_tls_page(e) || audit_runtime_expected(e) ? by_text(e) : found;
}

const struct audit_release *audit_runtime_release(const struct audit_elf *e) { return by_text(e).release; }

int audit_runtime_functions(const struct audit_elf *e, const struct audit_runtime *r, audit_symbol *each, void *ctx)
{
    if (!r->release)
        return r->version ? audit_elf_functions(e, SHT_SYMTAB, true, each, ctx) : 0;
    for (unsigned i = 0; i < r->release->count; i++) {
        const struct audit_row *row = &r->release->rows[i];
        if (each(ctx, audit_names + row->name, r->base + row->offset, AUDIT_COVER))
            return 1;
    }
    return 0;
}
