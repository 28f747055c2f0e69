/* A launch that tools look at (CUMU_CHECK): who launches says what memory a kernel may touch and hears of each thing
 * that a tool finds. A wrong access is not made and its thread ends; all others go on. */
#ifndef CUMU_PTX_TIER0_WATCH_H
#define CUMU_PTX_TIER0_WATCH_H

#include "ptx/tier0/tier0.h"

enum t0_tool { T0_MEMCHECK = 1, T0_RACECHECK = 2, T0_INITCHECK = 4, T0_SYNCCHECK = 8 }; /* bits */

enum t0_access_kind { T0_READS, T0_WRITES, T0_UPDATES /* an atomic */ };

/* Bytes of shared memory that an access may touch. Compilers read three words at the end as four, where they lie in one
 * aligned piece of 16 bytes (LLVM does, seen in Numba). */
static inline uint32_t t0_shared_limit(uint32_t bytes, uint64_t at, uint32_t size, enum t0_access_kind kind)
{
    return kind == T0_READS && size == 16 && at % 16 == 0 && at < bytes ? (bytes + 15) & ~15u : bytes;
}

/* A thread at an instruction; texts of the kernel's module. */
enum { T0_CALLERS = 8 };
struct t0_place {
    const char *kernel;   /* the launched one */
    const char *function; /* that the instruction is in, if it was called; else NULL */
    uint32_t block[3], thread[3];
    uint32_t pc;   /* number of the instruction in the module: tells two places apart */
    uint32_t line; /* of the PTX */
    struct t0_source source;
    struct { /* who called, innermost first */
        const char *function;
        uint32_t line;
        struct t0_source source;
    } caller[T0_CALLERS];
    unsigned callers;
};

/* What a tool has found. All tools report by this; texts are the caller's again when the report returns. Findings of
 * one tool at the same places count as one that is printed. */
enum { T0_PLACES = 2, T0_NOTES = 6 };
enum t0_severity { T0_ERROR, T0_WARNING, T0_INFO };
struct t0_finding {
    enum t0_tool tool;
    enum t0_severity severity;
    uint64_t hazards;  /* of a race between two places: bytes, each time */
    bool fatal;        /* the launch fails because of it */
    bool has_address;  /* of global memory: what lies there and around it is added */
    uint64_t address;  /* flat */
    uint32_t size;     /* bytes from there on; 0: unknown */
    const char *title; /* the first line, as "Invalid __global__ write of size 4 bytes" */
    struct {
        const char *what; /* precedes the place, as "Write access"; NULL: nothing does */
        struct t0_place place;
        const char *copy; /* no thread of a kernel: a copy or a fill, its name */
    } at[T0_PLACES];
    uint32_t other; /* of a race: the operation of another stream (t0_race_user), 0: none */
    unsigned places;
    const char *note[T0_NOTES]; /* lines behind the places */
    unsigned notes;
};

enum { T0_UNDEFINED_PIECE = 32 }; /* bytes, aligned: no structure has more padding in one place */
struct t0_watch {
    void *ctx;
    unsigned tools; /* bits of enum t0_tool */
    /* Whether a kernel may touch all of [address, address + size) of global memory. Called for every access. */
    bool (*allowed)(void *ctx, uint64_t address, uint32_t size, enum t0_access_kind kind);
    /* Of what may not: why, as "out of bounds". */
    const char *(*denied)(void *ctx, uint64_t address, uint32_t size, enum t0_access_kind kind);
    void (*report)(void *ctx, const struct t0_finding *f); /* by any thread */
    /* What lives there and may be accessed so, as far as it may be remembered for the launch: false for nothing, or
     * nothing that stays. */
    bool (*range)(void *ctx, uint64_t address, enum t0_access_kind kind, uint64_t *base, uint64_t *size);
    /* Initcheck: notes an access of global memory; false: it reads what nobody has written. */
    bool (*written)(void *ctx, uint64_t address, uint32_t size, enum t0_access_kind kind);
    /* Of the first 32 bytes those that nobody has written, a bit each. *alone: nobody has written any byte of some
     * aligned piece of that many bytes which the access touches. */
    uint32_t (*undefined)(void *ctx, uint64_t address, uint32_t size, uint32_t piece, bool *alone);
    struct t0_race *race; /* racecheck's, of this launch; NULL: there is no memory for it */
};

/* Initcheck's finding: a thread at p reads what nobody has written. */
void t0_report_unwritten(const struct t0_watch *watch, const struct t0_place *p, uint64_t address, uint32_t size);

/* Whether that is to be reported: not where it only copies what looks like padding (undefined.c). By the instruction,
 * or by the line of PTX that has it. */
bool t0_undefined_matters(const struct t0_watch *watch, const struct t0_kernel *k, uint32_t pc, uint64_t address,
                          uint32_t size);
bool t0_undefined_matters_in(const struct t0_watch *watch, const struct t0_kernel *k, uint32_t line, uint64_t address,
                             uint32_t size);

/* Whether there is anything in the kernel's module that synccheck looks at. */
bool t0_synchronises(const struct t0_kernel *k);

/* Racecheck: before a launch and behind it, when it reports. `op`: see below; 0: only the launch itself counts. */
struct t0_race *t0_race_new(const struct t0_grid *g, uint32_t op);
void t0_race_end(struct t0_race *r, const struct t0_watch *watch);

/* Racecheck between launches, copies and fills. Who runs them knows in which order they are: of each he gives what the
 * hooks ask, `user`, and gets a number. Only the latest ones are remembered. */
struct t0_race_hooks {
    bool (*ordered)(const void *before, const void *now); /* whether one was over when the other began */
    bool (*tracked)(uint64_t address);                    /* whether what lies there is looked at between streams */
    void (*drop)(void *user);                             /* nobody asks for it any more */
};
/* g: of a launch, else NULL and a name, which lives as long as the process. 0: there is no memory; user is dropped. */
uint32_t t0_race_op(const struct t0_race_hooks *hooks, const struct t0_grid *g, const char *name, void *user);
/* What was given for it: calls `see` with it, unless it is forgotten. */
void t0_race_user(uint32_t op, void (*see)(void *ctx, const void *user), void *ctx);
/* A copy or fill (of a race of no grid) has touched these bytes. */
void t0_race_touched(struct t0_race *r, uint64_t address, uint64_t size, enum t0_access_kind kind);
void t0_race_forget(uint64_t address, uint64_t size); /* the memory is somebody else's from now on */
void t0_race_module_gone(const struct t0_module *m);  /* its launches are forgotten */
void t0_race_place(const struct t0_grid *g, uint32_t pc, uint64_t block, uint32_t thread, struct t0_place *p);

#endif
