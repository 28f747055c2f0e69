/* What the parts of the test share: a function of a facade, the values that it is called with. */
#ifndef CUMU_TESTS_BRUTE_H
#define CUMU_TESTS_BRUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/symbols.h"
#include "tests/trace/prototypes.h"

enum { ARGUMENTS = 32, LETTERS = 40, CAPACITY = 1 << 16 /* bytes of each buffer */ };

/* What a call is given. In all but MIXED every argument of a sort is wrong in the same way and the others are buffers
 * of zeros and small numbers; NULLS + n: argument n alone is null; MIXED + n: each argument is drawn by itself. */
enum way {
    NOTHING,   /* null pointers, null handles, zeros */
    EMPTY,     /* null handles, zeros */
    SMALL,     /* handles are small integers */
    GARBAGE,   /* handles are addresses of nothing, enums of no name */
    FOREIGN,   /* handles are addresses of zeros */
    DESTROYED, /* handles of what was destroyed */
    OTHER,     /* live handles of other kinds */
    HUGE,      /* huge numbers */
    UNKNOWN,   /* enums of no name */
    NULLS,
    MIXED = NULLS + ARGUMENTS,
    WAYS = MIXED + 64
};

struct function {
    const char *name;
    const struct pair *pair; /* how it is called */
    bool status;             /* returns an error code */
    bool stub;               /* looks at nothing: a stub, or one that the program's own library answers */
    int n;
    char letter[ARGUMENTS][LETTERS]; /* of its arguments: the language of gen/README.md */
    int handle;                      /* the argument that is a library's own handle, a `p`; or -1 */
};

/* The function of a symbol: its signature's letters, which argument is a handle. */
struct function describe(const struct cumu_symbol *s, const char *library);
bool is_pointer(const struct function *f, int argument); /* to data: no handle */
bool is_handle(const struct function *f, int argument);

/* Makes live and destroyed objects of all kinds: the driver's, and what functions of the facade called Create and
 * alike make. false: something that is always there is not. */
bool prepare(void *facade, const struct cumu_table *t);
/* Between two calls. `seed` is of the MIXED ones. */
void clear_buffers(const struct function *f, int way, uint64_t seed);
bool buffers_changed(void);
/* Calls with the values of `way`; what it answered, the first four bytes. */
unsigned call(const struct function *f, void (*address)(void), int way);

/* The driver's function of that name, to call: the arguments are not checked. */
#define DRIVER(name, ...) ((int (*)())driver_symbol(name))(__VA_ARGS__)
void (*driver_symbol(const char *name))(void);

#endif
