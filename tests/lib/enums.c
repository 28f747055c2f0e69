/* The enums of a file of mapping/types against a table of their own (enums.def of the library's
 * test), one line for each enum that differs. Takes in what the generator made of the file: names,
 * numbers, and both translations. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conv.c"
#include "cuda_enums.h"
#include "musa_enums.h"

/* The translations say unknown values; nobody listens here. */
bool cumu_log_on(enum cumu_level level, const char *channel)
{
    (void)level, (void)channel;
    return false;
}
void cumu_log(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
              const char *format, ...)
{
    (void)site, (void)level, (void)channel, (void)symbol, (void)format;
}

struct row {
    const char *name;
    int listed, cuda, musa_listed, musa; /* numbers of the generator and of the table; NONE: none */
    int answer;
};
enum { NONE = -123456789 };

static int failed;
static void differs(const char *type, const char *name, const char *what)
{
    printf("%s: %s: %s\n", type, name, what);
    failed = 1;
}

static void check(const char *type, const struct row *r, int count, int (*down)(int), int (*up)(int))
{
    for (int i = 0; i < count; i++) {
        if (r[i].listed != r[i].cuda || r[i].musa_listed != r[i].musa)
            differs(type, r[i].name, "number");
        if (down && r[i].cuda != NONE && r[i].musa != NONE && down(r[i].cuda) != r[i].musa)
            differs(type, r[i].name, "to MUSA");
        if (!up || r[i].musa == NONE)
            continue;
        int first = 0; /* of several CUDA names of one MUSA value the first answers */
        while (r[first].musa != r[i].musa)
            first++;
        if (up(r[i].musa) != (r[first].answer == NONE ? r[first].cuda : r[first].answer))
            differs(type, r[i].name, "from MUSA");
    }
}

#define SAME(c, n, m, k) {#c, c, n, m, k, NONE},
#define ONLY(c, n) {#c, c, n, NONE, NONE, NONE},
#define ANSWER(m, k, n) {#m, NONE, NONE, m, k, n},
#define PASSED_0(type) NULL, NULL
#define PASSED_1(type) cumu_##type##_to_musa, cumu_##type##_from_musa
#define ENUM(type, translated) \
    { \
        NULL \
    } \
    } \
    ; \
    static const struct row type##_rows[] = {
/* Rows stand between the heads of two enums, so the tables are made first and named after. */
static const struct row none[] = {
#include "enums.def"
    {NULL}};

int main(void)
{
    (void)none;
#undef SAME
#undef ONLY
#undef ANSWER
#undef ENUM
#define SAME(...)
#define ONLY(...)
#define ANSWER(...)
#define ENUM(type, translated) \
    check(#type, type##_rows, (int)(sizeof type##_rows / sizeof *type##_rows) - 1, PASSED_##translated(type));
#include "enums.def"
    return failed;
}
