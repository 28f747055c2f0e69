/* Reads the options of config.def from the environment, once. */
#include "core/config.h"
#include "core/log.h"
#include "core/loginit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { BOOL, INT, CAPABILITY, CHOICE, WORDS /* some of a choice, by commas */, TEXT, HOST };

static const struct row {
    const char *name;
    enum kind kind;
    const char *fallback;
} rows[CUMU_NOPTIONS] = {
#define OPTION(id, name, kind, value, help) {name, kind, value},
#include "core/config.def"
#undef OPTION
};

/* Values are copied: a program may later overwrite its environment in place (putenv, setproctitle). */
static struct {
    long number;
    const char *text;
} values[CUMU_NOPTIONS];
static char arena[8192];
static size_t arena_used;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *keep(const char *s, size_t n)
{
    if (n + 1 > sizeof arena - arena_used)
        return NULL;
    char *p = arena + arena_used;
    memcpy(p, s, n);
    p[n] = 0;
    arena_used += n + 1;
    return p;
}

/* Are the n bytes of value one of the words of "a|b|c"? */
static bool is_among(const char *words, const char *value, size_t n)
{
    for (const char *w = words;; w++) {
        size_t len = strcspn(w, "|");
        if (len == n && memcmp(w, value, n) == 0)
            return true;
        w += len;
        if (!*w)
            return false;
    }
}

static bool among(const char *words, const char *value) { return is_among(words, value, strlen(value)); }

static bool all_among(const char *words, const char *list)
{
    for (size_t n; is_among(words, list, n = strcspn(list, ",")); list += n + 1)
        if (!list[n])
            return true;
    return false;
}

static bool number(const char *value, long *out)
{
    char *end;
    int saved = errno;
    errno = 0;
    long n = strtol(value, &end, 10);
    bool good = end != value && !*end && !errno && n >= 0;
    errno = saved;
    if (good && out)
        *out = n;
    return good;
}

/* "8.0" -> 80 */
static bool capability(const char *value, long *out)
{
    size_t major = strspn(value, "0123456789");
    bool good = major >= 1 && major <= 2 && value[major] == '.' && value[major + 1] >= '0' && value[major + 1] <= '9' &&
                !value[major + 2];
    if (good && out)
        *out = (major == 2 ? (value[0] - '0') * 100 : 0) + (value[major - 1] - '0') * 10 + (value[major + 1] - '0');
    return good;
}

const char *cumu_opt_expected(enum cumu_option o, const char *value)
{
    switch (rows[o].kind) {
    case BOOL: return among("0|1", value) ? NULL : "0 or 1";
    case INT: return number(value, NULL) ? NULL : "a number";
    case CAPABILITY: return capability(value, NULL) ? NULL : "a number like 8.0";
    case CHOICE: return among(rows[o].fallback, value) ? NULL : rows[o].fallback;
    case WORDS: return all_among(rows[o].fallback, value) ? NULL : rows[o].fallback;
    case TEXT:
    case HOST: break;
    }
    return NULL;
}

bool cumu_opt_known(const char *name, size_t length)
{
    for (unsigned i = 0; i < CUMU_NOPTIONS; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return true;
    return length > 10 && memcmp(name, "CUMU_TEST_", 10) == 0;
}

static void set(unsigned i, const char *value)
{
    size_t n = strlen(value);
    const bool worded = rows[i].kind == CHOICE || rows[i].kind == WORDS;
    if (worded && value == rows[i].fallback)
        n = strcspn(value, "|");
    if (rows[i].kind == TEXT || worded)
        values[i].text = keep(value, n);
    else if (rows[i].kind == CAPABILITY)
        (void)capability(value, &values[i].number);
    else
        (void)number(value, &values[i].number);
    if (!values[i].text)
        values[i].text = "";
}

/* Reads all options once. The logger is set up in between: what is wrong with the environment can only be said when
 * its own options are known. */
static void load(void)
{
    const char *bad[CUMU_NOPTIONS] = {0};
    for (unsigned i = 0; i < CUMU_NOPTIONS; i++) {
        const char *v = secure_getenv(rows[i].name);
        if (v && *v && cumu_opt_expected((enum cumu_option)i, v)) {
            bad[i] = v;
            v = NULL;
        }
        set(i, v && *v ? v : rows[i].fallback);
    }
    /* Complaints wait until the logger has its own options. */
    cumu_log_configure(values[CUMU_OPT_LOG].text, values[CUMU_OPT_LOG_FILE].text,
                       (unsigned)values[CUMU_OPT_LOG_REPEAT].number);
    /* Errors, not warnings, which are off by default: the user asked for something and will not get it. */
    for (unsigned i = 0; i < CUMU_NOPTIONS; i++)
        if (bad[i])
            cumu_log(NULL, CUMU_ERROR, "config", rows[i].name, "\"%.64s\" is not %s; using %s", bad[i],
                     cumu_opt_expected((enum cumu_option)i, bad[i]),
                     rows[i].kind == CHOICE || rows[i].kind == WORDS ? values[i].text : rows[i].fallback);
    if (!values[CUMU_OPT_ACTIVE].number)
        return; /* an inert shim does not comment on the environment */
    for (char **e = environ; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "CUMU_", 5) == 0 && !cumu_opt_known(*e, n))
            cumu_log(NULL, CUMU_ERROR, "config", NULL, "unknown option %.*s (see cumu help options)", (int)n, *e);
    }
}

static void ready(void) { (void)pthread_once(&once, load); }

void cumu_config_load(void) { ready(); }

bool cumu_opt_bool(enum cumu_option o)
{
    ready();
    return values[o].number != 0;
}

long cumu_opt_int(enum cumu_option o)
{
    ready();
    return values[o].number;
}

bool cumu_opt_has(enum cumu_option o, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = cumu_opt_text(o); *s; s += strcspn(s, ","), s += *s == ',')
        if (strcspn(s, ",") == n && !strncmp(s, word, n))
            return true;
    return false;
}

const char *cumu_opt_text(enum cumu_option o)
{
    ready();
    return values[o].text;
}

const char *cumu_env(const char *name) { return secure_getenv(name); }

static bool not_for_children(const char *entry)
{
    static const char *const prefixes[] = {"LD_", "CUMU", "TMPDIR=", "LC_ALL="};
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

char **cumu_env_child(const char *tmp)
{
    static char plain[] = "LC_ALL=C", name[] = "TMPDIR=";
    size_t count = 0, n = 0, length = strlen(tmp);
    while (environ && environ[count])
        count++;
    char **list = malloc((count + 3) * sizeof *list + sizeof name + length);
    if (!list)
        return NULL;
    char *dir = (char *)(list + count + 3);
    memcpy(dir, name, sizeof name - 1);
    memcpy(dir + sizeof name - 1, tmp, length + 1);
    for (size_t i = 0; i < count && environ[i]; i++)
        if (!not_for_children(environ[i]))
            list[n++] = environ[i];
    list[n++] = plain;
    list[n++] = dir;
    list[n] = NULL;
    return list;
}

void cumu_env_default(const char *name, const char *value) { (void)setenv(name, value, 0); }

void cumu_env_copy(const char *from, const char *to)
{
    const char *v = secure_getenv(from);
    if (v)
        (void)setenv(to, v, 0);
}

void cumu_env_copy_prefix(const char *from, const char *to)
{
    size_t n = strlen(from);
    char names[64][64];
    unsigned count = 0;
    /* Names first: setenv may move environ under the loop. */
    for (char **e = environ; e && *e && count < 64; e++) {
        size_t len = strcspn(*e, "=");
        if (len > n && len < sizeof names[0] && strncmp(*e, from, n) == 0) {
            memcpy(names[count], *e, len);
            names[count++][len] = 0;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        char target[128];
        (void)snprintf(target, sizeof target, "%s%s", to, names[i] + n);
        cumu_env_copy(names[i], target);
    }
}
