/* Model of mapping/types: enums and struct layouts of both sides. */
#ifndef CUMU_GEN_TYPES_H
#define CUMU_GEN_TYPES_H

#include "gen/text.h"

struct enum_row {
    struct place at;
    const char *cuda, *musa; /* NULL: this side has no such name */
    const char *text;        /* what the library says of it, in CUDA's words; or NULL */
    long long cuda_value, musa_value;
    bool repeat;  /* an earlier row declares the MUSA name */
    bool answers; /* no CUDA name, but a CUDA number that the MUSA one is answered as */
};
struct enum_type {
    struct place at;
    const char *cuda, *musa;             /* type names; for `flags` both are the block's name */
    const char *cuda_alias, *musa_alias; /* second names (cudaError_t), or NULL */
    const struct enum_type *like;        /* whose texts the rows without one have, or NULL */
    bool equal, flags;
    long long fallback; /* value that stands for unknown ones when translated */
    struct {
        struct enum_row *at;
        unsigned count, room;
    } rows;
};

enum { LAYOUTS = 6 };
struct field_row {
    struct place at;
    const char *name, *type;
    unsigned dims;        /* product of the array bounds, 0: no array */
    long offset[LAYOUTS]; /* per layout of the struct; -1: absent there */
};
struct field_type {
    const char *name, *c; /* as in the files, in C */
    unsigned size;
};
struct struct_type {
    struct place at;
    const char *cuda, *musa; /* musa NULL: none */
    unsigned layouts;
    struct {
        const char *name; /* "v11", "v13", "musa" */
        long size;
    } layout[LAYOUTS];
    struct {
        struct field_row *at;
        unsigned count, room;
    } fields;
};

struct types {
    struct {
        struct enum_type *at;
        unsigned count, room;
    } enums;
    struct {
        struct struct_type *at;
        unsigned count, room;
    } structs;
};

/* Parse one file's text into t. Errors are counted in e; parsing goes on after each. */
void parse_enums(struct types *t, struct arena *a, struct errors *e, const char *file, const char *text, size_t length);
void parse_structs(struct types *t, struct arena *a, struct errors *e, const char *file, const char *text,
                   size_t length);
/* Names and numbers that clash across files. */
void check_types(const struct types *t, struct errors *e);
/* By the CUDA type name or its alias; NULL when there is none. */
const struct enum_type *find_enum(const struct types *t, const char *cuda);
/* NULL when there is none of that name. */
const struct field_type *find_field_type(const char *name);

/* The MUSA spelling of a CUDA name: cuda -> musa, CUDA_ -> MUSA_, CU -> MU. */
const char *musa_name(struct arena *a, const char *cuda);

void emit_enums(const struct types *t, FILE *cuda, FILE *musa);
void emit_texts(const struct types *t, FILE *cuda, FILE *musa);
void emit_structs(const struct types *t, FILE *cuda, FILE *musa);

#endif
