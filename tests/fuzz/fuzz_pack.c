/* Fuzz target of PTX packs: the reader, behind the seal, which is made to fit; and the names that are renamed. */
#include "cli/pack_names.h"
#include "compile/pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A search would never find a file that fits its own digest. */
static void seal(uint8_t *bytes, size_t size)
{
    struct cumu_pack_head h;
    struct cumu_hash hash;
    if (size < sizeof h)
        return;
    memcpy(&h, bytes, sizeof h);
    h.size = size;
    memcpy(bytes, &h, sizeof h);
    if (h.index > size)
        return;
    cumu_hash_start(&hash);
    cumu_hash_add(&hash, bytes, offsetof(struct cumu_pack_head, seal));
    cumu_hash_add(&hash, bytes + h.index, size - h.index);
    cumu_hash_end(&hash, h.seal);
    memcpy(bytes, &h, sizeof h);
}

static void use(const struct cumu_pack *p)
{
    const char *why, *name;
    size_t sum = 0;
    for (uint32_t i = 0; i < cumu_pack_count(p) && i < 16; i++) {
        const struct cumu_pack_module *m = cumu_pack_at(p, i);
        sum += strlen(cumu_pack_file(p, m));
        for (uint32_t k = 0; k < 16 && (name = cumu_pack_missing(p, m, k)); k++)
            sum += strlen(name);
        char *text = m->text <= 1 << 20 ? cumu_pack_text(p, m, &why) : NULL;
        if (text && strlen(text) != m->text)
            abort();
        free(text);
    }
    (void)cumu_pack_find(p, &sum, sizeof sum);
}

static void rename_all(const char *name, size_t size)
{
    struct pack_ids ids = {0};
    size_t len;
    char *plain = pack_plain_name(name), *same = NULL;
    if (plain && strlen(plain) > strlen(name))
        abort();
    if (pack_ids_add(&ids, name))
        same = pack_rename(name, size, &ids, &len);
    /* The IDs of a text are exchanged for themselves. */
    char *plain_same = same ? pack_plain_name(same) : NULL;
    if (plain_same && plain && strcmp(plain_same, plain) != 0)
        abort();
    free(plain_same);
    free(same);
    free(plain);
    pack_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *why;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    if (size)
        memcpy(bytes, data, size);
    bytes[size] = 0;
    rename_all((const char *)bytes, strlen((const char *)bytes));
    for (int sealed = 0; sealed < 2; sealed++) {
        struct cumu_pack *p = cumu_pack_of(bytes, size, &why);
        if (p)
            use(p);
        cumu_pack_close(p);
        seal(bytes, size);
    }
    free(bytes);
    return 0;
}
