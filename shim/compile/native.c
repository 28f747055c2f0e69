/* Forms of the toolkit's own: the table, what a probe found of them, and what the user wants. What was found is kept in
 * the cache, by compiler, architecture and the text of the forms: another release is probed anew. */
#include "compile/native.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/cache.h"
#include "compile/child.h"
#include "compile/compile.h"
#include "compile/scratch.h"
#include "compile/tool.h"
#include "core/config.h"
#include "ptx/musa/musa.h"

enum { PROBE_SECONDS = 300 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    unsigned arch; /* 0: not read yet */
    struct cumu_native_found found;
} known;

static bool make_key(struct cumu_key *key, unsigned arch)
{
    char flags[40];
    const char *why;
    size_t size = 0;
    char *prelude = cumu_musa_compiler(&why) ? mu_prelude(&size) : NULL;
    (void)snprintf(flags, sizeof flags, "native forms of mp_%u", arch);
    if (prelude)
        cumu_tool_key(key, MU_VERSION, cumu_musa_identity(), flags, prelude, size);
    free(prelude);
    return prelude != NULL;
}

void cumu_native_get(unsigned arch, struct cumu_native_found *f)
{
    struct cumu_key key;
    void *data = NULL;
    size_t size = 0;
    (void)pthread_mutex_lock(&lock);
    if (known.arch != arch) {
        known.arch = arch;
        known.found = (struct cumu_native_found){0};
        if (make_key(&key, arch) && cumu_cache_get(&key, &data, &size) && size == sizeof known.found)
            memcpy(&known.found, data, size);
        free(data);
    }
    *f = known.found;
    (void)pthread_mutex_unlock(&lock);
}

void cumu_native_keep(unsigned arch, const struct cumu_native_found *f)
{
    struct cumu_entry e = {.isa = arch, .kernel = "(native forms)"};
    struct cumu_key key;
    (void)pthread_mutex_lock(&lock);
    if (make_key(&key, arch))
        cumu_cache_put(&key, &e, f, sizeof *f);
    known.arch = arch;
    known.found = *f;
    (void)pthread_mutex_unlock(&lock);
}

uint32_t cumu_native_matrices(void)
{
    uint32_t set = 0;
    for (unsigned k = 0; mu_natives[k].name; k++)
        set |= strncmp(mu_natives[k].name, "mma-", 4) == 0 ? 1u << k : 0;
    return set;
}

/* The forms that a list names, or all that the architecture may have. */
static uint32_t named(const char *list, unsigned arch)
{
    uint32_t set = 0;
    for (unsigned k = 0; mu_natives[k].name; k++) {
        const char *name = mu_natives[k].name;
        const size_t n = strlen(name);
        if (strcmp(list, "all") == 0 && arch >= mu_natives[k].least)
            set |= 1u << k;
        for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
            if (strcspn(p, ",") == n && memcmp(p, name, n) == 0)
                set |= 1u << k;
    }
    return set;
}

uint32_t cumu_native_wanted(unsigned arch)
{
    const char *list = cumu_opt_text(CUMU_OPT_MUSA_NATIVE), *mma = cumu_opt_text(CUMU_OPT_MMA);
    const uint32_t matrices = cumu_native_matrices();
    struct cumu_native_found found;
    uint32_t set = 0;
    if (strcmp(list, "auto") == 0) {
        cumu_native_get(arch, &found);
        set = found.right;
    } else {
        set = named(list, arch);
    }
    return strcmp(mma, "device") == 0   ? set | (named("all", arch) & matrices)
           : strcmp(mma, "scalar") == 0 ? set & ~matrices
                                        : set;
}

bool cumu_native_unknown(unsigned arch)
{
    struct cumu_native_found found;
    const uint32_t matrices = named("all", arch) & cumu_native_matrices();
    if (strcmp(cumu_opt_text(CUMU_OPT_MUSA_NATIVE), "auto") != 0 || strcmp(cumu_opt_text(CUMU_OPT_MMA), "auto") != 0)
        return false;
    cumu_native_get(arch, &found);
    return (matrices & ~found.tried) != 0;
}

/* A child's environment has none of our options, but this one compiles and keeps what it finds. */
static void run_tool(char *tool, const char *dir, unsigned arch)
{
    static const char *const names[] = {"CUMU_CACHE_DIR", "CUMU_CACHE_SIZE",    "CUMU_MCC",
                                        "CUMU_MCC_FLAGS", "CUMU_MUSA_COMPILER", "CUMU_COMPILE_SECONDS"};
    enum { NAMES = sizeof names / sizeof *names };
    char log[PATH_MAX + 8], name[16], *own[NAMES] = {NULL};
    char *argv[] = {tool, (char[]){"--native"}, name, NULL};
    char **plain = cumu_env_child(dir), **envp = NULL;
    size_t n = 0;
    (void)snprintf(name, sizeof name, "mp_%u", arch);
    (void)snprintf(log, sizeof log, "%s/log", dir);
    while (plain && plain[n])
        n++;
    if (plain && (envp = calloc(n + NAMES + 1, sizeof *envp)) != NULL) {
        memcpy(envp, plain, n * sizeof *envp);
        for (unsigned k = 0; k < NAMES; k++)
            if (cumu_env(names[k]) && asprintf(&own[k], "%s=%s", names[k], cumu_env(names[k])) >= 0)
                envp[n++] = own[k];
        const struct cumu_child child = {
            .file = tool, .argv = argv, .envp = envp, .folder = -1, .output = log, .seconds = PROBE_SECONDS};
        (void)cumu_child_run(&child);
    }
    for (unsigned k = 0; k < NAMES; k++)
        free(own[k]);
    free(plain);
    free(envp);
}

void cumu_native_probe(unsigned arch)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER; /* threads that come meanwhile wait for the answer */
    char tool[PATH_MAX];
    struct cumu_scratch scratch;
    (void)pthread_mutex_lock(&once);
    if (cumu_native_unknown(arch) && cumu_own_tool(tool) && cumu_scratch_new(&scratch)) {
        run_tool(tool, scratch.path, arch);
        cumu_scratch_drop(&scratch);
    }
    (void)pthread_mutex_lock(&lock);
    known.arch = 0; /* the child has written what it found */
    (void)pthread_mutex_unlock(&lock);
    struct cumu_native_found found;
    cumu_native_get(arch, &found);
    if (cumu_native_matrices() & ~found.tried) { /* it did not come that far */
        found.tried |= cumu_native_matrices();
        cumu_native_keep(arch, &found);
    }
    (void)pthread_mutex_unlock(&once);
}

char *cumu_native_text(uint32_t set, const char *text, size_t size, size_t *new_size)
{
    enum { LINE = 48 };
    size_t n = 0;
    char *to = malloc(size + 32 * LINE + 1);
    for (unsigned k = 0; to && mu_natives[k].name; k++)
        if (set >> k & 1)
            n += (size_t)snprintf(to + n, LINE, "#define %s\n", mu_natives[k].macro);
    if (to) {
        memcpy(to + n, text, size);
        to[n + size] = '\0';
    }
    *new_size = n + size;
    return to;
}
