/* The tables that gen/ makes from mapping/, and what generated assembly calls in the core. The tables
 * are read-only data inside libcumu-core.so; a facade DSO holds only its slots, its trampolines and a
 * struct cumu_facade that joins the two. */
#ifndef CUMU_CORE_SYMBOLS_H
#define CUMU_CORE_SYMBOLS_H

#include "core/core.h"

#include <stdint.h>

enum cumu_verb { CUMU_JUMP, CUMU_CONV, CUMU_WRAP, CUMU_STUB, CUMU_PASS };
enum { CUMU_THUNK_SIZE = 16 };
/* What a stub answers: the library's code; 0, NULL or nothing; -1, where a number of 0 or more is an answer. */
enum cumu_returns { CUMU_RETURNS_STATUS, CUMU_RETURNS_ZERO, CUMU_RETURNS_MINUS };

struct cumu_symbol {     /* one exported CUDA symbol of one soname */
    const char *name;    /* "cudaMalloc" */
    const char *target;  /* jump, conv: the MUSA symbol; pass: it, or NULL; wrap: the one that
                                  CUMU_FORCE calls in its place, or NULL; else NULL */
    const char *reason;  /* stub: why; else NULL */
    void (*entry)(void); /* conv: generated function; wrap: wrap_<symbol>; else NULL */
    uint8_t verb, returns;
    uint16_t library; /* of target: index into cumu_libraries[] */
    uint16_t call;    /* its signature: index into cumu_prototypes[] of calls.h */
};

struct cumu_table {      /* one CUDA soname; symbols sorted by name (strcmp) */
    const char *soname;  /* "libcudart.so.13" */
    const char *library; /* "cudart": channel of its log lines */
    const struct cumu_symbol *symbols;
    uint32_t count;
    int32_t unsupported; /* code of a stub: cudaErrorNotSupported 801, ... */
    int32_t absent;      /* code when not opted in and there is no NVIDIA library: 35, 100, ... */
    const char *origin;  /* where a program gets its own copy, which wraps and passes use; or NULL */
};

struct cumu_facade { /* lives in the facade DSO; entry i of slots and stubs is symbol i */
    const struct cumu_table *table;
    void **slots;               /* what the trampolines jump through */
    void (*const *stubs)(void); /* entry i calls cumu_stub_called(f, i) */
    uint32_t *calls;            /* zeroed; how often each stub was called */
    void **targets;             /* zeroed; what the thunk of a traced symbol calls */
    const char *thunks;         /* code: thunk i, at i * CUMU_THUNK_SIZE, goes to cumu_trace_entry; NULL in
                                  builds without assembly */
};

struct cumu_library { /* one MUSA library: names to try in order, NULL-terminated */
    const char *name; /* "musart" */
    const char *const *sonames;
    int32_t unsupported; /* its code for a function that it lacks: musaErrorNotSupported 801 */
    int32_t absent;      /* its code when it cannot be opened: 35 runtime, 100 driver, ... */
};

/* How well public sources know a MUSA function (mapping/musa.evidence): seen in an SDK, reserved by the profiler or
 * mentioned, CUDA's name renamed. */
enum cumu_grade { CUMU_SURE, CUMU_NAMED, CUMU_GUESSED };

struct cumu_mu_symbol { /* one member of `mu` */
    const char *name;   /* "musaMalloc" */
    const char *other;  /* "muMemAlloc" of "muMemAlloc_v2" and the other way round: some SDKs export the
                                  same function under that name; NULL: that one would take other arguments */
    uint16_t library;   /* index into cumu_libraries[] */
    uint8_t returns, grade;
};

struct cumu_per_thread { /* a function of the per-thread default stream, where an SDK lacks it */
    const char *name;    /* "muMemcpyHtoDAsync_v2_ptsz" */
    const char *base;    /* what the form calls: "muMemcpyHtoDAsync_v2" */
    void (*form)(void);
};

struct cumu_version {    /* one form of a name asked for through cuGetProcAddress */
    uint32_t version;    /* the first toolkit that means this form: 12020 */
    uint32_t per_thread; /* 1: the _ptsz / _ptds form */
    const char *symbol;  /* "cuStreamBeginCapture_v2" */
};
struct cumu_base { /* a name without suffix and its forms, ascending */
    const char *name;
    const struct cumu_version *versions;
    uint32_t count;
};

/* Emitted by gen/ into the core. */
extern const struct cumu_base cumu_bases[]; /* sorted by name */
extern const uint32_t cumu_base_count;
extern CUMU_EXPORT const struct cumu_table *const cumu_tables[];  /* NULL-terminated; for the tool too */
extern CUMU_EXPORT const struct cumu_library cumu_libraries[];    /* ends with name NULL */
extern CUMU_EXPORT const struct cumu_mu_symbol cumu_mu_symbols[]; /* sorted by name */
extern CUMU_EXPORT const uint32_t cumu_mu_count;
extern CUMU_EXPORT const struct cumu_per_thread cumu_per_thread[]; /* sorted by name */
extern CUMU_EXPORT const uint32_t cumu_per_thread_count;
extern void *cumu_mu_slots[];               /* `mu` seen as an array: entry i is cumu_mu_symbols[i] */
extern uint32_t cumu_mu_calls[];            /* zeroed; calls of each stub */
extern void (*const cumu_mu_stubs[])(void); /* entry i calls cumu_mu_stub_called(i) */

/* Called by the resolver entry of a facade with all argument registers saved. Never NULL: stores the
 * address in the slot and returns it. */
void *cumu_slot_fill(const struct cumu_facade *f, unsigned index);
/* The same for members of `mu`. */
void *cumu_mu_fill(unsigned index);
/* Bodies of the per-symbol stubs: say why once, count, return the code. */
intptr_t cumu_stub_called(const struct cumu_facade *f, unsigned index);
intptr_t cumu_mu_stub_called(unsigned index);

/* Binary search by name; NULL if the table lacks it. */
const struct cumu_symbol *cumu_table_find(const struct cumu_table *t, const char *name);

/* Address an application may call for this CUDA symbol: the export of the facade with this soname
 * (loaded from beside the core if it is not yet). NULL if there is no such facade or symbol. For
 * cuGetProcAddress and friends. */
void *cumu_facade_symbol(const char *soname, const char *name);

#endif
