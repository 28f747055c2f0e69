/* Works out LD_PRELOAD and LD_LIBRARY_PATH for a program from its ELF closure. Who wins over whom in the loader:
 * mapping/facts/loader.md G1 to G3; why not all facades are preloaded: mapping/facts/loader.md W2. */
#include "cli/cli.h"
#include "cli/closure.h"
#include "cli/launch.h"
#include "core/config.h"
#include "core/log.h"
#include "core/wanted.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct text {
    char *s;
    bool bad; /* out of memory at some point */
};

static void append(struct text *t, const char *separator, const char *s, size_t n)
{
    size_t have = t->s ? strlen(t->s) : 0, sep = have ? strlen(separator) : 0;
    char *grown = t->bad ? NULL : realloc(t->s, have + sep + n + 1);
    if (!grown) {
        t->bad = true;
        return;
    }
    memcpy(grown + have, separator, sep);
    memcpy(grown + have + sep, s, n);
    grown[have + sep + n] = 0;
    t->s = grown;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Sanitizer runtimes must come first of all, or they refuse to start. */
static bool sanitizer(const char *path, size_t n)
{
    static const char *const names[] = {"libasan.", "libtsan.", "liblsan.", "libubsan.", "libhwasan.", "libclang_rt."};
    const char *base = path;
    for (size_t i = 0; i < n; i++)
        if (path[i] == '/')
            base = path + i + 1;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (starts(base, names[i]))
            return true;
    return false;
}

static bool listed(const char *list, const char *s, size_t n)
{
    for (const char *t = list; t && *t;) {
        size_t len = strcspn(t, ": ");
        if (len == n && memcmp(t, s, n) == 0)
            return true;
        t += len + (t[len] != 0);
    }
    return false;
}

/* The entries of list that are (or are not) sanitizers, and are not in `except`. */
static void append_some(struct text *t, const char *list, bool sanitizers, const char *except)
{
    for (const char *s = list; s && *s;) {
        size_t n = strcspn(s, ": ");
        if (n && sanitizer(s, n) == sanitizers && !listed(except, s, n))
            append(t, ":", s, n);
        s += n + (s[n] != 0);
    }
}

char *cumu_launch_merge(const char *callers, const char *ours)
{
    struct text t = {0};
    append_some(&t, callers, true, ours);
    if (ours && *ours)
        append(&t, ":", ours, strlen(ours));
    append_some(&t, callers, false, ours); /* ours already there: cumu run inside cumu run */
    if (!t.bad && !t.s)
        return strdup("");
    if (t.bad) {
        free(t.s);
        return NULL;
    }
    return t.s;
}

static void append_facade(struct text *t, const char *soname)
{
    const char *dir = cumu_lib_dir();
    /* LD_PRELOAD has no escape for these; the bare name is then found through LD_LIBRARY_PATH. */
    bool plain = !strpbrk(dir, ": ");
    char path[PATH_MAX + 64];
    int n = snprintf(path, sizeof path, "%s%s%s", plain ? dir : "", plain ? "/facade/" : "", soname);
    append(t, ":", path, (size_t)n);
}

/* What answers for the files by which programs recognise a driver (nodes/nodes.h). A path with a blank cannot be
 * preloaded. */
static void nodes(struct text *t, const char *dir)
{
    if (strpbrk(dir, " "))
        return;
    append(t, ":", dir, strlen(dir));
    append(t, "", "/libcumu-nodes.so", 17);
}

/* What the program and its libraries need by name. What they open later comes through the audit module:
 * preloading more would cost every process 0.1 ms a library. */
static void facades(struct text *t, const struct cumu_closure *c, const char *backend)
{
    const bool own_cudnn = cumu_cudnn_is_own(cumu_env("CUMU_CUDNN"), backend ? backend : cumu_env("CUMU_BACKEND"));
    for (unsigned i = 1; i < c->count; i++)
        if (c->objects[i].facade && !(own_cudnn && cumu_is_cudnn(c->objects[i].soname)))
            append_facade(t, c->objects[i].soname);
}

/* Leads to the facades what the preloads do not: paths, RPATH, embedded runtimes. The caller's own audit
 * modules stay. */
static char *audit(const char *callers, const char *dir)
{
    struct text t = {0};
    append(&t, "", dir, strlen(dir));
    append(&t, "", "/libcumu-audit.so", 17);
    if (callers && t.s && !listed(callers, t.s, strlen(t.s)))
        append(&t, ":", callers, strlen(callers));
    if (t.bad)
        free(t.s);
    return t.bad ? NULL : t.s;
}

/* Programs of ours under the names of NVIDIA's (nvidia-smi), before those that the caller would find. */
static char *search_path(const char *callers, const char *dir)
{
    static const char lib[] = "/lib/cumu";
    struct text t = {0};
    append(&t, "", dir, strlen(dir) - (sizeof lib - 1));
    append(&t, "", "/libexec/cumu", 13);
    bool there = t.s && callers && listed(callers, t.s, strlen(t.s)); /* cumu run inside cumu run */
    if (there) {
        free(t.s);
        t = (struct text){0};
    }
    if (callers)
        append(&t, ":", callers, strlen(callers));
    if (t.bad)
        free(t.s);
    return t.bad ? NULL : t.s;
}

/* What NVTX's headers open at a program's first range: the core (api/nvtx/inject.c). The caller's own stays. */
static char *injection(const char *dir)
{
    struct text t = {0};
    append(&t, "", dir, strlen(dir));
    append(&t, "", "/libcumu-core.so", 16);
    if (t.bad)
        free(t.s);
    return t.bad ? NULL : t.s;
}

/* With an audit module ld.so gives out the static TLS of a process before it looks at what the program needs: its
 * libraries, and libraries that they open later, share what is meant for the latter alone, 1,664 bytes in glibc 2.36.
 * So we ask for what they take in addition. Threads' stacks become smaller by it, as they would be without us. */
enum { LATER = 2048, UNKNOWN = 4096 /* of a program that is not known: libjemalloc takes 2.7 KB */, ROUND = 64 };

static size_t static_tls(struct cumu_closure *c, bool known, const char *preloads, const char *library_path)
{
    size_t bytes = LATER + (known ? 0 : UNKNOWN);
    char name[PATH_MAX];
    for (const char *s = preloads; s && *s;) {
        size_t n = strcspn(s, ": ");
        if (n && n < sizeof name) {
            memcpy(name, s, n);
            name[n] = 0;
            (void)cumu_closure_preload(c, name, library_path); /* without memory the next step fails */
        }
        s += n + (s[n] != 0);
    }
    for (unsigned i = 0; i < c->count; i++)
        bytes += (c->objects[i].static_tls + ROUND - 1) / ROUND * ROUND;
    return bytes;
}

char *cumu_launch_tunables(const char *callers, size_t bytes)
{
    static const char ours[] = "glibc.rtld.optional_static_tls=";
    struct text t = {0};
    char number[40];
    for (const char *s = callers; s && *s;) {
        size_t n = strcspn(s, ":");
        if (!starts(s, ours)) {
            if (n)
                append(&t, ":", s, n);
        } else if (strtoull(s + strlen(ours), NULL, 0) > bytes) {
            bytes = strtoull(s + strlen(ours), NULL, 0);
        }
        s += n + (s[n] != 0);
    }
    append(&t, ":", ours, strlen(ours));
    append(&t, "", number, (size_t)snprintf(number, sizeof number, "%zu", bytes));
    if (t.bad)
        free(t.s);
    return t.bad ? NULL : t.s;
}

static bool put(struct cumu_launch *l, const char *name, char *value)
{
    unsigned i = 0;
    while (l->var[i].name)
        i++;
    l->var[i].name = name;
    l->var[i].value = value;
    return value != NULL;
}

int cumu_launch_plan(struct cumu_launch *l, const char *image, const char *backend)
{
    *l = (struct cumu_launch){0};
    const char *dir = cumu_lib_dir();
    if (!dir)
        return CUMU_EXIT_USAGE;
    if (strpbrk(dir, ":;"))
        return cumu_fail(CUMU_EXIT_USAGE, "%s: a ':' or ';' in the path cannot be used in LD_LIBRARY_PATH", dir);
    const char *path = cumu_env("LD_LIBRARY_PATH"), *callers = cumu_env("LD_PRELOAD");
    struct cumu_closure c = {0};
    struct text ours = {0}, search = {0};
    bool good = cumu_closure_read(&c, image ? image : "/proc/self/exe", path, image ? cumu_has_facade : NULL);
    /* A program built with a sanitizer wants its runtime before our preloads. */
    for (unsigned i = 1; i < c.count; i++)
        if (c.objects[i].path && sanitizer(c.objects[i].soname, strlen(c.objects[i].soname)))
            append(&ours, ":", c.objects[i].path, strlen(c.objects[i].path));
    facades(&ours, &c, backend);
    nodes(&ours, dir);
    append(&search, "", dir, strlen(dir));
    append(&search, "", "/facade", 7);
    if (path && *path && search.s && !starts(path, search.s))
        append(&search, ":", path, strlen(path));
    good = good && !ours.bad && !search.bad;
    good = good && put(l, "CUMU", strdup("1")) && (!backend || put(l, "CUMU_BACKEND", strdup(backend)));
    char *preload = cumu_launch_merge(callers, ours.s);
    const size_t tls = static_tls(&c, image != NULL, preload, path);
    if (preload && !*preload)
        free(preload);
    else
        good = put(l, "LD_PRELOAD", preload) && good;
    good = good && put(l, "LD_LIBRARY_PATH", search.s) && put(l, "LD_AUDIT", audit(cumu_env("LD_AUDIT"), dir));
    if (!cumu_env("NVTX_INJECTION64_PATH"))
        good = good && put(l, "NVTX_INJECTION64_PATH", injection(dir));
    good = good && put(l, "GLIBC_TUNABLES", cumu_launch_tunables(cumu_env("GLIBC_TUNABLES"), tls));
    if (cumu_env("PATH")) /* without one the shell's own folders are searched, which stay unsaid */
        good = good && put(l, "PATH", search_path(cumu_env("PATH"), dir));
    free(ours.s);
    cumu_closure_free(&c);
    return good ? 0 : cumu_fail(CUMU_EXIT_USAGE, "out of memory");
}

bool cumu_launch_backend(const char *name)
{
    return strcmp(name, "auto") == 0 || strcmp(name, "musa") == 0 || strcmp(name, "host") == 0;
}

int cumu_launch_exec(const struct cumu_launch *l, const char *path, char **argv)
{
    for (unsigned i = 0; l->var[i].name; i++)
        if (setenv(l->var[i].name, l->var[i].value, 1) != 0)
            return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    (void)execv(path, argv);
    return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", path, strerror(errno));
}

void cumu_launch_free(struct cumu_launch *l)
{
    for (unsigned i = 0; l->var[i].name; i++)
        free(l->var[i].value);
    *l = (struct cumu_launch){0};
}

/* ---- with an end ------------------------------------------------------------------------------ */

static volatile sig_atomic_t child;

static void forward(int number)
{
    int saved = errno;
    if (child > 0)
        (void)kill((pid_t)child, number);
    errno = saved;
}

/* Runs the program and waits; signals sent to us go on to it, those of the terminal it gets itself. What
 * `meanwhile` writes may lose its reader, who ends neither us nor the program by that. */
int cumu_launch_wait(const struct cumu_launch *l, const char *path, char **argv, void (*meanwhile)(void *), void *arg)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = forward}, old[5];
    const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
    const unsigned n = meanwhile ? 5 : 4;
    for (unsigned i = 0; i < n; i++)
        (void)sigaction(numbers[i], i == 2 || i == 3 ? &pass : &ignore, &old[i]);
    pid_t pid = fork();
    if (pid == 0) {
        for (unsigned i = 0; i < n; i++)
            (void)sigaction(numbers[i], &old[i], NULL);
        _exit(cumu_launch_exec(l, path, argv));
    }
    if (pid < 0)
        return cumu_fail(CUMU_EXIT_USAGE, "fork: %s", strerror(errno));
    child = pid;
    int status = 0;
    for (pid_t done = 0; done != pid && (done >= 0 || errno == EINTR);) {
        if (meanwhile)
            meanwhile(arg);
        done = waitpid(pid, &status, meanwhile ? WNOHANG : 0);
    }
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
