/* Model of mapping/sonames.map, mapping/api/NAME.map and mapping/api/NAME.versions. The language is
 * described in gen/README.md. */
#ifndef CUMU_GEN_MAP_H
#define CUMU_GEN_MAP_H

#include "gen/types.h"

enum verb { VERB_JUMP, VERB_CONV, VERB_WRAP, VERB_STUB, VERB_PASS, VERB_ALIAS, VERB_USE, VERBS };
extern const char *const verb_names[VERBS];

/* One letter of a signature. The CUDA and the MUSA side may spell the type differently; the ABI is
 * the same on both. */
struct letter {
    const char *name, *cuda, *musa;
    const char *format; /* printf of the logging stub; NULL: bytes of a struct by value */
    unsigned size;      /* of a struct by value, else 0 */
    const char *kind;   /* how a trace shows it: CUMU_ARG_... of shim/core/calls.h */
};
struct value { /* an argument or a result */
    const struct letter *letter;
    const struct enum_type *values; /* e.NAME and err/res; NULL otherwise */
    unsigned char stars;            /* *z is a pointer to a size_t */
};
enum { ARGUMENTS = 40 };
struct signature {
    const char *text;
    struct value result;
    bool status; /* the result is an error code */
    unsigned count;
    struct value argument[ARGUMENTS];
};

enum { VERSION_MAX = 999 };
struct map_line {
    struct place at;
    enum verb verb;
    const char *symbol, *target, *alias, *reason;
    unsigned since, until; /* both included; 0 and VERSION_MAX when not given */
    bool not_on_host;
    bool exact; /* the function whose name has or lacks _v2 beside the target's takes other arguments */
    const struct signature *signature;
    unsigned call;                  /* which of map.calls the signature is */
    const struct map_line *aliased; /* what an alias stands for, itself no alias */
};

struct library {
    struct place at;
    const char *name;
    long long unsupported, absent; /* what stubs answer: not supported; no library below */
    struct {
        struct map_line *at;
        unsigned count, room;
    } lines;                        /* after check_map: sorted by symbol, then since; `use` lines last */
    unsigned exported;              /* number of lines that are not `use` */
    bool quiet;                     /* its calls leave no error that cudaGetLastError would tell */
    const struct enum_type *status; /* its wrappers are a newer release's: that enum's numbers become MUSA's; or NULL */
};
struct facade {
    struct place at;
    const char *library, *soname, *node; /* node NULL: unversioned */
    const char *origin;                  /* where a program gets its own copy; NULL: none is ever opened */
    unsigned version;
};
struct below { /* a MUSA library: file names in search order, codes as above */
    struct place at;
    const char *name, *prefix;
    long long unsupported, absent;
    struct {
        const char **at;
        unsigned count, room;
    } sonames;
};
struct base_name { /* cuGetProcAddress: ABI versions of one base name, ascending */
    struct place at;
    const char *library, *name;
    unsigned versions, version[8];
    const char *thread_suffix; /* "_ptsz", "_ptds" or NULL */
    unsigned thread_versions, thread_version[8];
};

struct runtime;
struct torch;

struct map {
    struct types types;
    struct {
        struct library *at;
        unsigned count, room;
    } libraries;
    struct {
        struct facade *at;
        unsigned count, room;
    } facades;
    struct {
        struct below *at;
        unsigned count, room;
    } below;
    struct {
        struct base_name *at;
        unsigned count, room;
    } bases;
    struct {
        struct runtime *at;
        unsigned count, room;
    } runtimes; /* runtimes.h */
    struct {
        const struct signature **at;
        unsigned count, room;
    } calls;             /* distinct signatures of exported lines, filled by check_map */
    struct torch *torch; /* torch.h */
    struct {
        struct evidence *at;
        unsigned count, room;
    } evidence;
    struct mu_symbol *mu; /* filled by check_map, sorted by name */
    unsigned mu_count;
};
/* How well a MUSA function is known, best first: mapping/musa.evidence. */
enum grade { GRADE_SURE, GRADE_NAMED, GRADE_GUESSED };
struct evidence {
    struct place at;
    const char *library, *symbol;
    enum grade grade;
};
struct mu_symbol { /* a MUSA function that the shim calls */
    const char *name;
    const struct map_line *line; /* first line that names it */
    int below;                   /* index of its library */
    bool not_on_host;            /* in every line that names it */
    bool exact;                  /* in any line that names it */
};
enum per_thread { PER_THREAD_NONE, PER_THREAD_PLAIN, PER_THREAD_ASYNC, PER_THREAD_WAIT };

/* Parsers; each goes on after an error. */
void parse_map(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length);
void parse_sonames(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length);
void parse_versions(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                    size_t length);
/* Sorts, resolves aliases, collects MUSA symbols, reports what is inconsistent. */
void check_map(struct map *m, struct arena *a, struct errors *e);

/* NULL with an error reported when text is no signature. */
const struct signature *parse_signature(struct arena *a, struct errors *e, struct place at, const char *symbol,
                                        const char *text, const struct types *types);
/* C text: the type of a value on one side, and a whole parameter list "int a0, void *a1". */
const char *c_type(struct arena *a, const struct value *v, bool musa);
const char *c_parameters(struct arena *a, const struct signature *s, bool musa);
unsigned scalar_size(const struct value *v); /* in bytes; of a struct by value its size */
const char *c_arguments(struct arena *a, const struct signature *s);
bool is_void(const struct value *v);
bool narrowed(const struct value *v); /* long in CUDA, int in MUSA */

const struct library *find_library(const struct map *m, const char *name);
/* The line that serves symbol in a version, or NULL. l must be checked. */
const struct map_line *find_line(const struct library *l, const char *symbol, unsigned version);
/* The line that says what happens: the aliased one of an alias. */
const struct map_line *effective(const struct map_line *l);
int find_mu(const struct map *m, const char *name);
/* The other name under which an SDK may export the same function, X for X_v2 and X_v2 for X; NULL where that name is
 * a function with other arguments. */
const char *other_name(const struct map *m, struct arena *a, const struct mu_symbol *s);
/* The function that a _ptsz or _ptds form can be made of where an SDK lacks the form, and how: by a stream of the
 * thread's own in its place (PLAIN), by the form that queues on that stream and a wait for it (ASYNC), or by a wait for
 * it and the plain call (WAIT). NONE: no such form, or nothing to make it of. */
enum per_thread per_thread_base(const struct map *m, struct arena *a, const struct mu_symbol *s,
                                const struct mu_symbol **base);
void parse_evidence(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                    size_t length);
/* What is known of a function in any of the forms that serve for it: under its other name, or as what its per-thread
 * form is made of. */
enum grade grade_of(const struct map *m, struct arena *a, const struct mu_symbol *s);
/* The name of the C function behind a conv or wrap line. */
const char *function_name(struct arena *a, const struct map_line *l);
/* What its slot holds: the same, or of a wrapper of a quiet library, or of an
 * older release, the function that is generated around it. */
const char *entry_name(struct arena *a, const struct library *lib, const struct map_line *l);

#endif
