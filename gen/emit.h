/* What is generated from a checked map. Each function writes one or a few files into `dir`. */
#ifndef CUMU_GEN_EMIT_H
#define CUMU_GEN_EMIT_H

#include "gen/map.h"
#include "gen/output.h"

struct job {
    const struct map *map;
    struct arena *arena;
    struct errors *errors;
    const char *dir;
};

/* The lines that one facade exports, in the order of its slots. */
struct slots {
    const struct map_line **at;
    unsigned count, room;
};
struct slots slots_of(const struct job *j, const struct facade *f);
/* Adds a library's wrap lines whose wrappers are not there yet: several lines may share one. */
void add_wraps(const struct job *j, const struct library *l, struct slots *wraps);

struct output emit_open(const struct job *j, const char *name, const char *comment, const char *emitter,
                        const char *from);

void emit_types(const struct job *j);                          /* {cuda,musa}_{enums,structs}.h */
void emit_facade(const struct job *j, const struct facade *f); /* SONAME.{tramp.S,twin.c,slots.c,ver} */
void emit_tables(const struct job *j);                         /* SONAME.symbols.c, tables.c, wraps.h */
void emit_signatures(const struct job *j);                     /* calls.c */
void emit_prototypes(const struct job *j);                     /* prototypes.c, a test */
void emit_declarations(const struct job *j);                   /* cuda_functions.h, of the tests */
void emit_bases(const struct job *j);                          /* bases.c */
void emit_conversions(const struct job *j);                    /* conv.{c,h} */
void emit_mu(const struct job *j);                             /* mu.{h,c,thunks.S,twin.c} */
void emit_per_thread(const struct job *j);                     /* per_thread.c */
void emit_stub_libraries(const struct job *j);                 /* stub.NAME.c */
void emit_runtimes(const struct job *j);                       /* runtimes.c, of the audit module */
void emit_calls(const struct job *j, const struct facade *f);  /* SONAME.calls.c, a test */
struct elf_names;
void emit_wrappers(const struct job *j, const struct elf_names *objects); /* wrappers.c, of the tool */
void emit_torch(const struct job *j);                                     /* facades of PyTorch; torch_tables.c */

/* Assembly common to facades and mu (emit_facade.c): resolver, macro `entry INDEX`, both arrays. */
void emit_asm_entries(FILE *f, const char *load_arguments, const char *resolver, const char *stub_jump,
                      const char *slots, const char *stubs);

/* C types that carry a value through unchanged, without the headers of either side. */
const char *plain_type(struct arena *a, const struct value *v, bool musa);
/* The same on the MUSA side, but for structs by value, which keep their names. */
const char *named_type(struct arena *a, const struct value *v);
const char *named_parameters(struct arena *a, const struct signature *s);
const char *plain_parameters(struct arena *a, const struct signature *s, bool musa);
/* A C identifier made of a soname: libcudart_so_13. */
const char *c_name(struct arena *a, const char *soname);

#endif
