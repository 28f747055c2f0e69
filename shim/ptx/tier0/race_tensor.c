/* Racecheck: tensor memory. Whatever reads or writes it (tcgen05.ld, st, cp, mma) is only started by its thread, and is
 * over for those who know of a wait (tcgen05.wait) or of an mbarrier that a commit arrives at. Products and copies run
 * in the order in which they are issued (the ISA's pipelined pairs), so that among them the threads alone are asked. A
 * piece is a column of sixteen lanes, as all shapes have them. */
#include "ptx/tier0/race.h"
#include "ptx/tier0/tile.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 16 /* lanes */, PIECES = T0_TENSOR_LANES / PIECE, READERS = 2 };
struct use {
    uint32_t clock, issued; /* of the slot, 0: none; of the thread that started it */
    uint32_t pc, slot;
};
struct race_piece {
    struct use write, read[READERS];
};

static struct race_piece *piece_at(const struct race_block *r, unsigned rank, unsigned lane, unsigned column)
{
    return &r->piece[((size_t)rank * PIECES + lane / PIECE) * T0_TENSOR_COLUMNS + column];
}

static bool in_order(const struct race_block *r, const struct use *u)
{
    return u->slot >= r->threads && u->slot - u->slot % r->threads == r->first[T0_MULTIPLYING];
}

/* Whether `now`, by this thread, comes behind it. */
static bool is_over(const struct race_block *r, const struct use *before, const struct use *now, uint32_t thread)
{
    if (!before->clock || before->slot == now->slot)
        return true;
    const bool issue = in_order(r, before) && in_order(r, now);
    return race_is_ordered(r->clocks,
                           issue ? (struct race_stamp){before->issued, before->slot % r->threads}
                                 : (struct race_stamp){before->clock, before->slot},
                           thread);
}

static void found(struct t0_warp *w, const struct race_block *r, const struct use *before, bool wrote,
                  const struct use *now, bool writes)
{
    const struct race_hazard h = {.a = race_place_of(w, r, before->slot, before->pc, wrote ? T0_WRITES : T0_READS),
                                  .b = race_place_of(w, r, now->slot, now->pc, writes ? T0_WRITES : T0_READS),
                                  .count = PIECE * 4,
                                  .error = true,
                                  .tensor = true};
    t0_race_found(w->block->grid->watch->race, &h);
}

static void visit(struct t0_warp *w, const struct race_block *r, struct race_piece *p, const struct use *now,
                  uint32_t thread, bool writes)
{
    if (!is_over(r, &p->write, now, thread))
        found(w, r, &p->write, true, now, writes);
    if (writes) {
        for (unsigned k = 0; k < READERS; k++)
            if (!is_over(r, &p->read[k], now, thread))
                found(w, r, &p->read[k], false, now, true);
        *p = (struct race_piece){.write = *now};
        return;
    }
    unsigned k = 0;
    while (k < READERS && !is_over(r, &p->read[k], now, thread))
        k++;
    if (k < READERS) /* more that nothing orders are forgotten */
        p->read[k] = *now;
}

void t0_race_tensor(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_tensor_part *t)
{
    struct race_block *r = race_state_of(w);
    if (!r || !r->piece || t->lane >= T0_TENSOR_LANES || t->column + t->columns > T0_TENSOR_COLUMNS)
        return;
    const uint32_t thread = race_slot_of(w, r, lane), slot = race_async_slot(r, thread, t->async);
    const struct use now = {race_now(r->clocks, slot).clock, race_now(r->clocks, thread).clock,
                            (uint32_t)(i - LIR_AT(w->block->image, code, struct lir_insn)), slot};
    for (unsigned c = 0; c < t->columns; c++)
        visit(w, r, piece_at(r, t->rank, t->lane, t->column + c), &now, thread, t->kind != T0_READS);
}

void t0_race_tensor_given(struct t0_warp *w, unsigned rank, unsigned column, unsigned columns)
{
    struct race_block *r = race_state_of(w);
    for (unsigned lane = 0; r && r->piece && lane < T0_TENSOR_LANES; lane += PIECE)
        memset(piece_at(r, rank, lane, column), 0, columns * sizeof(struct race_piece));
}

bool race_pieces_new(struct race_block *r)
{
    r->piece = calloc((size_t)r->blocks * PIECES * T0_TENSOR_COLUMNS, sizeof *r->piece);
    return r->piece;
}
