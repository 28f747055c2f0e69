/* Tier 1 emitter: a load or store in work, shared by memory.c (elements) and vectors.c (vectors). */
#ifndef CUMU_PTX_TIER1_ACCESS_H
#define CUMU_PTX_TIER1_ACCESS_H

#include "ptx/tier1/emit/emit.h"

struct t1_access {
    struct t1_arg address;
    bool shared;
    bool has_index;  /* the address is of the form of gather, with an index that differs from lane to lane, */
    bool has_gather; /* which instructions have */
    bool local;      /* the same offset in every lane's local memory */
    bool param;      /* of the kernel, at imm: */
    int32_t value;   /* the address's; -1: a variable's */
    uint64_t imm;    /* of this element */
    struct t1_gather gather;
    unsigned size;     /* bytes of an element */
    const char *t;     /* suffix of the primitives */
    bool wide;         /* 64-bit elements */
    const char *words; /* has been loaded with others: in these words, or elements of 8 bytes, */
    unsigned byte;     /* from this byte on */
};

/* How the pieces of an element are loaded that differ from lane to lane. */
struct t1_pieces {
    const char *row; /* the answer whether they follow one another; NULL: not asked */
    bool halves;     /* tid % 16 and the like: both halves may gather from the same places, */
    unsigned first;  /* which then are in the temporaries from here on */
};

/* memory.c */
const char *t1_load_piece(struct t1_emit *e, const struct t1_access *x, unsigned k); /* its piece k, for the mask */
struct t1_pieces t1_load_pieces(struct t1_emit *e, const struct t1_access *x);
const char *t1_next_piece(struct t1_emit *e, const struct t1_access *x, const struct t1_pieces *p, unsigned k);
void t1_store_element(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v);
/* Pointer to lane `lane` of the half h of an address that is a scalar and a stride. */
const char *t1_pointer(struct t1_emit *e, const struct t1_access *x, unsigned h, int64_t lane);
/* Tests whether addresses that differ from lane to lane are `step` bytes apart after all; the name of the answer, or
 * NULL: not worth asking. Then piece k's place. */
const char *t1_ask_for_row(struct t1_emit *e, const struct t1_access *x, unsigned step);
const char *t1_in_row(struct t1_emit *e, const struct t1_access *x, unsigned k);
bool t1_in_structures(const struct t1_access *x); /* words a fixed small step apart: members, one a lane */
/* An offset in local memory as a flat address, or back. */
struct t1_arg t1_in_local(struct t1_emit *e, const struct t1_arg *a, char sign);

/* factor.c. Words that hold what the load in work reads, a product's factor in shared memory; NULL: it is
 * none, or looking at its lanes would not pay. Names _0_k: the word of piece k. */
const char *t1_factor(struct t1_emit *e, const struct t1_access *x);

/* vectors.c. n elements a lane, whose places differ from lane to lane; `used`: a bit for each that is asked for. NULL:
 * each is an access of its own. */
const char *t1_load_vector(struct t1_emit *e, const struct t1_access *x, unsigned n, unsigned used);
void t1_store_vector(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v, unsigned n);
/* The same of eight words a lane, which follow one another (AVX-512). */
const char *t1_load_rows(struct t1_emit *e, const struct t1_access *x);
void t1_store_rows(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v);

/* together.c. Words that hold what the load in work and others behind it read, and its first byte in them; NULL: it
 * loads alone. Names _j_k: word j of piece k. */
const char *t1_load_together(struct t1_emit *e, const struct t1_access *x, unsigned *byte);
/* Whether the block has not prefetched yet what lies around that address. */
bool t1_first_ahead(struct t1_emit *e, const struct t1_access *x);
/* Whether the store in work is one of several, which the last of them does. */
bool t1_store_together(struct t1_emit *e, const struct t1_access *x);

#endif
