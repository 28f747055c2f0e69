/* What build/gen/prototypes.c, made by gen for tests, calls in prototypes_test.c and tests/brute. */
#ifndef CUMU_TESTS_PROTOTYPES_H
#define CUMU_TESTS_PROTOTYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/calls.h"

struct pair {
    const char *signature;
    void (*target)(void);
    void (*call)(void (*function)(void));
};
extern const struct pair pairs[]; /* pairs[i] is of cumu_prototypes[i] */

/* Before the call: makes a value (the tracer's test a random one, an enum's none that has a name), and notes what is
 * passed. */
void make(bool of_enum, void *value, size_t size);
void make_text(void *string); /* a `char *`: it may be led elsewhere */
void passed(enum cumu_kind kind, unsigned stars, unsigned kind_size, const void *value, size_t size);
/* In the function called: what came, in order; and a random result, which got() sees after the call. */
void arrived(const void *value, size_t size);
void give(enum cumu_kind kind, unsigned stars, unsigned kind_size, void *result, size_t size);
void got(const void *result, size_t size);

#endif
