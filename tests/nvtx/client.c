/* A program that names its ranges by NVTX, in the two ways: `linked` through the library, `headers` as NVTX 3's headers
 * do it, which open what NVTX_INJECTION64_PATH names and hand it pointers to their functions. Then what is wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "modules.h"

struct attributes { /* nvtxEventAttributes_t */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        double d;
    } payload;
    int32_t message_type;
    const void *message;
};

typedef void (*function)(void);

/* The functions by the numbers that the headers give them. */
enum { CORE = 16, CORE2 = 16 };
static function core[CORE], core2[CORE2];
static function *core_table[CORE + 1], *core2_table[CORE2 + 1];

static int module_table(int module, function ***table, unsigned *count)
{
    *table = module == 1 ? core_table : module == 5 ? core2_table : NULL;
    *count = *table ? 16 : 0;
    return *table != NULL;
}

static const struct {
    size_t size;
    int (*module)(int, function ***, unsigned *);
} callbacks = {sizeof callbacks, module_table};

static const void *export_table(uint32_t id) { return id == 1 ? &callbacks : NULL; }

static int inject(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*start)(const void *(*)(uint32_t)) =
        lib ? (int (*)(const void *(*)(uint32_t)))dlsym(lib, "InitializeInjectionNvtx2") : NULL;
    for (unsigned i = 0; i < CORE; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    return start && start(export_table);
}

static int load(void)
{
    static const char *const names[] = {"",
                                        "MarkEx",
                                        "MarkA",
                                        "MarkW",
                                        "RangeStartEx",
                                        "RangeStartA",
                                        "RangeStartW",
                                        "RangeEnd",
                                        "RangePushEx",
                                        "RangePushA",
                                        "RangePushW",
                                        "RangePop",
                                        "NameCategoryA",
                                        "NameCategoryW",
                                        "NameOsThreadA",
                                        "NameOsThreadW"},
                             *const names2[] = {"",
                                                "DomainMarkEx",
                                                "DomainRangeStartEx",
                                                "DomainRangeEnd",
                                                "DomainRangePushEx",
                                                "DomainRangePop",
                                                "DomainResourceCreate",
                                                "DomainResourceDestroy",
                                                "DomainNameCategoryA",
                                                "DomainNameCategoryW",
                                                "DomainRegisterStringA",
                                                "DomainRegisterStringW",
                                                "DomainCreateA",
                                                "DomainCreateW",
                                                "DomainDestroy",
                                                "Initialize"};
    char name[64];
    void *lib = dlopen("libnvToolsExt.so.1", RTLD_NOW);
    for (unsigned i = 1; lib && i < 16; i++) {
        snprintf(name, sizeof name, "nvtx%s", names[i]);
        core[i] = (function)dlsym(lib, name);
        snprintf(name, sizeof name, "nvtx%s", names2[i]);
        core2[i] = (function)dlsym(lib, name);
    }
    return lib != NULL;
}

/* A call as the headers make it: nothing where nobody listens. */
#define CALL(type, none, f, ...) ((f) ? ((type)(f))(__VA_ARGS__) : (none))
typedef void (*call_p)(const void *);
typedef void (*call_pp)(void *, const void *);
typedef void (*call_pup)(void *, unsigned, const char *);
typedef void (*call_up)(unsigned, const void *);
typedef int (*ret_p)(const void *);
typedef int (*ret_pp)(void *, const void *);
typedef int (*ret_v)(void);
typedef uint64_t (*start_p)(const void *);
typedef void (*end_q)(uint64_t);
typedef void *(*make_p)(const void *);
typedef void *(*make_pp)(void *, const void *);
#define VOID(type, f, ...) \
    do { \
        if (f) \
            ((type)(f))(__VA_ARGS__); \
    } while (0)

static void *other_thread(void *id)
{
    VOID(call_p, core[2], "other thread");
    (void)CALL(ret_p, -2, core[9], "never popped");
    VOID(end_q, core[7], *(uint64_t *)id);
    return NULL;
}

static void say(const char *what, int depth) { printf("%s %d\n", what, depth); }

static void events(void)
{
    pthread_t t;
    void *domain = CALL(make_p, NULL, core2[12], "I/O");
    void *text = CALL(make_pp, NULL, core2[10], domain, "registered");
    VOID(call_pup, core2[8], domain, 7, "reads");
    VOID(call_up, core[12], 3, "global");
    struct attributes a = {3, sizeof a, 7, 1, 0xffff8000, 3, 0, {.d = 0.5}, 3, text};
    say("push", CALL(ret_pp, -2, core2[4], domain, &a));
    say("push", CALL(ret_p, -2, core[9], "plain \"quoted\"\n"));
    say("push", CALL(ret_p, -2, core[10], L"w\u00efde \U0001f600"));
    say("pop", CALL(ret_p, -2, core2[5], domain)); /* not the innermost: domains need not nest */
    say("pop", CALL(ret_v, -2, core[11]));
    say("pop", CALL(ret_v, -2, core[11]));
    say("pop", CALL(ret_v, -2, core[11]));
    a = (struct attributes){3, sizeof a, 3, 1, 0xff00ff00, 1, 0, {.u64 = UINT64_MAX}, 1, "marked"};
    VOID(call_p, core[1], &a);
    VOID(call_pp, core2[1], domain, &a);
    uint64_t id = CALL(start_p, 0, core[5], "process");
    if (pthread_create(&t, NULL, other_thread, &id) == 0)
        pthread_join(t, NULL);
}

/* What a function answers follows the module. */
static void extensions(void)
{
    int (*init)(struct module *) = extension();
    for (int id = 1; init && id < 5; id++) {
        intptr_t slots[64] = {0};
        struct segment s = {0, 63, slots};
        struct module m = {3, sizeof m, (uint16_t)id, 0x0104, 1, &s, NULL, NULL};
        printf("module %d: %d\n", id, init(&m));
        if (slots[7])
            printf("enabled %d, push %d\n", ((unsigned char (*)(void *))slots[7])(NULL),
                   ((int (*)(void *, void *, size_t))slots[3])(NULL, NULL, 0));
        s.count = 7;
        slots[7] = 0;
        m.id = 2;
        (void)init(&m);
        m.segment = NULL;
        (void)init(&m);
        m.size = 8;
        printf("short %d, beyond %d, none %d\n", init(&m), slots[7] != 0, init(NULL));
    }
}

/* Ranges that have structures of the program's for payloads, with and without a message among their members. */
static void payloads(void)
{
    struct entry {
        uint64_t flags, type;
        const char *name, *description;
        uint64_t detail, offset;
        const void *semantics, *reserved;
    } entries[] = {{.type = 3, .name = "number"}, {1 << 10, 75, "text", NULL, 0, 8, NULL, NULL}},
      far[] = {{1 << 10, 75, "text", NULL, 0, UINT64_MAX, NULL, NULL}, {1 << 10, 75, "text", NULL, 0, 9, NULL, NULL}};
    struct {
        uint64_t fields;
        const char *name;
        uint64_t type, flags;
        const struct entry *entries;
        size_t count, size, alignment;
        uint64_t id;
    } named = {2 | 1 << 4 | 1 << 5, "schema", 1, 0, entries, 2, 16, 0, 0},
      own = {2 | 1 << 8, "own", 1, 0, NULL, 0, 16, 0, 1 << 25}, wide = {1 << 4 | 1 << 5, NULL, 1, 0, far, 2, 16, 0, 0},
      empty = {0};
    struct {
        int number;
        const char *text;
    } value = {7, "message of a payload"};
    struct data {
        uint64_t schema;
        size_t size;
        const void *at;
    } d = {0, sizeof value, &value};
    intptr_t f[8] = {0};
    struct segment s = {0, 8, f};
    struct module m = {3, sizeof m, 2, 0x0104, 1, &s, NULL, NULL};
    int (*init)(struct module *) = extension();
    if (!init || !init(&m))
        return;
    uint64_t (*schema)(void *, const void *) = (uint64_t(*)(void *, const void *))f[0];
    uint64_t (*enumeration)(void *, const void *) = (uint64_t(*)(void *, const void *))f[1];
    void (*mark)(void *, const void *, size_t) = (void (*)(void *, const void *, size_t))f[2];
    int (*push)(void *, const void *, size_t) = (int (*)(void *, const void *, size_t))f[3];
    int (*pop)(void *, const void *, size_t) = (int (*)(void *, const void *, size_t))f[4];
    uint64_t (*start)(void *, const void *, size_t) = (uint64_t(*)(void *, const void *, size_t))f[5];
    void (*end)(void *, uint64_t, const void *, size_t) = (void (*)(void *, uint64_t, const void *, size_t))f[6];
    void *domain = CALL(make_p, NULL, core2[12], "payloads");
    d.schema = schema(domain, &named);
    printf("ids %d %d %d\n", d.schema >= (uint64_t)1 << 32, schema(domain, &own) == 1 << 25, schema(NULL, NULL) == 0);
    say("push", push(domain, &d, 1));
    d.at = NULL;
    say("push", push(domain, &d, 1)); /* the schema's name */
    d.at = &value, d.size = 12;
    mark(domain, &d, 1); /* the same, as the message lies behind it */
    d.schema = 1 << 25;
    const uint64_t id = start(domain, &d, 1);
    say("pop", pop(domain, &d, 1));
    say("pop", pop(domain, NULL, 7));
    say("pop", pop(domain, NULL, 0));
    end(domain, id, &d, 1);
    end(domain, id, NULL, 1);
    end(NULL, 12345, &d, 0);
    d.schema = schema(domain, &wide), d.size = sizeof value;
    mark(domain, &d, 1);
    d.schema = schema(&value, &empty);
    mark(&value, &d, 1);
    mark(NULL, NULL, 5);
    printf("numbers %d %d\n", enumeration(domain, &named) > d.schema, enumeration(domain, NULL) == 0);
}

/* Counters of integers and floats, by value and by address; and what is none. */
static void counters(void)
{
    struct {
        size_t size;
        uint64_t type;
        const char *name, *description;
        uint64_t scope;
        const void *semantics;
        uint64_t id;
    } a = {sizeof a, 17, "queue", NULL, 0, NULL, 0}, real = {sizeof a, 20, "load", NULL, 0, NULL, 1 << 24},
      narrow = {sizeof a, 13, "narrow", NULL, 0, NULL, 0}, group = {sizeof a, 1 << 25, "group", NULL, 0, NULL, 0};
    intptr_t f[8] = {0};
    struct segment s = {0, 8, f};
    struct module m = {3, sizeof m, 4, 0x0102, 1, &s, NULL, NULL};
    int (*init)(struct module *) = extension();
    if (!init || !init(&m) || !f[0])
        return;
    uint64_t (*make)(void *, const void *) = (uint64_t(*)(void *, const void *))f[0];
    void (*integer)(void *, uint64_t, int64_t) = (void (*)(void *, uint64_t, int64_t))f[1];
    void (*floating)(void *, uint64_t, double) = (void (*)(void *, uint64_t, double))f[2];
    void (*sample)(void *, uint64_t, const void *, size_t) = (void (*)(void *, uint64_t, const void *, size_t))f[3];
    void (*none)(void *, uint64_t, unsigned char) = (void (*)(void *, uint64_t, unsigned char))f[4];
    void *domain = CALL(make_p, NULL, core2[12], "counted");
    const uint64_t queue = make(domain, &a), third = make(NULL, &narrow), many = make(NULL, &group);
    const int16_t less = -7;
    const double half = 0.5;
    printf("ids %d %d %d\n", queue >= (uint64_t)1 << 32, make(NULL, &real) == 1 << 24, make(NULL, NULL) == 0);
    integer(domain, queue, -3);
    integer(domain, queue, INT64_MAX);
    floating(NULL, 1 << 24, 0.25);
    floating(NULL, 1 << 24, -1.0 / 0.0);
    sample(NULL, 1 << 24, &half, sizeof half);
    sample(NULL, third, &less, sizeof less);
    sample(NULL, third, &half, sizeof half); /* not of its size */
    sample(NULL, third, NULL, sizeof less);
    sample(NULL, many, &half, sizeof half);
    none(domain, queue, 0);
    none(domain, queue, 1);
    none(domain, queue, 2);
    integer(NULL, queue, 99); /* of no such domain */
    integer(domain, 12345, 99);
    a.size = 8;
    printf("short %d\n", make(domain, &a) == 0);
}

static void wrong(void)
{
    struct attributes small = {3, 8, 7, 1, 0, 0, 0, {0}, 1, "too small"},
                      odd = {3, sizeof odd, 9, 9, 0, 9, 0, {0}, 9, "odd"},
                      foreign = {3, sizeof foreign, 0, 0, 0, 0, 0, {0}, 3, &small};
    void *none = (void *)(uintptr_t)0x123450;
    VOID(call_p, core[1], NULL);
    VOID(call_p, core[2], NULL);
    VOID(call_p, core[3], NULL);
    VOID(call_p, core[1], &small);
    VOID(call_p, core[1], &odd);
    VOID(call_p, core[1], &foreign);
    VOID(call_pp, core2[1], none, &foreign);
    (void)CALL(ret_pp, 0, core2[4], &small, NULL);
    (void)CALL(ret_p, 0, core2[5], &small);
    (void)CALL(ret_p, 0, core2[5], none);
    VOID(end_q, core[7], 0);
    VOID(end_q, core[7], 987654321);
    (void)CALL(make_p, NULL, core2[12], NULL);
    (void)CALL(make_pp, NULL, core2[10], none, NULL);
    VOID(call_pup, core2[8], none, 1, NULL);
}

static void *many(void *arg)
{
    char text[32];
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "loop %d", i % 50);
        (void)CALL(ret_p, -2, core[9], text);
        (void)CALL(make_p, NULL, core2[12], text);
        (void)CALL(ret_v, -2, core[11]);
    }
    return arg;
}

int main(int argc, char **argv)
{
    const char *locale = getenv("CLIENT_LOCALE"); /* as a program sets that of its user */
    if (locale && !setlocale(LC_ALL, locale))
        return 2;
    const char *way = argc > 1 ? argv[1] : "linked", *what = argc > 2 ? argv[2] : "events";
    pthread_t t[4];
    if (strcmp(way, "linked") == 0 ? !load() : !inject())
        printf("nobody\n");
    if (strcmp(what, "threads") == 0) {
        for (int i = 0; i < 4; i++)
            if (pthread_create(&t[i], NULL, many, NULL) != 0)
                return 1;
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
    } else if (strcmp(what, "wrong") == 0) {
        wrong();
    } else if (strcmp(what, "extensions") == 0) {
        extensions();
    } else if (strcmp(what, "payloads") == 0) {
        payloads();
    } else if (strcmp(what, "counters") == 0) {
        counters();
    } else {
        events();
    }
    printf("PASS\n");
    return 0;
}
