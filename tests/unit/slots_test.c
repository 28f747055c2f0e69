/* Slots: what each verb fills them with, what stubs answer, opting in, fork. */
#include "core/error.h"
#include "core/init.h"
#include "core/symbols.h"
#include "unit/unit.h"

#include <stdlib.h>

static int wrapped(void) { return 42; }

enum { STUB, WRAP, JUMP, STUB_TEXT, LAST_ERROR, UNWRITTEN, COUNT };

static void wrapped_entry(void); /* the type that tables have */

static struct cumu_symbol symbols[COUNT] = {
    [STUB] = {"aStub", NULL, "no such thing", NULL, CUMU_STUB, CUMU_RETURNS_STATUS, 0, 0},
    [WRAP] = {"bWrap", NULL, NULL, wrapped_entry, CUMU_WRAP, CUMU_RETURNS_STATUS, 0, 0},
    [JUMP] = {"cJump", "musaNone", NULL, NULL, CUMU_JUMP, CUMU_RETURNS_STATUS, 0, 0},
    [STUB_TEXT] = {"cStubText", NULL, "no text", NULL, CUMU_STUB, CUMU_RETURNS_ZERO, 0, 0},
    [LAST_ERROR] = {"cudaGetLastError", NULL, NULL, wrapped_entry, CUMU_WRAP, CUMU_RETURNS_STATUS, 0, 0},
    [UNWRITTEN] = {"dUnwritten", NULL, NULL, NULL, CUMU_WRAP, CUMU_RETURNS_STATUS, 0, 0},
};
static const struct cumu_table table = {"libcumu-none.so.1", "cudart", symbols, COUNT, 801, 35, NULL};
static void *slots[COUNT];
static uint32_t calls[COUNT];
static const struct cumu_facade facade;

#define STUB_OF(n) \
    static intptr_t stub_##n(void) { return cumu_stub_called(&facade, n); }
// clang-format off
STUB_OF(0) STUB_OF(1) STUB_OF(2) STUB_OF(3) STUB_OF(4) STUB_OF(5)
static void (*const stubs[COUNT])(void) = {
    (void (*)(void))stub_0, (void (*)(void))stub_1, (void (*)(void))stub_2,
    (void (*)(void))stub_3, (void (*)(void))stub_4, (void (*)(void))stub_5
};
// clang-format on
static const struct cumu_facade facade = {&table, slots, stubs, calls, NULL, NULL};

static void wrapped_entry(void) {}

/* Calls through the slot as a trampoline would. */
static long call(unsigned i)
{
    void *p = slots[i] ? slots[i] : cumu_slot_fill(&facade, i);
    if (p == cumu_code_address(wrapped_entry))
        return wrapped();
    intptr_t (*f)(void);
    memcpy(&f, &p, sizeof f);
    return f();
}

static void inert(void)
{
    (void)unsetenv("CUMU");
    long a = call(WRAP), b = call(JUMP), c = call(STUB_TEXT);
    fprintf(stderr, "%ld %ld %ld %d", a, b, c, cumu_take_error());
}

static void active(void)
{
    (void)setenv("CUMU", "1", 1);
    long wrap = call(WRAP), stub = call(STUB), again = call(STUB), text = call(STUB_TEXT);
    symbols[STUB_TEXT].returns = CUMU_RETURNS_MINUS;
    long number = call(STUB_TEXT);
    fprintf(stderr, "%ld %ld %ld %ld %ld error %d calls %u", wrap, stub, again, text, number, cumu_take_error(),
            calls[STUB]);
}

static void unwritten(void)
{
    (void)setenv("CUMU", "1", 1);
    long a = call(UNWRITTEN);
    fprintf(stderr, "%ld", a);
}

static void no_library(void)
{
    (void)setenv("CUMU", "1", 1);
    (void)setenv("CUMU_BACKEND", "host", 1); /* there is no host/ beside a test program */
    long a = call(JUMP), b = call(JUMP);
    fprintf(stderr, "%ld %ld", a, b);
}

static void fork_unused(void)
{
    (void)setenv("CUMU", "1", 1);
    long before = call(WRAP);
    if (fork() == 0) {
        fprintf(stderr, "%ld %ld", before, call(WRAP));
        _exit(0);
    }
    (void)wait(NULL);
}

static void fork_used(void)
{
    (void)setenv("CUMU", "1", 1);
    (void)setenv("CUMU_LOG", "off", 1);
    cumu_init_used();
    (void)call(WRAP);
    (void)call(LAST_ERROR);
    if (fork() == 0) {
        long filled = call(WRAP), harmless = call(LAST_ERROR), fresh = call(JUMP);
        fprintf(stderr, "child %ld %ld %ld error %d; ", filled, harmless, fresh, cumu_take_error());
        _exit(0);
    }
    (void)wait(NULL);
    fprintf(stderr, "parent %ld", call(WRAP));
}

int main(void)
{
    (void)unsetenv("CUMU_LOG");
    const char *said = stderr_of(inert);
    check_text(said,
               "cumu: error: cudart: bWrap: not opted in (CUMU=1 is not set) and there is no NVIDIA "
               "libcumu-none.so.1\n35 35 0 35",
               "not opted in, no NVIDIA library: its code, one line");
    check_text(stderr_of(active),
               "cumu: gap: cudart: aStub: no such thing\ncumu: gap: cudart: cStubText: no text\n"
               "42 801 801 0 -1 error 801 calls 2",
               "opted in: wrapper called, stubs answer and say why once");
    check_text(stderr_of(unwritten), "cumu: gap: cudart: dUnwritten: not done yet\n801",
               "a wrapper that is not there is a stub");
    said = stderr_of(no_library);
    check(strstr(said, "no MUSA library found") && strstr(said, "35 35"), "no MUSA library: absent code");
    check_text(stderr_of(fork_unused), "42 42", "fork before use: the child may use CUDA");
    check_text(stderr_of(fork_used), "child 3 42 3 error 3; parent 42",
               "fork after use: initialization error in the child, the parent is untouched");
    bool all = true;
    for (unsigned i = 0; i < COUNT; i++)
        all &= cumu_table_find(&table, symbols[i].name) == &symbols[i];
    check(all && !cumu_table_find(&table, "zzz") && !cumu_table_find(&table, ""), "names are found");
    for (const struct cumu_table *const *t = cumu_tables; *t; t++)
        for (uint32_t i = 0; i < (*t)->count; i++)
            all &= cumu_table_find(*t, (*t)->symbols[i].name) == &(*t)->symbols[i];
    check(all, "every name of every generated table is found");
    return check_end("unit slots");
}
