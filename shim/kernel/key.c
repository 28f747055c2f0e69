/* Keys of tier 1's objects: out of what the text is emitted from, not out of the text. To emit it takes longer than
 * everything else between a launch and an object from the cache. */
#include "kernel/compile.h"

#include <string.h>

#include "kernel/hash.h"

/* CUMU_EMITTER, from the Makefile: a digest of shim/ptx, which makes the text. */
static void add_text(struct cumu_hash *h, const char *s) { cumu_hash_add(h, s, strlen(s) + 1); }

void cumu_module_digest(const struct ptx_module *m, uint8_t out[CUMU_HASH_BYTES])
{
    struct cumu_hash h;
    const char *at = m->text, *end = at + m->text_len;
    cumu_hash_start(&h);
    for (uint32_t i = 0; i < m->nfunc; i++) { /* in the order of the text */
        const struct ptx_func *f = &m->func[i];
        if (!f->is_entry || f->body < at || f->body + f->body_len > end)
            continue;
        cumu_hash_add(&h, at, (size_t)(f->body - at));
        at = f->body + f->body_len;
    }
    cumu_hash_add(&h, at, (size_t)(end - at));
    cumu_hash_end(&h, out);
}

void cumu_object_key(struct cumu_key *key, const struct ptx_module *m, const uint8_t digest[CUMU_HASH_BYTES],
                     const char *kernel, enum t1_shape shape, enum t1_isa isa)
{
    const struct ptx_func *f = ptx_module_func(m, kernel);
    const uint32_t numbers[] = {T1_VERSION, (uint32_t)shape, (uint32_t)isa};
    struct cumu_hash h;
    cumu_hash_start(&h);
    cumu_hash_add(&h, numbers, sizeof numbers);
    add_text(&h, CUMU_EMITTER);
    add_text(&h, cumu_compiler_identity());
    add_text(&h, t1_isa_flags(isa));
    cumu_hash_add(&h, digest, CUMU_HASH_BYTES);
    add_text(&h, kernel);
    if (f && f->body)
        cumu_hash_add(&h, f->body, f->body_len);
    cumu_hash_end(&h, key->hash);
}
