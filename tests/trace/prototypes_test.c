/* Calls a function of every signature of the map through the tracer, with random arguments: what arrives, what
 * comes back and what the trace shows must be what the compiler passed. Also: calls inside calls. */
#include "tests/trace/prototypes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/trace.h"

enum { ROUNDS = 3, BYTES = 4096, TEXT = 8192 };

static unsigned char sent[BYTES], came[BYTES], result[128];
static size_t sent_size, came_size, result_size;
static char expected[TEXT], result_text[256], line[TEXT], previous[TEXT];
static FILE *trace;
static unsigned lines, failures, nested_at;
static unsigned long long seed = 88172645463325252ull;

/* ---- the tracer's surroundings ----------------------------------------------------------------- */

/* The lines that were written since the last time. */
static void read_lines(void)
{
    char text[TEXT];
    while (fgets(text, sizeof text, trace)) {
        strcpy(previous, line);
        strcpy(line, text);
        lines++;
    }
    clearerr(trace);
}
void cumu_work_init(void) {}
void cumu_work_poll(void) {}
void *cumu_work_begin(const void *stream)
{
    (void)stream;
    return NULL;
}
void cumu_work_end(void *work, const struct cumu_event *e, bool failed) { (void)work, (void)e, (void)failed; }

static struct cumu_symbol *symbols;
static struct cumu_table table = {"libtest.so", "test", NULL, 0, 801, 35, NULL};
static void *targets[1 << 16];
static const char thunks[1];
extern const struct cumu_facade test_facade;
const struct cumu_facade test_facade = {&table, NULL, NULL, NULL, targets, thunks};
extern unsigned test_index;
unsigned test_index;
void test_enter(void);
/* What the thunk of symbol test_index does. */
__asm__(".text\n.type test_enter, @function\ntest_enter:\n"
        "    leaq test_facade(%rip), %r10\n"
        "    movl test_index(%rip), %r11d\n"
        "    jmp cumu_trace_entry\n");

/* ---- values -------------------------------------------------------------------------------------- */

static unsigned random32(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 16);
}

void make(bool of_enum, void *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)value)[i] = (unsigned char)random32();
    if (of_enum)
        ((unsigned char *)value)[3] = 0x5e;
}

void make_text(void *string) { (void)string; }

static void reals(char *to, const unsigned char *v, unsigned n, unsigned each)
{
    int at = 0;
    for (unsigned i = 0; i < n; i++) {
        float f;
        double d;
        memcpy(&f, v + i * each, sizeof f);
        if (each == 8)
            memcpy(&d, v + i * each, sizeof d);
        at += sprintf(to + at, "%s%.9g", n == 1 ? "" : i ? ", " : "{", each == 8 ? d : (double)f);
    }
    if (n > 1)
        sprintf(to + at, "}");
}

/* How the trace is to show it; written from the C value, which has its own size. */
static void show(char *to, enum cumu_kind kind, unsigned stars, unsigned size, const void *value)
{
    const unsigned char *b = value;
    unsigned long long u = 0;
    int at = 0;
    memcpy(&u, value, stars ? 8 : size < 8 ? size : 8);
    switch (stars ? CUMU_ARG_POINTER : kind) {
    case CUMU_ARG_VOID: *to = 0; break;
    case CUMU_ARG_STRING:
        sprintf(to, "\"text \\\"%c\\\"\"", ((const char *)(uintptr_t)u)[6]);
        if (((const char *)(uintptr_t)u)[7] != '"')
            sprintf(to, "\"text \\\"%c%c\\\"\"", ((const char *)(uintptr_t)u)[6], ((const char *)(uintptr_t)u)[7]);
        break;
    case CUMU_ARG_POINTER:
    case CUMU_ARG_HANDLE:
    case CUMU_ARG_STREAM:
    case CUMU_ARG_ADDRESS:
    case CUMU_ARG_ARRAY:
    case CUMU_ARG_SYMBOL: sprintf(to, u ? "0x%llx" : "NULL", u); break;
    case CUMU_ARG_CHAR:
        sprintf(to,
                *b == '"' || *b == '\\' ? "\"\\%c\""
                : *b == '\n'            ? "\"\\n\""
                : *b < ' ' || *b > '~'  ? "\"\\x%02x\""
                                        : "\"%c\"",
                *b);
        break;
    case CUMU_ARG_SIGNED: sprintf(to, "%lld", size == 4 ? (long long)(int)u : (long long)u); break;
    case CUMU_ARG_UNSIGNED:
    case CUMU_ARG_LENGTH:
    case CUMU_ARG_LENGTH2:
    case CUMU_ARG_LENGTH4: sprintf(to, "%llu", u); break;
    case CUMU_ARG_FLOAT: reals(to, b, size / 4, 4); break;
    case CUMU_ARG_DOUBLE: reals(to, b, size / 8, 8); break;
    case CUMU_ARG_MIXED:
        at = sprintf(to, "{%lld, ", (long long)u);
        reals(to + at, b + 8, 1, 8);
        strcat(to, "}");
        break;
    case CUMU_ARG_ENUM: sprintf(to, "%d", (int)u); break;
    case CUMU_ARG_DIM3:
        sprintf(to, "{%u %u %u}", ((const unsigned *)value)[0], ((const unsigned *)value)[1],
                ((const unsigned *)value)[2]);
        break;
    case CUMU_ARG_COPY3D: /* behind pointers only */
    case CUMU_ARG_PEER3D:
    case CUMU_ARG_CU_COPY2D:
    case CUMU_ARG_CU_COPY3D:
    case CUMU_ARG_BYTES:
        at = sprintf(to, "{");
        for (unsigned i = 0; i < size && i < 16; i++)
            at += sprintf(to + at, "%02x", b[i]);
        sprintf(to + at, size > 16 ? "...}" : "}");
        break;
    }
}

void passed(enum cumu_kind kind, unsigned stars, unsigned kind_size, const void *value, size_t size)
{
    memcpy(sent + sent_size, value, size);
    sent_size += size;
    if (*expected)
        strcat(expected, ", ");
    show(expected + strlen(expected), kind, stars, kind_size, value);
}

void arrived(const void *value, size_t size)
{
    memcpy(came + came_size, value, size);
    came_size += size;
}

static void call(unsigned i)
{
    test_index = i;
    pairs[i].call(test_enter);
}

void give(enum cumu_kind kind, unsigned stars, unsigned kind_size, void *value, size_t size)
{
    bool text = kind == CUMU_ARG_STRING && !stars;
    memset(value, 0, size);
    if (!text)
        make(kind == CUMU_ARG_ENUM, value, size);
    memcpy(result, value, result_size = size);
    show(result_text, text ? CUMU_ARG_POINTER : kind, stars, kind_size, value);
}

static bool result_same;
void got(const void *value, size_t size) { result_same = size == result_size && memcmp(value, result, size) == 0; }

/* ---- checks --------------------------------------------------------------------------------------- */

static void fail(unsigned i, const char *what)
{
    if (failures++ < 10)
        printf("not ok %s: %s\n    expected f%u(%s) = %s\n    trace    %s", pairs[i].signature, what, i, expected,
               result_text, line);
}

static void one(unsigned i)
{
    char want[TEXT + 512];
    sent_size = came_size = 0;
    *expected = *result_text = 0;
    result_same = true;
    unsigned before = lines;
    call(i);
    read_lines();
    snprintf(want, sizeof want, "f%u(%s)%s%s <", i, expected, *result_text ? " = " : "", result_text);
    if (came_size != sent_size || memcmp(sent, came, sent_size) != 0)
        fail(i, "other arguments arrived");
    else if (!result_same)
        fail(i, "another result came back");
    else if (lines != before + 1)
        fail(i, "not one line");
    else if (!strstr(line, want))
        fail(i, "the trace shows something else");
}

/* A function that makes a traced call itself. */
static int inner(int n) { return n + 1; }
static int outer(int n)
{
    test_index = nested_at + 1;
    int (*f)(int);
    memcpy(&f, &(void (*)(void)){test_enter}, sizeof f);
    return f(n) * 2;
}

static void check_nesting(void)
{
    int (*f)(int);
    memcpy(&f, &(void (*)(void)){test_enter}, sizeof f);
    test_index = nested_at;
    int r = f(7000);
    read_lines();
    bool good = r == 14002 && strstr(previous, ".1   f_inner(7000) = 7001 <") &&
                strstr(line, ".1 f_outer(7000) = 14002 <");
    printf("%s a call inside a call\n", good ? "ok" : "not ok");
    if (!good)
        printf("    %s    %s", previous, line);
    failures += !good;
}

int main(void)
{
    char file[] = "/tmp/cumu-prototypes.XXXXXX";
    int fd = mkstemp(file);
    trace = fd < 0 ? NULL : fdopen(fd, "r");
    if (!trace)
        return 1;
    setenv("CUMU_TRACE", file, 1);
    symbols = calloc(cumu_prototype_count + 2, sizeof *symbols);
    if (!symbols)
        return 1;
    for (unsigned i = 0; i < cumu_prototype_count; i++) {
        char *name = malloc(16);
        if (!name)
            return 1;
        sprintf(name, "f%u", i);
        symbols[i] = (struct cumu_symbol){.name = name, .call = (uint16_t)i};
        memcpy(&targets[i], &pairs[i].target, sizeof targets[i]);
    }
    table.symbols = symbols;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < cumu_prototype_count; i++)
            one(i);
    printf("%s %u signatures, %u failures\n", failures ? "not ok" : "ok", cumu_prototype_count, failures);

    nested_at = cumu_prototype_count;
    unsigned of_int = 0;
    while (of_int < cumu_prototype_count && strcmp(pairs[of_int].signature, "err(i)") != 0)
        of_int++;
    symbols[nested_at] = (struct cumu_symbol){.name = "f_outer", .call = (uint16_t)of_int};
    symbols[nested_at + 1] = (struct cumu_symbol){.name = "f_inner", .call = (uint16_t)of_int};
    memcpy(&targets[nested_at], &(int (*)(int)){outer}, sizeof *targets);
    memcpy(&targets[nested_at + 1], &(int (*)(int)){inner}, sizeof *targets);
    check_nesting();
    for (unsigned i = 0; i < cumu_prototype_count; i++)
        free((void *)(uintptr_t)symbols[i].name);
    free(symbols);
    fclose(trace);
    unlink(file);
    return failures != 0;
}
