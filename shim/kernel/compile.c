/* Emitted C to an object: finds the compiler, asks the cache, runs the compiler in a folder of its own. */
#include "kernel/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/config.h"
#include "kernel/cache.h"
#include "kernel/child.h"
#include "kernel/compile.h"

enum {
    SECONDS = 120,        /* for one kernel; the longest seen takes five */
    MAX_TEXT = 8 << 20,   /* beyond, a compiler takes minutes and gigabytes */
    MAX_OBJECT = 64 << 20,
    MAX_ARGS = 64
};

static struct {
    char path[PATH_MAX];
    char identity[PATH_MAX + 64]; /* another compiler makes another object */
    const char *why;              /* there is none */
} compiler;

/* The first executable `name` of the folders of PATH, as its real path. */
static bool find(const char *name)
{
    const char *path = cumu_env("PATH");
    char file[PATH_MAX];
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 && realpath(name, compiler.path);
    for (const char *p = path && *path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        int len = snprintf(file, sizeof file, "%.*s/%s", (int)n, p, name);
        /* the name as found, not its real path: wrappers look at how they were called */
        if (*p == '/' && len < (int)sizeof file && access(file, X_OK) == 0) {
            (void)snprintf(compiler.path, sizeof compiler.path, "%s", file);
            return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

static void find_compiler(void)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    const char *own = cumu_opt_text(CUMU_OPT_CC);
    char real[PATH_MAX];
    struct stat st;
    bool found = *own && find(own);
    for (unsigned i = 0; i < sizeof usual / sizeof *usual && !*own && !found; i++)
        found = find(usual[i]);
    if (!found || !realpath(compiler.path, real) || stat(real, &st) != 0) {
        compiler.path[0] = '\0';
        compiler.why = *own ? "CUMU_CC names no program" : "no C compiler (cc, gcc, clang) on PATH";
        return;
    }
    (void)snprintf(compiler.identity, sizeof compiler.identity, "%s %lld %lld.%09ld", real,
                   (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

const char *cumu_compiler(const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_compiler);
    *why = compiler.why;
    return compiler.path[0] ? compiler.path : NULL;
}

/* ---- one compilation ------------------------------------------------------------------------- */

static char *whole_file(const char *path, size_t limit, size_t *size)
{
    struct stat st;
    char *data = NULL;
    FILE *f = fopen(path, "re");
    if (f && fstat(fileno(f), &st) == 0 && st.st_size >= 0 && (size_t)st.st_size <= limit &&
        (data = malloc((size_t)st.st_size + 1))) {
        *size = fread(data, 1, (size_t)st.st_size, f);
        data[*size] = '\0';
    }
    if (f)
        (void)fclose(f);
    return data;
}

static bool write_file(const char *path, const char *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = f && fwrite(data, 1, size, f) == size;
    if (f)
        good &= fclose(f) == 0;
    return good;
}

/* The compiler's first complaint, or its first line. */
static void first_line(char *to, size_t room, const char *log, int status)
{
    const char *line = log ? strstr(log, "error:") : NULL;
    if (!line)
        line = log ? log : "";
    int n = snprintf(to, room, "%.100s: status %d", compiler.path, status);
    if (*line && n < (int)room)
        (void)snprintf(to + n, room - (size_t)n, ": %.*s", (int)strcspn(line, "\n"), line);
}

static bool compile(struct cumu_compiled *o, const char *dir, const char *text, size_t size,
                    enum t1_isa isa)
{
    char in[PATH_MAX + 8], out[PATH_MAX + 8], log[PATH_MAX + 8], flags[1024];
    char *argv[MAX_ARGS + 8], *save = NULL;
    unsigned n = 0;
    size_t length;
    (void)snprintf(in, sizeof in, "%s/k.c", dir);
    (void)snprintf(out, sizeof out, "%s/k.so", dir);
    (void)snprintf(log, sizeof log, "%s/log", dir);
    (void)snprintf(flags, sizeof flags, "%s", t1_isa_flags(isa));
    if (!write_file(in, text, size)) {
        (void)snprintf(o->why, sizeof o->why, "%.120s: %.60s", in, strerror(errno));
        return false;
    }
    argv[n++] = compiler.path;
    for (char *a = strtok_r(flags, " ", &save); a && n < MAX_ARGS; a = strtok_r(NULL, " ", &save))
        argv[n++] = a;
    argv[n++] = (char[]){"-o"};
    argv[n++] = out;
    argv[n++] = in;
    argv[n] = NULL;
    char **envp = cumu_env_child(dir);
    int status = envp ? cumu_child_run(compiler.path, argv, envp, log, SECONDS) : -1;
    free(envp);
    if (status == 0)
        o->data = whole_file(out, MAX_OBJECT, &o->size);
    if (!o->data) {
        char *said = whole_file(log, 1 << 20, &length);
        first_line(o->why, sizeof o->why, said, status);
        free(said);
    }
    return o->data != NULL;
}

static unsigned long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

/* Everything that decides the object; the text itself holds kernel, shape and prelude. */
static struct cumu_key key_of(const char *text, size_t size, enum t1_isa isa)
{
    struct cumu_key key;
    struct cumu_hash h;
    const uint32_t version = T1_VERSION;
    const char *flags = t1_isa_flags(isa);
    cumu_hash_start(&h);
    cumu_hash_add(&h, &version, sizeof version);
    cumu_hash_add(&h, compiler.identity, strlen(compiler.identity) + 1);
    cumu_hash_add(&h, flags, strlen(flags) + 1);
    cumu_hash_add(&h, text, size);
    cumu_hash_end(&h, key.hash);
    return key;
}

enum cumu_made cumu_object_make(struct cumu_compiled *o, const char *kernel, const char *text, size_t size,
                                enum t1_shape shape, enum t1_isa isa, bool may_compile)
{
    char dir[PATH_MAX];
    const char *why;
    *o = (struct cumu_compiled){.data = NULL};
    if (!cumu_compiler(&why)) {
        (void)snprintf(o->why, sizeof o->why, "%s", why);
        return CUMU_MADE_FAILED;
    }
    struct cumu_key key = key_of(text, size, isa);
    if (cumu_cache_get(&key, &o->data, &o->size))
        return CUMU_MADE_CACHED;
    if (!may_compile)
        return CUMU_MADE_ABSENT;
    if (size > MAX_TEXT) {
        (void)snprintf(o->why, sizeof o->why, "too large to compile (%zu bytes of C)", size);
        return CUMU_MADE_FAILED;
    }
    unsigned long start = now_ms();
    if (!cumu_scratch_new(dir, sizeof dir)) {
        (void)snprintf(o->why, sizeof o->why, "no folder for temporary files: %s", strerror(errno));
        return CUMU_MADE_FAILED;
    }
    bool good = compile(o, dir, text, size, isa);
    cumu_scratch_drop(dir);
    if (!good)
        return CUMU_MADE_FAILED;
    struct cumu_entry e = {.isa = isa, .shape = shape};
    o->ms = e.compile_ms = (unsigned)(now_ms() - start);
    (void)snprintf(e.kernel, sizeof e.kernel, "%s", kernel);
    cumu_cache_put(&key, &e, o->data, o->size);
    return CUMU_MADE_COMPILED;
}
