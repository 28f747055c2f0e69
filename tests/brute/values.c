/* The values that functions are called with: handles of every kind, live and destroyed, and numbers that are none. */
#include "tests/brute/brute.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- objects ------------------------------------------------------------------------------------ */

static void *driver;
static const char *const kinds[] = {"st",  "ev",  "ctx",  "mod", "fn", "lib", "ker",
                                    "lnk", "arr", "pool", "gr",  "gn", "gx"};
enum { ST, EV, CTX, MOD, FN, LIB, KER, LNK, ARR, POOL, GR, GN, GX, KINDS, OBJECTS = 64 };
static void *live[KINDS], *dead[KINDS];

/* Objects of the facade's own library. `base`: what comes before "Create" in their maker's name; functions of such an
 * object begin with it. `kind`: what comes behind. */
static struct object {
    char base[40], kind[40];
    void *live, *dead;
} objects[OBJECTS];
static int object_count;

static bool of_maths;
static char *buffer[ARGUMENTS]; /* zeros; where a callback is asked for, behind an x86 `ret` */
static char first_byte;
static char *device; /* as much memory of the device for each argument */

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.global .u32 v;\n"
                          ".visible .entry k(.param .u32 a)\n{\n  ret;\n}\n";

void (*driver_symbol(const char *name))(void)
{
    void (*f)(void);
    void *p = dlsym(driver, name);
    memcpy(&f, &p, sizeof f);
    return f;
}

static void make_driver_objects(void *h[KINDS])
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
    DRIVER("cuStreamCreate", &h[ST], 1);
    DRIVER("cuEventCreate", &h[EV], 0);
    DRIVER("cuModuleLoadData", &h[MOD], ptx);
    DRIVER("cuModuleGetFunction", &h[FN], h[MOD], "k");
    DRIVER("cuLibraryLoadData", &h[LIB], ptx, NULL, NULL, 0, NULL, NULL, 0);
    DRIVER("cuLibraryGetKernel", &h[KER], h[LIB], "k");
    DRIVER("cuLinkCreate_v2", 0, NULL, NULL, &h[LNK]);
    DRIVER("cuArrayCreate_v2", &h[ARR], &desc);
    DRIVER("cuMemPoolCreate", &h[POOL], &props);
    DRIVER("cuGraphCreate", &h[GR], 0);
    DRIVER("cuGraphAddEmptyNode", &h[GN], h[GR], NULL, (size_t)0);
    DRIVER("cuGraphInstantiateWithFlags", &h[GX], h[GR], 0ull);
}

static bool prepare_driver(void)
{
    static const char *const ends[KINDS] = {
        [ST] = "cuStreamDestroy_v2", [EV] = "cuEventDestroy_v2",  [MOD] = "cuModuleUnload",
        [LIB] = "cuLibraryUnload",   [LNK] = "cuLinkDestroy",     [ARR] = "cuArrayDestroy",
        [POOL] = "cuMemPoolDestroy", [GX] = "cuGraphExecDestroy", [GR] = "cuGraphDestroy",
        [CTX] = "cuCtxDestroy_v2",
    };
    void *current = NULL;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return false;
    DRIVER("cuInit", 0);
    DRIVER("cuDevicePrimaryCtxRetain", &current, 0);
    DRIVER("cuCtxSetCurrent", current);
    DRIVER("cuMemAlloc_v2", &device, (size_t)CAPACITY * ARGUMENTS);
    make_driver_objects(live); /* first: the handles of what is destroyed afterwards stay unused */
    live[CTX] = current;
    DRIVER("cuCtxCreate_v2", &dead[CTX], 0, 0);
    make_driver_objects(dead);
    for (int i = 0; i < KINDS; i++) {
        if (!live[i] || !dead[i])
            return false;
        if (ends[i] && i != CTX)
            DRIVER(ends[i], dead[i]);
    }
    DRIVER(ends[CTX], dead[CTX]);
    DRIVER("cuCtxSetCurrent", current);
    return device != NULL;
}

static int of_symbol(void *facade, const char *name, void *a, long b)
{
    int (*f)(void *, long, void *) = NULL;
    void *p = dlsym(facade, name);
    memcpy(&f, &p, sizeof f);
    return f ? f(a, b, NULL) : -1;
}

/* A maker is a function of a facade that is called ...Create... and takes the place of its object only; those with
 * more arguments that no others stand for have a row here. What it made is destroyed by its namesake. */
static void make_objects(void *facade, const struct cumu_table *t)
{
    static const struct {
        const char *maker, *end;
        long argument;
    } rows[] = {{"curandCreateGenerator", "curandDestroyGenerator", 100},
                {"ncclCommInitAll", "ncclCommDestroy", 1},
                {"cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", 68},
                {"cublasLtMatrixTransformDescCreate", "cublasLtMatrixTransformDescDestroy", 0}};
    for (unsigned i = 0; i < t->count && object_count < OBJECTS; i++) {
        const struct cumu_symbol *s = &t->symbols[i];
        char end[80] = "";
        long argument = 0;
        const char *create = strstr(s->name, "Create");
        const char *signature = pairs[s->call].signature, *open = strchr(signature, '(');
        if (create && strlen(s->name) < sizeof end - 2 && open && (!strcmp(open, "(p)") || !strcmp(open, "(*p)"))) {
            strncat(end, s->name, (size_t)(create - s->name));
            strcat(end, "Destroy");
            strcat(end, create + strlen("Create"));
        }
        for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++)
            if (!strcmp(rows[k].maker, s->name)) {
                strcpy(end, rows[k].end);
                argument = rows[k].argument;
            }
        struct object *o = &objects[object_count];
        memset(o, 0, sizeof *o);
        if (!*end || s->verb == CUMU_STUB || of_symbol(facade, s->name, &o->live, argument) || !o->live)
            continue;
        strncat(o->base, s->name, create ? (size_t)(create - s->name) : strcspn(s->name, "I"));
        strncat(o->kind, create ? create + strlen("Create") : "", sizeof o->kind - 1);
        if (!of_symbol(facade, s->name, &o->dead, argument) && o->dead)
            of_symbol(facade, end, o->dead, 0);
        object_count++;
    }
}

bool prepare(void *facade, const struct cumu_table *t)
{
    of_maths = strcmp(t->library, "cudart") != 0 && strcmp(t->library, "cuda") != 0 && strcmp(t->library, "nvml") != 0;
    for (int i = 0; i < ARGUMENTS; i++) {
        void *p = mmap(NULL, CAPACITY, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return false;
        buffer[i] = p;
    }
    if (!prepare_driver())
        return false;
    if (!strcmp(t->library, "nvml")) {
        struct object *o = &objects[object_count++];
        strcpy(o->base, "nvml");
        of_symbol(facade, "nvmlInit_v2", NULL, 0);
        int (*get)(unsigned, void **) = NULL;
        void *p = dlsym(facade, "nvmlDeviceGetHandleByIndex_v2");
        memcpy(&get, &p, sizeof get);
        if (get)
            get(0, &o->live);
        o->dead = &objects[OBJECTS - 1]; /* devices are never destroyed */
    }
    make_objects(facade, t);
    return true;
}

/* The object that a function is about: of the kind that its name ends with (cusparseDestroyMatDescr), else the one
 * whose maker's name begins as its own does, the longer the better. NULL: the library has none. */
static const struct object *object_of(const char *name)
{
    const struct object *best = NULL;
    size_t most = 0;
    name += !strncmp(name, "pnccl", 5); /* the profiler's name of the same */
    for (int i = 0; i < object_count; i++) {
        const struct object *o = &objects[i];
        size_t n = strlen(o->base), kind = strlen(o->kind);
        if (strncmp(name, o->base, n))
            continue;
        n = kind && strcmp(o->kind, "_v2") && strstr(name, o->kind) ? n + kind : kind && o->kind[0] != '_' ? 0 : n;
        if (n > most) {
            most = n;
            best = o;
        }
    }
    return best;
}

/* ---- arguments ----------------------------------------------------------------------------------- */

static int kind_of(const char *letter)
{
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(letter, kinds[i]))
            return i;
    return -1;
}

static bool is_data(const char *letter)
{
    return *letter == '*' || !strcmp(letter, "p") || !strcmp(letter, "P") || !strcmp(letter, "s") ||
           !strcmp(letter, "sym");
}
bool is_handle(const struct function *f, int i) { return i == f->handle || kind_of(f->letter[i]) >= 0; }
bool is_pointer(const struct function *f, int i) { return !is_handle(f, i) && is_data(f->letter[i]); }

/* Libraries' own handles are a `p` in the map, as memory is: it is the first argument of all functions but those that
 * make something, the one before the stream in NCCL's. */
static int handle_argument(const struct function *f, const char *library)
{
    static const char *const with_handles[] = {"cublas", "cublaslt", "cusparse", "cusolver",  "cusolvermg",
                                               "curand", "nvml",     "nvrtc",    "nvjitlink", "nccl"};
    /* makers, functions of no handle, and those of structs that may lie in the program's own memory */
    static const char *const without[] = {"Create",          "Init",       "GetVersion",   "GetErrorString",
                                          "Logger",          "Alloc",      "Free",         "GetUniqueId",
                                          "SimulateEnd",     "System",     "GetHandleBy",  "Excluded",
                                          "HeuristicsCache", "Scramble",   "LtMatmulDesc", "AlgoConfig",
                                          "AlgoCap",         "Preference", "MatrixLayout", "TransformDesc",
                                          "AdvOptions",      "MaxBoards",  "getNum",       "DestroyParams",
                                          "jInfo",           "jSet",       "EmulationDesc"};
    bool known = false;
    for (unsigned i = 0; i < sizeof with_handles / sizeof *with_handles; i++)
        known |= !strcmp(library, with_handles[i]);
    for (unsigned i = 0; i < sizeof without / sizeof *without; i++)
        known &= !strstr(f->name, without[i]);
    if (!strcmp(library, "cusparse") &&
        (strstr(f->name, "estroy") || strstr(f->name, "_create") || strstr(f->name, "Get") || strstr(f->name, "Set")))
        known = strstr(f->name, "SetStream") || strstr(f->name, "GetStream") || strstr(f->name, "PointerMode") ||
                !strcmp(f->name, "cusparseDestroy");
    if (!known || !f->n)
        return -1;
    if (!strcmp(library, "nccl") && strcmp(f->letter[f->n - 1], "st") == 0)
        return f->n > 1 && !strcmp(f->letter[f->n - 2], "p") ? f->n - 2 : -1;
    return !strcmp(f->letter[0], "p") || !strcmp(f->letter[0], "P") ? 0 : -1;
}

struct function describe(const struct cumu_symbol *s, const char *library)
{
    struct function f = {.name = s->name, .pair = &pairs[s->call], .handle = -1};
    f.stub = s->verb == CUMU_STUB || s->verb == CUMU_PASS;
    char text[512] = "", *rest = NULL;
    f.status = cumu_prototypes[s->call].status;
    strncat(text, strchr(f.pair->signature, '(') + 1, sizeof text - 1);
    *strrchr(text, ')') = 0;
    for (char *w = strtok_r(text, " ", &rest); w && f.n < ARGUMENTS; w = strtok_r(NULL, " ", &rest))
        strncat(f.letter[f.n++], w, LETTERS - 1);
    f.handle = handle_argument(&f, library);
    return f;
}

static uint64_t state;
static unsigned draw(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % n;
}

static uint64_t handle(const struct function *f, int i, int way)
{
    static const uint64_t small[] = {3, 7, 8, 4095};
    int kind = i == f->handle ? -1 : kind_of(f->letter[i]);
    const struct object *o = kind < 0 ? object_of(f->name) : NULL;
    switch (way) {
    case NOTHING:
    case EMPTY: return 0;
    case SMALL: return small[i % 4];
    case GARBAGE: return 0xdeadbeef0;
    case FOREIGN: return (uintptr_t)buffer[ARGUMENTS - 1];
    case DESTROYED: return (uintptr_t)(kind >= 0 ? dead[kind] : o ? o->dead : NULL);
    case OTHER:
        if (kind < 0 && object_count > 1 && draw(2))
            for (int k = (int)draw((unsigned)object_count), tries = 0; tries < object_count; tries++)
                if (&objects[(k + tries) % object_count] != o)
                    return (uintptr_t)objects[(k + tries) % object_count].live;
        return (uintptr_t)live[(kind + 1 + (int)draw(KINDS - 1)) % KINDS];
    default: return (uintptr_t)(kind >= 0 ? live[kind] : o ? o->live : NULL);
    }
}

static uint64_t number(const char *letter, bool of_enum, int way)
{
    switch (way) {
    case NOTHING:
    case EMPTY: return 0;
    case SMALL: return 3;
    case FOREIGN: return (uint64_t)-1;
    case HUGE:
        if (of_enum)
            return 0;
        if (of_maths) /* beyond the memory that is there; loops over billions would be done, if late */
            return 100;
        return *letter == 'z' || *letter == 'U' || *letter == 'q' || *letter == 'b' ? SIZE_MAX / 2 : INT32_MAX;
    case GARBAGE:
    case UNKNOWN: return of_enum ? 9999 : 1;
    default: return 1;
    }
}

static const struct function *calling;
static int calling_way, argument;
static bool on_device; /* where the data of this call lies; only there may it be beyond the end */

/* How argument `argument` is wrong. Of a MIXED call most handles are right, most pointers lead to memory, and numbers
 * are sizes that the buffers hold. */
static int way_of(void)
{
    if (calling_way < NULLS)
        return calling_way;
    if (calling_way < MIXED)
        return calling_way - NULLS == argument ? NOTHING : NULLS;
    if (is_handle(calling, argument))
        return draw(4) ? NULLS : (int)draw(OTHER + 1);
    return is_pointer(calling, argument) ? (draw(12) ? NULLS : NOTHING)
           : draw(16) || !on_device      ? NULLS
                                         : (int)draw(UNKNOWN + 1);
}

void make(bool of_enum, void *value, size_t size)
{
    const char *l = calling->letter[argument];
    int way = way_of();
    uint64_t word[16] = {0};
    static const uint64_t sizes[] = {0, 1, 2, 3, 4, 8, 16};
    bool mixed = calling_way >= MIXED;
    if (is_handle(calling, argument))
        word[0] = handle(calling, argument, way);
    else if (is_pointer(calling, argument))
        word[0] = way == NOTHING
                      ? 0
                      : (uintptr_t)(on_device && *l != '*' ? device + argument * CAPACITY : buffer[argument]);
    else if (!strcmp(l, "D"))
        word[0] = way == NOTHING || way == EMPTY ? 0
                  : way == GARBAGE               ? 0xdeadbeef0
                  : way == SMALL                 ? 16
                  : on_device                    ? (uintptr_t)device + (unsigned)argument * CAPACITY
                                                 : (uintptr_t)buffer[argument];
    else if (size > 8)
        for (int k = 0; k < 16; k++)
            word[k] = way == HUGE ? 0x7fffffff7fffffff : way == NOTHING || way == EMPTY ? 0 : 0x100000001;
    else if (!strcmp(l, "b2d")) /* it would be called */
        word[0] = 0;
    else if (strcmp(l, "f") && strcmp(l, "d"))
        word[0] = !mixed || way != NULLS ? number(l, of_enum, way) : of_enum ? draw(12) : sizes[draw(7)];
    memcpy(value, word, size < sizeof word ? size : sizeof word);
    argument++;
}

void make_text(void *string)
{
    if (way_of() == NOTHING)
        memset(string, 0, sizeof(char *));
    argument++;
}

/* In a MIXED call memory holds numbers below 8, or ones of a floating-point type. */
void clear_buffers(const struct function *f, int way, uint64_t seed)
{
    state = seed | 1;
    first_byte = strstr(f->name, "Callback") || strstr(f->name, "HostFunc") ? (char)0xc3 : 0;
    for (int i = 0; i < ARGUMENTS; i++) {
        memset(buffer[i], 0, CAPACITY);
        buffer[i][0] = first_byte;
    }
    for (int i = 0; way >= MIXED && i < f->n; i++)
        for (unsigned k = 8, fill = draw(4), step = fill == 2 ? 4 : 8;
             fill && !strstr(f->letter[i], "config") && k < CAPACITY / 2; k += step)
            memcpy(buffer[i] + k,
                   fill == 1   ? (void *)&(uint64_t){k / 8 % 8}
                   : fill == 2 ? (void *)&(float){1}
                               : &(double){1},
                   step);
    on_device = (way == HUGE || (way >= MIXED && draw(2))) && !strstr(f->name, "Free") && !strstr(f->name, "Reset") &&
                !first_byte;
    for (int i = 0; on_device && i < f->n; i++)
        memcpy(device + i * CAPACITY, buffer[i], CAPACITY);
}

bool buffers_changed(void)
{
    for (int i = 0; i < ARGUMENTS; i++)
        for (int k = 0; k < CAPACITY; k++)
            if (buffer[i][k] != (k ? 0 : first_byte))
                return true;
    return false;
}

/* ---- the call ------------------------------------------------------------------------------------ */

static unsigned answer;

unsigned call(const struct function *f, void (*address)(void), int way)
{
    calling = f;
    calling_way = way;
    argument = 0;
    answer = 0;
    f->pair->call(address);
    return answer;
}

void passed(enum cumu_kind kind, unsigned stars, unsigned kind_size, const void *value, size_t size)
{
    (void)kind, (void)stars, (void)kind_size, (void)value, (void)size;
}
void got(const void *result, size_t size) { memcpy(&answer, result, size < sizeof answer ? size : sizeof answer); }
/* Of the functions that are made to be called, which nobody calls here. */
void arrived(const void *value, size_t size) { (void)value, (void)size; }
void give(enum cumu_kind kind, unsigned stars, unsigned kind_size, void *result, size_t size)
{
    (void)kind, (void)stars, (void)kind_size, (void)result, (void)size;
}
