/* Emitted text to an object: finds the compiler, asks the cache, runs the compiler in a folder of its own. */
#include "compile/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/config.h"
#include "core/file.h"
#include "compile/cache.h"
#include "compile/child.h"
#include "compile/scratch.h"
#include "compile/tool.h"

enum {
    MAX_TEXT = 8 << 20, /* beyond, a compiler takes minutes and gigabytes */
    MAX_OBJECT = 64 << 20,
    MAX_LOG = 1 << 20,
    MAX_ARGS = 64,
    LINE = 160 /* of a compiler's first complaint */
};

/* ---- compilers ------------------------------------------------------------------------------- */

bool cumu_tool_find(struct cumu_tool *t, const char *name)
{
    const char *path = cumu_env("PATH");
    char file[PATH_MAX];
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 && realpath(name, t->path);
    for (const char *p = path && *path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        int len = snprintf(file, sizeof file, "%.*s/%s", (int)n, p, name);
        /* the name as found, not its real path: wrappers look at how they were called */
        if (*p == '/' && len < (int)sizeof file && access(file, X_OK) == 0) {
            (void)snprintf(t->path, sizeof t->path, "%s", file);
            return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

bool cumu_tool_identify(struct cumu_tool *t)
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(t->path, real) || stat(real, &st) != 0) {
        t->path[0] = '\0';
        return false;
    }
    (void)snprintf(t->identity, sizeof t->identity, "%s %lld %lld.%09ld", real, (long long)st.st_size,
                   (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return true;
}

static struct cumu_tool compiler;

static void find_compiler(void)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    const char *own = cumu_opt_text(CUMU_OPT_CC);
    bool found = *own && cumu_tool_find(&compiler, own);
    for (unsigned i = 0; i < sizeof usual / sizeof *usual && !*own && !found; i++)
        found = cumu_tool_find(&compiler, usual[i]);
    if (!found || !cumu_tool_identify(&compiler))
        compiler.why = *own ? "CUMU_CC names no program"
                            : "no C compiler (cc, gcc, clang) on PATH: install one, or name it by CUMU_CC";
}

const char *cumu_compiler(const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_compiler);
    *why = compiler.why;
    return compiler.why ? NULL : compiler.path;
}

const char *cumu_compiler_identity(void)
{
    const char *why;
    return cumu_compiler(&why) ? compiler.identity : "";
}

/* ---- one compilation ------------------------------------------------------------------------- */

static void *read_object(int folder, const char *name, size_t *size)
{
    void *data = cumu_file_read_at(folder, name, MAX_OBJECT + 1, size);
    if (*size <= MAX_OBJECT)
        return data;
    free(data);
    return NULL;
}

static bool write_file(int folder, const char *name, const char *data, size_t size)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && cumu_write_all(fd, data, size);
    if (fd >= 0)
        good &= close(fd) == 0;
    return good;
}

/* What became of the compiler, its first complaint or its first line, and how it was called. */
static void first_line(char *to, size_t room, const struct cumu_recipe *r, const char *log, int status)
{
    const char *line = log ? strstr(log, "error:") : NULL;
    if (!line)
        line = log ? log : "";
    int n = snprintf(to, room,
                     status == 128 + SIGKILL ? "%.100s: took too long or was killed (%d)" : "%.100s: status %d",
                     r->tool->path, status);
    size_t end = strcspn(line, "\n");
    if (end && n < (int)room)
        n += snprintf(to + n, room - (size_t)n, ": %.*s", end < LINE ? (int)end : LINE, line);
    if (n < (int)room)
        (void)snprintf(to + n, room - (size_t)n, " (options: %s)", r->flags);
}

/* Clang reports a crash of its own as an error of its driver, with status 1 or higher. */
static enum cumu_fault fault_of(const char *log, int status)
{
    static const char *const of_flags[] = {"unknown argument", "unsupported option", "unrecognized"};
    static const char *const of_tool[] = {
        "error in backend",           "LLVM ERROR",  "frontend command failed", "unable to execute command",
        "PLEASE submit a bug report", "Stack dump:", "internal compiler error"};
    if (status >= 128)
        return CUMU_FAULT_TOOL;
    for (unsigned i = 0; log && i < sizeof of_tool / sizeof *of_tool; i++)
        if (strstr(log, of_tool[i]))
            return CUMU_FAULT_TOOL;
    for (unsigned i = 0; log && i < sizeof of_flags / sizeof *of_flags; i++)
        if (strstr(log, of_flags[i]))
            return CUMU_FAULT_FLAGS;
    return CUMU_FAULT_TEXT;
}

/* Runs the compiler on one text in a folder of its own and takes the object, or the first line of what it said. The
 * folder is its working directory, by the descriptor that was checked: names in it mean nobody else's files. The
 * environment is cleaned: without LD_PRELOAD the compiler is not a guest of cumu's itself, and TMPDIR is the folder.
 * */
static bool compile(struct cumu_compiled *o, const struct cumu_scratch *scratch, const struct cumu_recipe *r,
                    const char *text, size_t size)
{
    static char out[] = "k.so", log[] = "log";
    char in[32], flags[1024], file[PATH_MAX];
    char *argv[MAX_ARGS + 8], *save = NULL;
    unsigned n = 0;
    size_t length;
    int folder = cumu_scratch_folder(scratch);
    (void)snprintf(in, sizeof in, "k%s", r->suffix);
    (void)snprintf(flags, sizeof flags, "%s", r->flags);
    (void)snprintf(file, sizeof file, "%s", r->tool->path);
    if (folder < 0 || !write_file(folder, in, text, size)) {
        (void)snprintf(o->why, sizeof o->why, "%.120s/%s: %.60s", scratch->path, in, strerror(errno));
        return false;
    }
    argv[n++] = file;
    for (char *a = strtok_r(flags, " ", &save); a && n < MAX_ARGS; a = strtok_r(NULL, " ", &save))
        argv[n++] = a;
    argv[n++] = (char[]){"-o"};
    argv[n++] = out;
    argv[n++] = in;
    argv[n] = NULL;
    char **envp = cumu_env_child(".");
    long seconds = cumu_opt_int(CUMU_OPT_COMPILE_SECONDS) / (r->hurried ? 2 : 1) / (r->part ? (long)r->part : 1);
    const struct cumu_child child = {.file = file,
                                     .argv = argv,
                                     .envp = envp,
                                     .folder = folder,
                                     .output = log,
                                     .seconds = seconds > 0 ? (unsigned)seconds : 1,
                                     .megabytes = CUMU_COMPILER_MEGABYTES,
                                     .idle = r->idle};
    int status = envp ? cumu_child_run(&child) : -1, why = errno;
    free(envp);
    folder = cumu_scratch_folder(scratch);
    if (status == 0 && folder >= 0)
        o->data = read_object(folder, out, &o->size);
    if (!o->data) {
        char *said = folder >= 0 ? cumu_file_read_at(folder, log, MAX_LOG, &length) : NULL;
        first_line(o->why, sizeof o->why, r, said, status);
        o->fault = fault_of(said, status);
        o->timed_out = status == 128 + SIGKILL || status == 128 + SIGXCPU;
        free(said);
        if (status < 0)
            (void)snprintf(o->why, sizeof o->why, "%.100s: cannot be started: %.60s", file, strerror(why));
    }
    return o->data != NULL;
}

static unsigned long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

/* Everything that decides the object; the text, or the digest in its place, holds kernel, shape and prelude. */
void cumu_tool_key(struct cumu_key *key, uint32_t version, const char *identity, const char *flags, const char *text,
                   size_t size)
{
    struct cumu_hash h;
    cumu_hash_start(&h);
    cumu_hash_add(&h, &version, sizeof version);
    cumu_hash_add(&h, identity, strlen(identity) + 1);
    cumu_hash_add(&h, flags, strlen(flags) + 1);
    cumu_hash_add(&h, text, size);
    cumu_hash_end(&h, key->hash);
}

enum cumu_made cumu_tool_make(struct cumu_compiled *o, const struct cumu_recipe *r, const char *text, size_t size,
                              bool may_compile)
{
    const struct cumu_tool *t = r->tool;
    struct cumu_scratch scratch;
    struct cumu_key key;
    *o = (struct cumu_compiled){.data = NULL};
    if (t->why) {
        (void)snprintf(o->why, sizeof o->why, "%s", t->why);
        return CUMU_MADE_FAILED;
    }
    if (r->key)
        key = *r->key;
    else
        cumu_tool_key(&key, r->version, t->identity, r->flags, text, size);
    if (cumu_cache_get(&key, &o->data, &o->size))
        return CUMU_MADE_CACHED;
    if (!may_compile)
        return CUMU_MADE_ABSENT;
    if (size > MAX_TEXT) {
        (void)snprintf(o->why, sizeof o->why, "too large to compile (%zu bytes of text)", size);
        return CUMU_MADE_FAILED;
    }
    unsigned long start = now_ms();
    if (!cumu_scratch_new(&scratch)) {
        (void)snprintf(o->why, sizeof o->why, "no folder for temporary files: %s", strerror(errno));
        return CUMU_MADE_FAILED;
    }
    bool good = compile(o, &scratch, r, text, size);
    cumu_scratch_drop(&scratch);
    if (!good || (r->finish && !r->finish(o, r->ctx)))
        return CUMU_MADE_FAILED;
    struct cumu_entry e = r->entry;
    o->ms = e.compile_ms = (unsigned)(now_ms() - start);
    cumu_cache_put(&key, &e, o->data, o->size);
    return CUMU_MADE_COMPILED;
}

enum t1_isa cumu_object_isa(void)
{
    const char *named = cumu_opt_text(CUMU_OPT_ISA);
    const enum t1_isa here = t1_isa_here(), most = !strcmp(named, "plain")  ? T1_PLAIN
                                                   : !strcmp(named, "avx2") ? T1_AVX2
                                                                            : here;
    return most < here ? most : here;
}

bool cumu_object_debugged(void) { return cumu_opt_bool(CUMU_OPT_JIT_DEBUG); }

/* Where variables are is not told: they are pieces of vectors, and to follow them takes longer than to compile. */
const char *cumu_object_flags(enum t1_isa isa)
{
    static char flags[T1_NISA][1024];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!cumu_object_debugged())
        return t1_isa_flags(isa);
    (void)pthread_mutex_lock(&lock);
    if (!*flags[isa])
        (void)snprintf(flags[isa], sizeof flags[isa], "%s -g -fno-var-tracking", t1_isa_flags(isa));
    (void)pthread_mutex_unlock(&lock);
    return flags[isa];
}

const char *cumu_object_flags_for(enum t1_isa isa, size_t text)
{
    static _Thread_local char flags[1024];
    (void)snprintf(flags, sizeof flags, "%s%s", cumu_object_flags(isa), t1_size_flags(text));
    return flags;
}

enum cumu_made cumu_object_find(struct cumu_compiled *o, const struct cumu_key *key)
{
    const char *why;
    *o = (struct cumu_compiled){.data = NULL};
    if (!cumu_compiler(&why)) {
        (void)snprintf(o->why, sizeof o->why, "%s", why);
        return CUMU_MADE_FAILED;
    }
    return cumu_cache_get(key, &o->data, &o->size) ? CUMU_MADE_CACHED : CUMU_MADE_ABSENT;
}

enum cumu_made cumu_object_make(struct cumu_compiled *o, const struct cumu_key *key, const char *kernel,
                                const char *text, size_t size, enum t1_shape shape, enum t1_isa isa, bool idle)
{
    struct cumu_recipe r = {.tool = &compiler,
                            .idle = idle,
                            .suffix = ".c",
                            .flags = cumu_object_flags_for(isa, size),
                            .key = key,
                            .entry = {.isa = isa, .shape = shape}};
    const char *why;
    (void)cumu_compiler(&why);
    (void)snprintf(r.entry.kernel, sizeof r.entry.kernel, "%s", kernel);
    return cumu_tool_make(o, &r, text, size, true);
}
