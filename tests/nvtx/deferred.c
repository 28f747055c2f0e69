/* NVTX's groups and batches of counters, and events that are told behind their time, by clocks of all kinds: what a
 * trace shall show of them, and what is wrong. Times are printed as they were meant, in ns of the monotonic clock. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "modules.h"

enum {
    INT16 = 13,
    INT32 = 15,
    UINT64 = 18,
    INT64 = 17,
    DOUBLE = 20,
    TEXT = 75,
    REGISTERED = 80,
    CATEGORY = 68,
    COLOR = 69
};
enum { MESSAGE = 1 << 10, TIME = 2 << 10, BEGIN = 1 << 12, END = 2 << 12, MARK = 3 << 12, COUNTER = 4 << 12 };
struct entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const void *semantics, *reserved;
};
struct schema {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct entry *entries;
    size_t count, size, alignment;
    uint64_t id;
};
struct semantics {
    uint32_t size;
    uint16_t id, version;
    const struct semantics *next;
    uint64_t clock;
};
struct counter {
    size_t size;
    uint64_t type;
    const char *name, *description;
    uint64_t scope;
    const void *semantics;
    uint64_t id;
};
struct batch {
    uint64_t schema;
    size_t size;
    const void *events;
    uint64_t scope, flags;
    const void *flexible;
    size_t flexible_size, flexible_offset;
};
struct data {
    uint64_t schema;
    size_t size;
    const void *at;
};
static intptr_t p[32], c[32];
static void *const domain = NULL;

static int64_t now_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static int64_t now(void) { return now_of(CLOCK_MONOTONIC); }
static uint64_t schema(const char *name, const struct entry *e, size_t n)
{
    const struct schema s = {1 << 1 | 1 << 4 | 1 << 5, name, 1, 0, e, n, 0, 0, 0};
    return ((uint64_t(*)(void *, const void *))p[0])(domain, &s);
}
static uint64_t counter(const char *name, uint64_t type, const void *semantics)
{
    const struct counter a = {sizeof a, type, name, NULL, 0, semantics, 0};
    return ((uint64_t(*)(void *, const void *))c[0])(domain, &a);
}
static void sample(uint64_t id, const void *v, size_t size)
{
    ((void (*)(void *, uint64_t, const void *, size_t))c[3])(domain, id, v, size);
}
static void samples(uint64_t id, const void *v, size_t size, uint64_t flags, const int64_t *times, size_t times_size)
{
    const struct {
        uint64_t id;
        const void *v;
        size_t size;
        uint64_t flags;
        const int64_t *times;
        size_t times_size;
    } b = {id, v, size, flags, times, times_size};
    ((void (*)(void *, const void *))c[5])(domain, &b);
}
static void submit(uint64_t id, const void *v, size_t size)
{
    const struct data d = {id, size, v};
    ((void (*)(void *, const void *, size_t))p[16])(domain, &d, 1);
}

/* Offsets that are left out are C's; of those called counters only they are shown. */
static void groups(void)
{
    const struct {
        int16_t small;
        double real;
        char bytes[3];
        int32_t last;
    } v = {-7, 0.25, {1, 2, 3}, 99};
    const struct entry all[] = {{.type = INT16, .name = "small"},
                                {.type = DOUBLE, .name = "real"},
                                {.flags = 1 << 4, .type = 11, .name = "bytes", .detail = 3},
                                {.type = INT32, .name = "last"}},
                       one[] = {{.type = INT16, .name = "small"}, {.flags = COUNTER, .type = DOUBLE, .name = "real"}},
                       nested[] = {{.type = INT32, .name = "own"},
                                   {.type = 0, .name = "inner"},
                                   {.type = INT32, .name = "behind"}};
    struct entry with[3];
    memcpy(with, nested, sizeof with);
    with[1].type = schema("inner", all, 4);
    const struct {
        int32_t own;
        __typeof__(v) inner;
        int32_t behind;
    } w = {1, v, 2};
    sample(counter("group", schema("group", all, 4), NULL), &v, sizeof v);
    sample(counter("chosen", schema("chosen", one, 2), NULL), &v, sizeof v);
    sample(counter("nested", schema("nested", with, 3), NULL), &w, sizeof w);
    sample(counter("short", schema("short", all, 4), NULL), &v, 10); /* the first member alone is there */
    sample(counter("unknown", 1 << 25, NULL), &v, sizeof v);
}

static void batches(void)
{
    const int32_t v[] = {10, 20, 30};
    const int64_t began = now() - 1000000, pair[] = {began, 1000}, each[] = {began + 5, began + 7, began + 9};
    const struct semantics real = {sizeof real, 2, 1, NULL, 12}, tsc = {sizeof tsc, 2, 1, NULL, 10};
    const uint64_t plain = counter("plain", INT32, NULL);
    samples(plain, v, sizeof v, 0, each, sizeof each);
    printf("want plain %lld %lld %lld\n", (long long)each[0], (long long)each[1], (long long)each[2]);
    samples(plain, v, sizeof v, (uint64_t)1 << 32, pair, sizeof pair);
    printf("want plain %lld %lld %lld\n", (long long)began, (long long)began + 1000, (long long)began + 2000);
    samples(plain, v, sizeof v, (uint64_t)2 << 32, pair, sizeof pair);
    printf("want plain %lld %lld %lld\n", (long long)began - 2000, (long long)began - 1000, (long long)began);
    samples(plain, v, sizeof v, 0, each, 8); /* a time for one of three */
    printf("want plain %lld\n", (long long)each[0]);
    samples(plain, v, sizeof v, 0, NULL, 0);
    samples(counter("ticks", INT32, &tsc), v, sizeof v, 0, each, sizeof each); /* nobody knows when */
    const int64_t a = now(), utc = now_of(CLOCK_REALTIME), times[] = {utc - 500000000};
    samples(counter("real", INT32, &real), v, 4, 0, times, sizeof times);
    printf("near real %lld\n", (long long)a - 500000000);
    const struct {
        int64_t at, value;
    } own[] = {{began + 11, 5}, {began + 13, 6}};
    const struct entry e[] = {{.flags = TIME, .type = INT64, .name = "at"}, {.type = INT64, .name = "value"}};
    samples(counter("within", schema("within", e, 2), NULL), own, sizeof own, 0, NULL, 0);
    printf("want within.value %lld %lld\n", (long long)own[0].at, (long long)own[1].at);
}

/* A clock of the program's: related to a known one by two points, or by a factor. */
static void clocks(void)
{
    const struct {
        uint64_t scope, type, id, flags;
        int64_t resolution;
        uint64_t start;
    } a = {0, 0, 1 << 24, 0, 0, 0}, mono = {0, 14, 0, 0, 0, 0}, mega = {0, 0, 0, 0, 1000000, 0};
    uint64_t (*clock)(void *, const void *) = (uint64_t(*)(void *, const void *))p[9];
    void (*point)(void *, uint64_t, uint64_t, int64_t,
                  int64_t) = (void (*)(void *, uint64_t, uint64_t, int64_t, int64_t))p[13];
    const int64_t began = now() - 1000000, ticks[] = {150}, same[] = {began}, one[] = {3};
    const int32_t v = 1;
    const uint64_t own = clock(domain, &a), known = clock(domain, &mono), million = clock(domain, &mega);
    const uint64_t factor = 77;
    const struct semantics of[] = {{sizeof *of, 2, 1, NULL, own},
                                   {sizeof *of, 2, 1, NULL, known},
                                   {sizeof *of, 2, 1, NULL, million},
                                   {sizeof *of, 2, 1, NULL, factor}};
    printf("clocks %d %d %d %d\n", own == 1 << 24, known >= (uint64_t)1 << 32, million > known,
           clock(domain, NULL) == 0);
    const uint64_t own_id = counter("own", INT32, &of[0]);
    samples(own_id, &v, 4, 0, ticks, 8);
    point(domain, own, 14, 100, began);
    samples(own_id, &v, 4, 0, ticks, 8); /* one point is not enough */
    point(domain, 14, own, began + 10000, 200);
    samples(own_id, &v, 4, 0, ticks, 8);
    printf("want own %lld\n", (long long)began + 5000);
    samples(counter("known", INT32, &of[1]), &v, 4, 0, same, 8);
    printf("want known %lld\n", (long long)began);
    point(domain, million, 1, 1, began);
    samples(counter("million", INT32, &of[2]), &v, 4, 0, one, 8);
    printf("want million %lld\n", (long long)began + 2000);
    ((void (*)(void *, uint64_t, uint64_t, double, int64_t, int64_t))p[15])(domain, factor, 14, 0.5, 1000, began);
    samples(counter("factor", INT32, &of[3]), &v, 4, 0, ticks, 8);
    printf("want factor %lld\n", (long long)began - 425);
    const int64_t t = ((int64_t(*)(void))p[8])(), u = now();
    printf("now %d\n", u - t >= 0 && u - t < 1000000000);
    const struct {
        size_t size;
        const char *path;
        uint64_t parent, id;
    } s = {sizeof s, "a/b", 1, 0}, mine = {sizeof mine, NULL, 0, 1 << 26};
    uint64_t (*scope)(void *, const void *) = (uint64_t(*)(void *, const void *))p[12];
    printf("scopes %d %d %d\n", scope(domain, &s) >= (uint64_t)1 << 32, scope(domain, &mine) == 1 << 26,
           scope(domain, NULL) == 0);
}

static void events(void)
{
    const struct range {
        int64_t from, to;
        const char *text;
        uint32_t color;
        char place[12];
    } r[] = {{now() - 5000, now() - 2000, "deferred range", 0xff00ff00, "in place"},
             {now() - 3000, now() - 1000, "second", 0xff0000ff, ""}};
    const struct entry range[] = {{.flags = TIME | BEGIN, .type = INT64},
                                  {.flags = TIME | END, .type = INT64},
                                  {.flags = MESSAGE, .type = TEXT},
                                  {.type = COLOR}},
                       place[] = {{.flags = TIME | MARK, .type = INT64},
                                  {.flags = MESSAGE, .type = TEXT, .detail = 12, .offset = 28}},
                       half[] = {{.flags = TIME | BEGIN, .type = INT64},
                                 {.flags = MESSAGE, .type = TEXT, .offset = 16}};
    const uint64_t ranges = schema("ranges", range, 4), marks = schema("marks", place, 2);
    submit(ranges, &r[0], sizeof r[0]);
    printf("want deferred range %lld\n", (long long)r[0].from);
    submit(marks, &r[0], sizeof r[0]);
    printf("want in place %lld\n", (long long)r[0].from);
    submit(marks, &r[1], 28); /* its text is not there: the schema's name */
    printf("want marks %lld\n", (long long)r[1].from);
    submit(schema("half", half, 2), &r[0], sizeof r[0]);
    submit(ranges, &r[0], 8);
    submit(ranges, NULL, sizeof r[0]);
    submit(12345, &r[0], sizeof r[0]);
    const struct {
        int64_t from, to;
        const char *text;
        uint32_t color;
    } many[] = {{r[0].from + 1, r[0].to, "one of two", 0xff010203}, {r[0].from + 2, r[0].to, "two of two", 0xff010203}};
    const struct batch b = {ranges, sizeof many, many, 0, 0, NULL, 0, 0}, none = {ranges, 8, NULL, 0, 0, NULL, 0, 0};
    void (*batch)(void *, const void *) = (void (*)(void *, const void *))p[17];
    batch(domain, &b);
    printf("want one of two %lld\nwant two of two %lld\n", (long long)many[0].from, (long long)many[1].from);
    batch(domain, &none);
    batch(domain, NULL);
}

/* Counters, members of groups, events and batches of them that say where they belong. */
static uint64_t new_scope(const char *path, uint64_t parent)
{
    const struct {
        size_t size;
        const char *path;
        uint64_t parent, id;
    } a = {sizeof a, path, parent, 0};
    return ((uint64_t(*)(void *, const void *))p[12])(domain, &a);
}
static uint64_t counter_in(const char *name, uint64_t type, uint64_t scope)
{
    const struct counter a = {sizeof a, type, name, NULL, scope, NULL, 0};
    return ((uint64_t(*)(void *, const void *))c[0])(domain, &a);
}
static void scopes(void)
{
    enum { ROOT = 1, MACHINE = 2, PROCESS = 21, THREAD = 22, SCOPE = 70 };
    const uint64_t gpu = new_scope("//GPU[0]", ROOT), stream = new_scope("stream", gpu), same = new_scope(NULL, stream),
                   nic = new_scope("nic", MACHINE);
    const struct {
        const char *name;
        uint64_t scope;
    } plain[] = {{"root", ROOT}, {"gpu", gpu},       {"stream", stream},   {"same", same},
                 {"nic", nic},   {"unknown", 12345}, {"process", PROCESS}, {"thread", THREAD}};
    const int32_t v = 7, two[] = {1, 2};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        sample(counter_in(plain[i].name, INT32, plain[i].scope), &v, sizeof v);
    const struct semantics of_time = {sizeof of_time, 2, 1, NULL, 14}, own = {sizeof own, 1, 1, &of_time, gpu};
    const struct entry pair[] = {{.type = INT32, .name = "own", .semantics = &own}, {.type = INT32, .name = "group's"}};
    sample(counter_in("pair", schema("pair", pair, 2), nic), two, sizeof two);
    const struct {
        int64_t at;
        uint64_t scope;
    } event = {now(), stream}, none = {now(), 0};
    const struct entry e[] = {{.flags = TIME, .type = INT64}, {.type = SCOPE}};
    const uint64_t with = schema("event", e, 2), without = schema("batched", e, 1);
    submit(with, &event, sizeof event);
    submit(with, &none, sizeof none);
    const struct data d = {with, sizeof event, &event};
    ((void (*)(void *, const void *, size_t))p[2])(domain, &d, 1);
    ((int (*)(void *, const void *, size_t))p[3])(domain, &d, 1);
    ((int (*)(void *, const void *, size_t))p[4])(domain, NULL, 0);
    const uint64_t id = ((uint64_t(*)(void *, const void *, size_t))p[5])(domain, &d, 1);
    ((void (*)(void *, uint64_t, const void *, size_t))p[6])(domain, id, NULL, 0);
    const struct batch batch = {without, 8, &event.at, nic, 0, NULL, 0, 0};
    ((void (*)(void *, const void *))p[17])(domain, &batch);
}

/* Every choice of the places where an event, or a counter of a group, may say its scope, what goes before first: the
 * line that a trace shall have is said. */
static void say_scope(const char *line, int n, const char *value, int choice)
{
    int first = 0;
    while (choice >> first && !(choice >> first & 1))
        first++;
    printf("%s %d%s", line, n, *value ? ".v\"" : "\"");
    if (choice)
        printf(" scope \"place %d\"", first);
    printf("%s\n", value);
}
static void scopes_by_place(void)
{
    enum { PLACES = 6, SCOPE = 70 };
    uint64_t place[PLACES];
    char name[32];
    for (int i = 0; i < PLACES; i++) {
        (void)snprintf(name, sizeof name, "//place %d", i);
        place[i] = new_scope(name, 1);
    }
    const uint64_t elsewhere = new_scope("elsewhere", 1);
    const struct semantics of_time = {sizeof of_time, 2, 1, NULL, 14};
    for (int choice = 0; choice < 1 << PLACES; choice++) {
        uint64_t said[PLACES];
        for (int i = 0; i < PLACES; i++)
            said[i] = choice >> i & 1 ? place[i] : 0;
        const struct semantics role = {sizeof role, 1, 1, &of_time, said[1]}, any = {sizeof any, 1, 1, NULL, said[4]};
        const struct {
            int64_t at;
            uint64_t of_end, of_mark, of_all, of_time;
            int32_t v, pad;
        } e = {now(), elsewhere, said[0], said[2], said[5], 7, 0};
        const struct entry members[] = {{.flags = TIME | MARK, .type = INT64, .semantics = &role},
                                        {.flags = END, .type = SCOPE},
                                        {.flags = MARK, .type = SCOPE},
                                        {.type = SCOPE},
                                        {.flags = TIME, .type = SCOPE},
                                        {.type = INT32, .semantics = &any}};
        (void)snprintf(name, sizeof name, "choice %d", choice);
        const struct batch b = {schema(name, members, 6), sizeof e, &e, said[3], 0, NULL, 0, 0};
        ((void (*)(void *, const void *))p[17])(domain, &b);
        say_scope("mark \"choice", choice, "", choice);
    }
    for (int choice = 0; choice < 1 << 4; choice++) {
        uint64_t said[4];
        for (int i = 0; i < 4; i++)
            said[i] = choice >> i & 1 ? place[i] : 0;
        const struct semantics own = {sizeof own, 1, 1, NULL, said[1]};
        const struct {
            int64_t v;
            uint64_t of_counters, of_all, of_time, of_end;
        } sampled = {7, said[0], said[2], elsewhere, elsewhere};
        const struct entry members[] = {
            {.flags = choice % 3 ? COUNTER : 0, .type = INT64, .name = "v", .semantics = &own},
            {.flags = COUNTER, .type = SCOPE},
            {.type = SCOPE},
            {.flags = TIME, .type = SCOPE},
            {.flags = END, .type = SCOPE}};
        (void)snprintf(name, sizeof name, "count %d", choice);
        sample(counter_in(name, schema(name, members, 5), said[3]), &sampled, sizeof sampled);
        say_scope("counter \"count", choice, " = 7", choice);
    }
}

int main(int argc, char **argv)
{
    struct segment sp = {0, 32, p}, sc = {0, 32, c};
    struct module mp = {3, sizeof mp, 2, 0x0104, 1, &sp, NULL, NULL},
                  mc = {3, sizeof mc, 4, 0x0102, 1, &sc, NULL, NULL};
    int (*init)(struct module *) = extension();
    if (!init || !init(&mp) || !init(&mc) || !p[17] || !c[5])
        return 1;
    if (argc > 1 && !strcmp(argv[1], "places")) {
        scopes_by_place();
    } else if (argc > 1) {
        scopes();
    } else {
        groups();
        batches();
        clocks();
        events();
    }
    printf("PASS\n");
    return 0;
}
