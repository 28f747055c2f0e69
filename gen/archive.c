/* `gen runtime`: what mapping/static keeps of a libcudart_static.a. Only names, offsets and digests leave
 * the archive, none of its code. */
#include "gen/runtimes.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/digest.h"

enum {
    LEAST = 5,     /* what a patch overwrites */
    BEFORE = 4,    /* a linker that relaxes an access rewrites so many bytes before the relocation, */
    AFTER = 4,     /* and so many from it on, */
    AFTER_TLS = 12 /* more for an access to thread-local data */
};

struct text { /* .text of the one object, and which of its bytes a linker may change */
    const uint8_t *bytes;
    uint8_t *changes;
    size_t size, index; /* section number */
};

static void mark(struct text *t, Elf_Data *data, size_t count)
{
    GElf_Rela r;
    for (size_t i = 0; i < count; i++)
        if (gelf_getrela(data, (int)i, &r)) {
            uint64_t type = GELF_R_TYPE(r.r_info), end = r.r_offset + AFTER;
            if (type == R_X86_64_TLSGD || type == R_X86_64_TLSLD)
                end = r.r_offset + AFTER_TLS;
            for (uint64_t b = r.r_offset < BEFORE ? 0 : r.r_offset - BEFORE; b < end && b < t->size; b++)
                t->changes[b] = 1;
        }
}

static bool read_text(struct arena *a, Elf *elf, struct text *t)
{
    GElf_Shdr h;
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        Elf_Data *d = name && !strcmp(name, ".text") ? elf_getdata(s, NULL) : NULL;
        if (d && d->d_buf)
            *t = (struct text){d->d_buf, arena_alloc(a, d->d_size), d->d_size, elf_ndxscn(s)};
    }
    for (Elf_Scn *s = NULL; t->bytes && (s = elf_nextscn(elf, s));)
        if (gelf_getshdr(s, &h) && h.sh_type == SHT_RELA && h.sh_info == t->index && h.sh_entsize)
            mark(t, elf_getdata(s, NULL), h.sh_size / h.sh_entsize);
    return t->bytes != NULL;
}

static uint32_t steady(const struct text *t, uint64_t from, uint64_t size)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < AUDIT_COVER && i < size && from + i < t->size; i++)
        mask |= (uint32_t)!t->changes[from + i] << i;
    return mask;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct runtime_row *)a)->name, ((const struct runtime_row *)b)->name);
}

static void read_functions(struct arena *a, Elf *elf, const struct text *t, struct runtime *r)
{
    GElf_Shdr h;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        Elf_Data *d = gelf_getshdr(s, &h) && h.sh_type == SHT_SYMTAB ? elf_getdata(s, NULL) : NULL;
        for (size_t i = 1; d && h.sh_entsize && i < h.sh_size / h.sh_entsize; i++) {
            GElf_Sym y;
            const char *name = gelf_getsym(d, (int)i, &y) ? elf_strptr(elf, h.sh_link, y.st_name) : NULL;
            if (!name || GELF_ST_TYPE(y.st_info) != STT_FUNC || y.st_shndx != t->index || y.st_size < LEAST ||
                (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)) || strncmp(name, "__cudart", 8) == 0)
                continue; /* CUDA 11's own insides are called __cudart123 */
            uint32_t mask = steady(t, y.st_value, y.st_size);
            *ARENA_PUSH(a, &r->rows) = (struct runtime_row){
                arena_copy(a, name, strlen(name)), audit_digest(t->bytes + y.st_value, mask), y.st_value, mask};
        }
    }
    if (r->rows.count)
        qsort(r->rows.at, r->rows.count, sizeof *r->rows.at, by_name);
}

/* The first aligned place whose 8 steady bytes stand at no other aligned place. */
static bool find_anchor(const struct text *t, struct runtime *r)
{
    for (size_t at = 0; at + AUDIT_ANCHOR <= t->size; at += AUDIT_ALIGN) {
        bool once = steady(t, at, AUDIT_ANCHOR) == (1u << AUDIT_ANCHOR) - 1;
        for (size_t b = 0; once && b + AUDIT_ANCHOR <= t->size; b += AUDIT_ALIGN)
            once = b == at || memcmp(t->bytes + at, t->bytes + b, AUDIT_ANCHOR) != 0;
        if (once) {
            r->anchor = (unsigned)at;
            r->digest = audit_anchor(t->bytes + at);
            return true;
        }
    }
    return false;
}

bool make_runtime(struct arena *a, struct errors *e, const char *release, const char *archive, FILE *out)
{
    struct runtime r = {.release = release, .version = (unsigned)strtoul(release, NULL, 10)};
    struct place at = {archive, 0};
    int fd = elf_version(EV_CURRENT) == EV_NONE ? -1 : open(archive, O_RDONLY | O_CLOEXEC);
    Elf *ar = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL), *elf = NULL;
    for (Elf_Cmd next = ELF_C_READ; ar && (elf = elf_begin(fd, next, ar)); next = elf_next(elf), elf_end(elf)) {
        struct text t = {0};
        if (elf_kind(elf) == ELF_K_ELF && !r.rows.count && read_text(a, elf, &t)) {
            read_functions(a, elf, &t, &r);
            if (r.rows.count && !find_anchor(&t, &r))
                error_at(e, at, "-", "no bytes that occur once; expected some in so much text");
        }
    }
    elf_end(ar);
    if (fd >= 0)
        close(fd);
    if (!r.rows.count)
        error_at(e, at, "-", "no functions of the runtime; expected a libcudart_static.a");
    if (e->count)
        return false;
    fprintf(out,
            "# Where libcudart_static.a of this release has its functions: SYMBOL OFFSET MASK DIGEST.\n"
            "# Made by scripts/static-runtime; see gen/README.md.\nrelease %s %u %x %016llx\n",
            release, r.version, r.anchor, (unsigned long long)r.digest);
    for (unsigned i = 0; i < r.rows.count; i++)
        fprintf(out, "%s %llx %08llx %016llx\n", r.rows.at[i].name, (unsigned long long)r.rows.at[i].offset,
                (unsigned long long)r.rows.at[i].mask, (unsigned long long)r.rows.at[i].digest);
    return true;
}
