/* Descriptors of cuSPARSE's older functions over a muSPARSE of which only some setters are seen: what they hold is kept
 * here, and goes down to the setters that are there. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/hmap.h"
#include "core/init.h"
#include "core/resolve.h"

#include "musa_enums.h"

#include <stdlib.h>
#include <string.h>

enum field { TYPE, FILL, DIAG, BASE, FIELDS };
struct held {
    const void *descr;
    int value[FIELDS];
    UT_hash_handle hh;
};
static HMAP(struct held) all = HMAP_INIT;

#define BELOW(function) ((__typeof__(function) *)(void (*)(void))(uintptr_t)cumu_below("musparse", #function))

static musparseStatus_t create(musparseMatDescr_t *descr)
{
    struct held *h = calloc(1, sizeof *h);
    __typeof__(musparseCreateMatDescr) *below = BELOW(musparseCreateMatDescr);
    musparseStatus_t r = !descr ? MUSPARSE_STATUS_INVALID_POINTER
                         : h    ? MUSPARSE_STATUS_SUCCESS
                                : MUSPARSE_STATUS_MEMORY_ERROR;
    if (!r && below)
        r = below(descr);
    else if (!r)
        *descr = (musparseMatDescr_t)(void *)h;
    if (r) {
        free(h);
        return r;
    }
    h->descr = *descr;
    h->value[FILL] = MUSPARSE_FILL_MODE_LOWER;
    h->value[DIAG] = MUSPARSE_DIAG_TYPE_NON_UNIT;
    hmap_lock(&all);
    HASH_ADD_PTR(all.head, descr, h);
    bool kept = hmap_added(h);
    hmap_unlock(&all);
    if (!kept)
        free(h);
    return kept ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_MEMORY_ERROR;
}

static musparseStatus_t destroy(musparseMatDescr_t descr)
{
    struct held *h;
    __typeof__(musparseDestroyMatDescr) *below = BELOW(musparseDestroyMatDescr);
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &descr, h);
    if (h)
        HASH_DEL(all.head, h);
    hmap_unlock(&all);
    free(h);
    return !h && descr ? MUSPARSE_STATUS_INVALID_VALUE : below && descr ? below(descr) : MUSPARSE_STATUS_SUCCESS;
}

/* The value before; -1 of what is no descriptor. */
static int exchange(const void *descr, enum field f, const int *value)
{
    struct held *h;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &descr, h);
    int before = h ? h->value[f] : -1;
    if (h && value)
        h->value[f] = *value;
    hmap_unlock(&all);
    return before;
}

#define FIELD(f, name) \
    static musparseStatus_t set_##f(musparseMatDescr_t descr, int value) \
    { \
        __typeof__(musparseSet##name) *below = BELOW(musparseSet##name); \
        if (exchange(descr, f, &value) < 0) \
            return MUSPARSE_STATUS_INVALID_VALUE; \
        return below ? below(descr, value) : MUSPARSE_STATUS_SUCCESS; \
    } \
    static int get_##f(const void *descr) \
    { \
        int value = exchange(descr, f, NULL); \
        return value < 0 ? 0 : value; \
    }
FIELD(TYPE, MatType)
FIELD(FILL, MatFillMode)
FIELD(DIAG, MatDiagType)
FIELD(BASE, MatIndexBase)

#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name;
    void (*function)(void);
} rows[] = {{"musparseCreateMatDescr", STAND_IN(create)},    {"musparseDestroyMatDescr", STAND_IN(destroy)},
            {"musparseGetMatDiagType", STAND_IN(get_DIAG)},  {"musparseGetMatFillMode", STAND_IN(get_FILL)},
            {"musparseGetMatIndexBase", STAND_IN(get_BASE)}, {"musparseGetMatType", STAND_IN(get_TYPE)},
            {"musparseSetMatDiagType", STAND_IN(set_DIAG)},  {"musparseSetMatFillMode", STAND_IN(set_FILL)},
            {"musparseSetMatIndexBase", STAND_IN(set_BASE)}, {"musparseSetMatType", STAND_IN(set_TYPE)}};

/* All of them or none: what one sets another tells. */
void *cumu_sparse_stand_in(const char *symbol)
{
    enum { ROWS = sizeof rows / sizeof *rows };
    unsigned found = ROWS, there = 0;
    for (unsigned i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, symbol) == 0)
            found = i;
    for (unsigned i = 0; found < ROWS && i < ROWS; i++)
        there += cumu_below_has("musparse", rows[i].name);
    return found == ROWS || there == ROWS || !cumu_below_has("musparse", "musparseCreate")
               ? NULL
               : cumu_code_address(rows[found].function);
}
