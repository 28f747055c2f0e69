/* Calls every function of every facade over MUSA libraries that lack all: each answers its library's
 * code for that, or does without, and none crashes. Arguments are made by the map's signatures
 * (build/gen/prototypes.c): numbers are 1, pointers lead to zeroed memory, handles of MUSA's to an
 * address without memory. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/symbols.h"
#include "tests/trace/prototypes.h"

enum { SPACE = 1 << 20, SECONDS = 20 };

static unsigned char *memory; /* zeroes, for what pointers lead to */
static char *nowhere;         /* no memory: what a handle is that nobody made */
static const char *letters;   /* of the arguments of the call being made, from its signature */
static const char *calling;   /* name of the function */
static unsigned argument;
static long long answer;

struct progress { /* shared with the child that makes the calls */
    unsigned table, symbol;
    unsigned failures, calls;
};
static struct progress *at;

/* ---- arguments -------------------------------------------------------------------------------- */

void make(bool of_enum, void *value, size_t size)
{
    (void)of_enum;
    memset(value, 0, size);
}
void make_text(void *string) { (void)string; }

/* Functions whose first pointer is no handle of a MUSA library: constructors write through it, and descriptions are
 * records of cumu's or of the program's own, which are read. */
static bool takes_own(const char *name)
{
    static const char *const words[] = {
        "Create",    "Init",     "Version",    "Logger",      "cublasXt",   "Desc",  "Layout",       "Preference",
        "Params",    "IRS",      "cusolverRf", "cusolverSp",  "cusolverMg", "SpMat", "SetPointers",  "SetStridedBatch",
        "Constants", "Capacity", "AdvOptions", "NumProducts", "nvrtc",      "Info",  "destroy_plan", "LastErrorString",
        "FusedOps"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static bool is_handle(const char *letter, size_t length)
{
    static const char *const handles[] = {"st",  "ev",  "ctx",  "mod", "fn", "lib", "ker",
                                          "lnk", "arr", "pool", "gr",  "gn", "gx"};
    for (unsigned i = 0; i < sizeof handles / sizeof *handles; i++)
        if (strlen(handles[i]) == length && !strncmp(handles[i], letter, length))
            return true;
    bool maths = strncmp(calling, "cu", 2) == 0 && strncmp(calling, "cuda", 4) != 0 && calling[2] >= 'a' &&
                 calling[2] <= 'z';
    return maths && length == 1 && *letter == 'p' && argument == 0 && !takes_own(calling);
}

/* A callback would be called, what destroys a record of cumu's frees it, and FFTW's plans are the system FFTW's. */
static bool passes_nothing(const char *name)
{
    return strstr(name, "Callback") || strstr(name, "Injection") || strstr(name, "_free") ||
           strstr(name, "execute_dft") || ((strstr(name, "Destroy") || strstr(name, "destroy")) && takes_own(name));
}

/* The value was zeroed by make(); it is what is passed afterwards. */
void passed(enum cumu_kind kind, unsigned stars, unsigned kind_size, const void *value, size_t size)
{
    (void)kind_size;
    letters += strspn(letters, " ");
    size_t length = strcspn(letters, " )");
    void *to = (void *)(uintptr_t)value;
    if (kind == CUMU_ARG_STRING && !stars)
        ;
    else if (stars || kind == CUMU_ARG_POINTER || kind == CUMU_ARG_STREAM || kind == CUMU_ARG_ADDRESS) {
        char *p = !stars && is_handle(letters, length) ? nowhere : (char *)memory + argument * 16384;
        p = passes_nothing(calling) || (kind == CUMU_ARG_STREAM && !stars) ? NULL : p;
        memcpy(to, &p, sizeof p);
    } else if (kind != CUMU_ARG_ENUM && size <= 8 && kind != CUMU_ARG_FLOAT && kind != CUMU_ARG_DOUBLE)
        memcpy(to, &(int){1}, size < sizeof(int) ? size : sizeof(int));
    letters += length;
    argument++;
}

void arrived(const void *value, size_t size) { (void)value, (void)size; }

void give(enum cumu_kind kind, unsigned stars, unsigned kind_size, void *result, size_t size)
{
    (void)kind, (void)stars, (void)kind_size;
    memset(result, 0, size);
}

void got(const void *result, size_t size)
{
    answer = 0;
    memcpy(&answer, result, size < 8 ? size : 8);
}

/* ---- calls -------------------------------------------------------------------------------------- */

static void complain(const struct cumu_table *t, const struct cumu_symbol *s, const char *what, long long code)
{
    printf("not ok %s %s: %s %lld\n", t->soname, s->name, what, code);
    at->failures++;
}

/* Stream-ordered allocation is cumu's own where an SDK has none: these refuse the arguments, not the function. */
static bool emulated(const char *name)
{
    return strstr(name, "MemPool") || strstr(name, "FreeAsync") || strstr(name, "MallocAsync") ||
           strstr(name, "MallocFromPool") || strstr(name, "MemAllocAsync") || strstr(name, "MemAllocFromPool") ||
           strstr(name, "MemPrefetchAsync");
}

/* What needs no MUSA function prints "alone NAME", what is missing below "missing LIBRARY NAME": run.sh compares. */
static void call(const struct cumu_table *t, const struct cumu_symbol *s, void *function)
{
    const struct pair *p = &pairs[s->call];
    letters = strchr(p->signature, '(') + 1;
    calling = s->name;
    argument = 0;
    answer = 0;
    memset(memory, 0, SPACE);
    p->call((void (*)(void))(uintptr_t)function);
    at->calls++;
    bool status = s->returns == CUMU_RETURNS_STATUS;
    bool below = s->verb == CUMU_JUMP || s->verb == CUMU_CONV;
    answer = status ? (int)answer : answer;
    if (status && (s->verb == CUMU_STUB || below) && answer != t->unsupported && !(answer && emulated(s->name)))
        complain(t, s, "answers", answer);
    if (!status && below && answer && !strstr(s->name, "Desc"))
        complain(t, s, "returns", answer);
    if (below && s->target && !emulated(s->name))
        printf("missing %s %s\n", s->name, s->target);
    else if (status && !answer && s->verb == CUMU_WRAP)
        printf("alone %s\n", s->name);
}

/* Calls on from where the last child ended. */
static void run_calls(const struct cumu_table *const *tables)
{
    for (; tables[at->table]; at->table++, at->symbol = 0) {
        const struct cumu_table *t = tables[at->table];
        void *facade = dlopen(t->soname, RTLD_NOW);
        if (!facade) {
            printf("not ok %s: %s\n", t->soname, dlerror());
            at->failures++;
            continue;
        }
        while (at->symbol < t->count) {
            const struct cumu_symbol *s = &t->symbols[at->symbol++];
            void *function = dlsym(facade, s->name);
            alarm(SECONDS);
            if (function && s->verb != CUMU_PASS) /* those call the program's own NVIDIA library, where there is one */
                call(t, s, function);
        }
    }
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    void *core = dlopen("libcumu-core.so", RTLD_NOW | RTLD_NOLOAD);
    if (!core) {
        void *facade = dlopen("libcudart.so.13", RTLD_NOW);
        core = facade ? dlopen("libcumu-core.so", RTLD_NOW | RTLD_NOLOAD) : NULL;
    }
    const struct cumu_table *const *tables = core ? dlsym(core, "cumu_tables") : NULL;
    at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memory = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    nowhere = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!tables || at == MAP_FAILED || memory == MAP_FAILED || nowhere == MAP_FAILED) {
        printf("not ok no tables: %s\n", dlerror());
        return 1;
    }
    for (;;) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run_calls(tables);
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        const struct cumu_table *t = tables[at->table];
        if (!t)
            break;
        printf("not ok %s %s: ends the process: %s\n", t->soname, at->symbol ? t->symbols[at->symbol - 1].name : "?",
               WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
        at->failures++;
    }
    if (!at->failures)
        printf("ok %u calls over libraries that lack everything\n", at->calls);
    return at->failures != 0;
}
