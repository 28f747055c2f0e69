/* Calls every function of a facade with bad input, each function in a process of its own: null pointers; null, small,
 * garbage, foreign and destroyed handles and those of other kinds; absurd numbers, unknown enum values; and arguments
 * drawn by a seed.
 *
 * What is asked for. NVIDIA's libraries may crash where a program says that memory is where it is not: an address of
 * the host that leads nowhere, a length beyond its end, an array of such addresses. They survive, and so must these
 * libraries: null in any place, numbers and enum values that mean nothing, addresses of the device that lead nowhere,
 * handles of the driver, the runtime and the libraries that are null or were destroyed. Beyond that cumu promises that
 * a handle may be any number whatsoever (the driver's and the runtime's, and the libraries' that come first among the
 * arguments): real drivers read through it. So a crash, an exit or a hang is a failure, as is success where a handle
 * was none or nothing but null pointers was given, or a failure that writes its results; justified.h says why not.
 *
 *     brute SONAME [SYMBOL [WAY]]
 * BRUTE_SEED: of the mixed calls and the sample; BRUTE_PERCENT: functions that are called (100); BRUTE_MIXED: mixed
 * calls a function (8). */
#include "tests/brute/brute.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/brute/justified.h"

enum { SECONDS = 20, NO_SYMBOL = 93, NO_OBJECTS, AGAIN, OVER = NULLS + ARGUMENTS + 64 };

static struct shared {
    int way; /* in progress */
    unsigned result[WAYS];
    bool done[WAYS], wrote[WAYS], ended;
} * shared;
static int failures, calls, functions, mixed = 8, only_way = -1;
static unsigned long long seed = 1;

static uint64_t hash(const char *text, uint64_t h)
{
    h ^= 14695981039346656037ull;
    while (*text)
        h = (h ^ (unsigned char)*text++) * 1099511628211ull;
    h ^= h >> 29;
    return h * 0x9e3779b97f4a7c15ull;
}

/* Frees or goes through what it is given, which is no handle: anything but null and its own ends real programs. */
static bool ends(const struct function *f)
{
    bool handles = false;
    for (int i = 0; i < f->n; i++)
        handles |= is_handle(f, i);
    return !handles && ((f->n == 1 && strstr(f->name, "estroy")) || (!strncmp(f->name, "fftw", 4) && f->n <= 3));
}

static bool tried(const struct function *f, int way)
{
    if (only_way >= 0)
        return way == only_way;
    if (f->stub || ends(f))
        return way == NOTHING;
    if (way < NULLS)
        return true;
    return way < MIXED ? way - NULLS < f->n && is_pointer(f, way - NULLS) : way < MIXED + mixed;
}

/* What stops a stream until memory has a value, which here never comes. */
static bool waits(const char *name)
{
    return strstr(name, "WaitValue") || strstr(name, "BatchMemOp") || strstr(name, "WaitSignal");
}

/* All ways from `from` on, then a look at whether the driver still works and the process can end. */
static void child(const struct cumu_symbol *s, const struct cumu_table *t, int from)
{
    int null = open("/dev/null", O_RDWR);
    if (only_way < 0)
        dup2(null, STDERR_FILENO);
    dup2(null, STDOUT_FILENO);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    alarm(SECONDS);
    void *facade = dlopen(t->soname, RTLD_NOW), *p = facade ? dlsym(facade, s->name) : NULL;
    void (*address)(void);
    memcpy(&address, &p, sizeof address);
    if (!address)
        _exit(NO_SYMBOL);
    struct function f = describe(s, t->library);
    if (!f.stub && !prepare(facade, t))
        _exit(NO_OBJECTS);
    for (int way = from; way < WAYS; way++) {
        if (!tried(&f, way))
            continue;
        shared->way = way;
        alarm(SECONDS);
        if (!f.stub)
            clear_buffers(&f, way, hash(s->name, seed + (unsigned)way));
        shared->result[way] = call(&f, address, way);
        shared->wrote[way] = way < MIXED && shared->result[way] && !f.stub && buffers_changed();
        shared->done[way] = true;
        if (!f.stub && !waits(s->name) && DRIVER("cuCtxSynchronize"))
            _exit(AGAIN); /* a fault of the device: later calls would answer with it */
    }
    shared->way = OVER;
    uint64_t memory;
    if (!f.stub && !waits(s->name) && !DRIVER("cuMemAlloc_v2", &memory, (size_t)4096))
        DRIVER("cuMemFree_v2", memory);
    shared->ended = true;
    exit(0);
}

static const char *way_name(const struct function *f, int way, char text[96])
{
    static const char *const names[] = {"all null",          "null handles",    "small handles",
                                        "garbage handles",   "foreign handles", "destroyed handles",
                                        "handles of others", "huge numbers",    "unknown enums"};
    if (way < NULLS)
        return names[way];
    if (way == OVER)
        return shared->ended ? "at its end" : "what follows";
    if (way < MIXED)
        snprintf(text, 96, "argument %d (%s) null", way - NULLS, f->letter[way - NULLS]);
    else
        snprintf(text, 96, "mixed %d (seed %llu)", way, seed);
    return text;
}

static bool excused(const char *name, char what, int way)
{
    for (unsigned i = 0; i < sizeof justified / sizeof *justified; i++) {
        bool named = !fnmatch(justified[i].name, name, 0);
        if (named && justified[i].what == what &&
            (justified[i].way < 0 || justified[i].way == way ||
             (justified[i].way == NULLS && way >= NULLS && way < MIXED) || (justified[i].way == MIXED && way >= MIXED)))
            return true;
    }
    return false;
}

static void failed(const struct function *f, int way, const char *format, int a)
{
    char text[96];
    printf("not ok %s: %s (way %d): ", f->name, way_name(f, way, text), way);
    printf(format, a);
    puts("");
    failures++;
}

/* Answers that were wrong: success where something was, results written by what failed. */
static void judge(const struct function *f)
{
    bool pointers = false, handles = false;
    for (int i = 0; i < f->n; i++) {
        pointers |= is_pointer(f, i);
        handles |= is_handle(f, i);
    }
    for (int way = 0; way < MIXED; way++) {
        bool bad = way == NOTHING ? pointers : way >= SMALL && way <= OTHER && handles;
        if (!f->status || !shared->done[way] || f->stub)
            continue;
        if (shared->wrote[way] && !excused(f->name, 'w', way))
            failed(f, way, "fails with %d and writes", (int)shared->result[way]);
        if (!shared->result[way] && bad && !excused(f->name, 's', way))
            failed(f, way, "succeeds", 0);
    }
}

static void sweep(const struct cumu_symbol *s, const struct cumu_table *t)
{
    const struct function f = describe(s, t->library);
    memset(shared, 0, sizeof *shared);
    functions++;
    for (int from = 0; from < WAYS;) {
        int status;
        fflush(stdout);
        shared->way = 0;
        pid_t pid = fork();
        if (!pid)
            child(s, t, from);
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && !WEXITSTATUS(status) && shared->ended)
            break;
        if (WIFEXITED(status) && (WEXITSTATUS(status) == NO_SYMBOL || WEXITSTATUS(status) == NO_OBJECTS)) {
            failed(&f, 0, WEXITSTATUS(status) == NO_SYMBOL ? "the library lacks it" : "set-up fails", 0);
            return;
        }
        from = shared->way + 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == AGAIN)
            continue;
        if (excused(f.name, 'd', shared->way))
            continue;
        bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        failed(&f, shared->way,
               hangs                 ? "hangs"
               : WIFSIGNALED(status) ? "dies of signal %d"
                                     : "exits with %d",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        if (shared->way == OVER)
            break;
    }
    for (int way = 0; way < WAYS; way++)
        calls += shared->done[way];
    judge(&f);
}

static const struct cumu_table *table_of(const char *soname)
{
    void *facade = dlopen(soname, RTLD_NOW), *core = dlopen("libcumu-core.so", RTLD_NOW | RTLD_NOLOAD);
    const struct cumu_table *const *t = facade && core ? dlsym(core, "cumu_tables") : NULL;
    while (t && *t && strcmp((*t)->soname, soname))
        t++;
    return t ? *t : NULL;
}

static unsigned long long option(const char *name, unsigned long long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
    const struct cumu_table *t = argc > 1 ? table_of(argv[1]) : NULL;
    if (!t)
        return puts("not ok usage: brute SONAME [SYMBOL [WAY]], by cumu run"), 2;
    seed = option("BRUTE_SEED", 1);
    mixed = (int)option("BRUTE_MIXED", 8);
    mixed = mixed > WAYS - MIXED ? WAYS - MIXED : mixed;
    only_way = argc > 3 ? atoi(argv[3]) : -1;
    unsigned long long percent = option("BRUTE_PERCENT", 100);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (unsigned i = 0; i < t->count; i++)
        if (argc > 2 ? !strcmp(t->symbols[i].name, argv[2])
                     : hash(t->symbols[i].name, hash(t->soname, seed)) % 100 < percent)
            sweep(&t->symbols[i], t);
    if (!failures)
        printf("ok %s: %d functions, %d calls, seed %llu\n", t->soname, functions, calls, seed);
    return failures != 0;
}
