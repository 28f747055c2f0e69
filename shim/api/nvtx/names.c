/* Names in NVTX: of domains, of strings that are registered once and used often, of categories. */
#include "api/nvtx/nvtx.h"
#include "core/hmap.h"
#include "core/intern.h"
#include "wraps.h"

#include <stdlib.h>
#include <string.h>

/* Handles are numbers, not pointers: one that nobody gave out is found to be none. */
enum { STEP = 16 };

struct name {
    struct {
        const char *text;   /* interned */
        const void *domain; /* NULL: it is a domain itself */
    } key;
    uintptr_t handle;
    UT_hash_handle hh;
};
static HMAP(struct name) names = HMAP_INIT;
static struct name **list; /* by handle; guarded by the table's lock */
static size_t count, room;

struct category {
    struct {
        const void *domain;
        uint64_t number;
    } key;
    const char *text;
    UT_hash_handle hh;
};
static HMAP(struct category) categories = HMAP_INIT;

static bool grow(void)
{
    size_t more = room ? 2 * room : 64;
    struct name **grown = count < room ? list : realloc(list, more * sizeof *grown);
    if (!grown)
        return false;
    room = count < room ? room : more;
    list = grown;
    return true;
}

void *cumu_nvtx_register(const char *text, const void *domain)
{
    struct name *n = NULL, *fresh = calloc(1, sizeof *fresh);
    if (!fresh || !(fresh->key.text = cumu_intern(text))) {
        free(fresh);
        return NULL;
    }
    fresh->key.domain = domain;
    hmap_lock(&names);
    HASH_FIND(hh, names.head, &fresh->key, sizeof fresh->key, n);
    if (!n && grow()) {
        HASH_ADD(hh, names.head, key, sizeof fresh->key, fresh);
        if (hmap_added(fresh)) {
            n = fresh;
            fresh = NULL;
            list[count++] = n;
            n->handle = count * STEP;
        }
    }
    hmap_unlock(&names);
    free(fresh);
    return n ? (void *)n->handle : NULL;
}

const char *cumu_nvtx_text(const void *handle, bool of_domain)
{
    const char *text = NULL;
    uintptr_t h = (uintptr_t)handle;
    hmap_lock(&names);
    if (h && h % STEP == 0 && h / STEP <= count && !list[h / STEP - 1]->key.domain == of_domain)
        text = list[h / STEP - 1]->key.text;
    hmap_unlock(&names);
    return text;
}

void cumu_nvtx_name_category(const void *domain, uint32_t category, const char *text)
{
    struct category *c = NULL, *fresh = calloc(1, sizeof *fresh);
    const char *kept = cumu_intern(text);
    if (fresh && kept) {
        fresh->key.domain = domain;
        fresh->key.number = category;
        fresh->text = kept;
        hmap_lock(&categories);
        HASH_FIND(hh, categories.head, &fresh->key, sizeof fresh->key, c);
        if (c) {
            c->text = kept;
        } else {
            HASH_ADD(hh, categories.head, key, sizeof fresh->key, fresh);
            if (hmap_added(fresh))
                fresh = NULL;
        }
        hmap_unlock(&categories);
    }
    free(fresh);
}

const char *cumu_nvtx_category(const void *domain, uint32_t category)
{
    struct category *c = NULL, key;
    memset(&key, 0, sizeof key);
    key.key.domain = domain;
    key.key.number = category;
    hmap_lock(&categories);
    HASH_FIND(hh, categories.head, &key.key, sizeof key.key, c);
    const char *text = c ? c->text : NULL;
    hmap_unlock(&categories);
    return text;
}

/* Not the C library's conversion: that goes by the locale, which is the program's. */
char *cumu_nvtx_narrow(const wchar_t *s)
{
    char *text = s ? malloc(4 * wcslen(s) + 1) : NULL, *to = text;
    if (!text)
        return NULL;
    for (; *s; s++) {
        uint32_t c = (uint32_t)*s;
        if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        if (c < 0x80) {
            *to++ = (char)c;
            continue;
        }
        unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
        *to++ = (char)(lead[more] | c >> 6 * more);
        while (more--)
            *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    }
    *to = 0;
    return text;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* What the program registers is kept whether anybody listens or not: who comes later knows its handles. */
void *wrap_nvtxDomainCreateA(const char *name) { return cumu_nvtx_register(name, NULL); }

void *wrap_nvtxDomainCreateW(const void *name)
{
    char *text = cumu_nvtx_narrow(name);
    void *handle = cumu_nvtx_register(text, NULL);
    free(text);
    return handle;
}

void wrap_nvtxDomainDestroy(void *domain) { (void)domain; /* its names are still in what was recorded */ }

/* Strings of the default domain have no domain's handle. */
static const void *home(const void *domain)
{
    static const char default_domain;
    return domain ? domain : &default_domain;
}

void *wrap_nvtxDomainRegisterStringA(void *domain, const char *text) { return cumu_nvtx_register(text, home(domain)); }

void *wrap_nvtxDomainRegisterStringW(void *domain, const void *text)
{
    char *narrow = cumu_nvtx_narrow(text);
    void *handle = cumu_nvtx_register(narrow, home(domain));
    free(narrow);
    return handle;
}

void wrap_nvtxDomainNameCategoryA(void *domain, unsigned category, const char *name)
{
    cumu_nvtx_name_category(domain, category, name);
}

void wrap_nvtxDomainNameCategoryW(void *domain, unsigned category, const void *name)
{
    char *text = cumu_nvtx_narrow(name);
    cumu_nvtx_name_category(domain, category, text);
    free(text);
}

void wrap_nvtxNameCategoryA(unsigned category, const char *name) { cumu_nvtx_name_category(NULL, category, name); }

void wrap_nvtxNameCategoryW(unsigned category, const void *name) { wrap_nvtxDomainNameCategoryW(NULL, category, name); }
