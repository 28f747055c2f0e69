/* Entry points by name and version: a base name stands for the newest ABI not newer than the caller's. The rule:
 * mapping/facts/cuda.md P1, P2. */
#include "api/entry.h"

#include <string.h>

#include "core/symbols.h"

static const struct cumu_base *find_base(const char *name)
{
    uint32_t lo = 0, hi = cumu_base_count;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int order = strcmp(cumu_bases[mid].name, name);
        if (order == 0)
            return &cumu_bases[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static const struct cumu_version *newest(const struct cumu_base *b, unsigned version, bool per_thread)
{
    const struct cumu_version *best = NULL;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct cumu_version *v = &b->versions[i];
        if ((v->per_thread != 0) == per_thread && v->version <= version && (!best || v->version >= best->version))
            best = v;
    }
    return best;
}

enum cumu_entry cumu_entry_find(const char *name, unsigned version, bool per_thread, void **out)
{
    *out = NULL;
    const struct cumu_base *b = find_base(name);
    if (!b)
        return CUMU_ENTRY_UNKNOWN;
    const struct cumu_version *v = per_thread ? newest(b, version, true) : NULL;
    if (!v)
        v = newest(b, version, false);
    if (!v)
        return CUMU_ENTRY_TOO_NEW;
    *out = cumu_facade_symbol("libcuda.so.1", v->symbol);
    return *out ? CUMU_ENTRY_FOUND : CUMU_ENTRY_UNKNOWN;
}
