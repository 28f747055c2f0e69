/* Patches the entries of a CUDA runtime that is in the process: each becomes a jump to an island within
 * reach, which jumps on to the facade. The patched runtime is never initialised, so nothing that it would
 * ask of a driver is asked (mapping/facts/cuda.md T1). The facade is opened by the first call, not here: the
 * loader is in the middle of its work, and most processes never call. Islands work as a PLT does:
 *
 *     island i:   jmp *slot[i](%rip)      slot[i] first points to the next instruction
 *                 push $i
 *                 jmp common
 *     common:     push record(%rip); jmp *enter(%rip)      enter.S calls audit_patch_fill
 */
#include "audit/audit.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)

enum {
    JUMP = 5, /* e9 rel32 */
    ISLAND = 16,
    MAX = 1024,         /* functions; a runtime has about 450 that are exported, a driver 750 */
    REACH = 0x7ff00000, /* rel32, less the size of any text */
    PAGE = 4096
};

struct match {
    uint64_t at;
    const char *name;
};

/* What a patch leaves behind, for the life of the process: names point into the facade's file. */
struct patch {
    struct audit_target target;
    void *handle;
    void **slots;
    unsigned count;
    struct match match[MAX];
};

void audit_patch_enter(void); /* enter.S */
void *audit_patch_fill(struct patch *p, uint64_t i);

/* What a runtime says when there is none: cudaErrorInsufficientDriver. */
static int absent(void) { return 35; }

void *audit_patch_fill(struct patch *p, uint64_t i)
{
    int (*fallback)(void) = absent;
    void *handle = __atomic_load_n(&p->handle, __ATOMIC_ACQUIRE), *to = NULL;
    if (!handle) { /* threads that meet here open the same file */
        handle = p->target.open(p->target.path);
        __atomic_store_n(&p->handle, handle, __ATOMIC_RELEASE);
    }
    if (handle)
        to = p->target.symbol(handle, p->match[i].name);
    if (!to)
        memcpy(&to, &fallback, sizeof to);
    __atomic_store_n(&p->slots[i], to, __ATOMIC_RELEASE);
    return to;
}

/* The facade's names by hash: a runtime is looked through once for each. */
struct names {
    const char *table[4 * MAX];
    unsigned count;
};
struct search {
    const struct audit_elf *elf;
    struct names *names;
    struct patch *patch;
};

/* FNV-1a with its offset and prime. */
static unsigned hash(const char *s)
{
    unsigned h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h % (4 * MAX);
}

static int add_name(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct names *n = ctx;
    unsigned i = hash(name);
    (void)value, (void)size;
    while (n->table[i] && strcmp(n->table[i], name) != 0)
        i = (i + 1) % (4 * MAX);
    n->count += !n->table[i];
    n->table[i] = name;
    return n->count >= 2 * MAX;
}

/* A damaged symbol table may name any address: what is written to must be code that the loader has mapped. */
static bool is_code(const struct audit_elf *e, uint64_t at)
{
    const ElfW(Phdr) * p;
    for (unsigned i = 0; (p = audit_elf_segment(e, i)); i++)
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && at >= p->p_vaddr && at - p->p_vaddr < p->p_filesz &&
            p->p_filesz - (at - p->p_vaddr) >= JUMP && audit_elf_bytes(e, p))
            return true;
    return false;
}

static int add_match(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct search *s = ctx;
    /* __cudaGetProcAddress is 3 bytes: nobody calls it */
    if (size < JUMP || s->patch->count >= MAX || !is_code(s->elf, value))
        return 0;
    for (unsigned i = hash(name); s->names->table[i]; i = (i + 1) % (4 * MAX))
        if (strcmp(s->names->table[i], name) == 0) {
            s->patch->match[s->patch->count++] = (struct match){value, s->names->table[i]};
            break;
        }
    return 0;
}

/* Memory for the islands near the text; searched downwards, then upwards, in steps of 1 MiB. */
static uint8_t *near(uintptr_t text, size_t size)
{
    for (uintptr_t d = 1 << 20; d < REACH; d += 1 << 20)
        for (int up = 0; up < 2; up++) {
            uintptr_t at = (up ? text + d : text - d) & ~(uintptr_t)(PAGE - 1);
            if (!up && d > text)
                continue;
            void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                           -1, 0);
            if (p == (void *)at)
                return p;
            if (p != MAP_FAILED)
                munmap(p, size);
        }
    return NULL;
}

static void put_rel32(uint8_t *at, const uint8_t *to)
{
    int32_t distance = (int32_t)(to - (at + 4));
    memcpy(at, &distance, 4);
}

/* Islands, then the common entry with its two words; the slots follow on a page of their own. */
static void write_islands(struct patch *p, uint8_t *island)
{
    uint8_t *common = island + p->count * (size_t)ISLAND;
    void (*enter)(void) = audit_patch_enter;
    memcpy(common, "\xff\x35", 2); /* push record(%rip) */
    put_rel32(common + 2, common + 16);
    memcpy(common + 6, "\xff\x25", 2); /* jmp *enter(%rip) */
    put_rel32(common + 8, common + 24);
    memcpy(common + 16, &p, 8);
    memcpy(common + 24, &enter, 8);
    for (uint32_t i = 0; i < p->count; i++) {
        uint8_t *at = island + i * (size_t)ISLAND;
        memcpy(at, "\xff\x25", 2);
        put_rel32(at + 2, (uint8_t *)&p->slots[i]);
        at[6] = 0x68;
        memcpy(at + 7, &i, 4);
        at[11] = 0xe9;
        put_rel32(at + 12, common);
        p->slots[i] = at + 6;
    }
}

static bool redirect_text(const struct patch *p, uintptr_t base, const uint8_t *island)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (unsigned i = 0; i < p->count; i++) {
        low = p->match[i].at < low ? p->match[i].at : low;
        high = p->match[i].at > high ? p->match[i].at : high;
    }
    low = (base + low) & ~(uintptr_t)(PAGE - 1);
    high = (base + high + JUMP + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)low, high - low, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    for (unsigned i = 0; i < p->count; i++) {
        uint8_t *at = (uint8_t *)(base + p->match[i].at);
        at[0] = 0xe9;
        put_rel32(at + 1, island + i * (size_t)ISLAND);
    }
    mprotect((void *)low, high - low, PROT_READ | PROT_EXEC);
    return true;
}

static void *room(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

unsigned audit_patch(const struct audit_elf *e, uintptr_t base, audit_walk *walk, void *what,
                     const struct audit_target *target, const char **why)
{
    struct audit_elf facade = {0};
    struct names *names = room(sizeof *names);
    struct patch *p = room(sizeof *p);
    struct search search = {e, names, p};
    uint8_t *island = NULL;
    size_t code = 0, slots = 0;
    unsigned done = 0;
    *why = "there is no memory for the patch";
    if (!names || !p)
        goto out;
    *why = "the facade cannot be read";
    if (audit_elf_open(&facade, target->path))
        goto out;
    p->target = *target;
    audit_elf_functions(&facade, SHT_DYNSYM, true, add_name, names);
    walk(what, add_match, &search);
    *why = "it has no function that the facade has";
    if (!p->count)
        goto out;
    code = ((p->count + 2) * (size_t)ISLAND + PAGE - 1) & ~(size_t)(PAGE - 1);
    slots = (p->count * sizeof(void *) + PAGE - 1) & ~(size_t)(PAGE - 1);
    island = near(base + p->match[0].at, code + slots);
    *why = "there is no room near its text";
    if (!island)
        goto out;
    p->slots = (void **)(void *)(island + code);
    write_islands(p, island);
    *why = "its text cannot be made writable";
    if (mprotect(island, code, PROT_READ | PROT_EXEC) == 0 && redirect_text(p, base, island))
        done = p->count;
out:
    if (names)
        munmap(names, sizeof *names);
    if (!done) {
        if (island)
            munmap(island, code + slots);
        audit_elf_close(&facade);
        if (p)
            munmap(p, sizeof *p);
    }
    return done;
}

#else

unsigned audit_patch(const struct audit_elf *e, uintptr_t base, audit_walk *walk, void *what,
                     const struct audit_target *target, const char **why)
{
    (void)e, (void)base, (void)walk, (void)what, (void)target;
    *why = "patching is done on x86-64 only";
    return 0;
}

#endif
