/* Functions that a program asks a facade for and the facade does not have, because they are newer than the map. With
 * -z now or RTLD_NOW one such name would end the process. Before the object is relocated its import becomes weak;
 * when all objects are there and none has it, it becomes a local symbol that lies in a stub, which answers "not
 * supported" for that library and says so at the first call. From glibc 2.41 on objects are relocated before the loader
 * says that all are there: then the stubs go into the words that the weak imports left 0. */
#include "audit/audit.h"

#include <elf.h>
#include <stdatomic.h>
#include <string.h>

enum { NAMES = 1 << 15 };

/* ---- what an object says of itself ---------------------------------------------------------------- */

struct object {
    const char *text;
    ElfW(Sym) * symbol;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *version;
    const ElfW(Verneed) * needs;
    const ElfW(Rela) * rela, *plt;
    size_t rela_size, plt_size;
};

/* Dynamic entries are addresses in most objects and offsets in some (the vDSO). */
static struct object read_object(const struct link_map *m)
{
    struct object o = {0};
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
        void *at = (void *)(d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_STRTAB: o.text = at; break;
        case DT_SYMTAB: o.symbol = at; break;
        case DT_GNU_HASH: o.gnu_hash = at; break;
        case DT_HASH: o.hash = at; break;
        case DT_VERSYM: o.version = at; break;
        case DT_VERNEED: o.needs = at; break;
        case DT_RELA: o.rela = at; break;
        case DT_JMPREL: o.plt = at; break;
        case DT_RELASZ: o.rela_size = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_PLTRELSZ: o.plt_size = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        }
    }
    if (!o.text)
        o.symbol = NULL;
    return o;
}

static bool defines(const ElfW(Sym) * s)
{
    return s->st_shndx != SHN_UNDEF && (s->st_value || s->st_shndx == SHN_ABS) &&
           ELF64_ST_BIND(s->st_info) != STB_LOCAL;
}

/* Does the object export the name? By its hash tables, as the loader asks. */
static bool exports(const struct object *o, const char *name)
{
    if (!o->symbol)
        return false;
    if (o->gnu_hash) {
        uint32_t h = 5381, buckets = o->gnu_hash[0], first = o->gnu_hash[1];
        for (const char *c = name; *c; c++)
            h = h * 33 + (unsigned char)*c;
        const uint32_t *bucket = o->gnu_hash + 4 + 2 * (size_t)o->gnu_hash[2], *chain = bucket + buckets;
        for (uint32_t i = buckets ? bucket[h % buckets] : 0; i >= first && i; i++) {
            uint32_t k = chain[i - first];
            if ((k | 1) == (h | 1) && strcmp(o->text + o->symbol[i].st_name, name) == 0 && defines(&o->symbol[i]))
                return true;
            if (k & 1)
                break;
        }
        return false;
    }
    for (uint32_t i = 1; o->hash && i < o->hash[1]; i++) /* an old table: its chains are as many as symbols */
        if (strcmp(o->text + o->symbol[i].st_name, name) == 0 && defines(&o->symbol[i]))
            return true;
    return false;
}

/* The file that a versioned import is wanted from; NULL for an unversioned one. */
static const char *wanted_from(const struct object *o, uint32_t symbol)
{
    unsigned v = o->version && o->needs ? o->version[symbol] & 0x7fffu : 0;
    const ElfW(Verneed) *n = o->needs;
    for (bool more = v > 1; more;) {
        const ElfW(Vernaux) *a = (const void *)((const char *)n + n->vn_aux);
        for (unsigned i = 0; i < n->vn_cnt; i++, a = (const void *)((const char *)a + a->vna_next))
            if ((a->vna_other & 0x7fffu) == v)
                return o->text + n->vn_file;
        more = n->vn_next != 0;
        n = (const void *)((const char *)n + n->vn_next);
    }
    return NULL;
}

/* Imports stand before what the hash table holds; where it holds nothing, relocations tell how many there are. */
static uint32_t count_imports(const struct object *o)
{
    uint32_t n = 0;
    if (o->gnu_hash && o->gnu_hash[1] > 1)
        return o->gnu_hash[1];
    for (size_t i = 0; i < o->rela_size + o->plt_size; i++) {
        const ElfW(Rela) *r = i < o->rela_size ? &o->rela[i] : &o->plt[i - o->rela_size];
        uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
        n = symbol >= n ? symbol + 1 : n;
    }
    return n;
}

/* ---- names that a facade lacks --------------------------------------------------------------------- */

static struct unknown {
    const struct link_map *importer; /* NULL: closed, or dealt with */
    const char *soname, *name, *path;
    uint32_t symbol;
    int unsupported;
    atomic_bool said;
} unknown[AUDIT_STUBS];
static unsigned count, settled;
static char names[NAMES]; /* copies: the importer's own go with it */
static size_t names_used;

static const char *keep(const char *s)
{
    size_t n = strlen(s) + 1;
    if (n > NAMES - names_used)
        return "?";
    names_used += n;
    return memcpy(names + names_used - n, s, n);
}

static void set_symbol(const struct link_map *m, ElfW(Sym) * at, ElfW(Sym) value)
{
    struct audit_pages pages;
    if (!audit_pages_open(&pages, m, at, sizeof *at))
        return;
    *at = value;
    audit_pages_close(&pages);
}

static void note_unknown(const struct link_map *m, struct object *o, uint32_t i, const struct audit_facade *f)
{
    ElfW(Sym) weak = o->symbol[i];
    if (count == AUDIT_STUBS)
        return; /* the loader names it */
    unknown[count++] = (struct unknown){.importer = m,
                                        .soname = f->soname,
                                        .name = keep(o->text + weak.st_name),
                                        .path = keep(m->l_name[0] ? m->l_name : "the program"),
                                        .symbol = i,
                                        .unsupported = f->unsupported};
    weak.st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(weak.st_info));
    set_symbol(m, &o->symbol[i], weak);
}

bool audit_needs(const struct link_map *m, const char *soname, int facade, bool (*loaded)(int facade))
{
    struct object o = read_object(m);
    for (const ElfW(Dyn) *d = m->l_ld; o.text && d && d->d_tag != DT_NULL; d++) {
        const char *name = o.text + d->d_un.d_val;
        if (d->d_tag == DT_NEEDED &&
            (strcmp(name, soname) == 0 || (strncmp(name, soname, 6) == 0 && audit_facade_for(name, loaded) == facade)))
            return true;
    }
    return false;
}

void audit_unknown_look(const struct link_map *m, const struct link_map *facade, const struct audit_facade *f)
{
    struct object o = read_object(m), has = read_object(facade);
    uint32_t n = o.symbol ? count_imports(&o) : 0;
    for (uint32_t i = 1; i < n; i++) {
        const ElfW(Sym) *s = &o.symbol[i];
        if (s->st_shndx != SHN_UNDEF || ELF64_ST_BIND(s->st_info) != STB_GLOBAL)
            continue;
        const char *name = o.text + s->st_name, *from = wanted_from(&o, i);
        if (!*name || (from ? strcmp(from, f->soname) != 0 : !audit_name_of(f->soname, name)) || exports(&has, name))
            continue;
        note_unknown(m, &o, i, f);
    }
}

/* ---- stubs ------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
extern const char audit_unknown_stubs[]; /* stubs.S: AUDIT_STUBS of them */

/* Called by a stub. */
int audit_unknown_called(unsigned i)
{
    struct unknown *u = &unknown[i];
    if (!atomic_exchange(&u->said, true))
        audit_say(u->path, u->name, " of ", u->soname,
                  " is newer than what cumu knows: this call answers \"not supported\"");
    return u->unsupported;
}

static uintptr_t stub_of(const struct unknown *u)
{
    return (uintptr_t)audit_unknown_stubs + (size_t)(u - unknown) * AUDIT_STUB_SIZE;
}

/* Words that relocation fills with the symbol's address and has left 0, or will fill. Those that are for reading
 * only have been relocated. */
static void fill_slots(const struct unknown *u, const struct object *o)
{
    for (size_t i = 0; i < o->rela_size + o->plt_size; i++) {
        const ElfW(Rela) *r = i < o->rela_size ? &o->rela[i] : &o->plt[i - o->rela_size];
        unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
        if (ELF64_R_SYM(r->r_info) != u->symbol ||
            (type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT && type != R_X86_64_64))
            continue;
        uintptr_t *word = (uintptr_t *)(u->importer->l_addr + r->r_offset);
        struct audit_pages pages;
        if (*word != (type == R_X86_64_64 ? (uintptr_t)r->r_addend : 0))
            continue;
        bool open = audit_writable(word);
        if (!open && !audit_pages_open(&pages, u->importer, word, sizeof *word))
            continue;
        *word = stub_of(u) + (type == R_X86_64_64 ? (uintptr_t)r->r_addend : 0);
        if (!open)
            audit_pages_close(&pages);
    }
}

/* The import becomes a local symbol, which the loader does not look for. */
static void give_stub(const struct unknown *u, struct object *o)
{
    ElfW(Sym) s = o->symbol[u->symbol];
    s.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
    s.st_other = STV_HIDDEN;
    s.st_shndx = 1; /* any section: its address counts from the object's */
    s.st_value = stub_of(u) - u->importer->l_addr;
    set_symbol(u->importer, &o->symbol[u->symbol], s);
    fill_slots(u, o);
}
#else
static void give_stub(const struct unknown *u, struct object *o) { (void)u, (void)o; }
#endif

void audit_unknown_settle(const struct link_map *first)
{
    for (; settled < count; settled++) {
        struct unknown *u = &unknown[settled];
        bool had = false;
        if (!u->importer)
            continue;
        struct object o = read_object(u->importer);
        for (const struct link_map *m = first; m && !had; m = m->l_next) {
            struct object other = read_object(m);
            had = exports(&other, u->name);
        }
        ElfW(Sym) s = o.symbol[u->symbol];
        unsigned type = ELF64_ST_TYPE(s.st_info);
        if (!had && type != STT_OBJECT && type != STT_TLS) {
            give_stub(u, &o);
        } else { /* as it was */
            s.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
            set_symbol(u->importer, &o.symbol[u->symbol], s);
            if (!had)
                audit_say(u->path, u->name, " of ", u->soname,
                          " is data that cumu does not have, and no stub can stand for it");
        }
        u->importer = NULL;
    }
}

void audit_unknown_forget(const struct link_map *m)
{
    for (unsigned i = settled; i < count; i++)
        if (unknown[i].importer == m)
            unknown[i].importer = NULL;
}
