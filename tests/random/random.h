/* Random PTX kernels: what the parts of the test share. A program is a list of items (one
 * instruction or a few that only make sense together). Whatever subset program_close leaves is, if
 * it parses, a valid, terminating, deterministic kernel, which is what the minimiser relies on. */
#ifndef CUMU_TESTS_RANDOM_H
#define CUMU_TESTS_RANDOM_H

#include "ptx/ir.h"

/* ---- catalogue.c: every opcode that lir_select_alu takes ---- */

struct opcode {
    const char *text, *sig;
    struct ptx_instr in; /* without operands */
    bool known;          /* the reference computes it exactly */
};
/* Expands the templates; *refused counts spellings that the front end or tier 0 refuses. */
const struct opcode *catalogue(unsigned *n, unsigned *refused);

/* ---- generate.c ---- */

/* Classes of registers, which stay apart so that the payload of a NaN never reaches an integer. */
enum {
    POOL_INT,
    POOL_UNIFORM,
    POOL_WIDE,
    POOL_SHORT,
    POOL_F32,
    POOL_F64,
    POOL_F16,
    POOL_BF16,
    POOL_F16X2,
    POOL_BF16X2,
    POOL_PRED,
    NPOOLS
};
extern const struct pool {
    const char *name, *type;
    unsigned n;
} pools[NPOOLS];

enum {
    MAX_ITEMS = 4000,
    MAX_THREADS = 256,
    GRID = 2,
    COLUMNS = 60,
    COLUMN = GRID * MAX_THREADS * 8, /* of results: a register of all threads */
    SLOT = 32 /* bytes of global, shared and local memory that are a thread's own */,
    ACC_BYTES = 4096,
    IN_WORDS = 4096,
    PLACE_ROOM = 64,    /* bytes of a thread's own that one burst of accesses may take */
    PLACE_STRIDE = 132, /* the longest from thread to thread */
    FAR_BYTES = 64,     /* of local memory */
    PARAM_BYTES = 64,
    FACTOR_BYTES = 2048 /* of shared memory that all threads read */
};

/* What a program may contain. */
enum {
    GEN_KNOWN = 1, /* only what the reference computes */
    GEN_CROSS = 2, /* shuffles, votes, barriers, shared memory between threads */
    GEN_JUMPS = 4, /* breaks, early exits */
    GEN_CALLS = 8,
    GEN_ATOMICS = 16,
    GEN_ODD = 32,    /* what tier 1 refuses: irreducible loops, branch tables, recursion,
                   * parameters in registers */
    GEN_SMALL = 64,  /* quickly compiled */
    GEN_PLACES = 128 /* several places of a thread's own at once (places.c) */
};

/* How an array lies between its threads: each has `stride` bytes, of which it uses `room`, in that many columns of all
 * threads. */
enum { ORDER_FORWARD, ORDER_REVERSED, ORDER_TABLE /* of numbers */, ORDER_ADDRESSES };
struct layout {
    unsigned order, columns, stride, room, align;
};
struct program {
    uint64_t seed;
    unsigned flags, nitem;
    char *item[MAX_ITEMS];
    /* A branch, a loop or the like is a construct; its own items (the branch, the labels) stand or
     * fall together, and what stands inside is its body. */
    int owner[MAX_ITEMS], parent[MAX_ITEMS]; /* construct of an item, of a construct; -1 = none */
    bool own[MAX_ITEMS];
    unsigned nconstruct;
    unsigned nlabel, nmask, ncount;
    struct layout layout[2]; /* of the array in global memory, of that in shared memory */
    char functions[8192];
};
void generate(struct program *p, uint64_t seed, unsigned flags);
void program_free(struct program *p);
/* Adds to a set of dropped items those that cannot stand without them. */
void program_close(const struct program *p, bool *drop);
/* The PTX text of the items whose `drop` is not set (NULL: all); malloc'ed. */
char *program_text(const struct program *p, const bool *drop);

/* ---- memory of a launch, in the order of the kernel's parameters ---- */

struct args {
    uint64_t out, in, acc, own;
    uint32_t n;
    uint64_t lay, order, pointers, words; /* from thread to thread, */
    uint32_t stride;                      /* the same in bytes */
    uint8_t big[PARAM_BYTES] __attribute__((aligned(16)));
};
struct memory {
    uint8_t out[COLUMNS * COLUMN], acc[ACC_BYTES], own[GRID * MAX_THREADS * SLOT];
    uint8_t lay[GRID * MAX_THREADS * PLACE_STRIDE]; /* a copy of what lies at the page's border */
};

/* ---- reference.c: independent threads, scalar, one instruction at a time ---- */

bool reference_knows(const struct ptx_instr *in);
/* Runs the whole grid; false with *why filled when it meets something it lacks, or endless loops.
 */
bool reference_run(const char *text, const uint32_t block[3], const struct args *a, char *why, size_t size);

/* ---- tiers.c ---- */

/* Runs the grid on tier 0 with the handlers of a level (0: this machine's, -1: portable all
 * through). */
enum { BASE_LEVEL = 100 }; /* the baseline generator's code */
bool tier0_run(const char *text, const uint32_t block[3], const struct args *a, int level, char *why, size_t size);
/* The same on tier 1: 1 ran, 0 failed, -1 refused by t1_emit with its reason in *why. */
int tier1_run(const char *text, const uint32_t block[3], const struct args *a, int isa, char *why, size_t size);

#endif
