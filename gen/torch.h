/* Model of mapping/torch: how PyTorch's CUDA names become torch_musa's, what the facades of libc10_cuda.so and
 * libtorch_cuda.so export, and the numbers that change between releases of PyTorch. */
#ifndef CUMU_GEN_TORCH_H
#define CUMU_GEN_TORCH_H

#include "gen/map.h"

struct torch_pair { /* rename and ident lines of names.rules */
    struct place at;
    const char *from, *to;
};
struct torch_line { /* wrap, bridge, data, stub and name lines */
    struct place at;
    const char *symbol;
    const char *wrap;   /* function of shim/torch */
    const char *bridge; /* function of shim/torch/bridge */
    const char *target; /* the MUSA name, where the rule does not give it */
    const char *reason; /* stub: why */
    unsigned size;      /* data: bytes */
};
struct torch_number { /* one translated enumerator of one release */
    struct place at;
    const char *cuda, *musa;
    unsigned from, to;
    bool device; /* of DeviceType, else of DispatchKey */
};
struct torch_release {
    struct place at;
    const char *version; /* "2.7" */
    struct {
        struct torch_number *at;
        unsigned count, room;
    } numbers;
};
struct torch_library { /* one soname, from SONAME.exports */
    struct place at;
    const char *soname;
    struct words names; /* sorted */
};
struct torch {
    struct {
        struct torch_pair *at;
        unsigned count, room;
    } renames, idents;
    struct {
        struct torch_line *at;
        unsigned count, room;
    } lines;
    struct words below; /* file names of torch_musa */
    struct {
        struct torch_line *at;
        unsigned count, room;
    } boundary; /* imports of extensions that the audit module renames; symbol and wrap */
    struct {
        struct torch_release *at;
        unsigned count, room;
    } releases;
    struct {
        struct torch_library *at;
        unsigned count, room;
    } libraries;
};

void parse_torch_rules(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                       size_t length);
void parse_torch_numbers(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                         size_t length);
void parse_torch_exports(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                         size_t length);

const struct torch_line *find_torch_line(const struct torch *t, const char *symbol);

/* The Itanium-mangled name with every identifier renamed and its length counted anew. Substitutions count
 * components, not letters, so they stay. NULL: the name is not understood, *bad points at where. */
const char *mangle_to_musa(struct arena *a, const struct torch *t, const char *name, const char **bad);
/* A variable, vtable, type information or guard: there is nothing to jump to. */
bool is_mangled_data(const char *name);

#endif
