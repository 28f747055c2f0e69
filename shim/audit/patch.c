/* Patches the entries of an embedded CUDA runtime: each becomes a jump to an island within reach, which
 * jumps to the facade's function. The embedded runtime is never initialised, so nothing that it would ask
 * of a driver is asked (facts/cuda.md 8.1). */
#include "audit/audit.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    JUMP = 5,          /* e9 rel32 */
    ISLAND = 16,       /* ff 25 00000000, then the address */
    TABLE = 2048,      /* slots of the name table; a runtime has about 430 names */
    REACH = 0x7ff00000 /* rel32, less the size of any text */
};

struct target { const char *name; uint64_t value; };
struct match { uint64_t at; uint64_t to; };

struct search {
    struct target table[TABLE];
    struct match found[TABLE];
    unsigned targets, matches;
};

static unsigned hash(const char *s)
{
    unsigned h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h % TABLE;
}

static int add_target(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct search *s = ctx;
    unsigned i = hash(name);
    (void)size;
    if (s->targets >= TABLE / 2)
        return 1;
    while (s->table[i].name && strcmp(s->table[i].name, name) != 0)
        i = (i + 1) % TABLE;
    s->targets += !s->table[i].name;
    s->table[i] = (struct target){name, value};
    return 0;
}

static int add_match(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct search *s = ctx;
    if (size < JUMP || s->matches >= TABLE) /* __cudaGetProcAddress is 3 bytes: nobody calls it */
        return 0;
    for (unsigned i = hash(name); s->table[i].name; i = (i + 1) % TABLE)
        if (strcmp(s->table[i].name, name) == 0) {
            s->found[s->matches++] = (struct match){value, s->table[i].value};
            break;
        }
    return 0;
}

struct traits { bool runtime, properties_v2, textures; };

static int look(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    struct traits *t = ctx;
    (void)value, (void)size;
    t->runtime |= strncmp(name, "libcudart_static_", 17) == 0;
    t->properties_v2 |= strcmp(name, "cudaGetDeviceProperties_v2") == 0;
    t->textures |= strcmp(name, "__cudaRegisterTexture") == 0;
    return 0;
}

int audit_runtime_version(const struct audit_elf *e)
{
    struct traits t = {0};
    audit_elf_functions(e, SHT_SYMTAB, look, &t);
    return !t.runtime ? 0 : t.properties_v2 ? 12 : t.textures ? 11 : 13;
}

int audit_runtime_of(const char *path)
{
    struct audit_elf e;
    if (audit_elf_open(&e, path))
        return 0;
    int version = audit_runtime_version(&e);
    audit_elf_close(&e);
    return version;
}

/* Memory for the islands near the text; searched downwards, then upwards, in steps of 1 MiB. */
static uint8_t *near(uintptr_t text, size_t size)
{
    for (uintptr_t d = 1 << 20; d < REACH; d += 1 << 20)
        for (int up = 0; up < 2; up++) {
            uintptr_t at = (up ? text + d : text - d) & ~(uintptr_t)0xfff;
            if (!up && d > text)
                continue;
            void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (p == (void *)at)
                return p;
            if (p != MAP_FAILED)
                munmap(p, size);
        }
    return NULL;
}

unsigned audit_patch(const struct audit_elf *object, uintptr_t base, const struct audit_elf *facade,
                     uintptr_t facade_base, const char **why)
{
    /* On the heap of this namespace it would be malloc's; the loader may be in any state. */
    struct search *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        *why = "out of memory";
        return 0;
    }
    unsigned done = 0;
    size_t size = 0;
    uint8_t *island = NULL;
    audit_elf_functions(facade, SHT_DYNSYM, add_target, s);
    audit_elf_functions(object, SHT_SYMTAB, add_match, s);
    *why = "it has no function that the facade has";
    if (!s->matches)
        goto out;
    uintptr_t low = UINTPTR_MAX, high = 0, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < s->matches; i++) {
        low = s->found[i].at < low ? s->found[i].at : low;
        high = s->found[i].at > high ? s->found[i].at : high;
    }
    low = (base + low) & ~(page - 1);
    high = (base + high + JUMP + page - 1) & ~(page - 1);
    size = (s->matches * (size_t)ISLAND + page - 1) & ~(page - 1);
    island = near(low, size);
    *why = "there is no room near its text";
    if (!island)
        goto out;
    for (unsigned i = 0; i < s->matches; i++) {
        uint64_t to = facade_base + s->found[i].to;
        memcpy(island + i * ISLAND, "\xff\x25\0\0\0\0", 6);
        memcpy(island + i * ISLAND + 6, &to, 8);
    }
    *why = "its text cannot be made writable";
    if (mprotect(island, size, PROT_READ | PROT_EXEC) ||
        mprotect((void *)low, high - low, PROT_READ | PROT_WRITE | PROT_EXEC))
        goto out;
    for (unsigned i = 0; i < s->matches; i++) {
        uint8_t *at = (uint8_t *)(base + s->found[i].at);
        int32_t distance = (int32_t)(island + i * ISLAND - (at + JUMP));
        at[0] = 0xe9;
        memcpy(at + 1, &distance, 4);
    }
    mprotect((void *)low, high - low, PROT_READ | PROT_EXEC);
    done = s->matches;
out:
    if (!done && island)
        munmap(island, size);
    munmap(s, sizeof *s);
    return done;
}
