/* The packs of CUMU_PTX_PACK. One that cannot be used is named once, and the others serve. */
#include "compile/pack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/log.h"

enum { MOST_PACKS = 64 };

static struct cumu_pack *packs[MOST_PACKS];
static unsigned count;
static const char *instead;
static bool refused;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_packs(void)
{
    char *list = strdup(instead ? instead : cumu_opt_text(CUMU_OPT_PTX_PACK)), *rest = list;
    for (char *path; list && (path = strsep(&rest, ":"));) {
        const char *why;
        if (!*path)
            continue;
        struct cumu_pack *p = count < MOST_PACKS ? cumu_pack_open(path, &why) : (why = "is one too many", NULL);
        if (p)
            packs[count++] = p;
        else
            cumu_error("kernel", "CUMU_PTX_PACK", "%s %s", path, why);
        refused |= !p;
    }
    free(list);
}

bool cumu_packs_use(const char *list)
{
    instead = list;
    (void)pthread_once(&once, open_packs);
    return !refused;
}

bool cumu_packs_any(void)
{
    (void)pthread_once(&once, open_packs);
    return count > 0;
}

bool cumu_packs_find(const void *image, size_t size, const struct cumu_pack **pack,
                     const struct cumu_pack_module **module)
{
    for (unsigned i = 0; cumu_packs_any() && i < count; i++)
        if ((*module = cumu_pack_find(packs[i], image, size))) {
            *pack = packs[i];
            return true;
        }
    return false;
}
