/* CUMU_CHECK_KERNELS and CUMU_CHECK_LAUNCHES: which launches of a program are looked at. */
#include "host/driver/memcheck.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *how, size_t n, const char *pattern, const char *name)
{
    regex_t e;
    if (n == 3 && !strncmp(how, "kns", n))
        return strstr(name, pattern) != NULL;
    if (n != 5 || strncmp(how, "regex", n) != 0)
        return !strcmp(name, pattern);
    if (regcomp(&e, pattern, REG_EXTENDED | REG_NOSUB))
        return false;
    const bool found = !regexec(&e, name, 0, NULL, 0);
    regfree(&e);
    return found;
}

/* One of the list's entries, by the name as it is and as it was written. */
static bool entry_matches(const char *entry, const char *mangled, const char *name)
{
    const char *equals = strchr(entry, '=');
    const size_t n = equals ? (size_t)(equals - entry) : 0;
    const char *pattern = equals ? equals + 1 : entry;
    return matches(entry, n, pattern, mangled) || matches(entry, n, pattern, name);
}

static bool is_chosen(const char *kernel)
{
    char list[4096], *rest = list, *name = host_memcheck_demangle(kernel);
    bool wanted = true, any = false, out = false;
    strcpy(list, host_config()->check_kernels);
    for (char *entry; (entry = strsep(&rest, ";"));) {
        const bool leaves_out = *entry == '-';
        if (!*entry)
            continue;
        const bool match = entry_matches(entry + leaves_out, kernel, name ? name : kernel);
        out |= leaves_out && match;
        if (!leaves_out) {
            wanted = any ? wanted || match : match;
            any = true;
        }
    }
    free(name);
    return wanted && !out;
}

bool host_memcheck_chooses(const char *kernel)
{
    static _Atomic long launches;
    const struct host_config *c = host_config();
    if (*c->check_kernels && !is_chosen(kernel ? kernel : ""))
        return false;
    if (!c->check_skip && !c->check_count)
        return true;
    const long n = launches++;
    return n >= c->check_skip && (!c->check_count || n - c->check_skip < c->check_count);
}
