/* Keys of tier 1's objects: out of what the text is emitted from, not out of the text. To emit it takes longer than
 * everything else between a launch and an object from the cache. */
#include "compile/compile.h"

#include <string.h>

#include "compile/tool.h"

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

/* CUMU_EMITTER, from the Makefile: a digest of shim/ptx, which makes the text. */
void cumu_object_key(struct cumu_key *key, const struct ptx_module *m, const uint8_t digest[CUMU_HASH_BYTES],
                     const char *kernel, enum t1_shape shape, enum t1_isa isa, unsigned options)
{
    const struct ptx_func *f = ptx_module_func(m, kernel);
    const uint32_t number = (uint32_t)shape | (options & (T1_EMIT_WATCHED | T1_EMIT_RACED))
                                                  << 8; /* lines are the compiler's flags */
    uint8_t source[CUMU_HASH_BYTES];
    struct cumu_hash h;
    cumu_hash_start(&h);
    cumu_hash_add(&h, CUMU_EMITTER, sizeof CUMU_EMITTER);
    cumu_hash_add(&h, &number, sizeof number);
    cumu_hash_add(&h, digest, CUMU_HASH_BYTES);
    cumu_hash_add(&h, kernel, strlen(kernel) + 1);
    if (f && f->body)
        cumu_hash_add(&h, f->body, f->body_len);
    cumu_hash_end(&h, source);
    cumu_tool_key(key, T1_VERSION, cumu_compiler_identity(), cumu_object_flags(isa), (const char *)source,
                  sizeof source);
}
