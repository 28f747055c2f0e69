/* Reads CUMU_DISABLE=PATTERN,... and CUMU_FORCE=PATTERN=stub|real,... */
#include "core/force.h"
#include "core/config.h"
#include "core/log.h"
#include "core/symbols.h"

#include <fnmatch.h>
#include <pthread.h>
#include <string.h>

struct word {
    char pattern[128];
    enum cumu_forced to;
    bool good; /* it has a form that means something */
};

static const struct {
    enum cumu_option option;
    const char *name;
} lists[] = {{CUMU_OPT_DISABLE, "CUMU_DISABLE"}, {CUMU_OPT_FORCE, "CUMU_FORCE"}};

/* The next word of *at, which moves on; false at the end. */
static bool next_word(const char **at, bool force, struct word *w)
{
    *at += strspn(*at, ",");
    size_t n = strcspn(*at, ","), name = force ? strcspn(*at, ",=") : n;
    const char *to = *at + name;
    if (!n)
        return false;
    size_t kept = name < sizeof w->pattern ? name : sizeof w->pattern - 1;
    memcpy(w->pattern, *at, kept);
    w->pattern[kept] = 0;
    bool real = n - name == 5 && memcmp(to, "=real", 5) == 0;
    w->to = real ? CUMU_FORCED_REAL : CUMU_FORCED_STUB;
    w->good = kept == name && (!force || real || (n - name == 5 && memcmp(to, "=stub", 5) == 0));
    *at += n;
    return true;
}

static bool known(const char *pattern)
{
    for (const struct cumu_table *const *t = cumu_tables; *t; t++)
        for (uint32_t i = 0; i < (*t)->count; i++)
            if (fnmatch(pattern, (*t)->symbols[i].name, 0) == 0)
                return true;
    return false;
}

static void say_unknown(void)
{
    struct word w;
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *at = cumu_opt_text(lists[i].option); next_word(&at, i == 1, &w);)
            if (!w.good)
                cumu_error("config", lists[i].name, "\"%s\" wants =stub or =real after it", w.pattern);
            else if (!known(w.pattern))
                cumu_error("config", lists[i].name, "\"%s\" is no CUDA function that cumu knows", w.pattern);
}

enum cumu_forced cumu_forced_to(const char *symbol)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct word w;
    if (!*cumu_opt_text(CUMU_OPT_DISABLE) && !*cumu_opt_text(CUMU_OPT_FORCE))
        return CUMU_FORCED_NOT;
    (void)pthread_once(&once, say_unknown);
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *at = cumu_opt_text(lists[i].option); next_word(&at, i == 1, &w);)
            if (w.good && fnmatch(w.pattern, symbol, 0) == 0)
                return w.to;
    return CUMU_FORCED_NOT;
}
