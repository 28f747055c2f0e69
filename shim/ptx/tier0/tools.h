/* What the tools that look at a launch (watch.h) hear of the interpreter, beside wrong accesses: racecheck (race.c),
 * initcheck and synccheck (synccheck.c). tools.c hands on; nothing here is called where nobody watches. */
#ifndef CUMU_PTX_TIER0_TOOLS_H
#define CUMU_PTX_TIER0_TOOLS_H

#include "ptx/tier0/warp.h"
#include "ptx/tier0/watch.h"

/* What a lane only starts: cp.async, copies in bulk that an mbarrier hears of, those that are of a group, products of
 * tiles, loads and stores of tensor memory. What is waited for by itself is a kind of its own. */
enum t0_async { T0_AT_ONCE, T0_COPYING, T0_FETCHING, T0_SENDING, T0_MULTIPLYING, T0_LOADING, T0_STORING, T0_ASYNCS };
static inline enum t0_async t0_copy_of(const struct lir_insn *i) /* st.bulk has made its stores */
{
    return i->op == LIR_CP_ASYNC       ? T0_COPYING
           : i->op != LIR_BULK         ? T0_AT_ONCE
           : i->aux & LIR_BULK_BARRIER ? T0_FETCHING
           : i->aux & LIR_BULK_ZERO    ? T0_AT_ONCE
                                       : T0_SENDING;
}
struct t0_part { /* an access of one lane, that it may make */
    uint64_t address;
    uint32_t size;
    enum t0_access_kind kind;
    bool shared; /* the address is an offset in the block's shared memory, else flat */
    bool strong; /* atomic, volatile or with a scope */
    enum t0_async async;
};

struct t0_tensor_part { /* of tensor memory: columns of a block's sixteen lanes from this one on */
    unsigned rank, lane, column, columns;
    enum t0_access_kind kind;
    enum t0_async async;
};

struct t0_row { /* an access of lanes of a warp that they may make */
    uint64_t address[LIR_LANES];
    uint32_t mask, size;
    enum t0_access_kind kind;
    bool shared, strong; /* as t0_part's */
    bool whole;          /* words, all of them: sizes and addresses are multiples of 4 */
    /* Where the caller knows it, of at least these lanes: lowest and highest address, bits of all of them. */
    bool bounded;
    uint64_t low, high, bits;
};

void t0_tools_begin(struct t0_block *b); /* before its first warp; the blocks of a cluster have their places */
/* For those of the tools. */
void t0_tools_access(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p,
                     unsigned tools);
void t0_tools_race_row(struct t0_warp *w, const struct lir_insn *i, struct t0_row *row); /* racecheck alone */
/* The same of 32 lanes that lie side by side from `first` on, plain accesses; false: it is to be told as a row. */
bool t0_tools_race_span(struct t0_warp *w, const struct lir_insn *i, uint64_t first, uint32_t size,
                        enum t0_access_kind kind);
void t0_tools_done(struct t0_warp *w, const struct lir_insn *i, unsigned lane,
                   const struct t0_part *p); /* it is made */
/* The running lanes go on from a collective; `forced`: without those that never came. */
void t0_tools_collective(struct t0_warp *w, const struct lir_insn *i, bool forced);
void t0_tools_arrive(struct t0_warp *w, const struct lir_insn *i, uint32_t id); /* at a barrier; NULL: the cluster's */
/* A barrier is complete, by the running lanes of w, or (NULL) as others have exited. */
void t0_tools_released(struct t0_block *b, struct t0_warp *w, const struct lir_insn *i, uint32_t id);
void t0_tools_waited(struct t0_warp *w, uint32_t lanes); /* for the cluster's barrier */
void t0_tools_exit(struct t0_warp *w);
/* The mbarrier at this address of shared memory hears of what the lane has started. */
void t0_tools_heard(struct t0_warp *w, unsigned lane, uint64_t barrier, enum t0_async what);
/* An access of tensor memory. It ends here where memcheck knows that nobody has allocated all of its columns. */
void t0_tools_tensor(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_tensor_part *t);
void t0_watch_tensor(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_tensor_part *t);
void t0_tools_tensor_given(struct t0_warp *w, unsigned rank, unsigned column, unsigned columns); /* by alloc */
void t0_tools_handlers(t0_handler *table[LIR_NOPS]); /* what is neither an access nor a collective */

/* Where an address of a lane lies: true: in shared memory, of the block of this rank. */
bool t0_in_shared(const struct t0_warp *w, const struct t0_part *p, uint32_t *rank, uint64_t *offset);
/* What a plain store writes: elements of `size` bytes, each as 32 lanes of `wide` ? 64 : 32 bits. */
struct t0_stored {
    uint32_t size, elements; /* elements 0: it is none, or its data are not known */
    bool wide;
    const void *value[8];
};
/* What one lane stores; bytes, 0: it is none. */
unsigned t0_stored_value(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint8_t value[32]);
/* Of these lanes those that store what stands there before the instruction: side by side from first[0] on, or at
 * first[lane]. */
uint32_t t0_stores_nothing_new(struct t0_warp *w, const struct lir_insn *i, uint32_t lanes, const uint64_t *first,
                               bool side_by_side);

/* undefined.c: whether a compare-and-swap expects what the load at pc has read, which confirms it. */
bool t0_load_is_compared(const struct lir_image *m, uint32_t pc);

/* watch.c: what an instruction does in pieces that it finds itself, rows of a matrix and tiles. May the lane? If not,
 * that is reported; if so, the other tools hear of it. The first asks alone. */
bool t0_watch_allows(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p);
/* Raises T0_FAULT_MISALIGNED; reports it before. */
_Noreturn void t0_misaligned(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p);
bool t0_watch_piece(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p);
/* Lanes whose access is wrong, which is reported; they end. */
uint32_t t0_watch_look(struct t0_warp *w, const struct lir_insn *i);
/* Lanes whose mbarrier is not in shared memory: what runs no watched handler asks. */
uint32_t t0_watch_mbarrier_outside(struct t0_warp *w, const struct lir_insn *i);

/* watch_texture.c */
/* Lanes whose texture or surface is of memory that is no more: what runs no watched handler asks. */
uint32_t t0_watch_texture_gone(struct t0_warp *w, const struct lir_insn *i);
void t0_watch_texture_handlers(t0_handler *table[LIR_NOPS]);

/* race.c */
void t0_race_begin(struct t0_block *b);
void t0_race_block_free(struct race_block *r);
void t0_race_shared(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p, uint32_t rank,
                    uint64_t offset);
void t0_race_flat(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p);
/* The same of a row: all of it in the block's own shared memory, or in global memory. */
void t0_race_shared_row(struct t0_warp *w, const struct lir_insn *i, const struct t0_row *row, const uint64_t *offset);
/* Reads of shared memory by these lanes, whose lower half lies from `low` on at equal distances, and whose upper half
 * from `high`: what is read again and again between two barriers, or by all lanes at one place. False: this is another
 * case, and nothing is done. */
bool t0_race_shared_read(struct t0_warp *w, uint32_t mask, uint64_t low, uint64_t high, int64_t stride, uint32_t size,
                         uint32_t pc);
void t0_race_flat_row(struct t0_warp *w, const struct lir_insn *i, const struct t0_row *row);
bool t0_race_flat_span(struct t0_warp *w, const struct lir_insn *i, uint64_t first, uint32_t size,
                       enum t0_access_kind kind);
void t0_race_tensor(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_tensor_part *t);
void t0_race_tensor_given(struct t0_warp *w, unsigned rank, unsigned column, unsigned columns);
void t0_race_collective(struct t0_warp *w, uint32_t lanes);
void t0_race_arrive(struct t0_warp *w, uint32_t id);
void t0_race_released(struct t0_block *b, const struct t0_warp *w, uint32_t id);
void t0_race_waited(struct t0_warp *w, uint32_t lanes);
void t0_race_exit(struct t0_warp *w);
void t0_race_met(struct t0_block *b);  /* all of its threads, of which nobody has said that they have exited */
void t0_race_lost(struct t0_block *b); /* what orders it is not known: it is looked at no more */
void t0_race_group(struct t0_warp *w, const struct lir_insn *i);
/* By an object in shared memory (its host address), or, if it is global, by a word there. */
void t0_race_release(struct t0_warp *w, unsigned lane, uint64_t object);
void t0_race_release_shared(struct t0_warp *w, unsigned lane, uint64_t object); /* of an access by itself */
void t0_race_acquire(struct t0_warp *w, unsigned lane, uint64_t object);
void t0_race_async(struct t0_warp *w, unsigned lane, uint64_t object, enum t0_async what);
enum { T0_RACE_ANYWHERE = 8 }; /* in place of an address: words that have several of them */
void t0_race_release_flat(struct t0_warp *w, unsigned lane, uint64_t address);
void t0_race_acquire_flat(struct t0_warp *w, unsigned lane, uint64_t address);
void t0_race_watch(struct t0_warp *w, unsigned lane, uint64_t address, bool shared); /* a relaxed load, made */
void t0_race_fence(struct t0_warp *w);

/* synccheck.c */
void t0_sync_begin(struct t0_block *b);
void t0_sync_block_free(struct sync_block *s);
void t0_sync_collective(struct t0_warp *w, const struct lir_insn *i, bool forced);
void t0_sync_arrive(struct t0_warp *w, const struct lir_insn *i, uint32_t id);
void t0_sync_released(struct t0_block *b, struct t0_warp *w, const struct lir_insn *i, uint32_t id);
void t0_sync_mbarrier(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t object);

#endif
