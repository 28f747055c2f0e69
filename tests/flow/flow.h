/* Random kernels of control flow: what the parts of the test share. A program is a tree of
 * statements; it is laid out as a graph of basic blocks, which the reference runs thread by thread
 * and which becomes PTX text. */
#ifndef CUMU_TESTS_FLOW_H
#define CUMU_TESTS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- variables: registers, numbered through all classes ---- */

enum class {
    C_INT,   /* b32, differ from thread to thread */
    C_UNI,   /* b32, the same in all threads of a block that are at the same place */
    C_WIDE,  /* b64 */
    C_SHORT, /* b16 */
    C_FLOAT, /* f32, never a NaN */
    C_PRED,
    C_COUNT,   /* b32: counters of loops and values on the way to a condition */
    C_FLAG,    /* predicates of conditions */
    C_MASK,    /* b32: which lanes are here */
    C_COUNT64, /* counters of loops in registers of other widths */
    C_COUNT16,
    NCLASSES
};
enum {
    NINT = 8,
    NUNI = 4,
    NWIDE = 3,
    NSHORT = 2,
    NFLOAT = 2,
    NPRED = 4,
    NCOUNT = 120,
    NFLAG = 160,
    NMASK = 24,
    NCOUNT64 = 16,
    NCOUNT16 = 16
};
enum {
    V_INT = 0,
    V_UNI = V_INT + NINT,
    V_WIDE = V_UNI + NUNI,
    V_SHORT = V_WIDE + NWIDE,
    V_FLOAT = V_SHORT + NSHORT,
    V_PRED = V_FLOAT + NFLOAT,
    V_COUNT = V_PRED + NPRED,
    V_FLAG = V_COUNT + NCOUNT,
    V_MASK = V_FLAG + NFLAG,
    V_COUNT64 = V_MASK + NMASK,
    V_COUNT16 = V_COUNT64 + NCOUNT64,
    NVARS = V_COUNT16 + NCOUNT16,
    V_STORED = V_COUNT, /* those before it may be results */
    NONE = -1
};
struct class_info {
    const char *name, *type;
    int first, n;
};
extern const struct class_info classes[NCLASSES];
enum class class_of(int v);
unsigned bits_of(enum class c); /* of an integer or float */

/* ---- instructions ---- */

enum opcode {
    /* d = a op b, or the immediate where b is NONE; by the class of d */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_AND,
    OP_OR,
    OP_XOR,
    OP_SHR,
    OP_SHL,
    OP_MIN,
    OP_MAX,
    OP_MOVE,   /* d = a, or the immediate; between classes the bits, widened or cut */
    OP_SETP,   /* d = a cmp b, unsigned (float for floats); sub: enum compare */
    OP_SELECT, /* d = c ? a : b */
    OP_INPUT,  /* d = in[(a + imm) & 1023] */
    OP_LOAD,   /* d = own[slot]; sub: space, vol: volatile; the slot is imm, or a & 7 */
    OP_STORE,  /* own[slot] = b */
    OP_ATOM,   /* d = own[slot], which becomes what imm / SLOTS, an enum atom, makes of it and b */
    OP_RED,    /* acc[kind imm][a & 7] op= b: in any order the same */
    OP_CALL,   /* d = function imm (a, b) */
    OP_RETURN, /* of this thread, from the function */
    OP_EXIT,   /* of this thread, from the kernel */
    /* Of all threads of the block. */
    OP_BAR,
    OP_BAR_RED, /* d = and, or of a, or the number of threads where a is set; sub says which */
    OP_PEER,    /* d = b of thread a % threads, by way of shared own[imm] */
    /* Of the lanes in mask c, which all come. */
    OP_SYNC,
    OP_BALLOT,  /* d: lanes where a is set */
    OP_VOTE,    /* d = any, all of a; sub */
    OP_SHUFFLE, /* d = a of lane b & 31, or of this one if it is not in the mask */
    OP_REDUX,   /* d = add, or, max of a over the mask; sub */
    OP_LAST,    /* d = a of the highest lane of the mask: one number for all, where the mask is one */
    NOPS
};
enum compare { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };
enum atom { ATOM_ADD, ATOM_EXCH, ATOM_MAX, ATOM_CAS, NATOMS }; /* cas: from the slot's number to b */
enum space { SP_GLOBAL, SP_SHARED, SP_LOCAL };
enum { SLOTS = 8, INPUTS = 1024, ACC_KINDS = 6, ACC_WORDS = 8 };

struct op {
    uint8_t op, sub;
    bool vol, not ; /* not: the instruction runs where its guard is false */
    int d, a, b, c, guard;
    uint32_t imm;
};
enum { COND_OPS = 5 };
struct cond { /* instructions, then the flag that decides */
    struct op op[COND_OPS];
    int nop, flag;
    bool not, uniform;
};

/* ---- the tree ---- */

enum kind {
    N_OP,
    N_IF,     /* kid 0, or kid 1 */
    N_LOOP,   /* kid 0; form: enum loop_form */
    N_SHARE,  /* loops with one header: after each kid its condition sends back to the first */
    N_TANGLE, /* irreducible: kids in a row, entered at any; form: the first one's number */
    N_GRAPH,  /* kids that jump to any of them, on fuel */
    N_SWITCH, /* a kid for each value of the first counter of cond */
    N_JUMP,   /* on a condition out of loop `loop`, or to its next round (form 1, or 2: with the
                 loop's own test) */
    N_LEAVE,  /* on a condition; op is OP_RETURN or OP_EXIT; form 1: by a jump, not a guard */
};
enum loop_form { LOOP_WHILE, LOOP_DO, LOOP_GUARDED, LOOP_FOREVER };
enum { KIDS = 6, MAX_NODES = 700, ENOUGH_NODES = 450, MAX_LOOPS = 100 };
struct node {
    enum kind kind;
    int form, loop, nkid;
    bool through; /* cases of a switch fall through, where the bit is set */
    struct op op; /* N_OP; of loops: before them (their counter is 0) */
    struct cond cond[KIDS];
    struct node *kid[KIDS], *next;
    int8_t target[KIDS][3]; /* N_GRAPH: where a kid goes on; NONE is the end */
    bool table[KIDS];       /* N_GRAPH: by a branch table; N_SWITCH: [0] */
};

enum { NFUNCS = 3, MAX_THREADS = 128, MAX_GRID = 3 };
struct program {
    uint64_t seed;
    struct node node[MAX_NODES];
    int nnode, nloop, nfunc;
    int ncount, ncount64, ncount16, nflag, nmask;
    struct node *body[NFUNCS + 1]; /* functions, then the kernel */
    bool shuffled, keep[V_STORED]; /* blocks in any order; variables stored at the end */
    uint32_t block[3], grid;
};

/* ---- the graph ---- */

enum end { END_GO, END_IF, END_TABLE, END_RETURN };
enum { MAX_BLOCKS = 1500, MAX_OPS = 6000 };
struct block {
    int first, n; /* operations */
    enum end end;
    int flag, index; /* END_IF, END_TABLE */
    bool not, uniform;
    int to[KIDS], nto; /* END_IF: where the flag is set, where not */
};
struct graph {
    struct block block[MAX_BLOCKS];
    struct op op[MAX_OPS];
    int order[MAX_BLOCKS], nblock, norder, nop; /* order: as in the text; the first one is the entry */
    bool full;                                  /* too large: not to be used */
};
struct graphs {
    struct graph of[NFUNCS + 1];
};

/* ---- memory of a launch ---- */

struct memory {
    uint64_t out[V_STORED][MAX_GRID * MAX_THREADS];
    uint32_t own[MAX_GRID * MAX_THREADS][SLOTS];
    uint32_t acc[ACC_KINDS][ACC_WORDS];
};
struct args {
    uint64_t out, in, own, acc;
    uint32_t n;
};
enum { ARGUMENT = 1234567 };
extern uint32_t input[INPUTS];
void memory_init(struct memory *m);

/* ---- the parts ---- */

void generate(struct program *p, uint64_t seed);                     /* generate.c */
bool lay_out(const struct program *p, struct graphs *g);             /* layout.c; false: too large, or no program */
char *program_text(const struct program *p, const struct graphs *g); /* text.c; malloc'ed */
/* reference.c: false with *why where a thread runs too long, or lanes wait for what never comes. */
bool reference_run(const struct program *p, const struct graphs *g, struct memory *m, char *why, size_t size);
static inline uint32_t threads_of(const uint32_t block[3]) { return block[0] * block[1] * block[2]; }

/* backends.c */
enum way { TIER0, TIER1_PLAIN, TIER1_AVX2, TIER1_AVX512, MUSA, BASELINE, NWAYS };
extern const char *const way_name[NWAYS];
bool way_possible(enum way w);
bool light(void); /* objects are compiled without optimisation: FLOW_LIGHT=1 */
struct job {
    uint64_t seed;
    uint32_t block[3], grid;
    char *text;
    struct memory *want; /* by the reference */
    int result[NWAYS];   /* 1 the same, 0 different, -1 refused */
    char why[NWAYS][300];
};
/* Runs the jobs one way; *now is the number of the job that runs, NONE while compilers do. */
void run_jobs(struct job *job, int n, enum way w, volatile int *now);

#endif
