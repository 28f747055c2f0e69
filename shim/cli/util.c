/* Messages and places, shared by the verbs. */
#include "cli/cli.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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
    const char *more = strstr(v->usage, "\n\n"); /* the list of options would hide what is wrong */
    if (more)
        fprintf(stderr, "%.*s\n(cumu help %s tells more)\n", (int)(more - v->usage), v->usage, v->name);
    else
        fputs(v->usage, stderr);
    return CUMU_EXIT_USAGE;
}

bool cumu_self(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
    const char *name = n > 0 ? NULL : (const char *)getauxval(AT_EXECFN);
    return n > 0 || (name && realpath(name, path));
}

/* The path without its last part; false if that was all. */
static bool parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash;
}

const char *cumu_lib_dir(void)
{
    static const char tools[] = "/libexec/cumu"; /* where a copy of the tool may lie, as a wheel holds no links */
    static char dir[PATH_MAX];
    if (*dir)
        return dir;
    char exe[PATH_MAX];
    bool found = cumu_self(exe) && parent(exe);
    size_t n = found ? strlen(exe) : 0;
    if (n >= sizeof tools - 1 && strcmp(exe + n - (sizeof tools - 1), tools) == 0)
        found = parent(exe);
    int len = found && parent(exe) ? snprintf(dir, sizeof dir, "%s/lib/cumu", exe)
                                   : 0; /* .../bin/cumu -> .../lib/cumu */
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

const char *cumu_option_value(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    const char *a = argv[*i];
    if (strncmp(a, name, n) != 0 || (a[n] && a[n] != '='))
        return NULL;
    if (a[n] == '=')
        return a + n + 1;
    return *i + 1 < argc ? argv[++*i] : "";
}
