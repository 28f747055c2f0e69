/* The words that all tests share. `check` prints a line of its own; EXPECT, IS and OK are silent
 * where they hold and counted for the closing line, which check_end prints. tests/run counts the
 * lines. */
#ifndef CUMU_TESTS_CHECK_H
#define CUMU_TESTS_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Weak: the files of a program share one count. */
__attribute__((weak)) int check_count, check_failures;

/* What a test is known not to see is no failure; others define this before (tier1/on_tier1.h). */
#ifndef CHECK_KNOWN
#define CHECK_KNOWN(text) false
#endif

static __attribute__((unused, format(printf, 6, 7))) bool
check_that(bool good, bool silent, const char *condition, const char *file, int line, const char *format, ...)
{
    char text[600];
    va_list args;
    __atomic_add_fetch(&check_count, 1, __ATOMIC_RELAXED);
    if (good && silent)
        return true;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (good)
        printf("ok %s\n", text);
    else if (CHECK_KNOWN(text))
        printf("# known: %s\n", text);
    else if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED))
        printf("not ok %s (%s:%d: %s)\n", text, file, line, condition);
    return good;
}

/* `ok text` or `not ok text`, formatted; its value is the condition's. */
#define check(good, ...) check_that(good, false, #good, __FILE__, __LINE__, __VA_ARGS__)
/* Silent; may have a text. */
#define EXPECT(condition, ...) check_that(condition, true, #condition, __FILE__, __LINE__, " " __VA_ARGS__)
/* A number that a call must give; OK: 0. */
#define IS(call, want) \
    do { \
        long long got_ = (long long)(call), want_ = (long long)(want); \
        check_that(got_ == want_, true, #call, __FILE__, __LINE__, "%lld, not %s", got_, #want); \
    } while (0)
#define OK(call) IS(call, 0)
/* What is needed to go on: the program ends if it is not 0. */
#define MUST(call) \
    do { \
        long long need_ = (long long)(call); \
        if (!check_that(!need_, true, #call, __FILE__, __LINE__, "%lld", need_)) \
            exit(1); \
    } while (0)

/* The closing line; its value is the exit status. */
static __attribute__((unused)) int check_end(const char *what)
{
    printf("%s %s: %d checks, %d failed\n", check_failures ? "not ok" : "ok", what, check_count, check_failures);
    (void)fflush(stdout);
    return check_failures != 0;
}

#endif
