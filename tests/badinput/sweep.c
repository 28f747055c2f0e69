/* Calls every function of a facade with bad input, each in a process of its own: null pointers, null, foreign,
 * garbage and destroyed handles, absurd numbers, unknown enum values. A crash or a hang is a failure; so is
 * success where nothing but null pointers was given, unless the table below says why that is right.
 *
 *     sweep LIBRARY MAP TOOLKIT [SYMBOL]     as libcudart.so.13 mapping/api/cudart.map 13 */
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 16, ROOM = 1 << 16, SECONDS = 20, SYMBOLS = 1024 };

struct function {
    char name[80], letter[ARGUMENTS][32];
    bool status; /* returns an error code */
    bool struct_result;
    int n;
};
static struct function functions[SYMBOLS];
static int count;

/* ---- the map ---------------------------------------------------------------------------------- */

static void parse(char *line, int toolkit)
{
    char *verb = strtok(line, " \t\n"), *name = strtok(NULL, " \t\n"), *rest = strtok(NULL, "\n");
    if (!name || !rest || verb[0] == '#' || !strcmp(verb, "use") || !strcmp(verb, "library"))
        return;
    const char *since = strstr(rest, "since "), *until = strstr(rest, "until ");
    if ((since && atoi(since + 6) > toolkit) || (until && atoi(until + 6) < toolkit))
        return;
    char *close = strrchr(rest, ')'), *open = strrchr(rest, '(');
    if (!close || !open || count == SYMBOLS)
        return;
    struct function *f = &functions[count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->status = open - rest >= 3 && (!strncmp(open - 3, "err", 3) || !strncmp(open - 3, "res", 3));
    f->struct_result = open - rest >= 4 && !strncmp(open - 4, "chan", 4);
    *close = 0;
    for (char *w = strtok(open + 1, " "); w && f->n < ARGUMENTS; w = strtok(NULL, " "))
        snprintf(f->letter[f->n++], sizeof f->letter[0], "%s", w);
}

static void read_map(const char *path, int toolkit)
{
    char line[1024];
    FILE *m = fopen(path, "r");
    if (!m) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, m))
        parse(line, toolkit);
    fclose(m);
}

/* ---- values ------------------------------------------------------------------------------------- */

static void *driver, *library;
static const char *const kinds[] = {"st",  "ev",  "ctx",  "mod", "fn", "lib", "ker",
                                    "lnk", "arr", "pool", "gr",  "gn", "gx"};
enum { ST, EV, CTX, MOD, FN, LIB, KER, LNK, ARR, POOL, GR, GN, GX, KINDS };
static void *live[KINDS], *dead[KINDS];
static char *buffer[ARGUMENTS]; /* zeros behind a `ret`: they serve as callbacks, too */

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.global .u32 v;\n"
                          ".visible .entry k(.param .u32 a)\n{\n  ret;\n}\n";

#define CALL(name, ...) ((int (*)())(uintptr_t)dlsym(driver, name))(__VA_ARGS__)

static void make(void *h[KINDS])
{
    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } desc = {4, 4, 32, 1};
    struct {
        int alloc, handle, type, id;
        char rest[100];
    } props = {1, 0, 1, 0, {0}};
    CALL("cuStreamCreate", &h[ST], 1);
    CALL("cuEventCreate", &h[EV], 0);
    CALL("cuModuleLoadData", &h[MOD], ptx);
    CALL("cuModuleGetFunction", &h[FN], h[MOD], "k");
    CALL("cuLibraryLoadData", &h[LIB], ptx, NULL, NULL, 0, NULL, NULL, 0);
    CALL("cuLibraryGetKernel", &h[KER], h[LIB], "k");
    CALL("cuLinkCreate_v2", 0, NULL, NULL, &h[LNK]);
    CALL("cuArrayCreate_v2", &h[ARR], &desc);
    CALL("cuMemPoolCreate", &h[POOL], &props);
    CALL("cuGraphCreate", &h[GR], 0);
    CALL("cuGraphAddEmptyNode", &h[GN], h[GR], NULL, (size_t)0);
    CALL("cuGraphInstantiateWithFlags", &h[GX], h[GR], 0ull);
}

static void prepare(void)
{
    void *current = NULL;
    CALL("cuInit", 0);
    CALL("cuDevicePrimaryCtxRetain", &current, 0);
    CALL("cuCtxSetCurrent", current);
    make(live); /* first: the handles of what is destroyed afterwards stay unused */
    live[CTX] = current;
    for (int i = 0; i < KINDS; i++)
        if (!live[i])
            _exit(4);
    CALL("cuCtxCreate_v2", &dead[CTX], 0, 0);
    make(dead);
    CALL("cuStreamDestroy_v2", dead[ST]);
    CALL("cuEventDestroy_v2", dead[EV]);
    CALL("cuModuleUnload", dead[MOD]);
    CALL("cuLibraryUnload", dead[LIB]);
    CALL("cuLinkDestroy", dead[LNK]);
    CALL("cuArrayDestroy", dead[ARR]);
    CALL("cuMemPoolDestroy", dead[POOL]);
    CALL("cuGraphExecDestroy", dead[GX]);
    CALL("cuGraphDestroy", dead[GR]);
    CALL("cuCtxDestroy_v2", dead[CTX]);
    CALL("cuCtxSetCurrent", current);
}

static void clear_buffers(void)
{
    for (int i = 0; i < ARGUMENTS; i++) {
        memset(buffer[i], 0, ROOM);
        buffer[i][0] = (char)0xc3;
    }
}

static bool buffers_changed(void)
{
    for (int i = 0; i < ARGUMENTS; i++)
        for (int k = 0; k < ROOM; k++)
            if (buffer[i][k] != (k ? 0 : (char)0xc3))
                return true;
    return false;
}

/* ---- ways to be wrong --------------------------------------------------------------------------- */

enum way { NOTHING, EMPTY, GARBAGE, FOREIGN, DESTROYED, HUGE, UNKNOWN, NULLS /* and one more an argument */ };

static int kind_of(const char *letter)
{
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(letter, kinds[i]))
            return i;
    return -1;
}

static uint64_t handle(int kind, int way)
{
    switch (way) {
    case NOTHING:
    case EMPTY: return 0;
    case GARBAGE: return 0xdeadbeef0;
    case FOREIGN: return (uintptr_t)buffer[ARGUMENTS - 1];
    case DESTROYED: return (uintptr_t)dead[kind];
    default: return (uintptr_t)live[kind];
    }
}

static uint64_t number(const char *letter, int way)
{
    bool is_enum = !strncmp(letter, "e.", 2);
    switch (way) {
    case NOTHING:
    case EMPTY: return 0;
    case FOREIGN: return (uint64_t)-1;
    case HUGE: return is_enum ? 0 : *letter == 'z' || *letter == 'U' || *letter == 'q' ? SIZE_MAX / 2 : INT32_MAX;
    case GARBAGE:
    case UNKNOWN: return is_enum ? 9999 : 1;
    default: return 1;
    }
}

struct frame {
    uint64_t reg[6], stack[24];
    int regs, stacked;
};

static void push(struct frame *f, const uint64_t *word, int words)
{
    bool in_regs = words <= 2 && f->regs + words <= 6;
    for (int i = 0; i < words; i++)
        if (in_regs)
            f->reg[f->regs++] = word[i];
        else
            f->stack[f->stacked++] = word[i];
}

static bool by_value(const char *letter, int *words)
{
    static const struct {
        const char *letter;
        int bytes;
    } structs[] = {{"dim3", 12}, {"loc", 8},   {"ext", 24}, {"pitched", 32}, {"chan", 20},
                   {"ipcm", 64}, {"ipce", 64}, {"S8", 8},   {"S12", 12},     {"S16", 16},
                   {"S20", 20},  {"S24", 24},  {"S32", 32}, {"S64", 64},     {"S128", 128}};
    for (unsigned i = 0; i < sizeof structs / sizeof *structs; i++)
        if (!strcmp(letter, structs[i].letter)) {
            *words = (structs[i].bytes + 7) / 8;
            return true;
        }
    return false;
}

static bool is_pointer(const char *letter)
{
    return *letter == '*' || !strcmp(letter, "p") || !strcmp(letter, "P") || !strcmp(letter, "s");
}

/* What the function answered. */
static long call(const struct function *fn, void *address, int way)
{
    struct frame f = {.regs = 0};
    int null_at = way >= NULLS ? way - NULLS : -1;
    for (int i = 0; i < fn->n; i++) {
        const char *l = fn->letter[i];
        uint64_t word[16] = {0};
        int words = 1, kind = kind_of(l);
        if (i == null_at || !strcmp(l, "b2d") || !strcmp(l, "f") || !strcmp(l, "d"))
            ;
        else if (is_pointer(l))
            word[0] = way == NOTHING ? 0 : (uintptr_t)buffer[i];
        else if (kind >= 0)
            word[0] = handle(kind, way);
        else if (by_value(l, &words))
            for (int k = 0; k < words; k++)
                word[k] = way == HUGE ? 0x7fffffff7fffffff : way == NOTHING || way == EMPTY ? 0 : 0x100000001;
        else if (!strcmp(l, "D"))
            word[0] = way == NOTHING || way == EMPTY ? 0 : way == GARBAGE ? 0xdeadbeef0 : (uintptr_t)buffer[i];
        else
            word[0] = number(l, way);
        if (!strcmp(l, "f") || !strcmp(l, "d"))
            continue; /* in registers of their own, which hold 0 */
        push(&f, word, words);
    }
    typedef long generic(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    const uint64_t *s = f.stack;
    return ((generic *)(uintptr_t)address)(f.reg[0], f.reg[1], f.reg[2], f.reg[3], f.reg[4], f.reg[5], 0, 0, s[0], s[1],
                                           s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13],
                                           s[14], s[15], s[16], s[17]);
}

/* ---- the sweep ---------------------------------------------------------------------------------- */

static struct shared {
    int way; /* in progress */
    long result[NULLS + ARGUMENTS];
    bool done[NULLS + ARGUMENTS], wrote[NULLS + ARGUMENTS];
} * shared;

static void child(const struct function *f, const char *soname, int from)
{
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    dup2(null, STDOUT_FILENO);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    library = dlopen(soname, RTLD_NOW);
    void *address = dlsym(library, f->name);
    if (!address)
        _exit(3);
    prepare();
    alarm(SECONDS);
    for (int way = from; way < NULLS + f->n; way++) {
        if (way >= NULLS && !is_pointer(f->letter[way - NULLS]))
            continue;
        shared->way = way;
        clear_buffers();
        shared->result[way] = call(f, address, way) & 0xffffffff;
        shared->wrote[way] = shared->result[way] && buffers_changed();
        shared->done[way] = true;
    }
    _exit(0);
}

static const char *way_name(const struct function *f, int way, char text[64])
{
    static const char *const names[] = {"all null",          "null handles", "garbage handles", "foreign handles",
                                        "destroyed handles", "huge numbers", "unknown enums"};
    if (way < NULLS)
        return names[way];
    snprintf(text, 64, "argument %d (%s) null", way - NULLS, f->letter[way - NULLS]);
    return text;
}

#include "justified.h"

static bool excused(const char *name, char what, int way)
{
    for (unsigned i = 0; i < sizeof justified / sizeof *justified; i++) {
        size_t n = strlen(justified[i].name);
        bool prefix = justified[i].name[n - 1] == '*';
        bool named = prefix ? !strncmp(name, justified[i].name, n - 1) : !strcmp(name, justified[i].name);
        if (named && justified[i].what == what &&
            (justified[i].way < 0 || justified[i].way == way || (justified[i].way == NULLS && way >= NULLS)))
            return true;
    }
    return false;
}

static int failures, calls;

static void sweep(const struct function *f, const char *soname)
{
    char text[64];
    memset(shared, 0, sizeof *shared);
    for (int from = 0; from < NULLS + f->n;) {
        fflush(stdout);
        pid_t pid = fork();
        int status;
        if (!pid)
            child(f, soname, from);
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        if (WIFEXITED(status) && (WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == 4)) {
            printf("not ok %s: %s\n", f->name, WEXITSTATUS(status) == 3 ? "the library lacks it" : "set-up fails");
            failures++;
            return;
        }
        from = shared->way + 1;
        if (excused(f->name, 'd', shared->way))
            continue;
        printf("not ok %s: %s: %s %d\n", f->name, way_name(f, shared->way, text),
               WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "dies of signal or exit",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        failures++;
    }
    bool pointers = false;
    for (int i = 0; i < f->n; i++)
        pointers |= is_pointer(f->letter[i]);
    for (int way = 0; way < NULLS + f->n; way++) {
        bool bad = (way == NOTHING && pointers) || (way >= GARBAGE && way <= DESTROYED);
        bool handles = false;
        for (int i = 0; i < f->n; i++)
            handles |= kind_of(f->letter[i]) >= 0;
        calls += shared->done[way];
        if (f->status && shared->wrote[way] && !excused(f->name, 'w', way)) {
            printf("not ok %s: %s: fails with %ld and writes\n", f->name, way_name(f, way, text), shared->result[way]);
            failures++;
        }
        if (!f->status || !shared->done[way] || shared->result[way] != 0 || !bad || (way != NOTHING && !handles) ||
            excused(f->name, 's', way))
            continue;
        printf("not ok %s: %s: succeeds\n", f->name, way_name(f, way, text));
        failures++;
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    read_map(argv[2], atoi(argv[3]));
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < ARGUMENTS; i++)
        buffer[i] = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < count; i++)
        if (!functions[i].struct_result && (argc == 4 || !strcmp(functions[i].name, argv[4])))
            sweep(&functions[i], argv[1]);
    if (!failures)
        printf("ok %s: %d functions, %d calls\n", argv[1], count, calls);
    return failures != 0;
}
