/* Scoped names: one hash table, newest declaration first, so that leaving a scope is popping. */
#include "ptx/front/lex.h"

#include <string.h>

/* FNV-1a with its offset and prime; the upper bits are folded in, as tables take the lower ones. */
uint32_t ptx_hash(const char *s, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

void ptx_symtab_start(struct ptx_symtab *t, struct ptx_ctx *c)
{
    *t = (struct ptx_symtab){.ctx = c, .nbucket = 64};
    t->bucket = PTX_NEW(c, struct ptx_sym *, t->nbucket);
}

/* From here on in a bucket: the name, or the range of that name. */
static struct ptx_sym *next_named(struct ptx_sym *e, const char *s, size_t len, uint32_t hash, bool range)
{
    while (e && !(e->hash == hash && e->len == len && e->range == range && !memcmp(e->s, s, len)))
        e = e->next;
    return e;
}

static struct ptx_sym *find(const struct ptx_symtab *t, const char *s, size_t len, uint32_t hash, bool range)
{
    return next_named(t->bucket[hash & (t->nbucket - 1)], s, len, hash, range);
}

struct ptx_sym *ptx_sym_find(const struct ptx_symtab *t, const char *s, size_t len)
{
    return find(t, s, len, ptx_hash(s, len), false);
}

struct ptx_sym *ptx_sym_find_range(const struct ptx_symtab *t, const char *s, size_t len)
{
    return find(t, s, len, ptx_hash(s, len), true);
}

struct ptx_sym *ptx_sym_hidden(const struct ptx_sym *e) { return next_named(e->next, e->s, e->len, e->hash, e->range); }

/* Rehash oldest first, so that newer entries stay in front. */
static void rehash(struct ptx_symtab *t)
{
    uint32_t n = t->nbucket * 4;
    struct ptx_sym **bucket = PTX_NEW(t->ctx, struct ptx_sym *, n);
    struct ptx_sym *oldest = NULL, *e, *next;
    for (e = t->newest; e; e = next) { /* reverse the list */
        next = e->older;
        e->older = oldest;
        oldest = e;
    }
    t->newest = NULL;
    for (e = oldest; e; e = next) {
        next = e->older;
        e->older = t->newest;
        t->newest = e;
        e->next = bucket[e->hash & (n - 1)];
        bucket[e->hash & (n - 1)] = e;
    }
    t->bucket = bucket;
    t->nbucket = n;
}

static struct ptx_sym *add(struct ptx_symtab *t, const char *s, size_t len, bool range, bool *fresh)
{
    uint32_t hash = ptx_hash(s, len);
    struct ptx_sym *e = find(t, s, len, hash, range);
    *fresh = !e || e->scope != t->depth;
    if (!*fresh)
        return e;
    if (t->count >= t->nbucket)
        rehash(t);
    e = PTX_NEW(t->ctx, struct ptx_sym, 1);
    *e = (struct ptx_sym){.s = s,
                          .len = (uint32_t)len,
                          .hash = hash,
                          .scope = t->depth,
                          .range = range,
                          .next = t->bucket[hash & (t->nbucket - 1)],
                          .older = t->newest};
    t->bucket[hash & (t->nbucket - 1)] = e;
    t->newest = e;
    t->count++;
    return e;
}

struct ptx_sym *ptx_sym_add(struct ptx_symtab *t, const char *s, size_t len, bool *fresh)
{
    return add(t, s, len, false, fresh);
}

struct ptx_sym *ptx_sym_add_range(struct ptx_symtab *t, const char *s, size_t len, bool *fresh)
{
    return add(t, s, len, true, fresh);
}

void ptx_scope_leave(struct ptx_symtab *t)
{
    while (t->newest && t->newest->scope == t->depth) {
        struct ptx_sym *e = t->newest;
        t->bucket[e->hash & (t->nbucket - 1)] = e->next; /* newest is always in front */
        t->newest = e->older;
        t->count--;
    }
    t->depth--;
}
