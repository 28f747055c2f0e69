/* Messages and places, shared by the verbs. */
#include "cli/cli.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *format, va_list args)
{
    (void)fflush(stdout);
    fputs("cumu: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int cumu_fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return status;
}

int cumu_usage(const struct cumu_verb_entry *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    fprintf(stderr, "%s", v->usage);
    return CUMU_EXIT_USAGE;
}

const char *cumu_lib_dir(void)
{
    static char dir[PATH_MAX];
    if (*dir)
        return dir;
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n < 0 ? 0 : n] = 0;
    char *slash = strrchr(exe, '/'); /* .../bin/cumu -> .../lib/cumu */
    char *up = NULL;
    if (slash) {
        *slash = 0;
        up = strrchr(exe, '/');
    }
    int len = 0;
    if (up) {
        *up = 0;
        len = snprintf(dir, sizeof dir, "%s/lib/cumu", exe);
    }
    char core[PATH_MAX + 32];
    (void)snprintf(core, sizeof core, "%s/libcumu-core.so", dir);
    if (len <= 0 || len >= (int)sizeof dir || access(core, R_OK) != 0) {
        (void)cumu_fail(0, "%s is missing; the tool expects it beside its own folder", core);
        *dir = 0;
        return NULL;
    }
    return dir;
}

const void *cumu_tool_symbol(const char *name)
{
    static void *core; /* it has no constructor, so opening it does nothing else */
    char path[PATH_MAX + 32];
    const char *dir = cumu_lib_dir();
    if (!dir)
        return NULL;
    (void)snprintf(path, sizeof path, "%s/libcumu-core.so", dir);
    if (!core)
        core = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const void *at = core ? dlsym(core, name) : NULL;
    if (!at)
        (void)cumu_fail(0, "%s: %s", path, dlerror());
    return at;
}

const struct cumu_table *const *cumu_tool_tables(void) { return cumu_tool_symbol("cumu_tables"); }

bool cumu_has_facade(const char *soname)
{
    char path[PATH_MAX];
    const char *dir = cumu_lib_dir();
    int n = dir ? snprintf(path, sizeof path, "%s/facade/%s", dir, soname) : 0;
    return n > 0 && n < (int)sizeof path && !strchr(soname, '/') && access(path, R_OK) == 0;
}
