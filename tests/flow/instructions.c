/* Random instructions: arithmetic, memory, and what threads do together. */
#include "flow/generate.h"

struct op arithmetic(struct place w)
{
    uint32_t what = rnd(20);
    enum opcode op = (enum opcode)rnd(OP_MOVE);
    bool shift = op == OP_SHR || op == OP_SHL;
    int v;
    if (w.uniform && what < 3)
        return make(op, any_uniform(), any_uniform(), shift || rnd(2) ? NONE : any_uniform(),
                    shift ? rnd(8) : rnd(100));
    switch (what) {
    case 3:
        v = V_WIDE;
        return make(op, v + (int)rnd(NWIDE), v + (int)rnd(NWIDE), shift || rnd(2) ? NONE : v + (int)rnd(NWIDE),
                    rnd(30));
    case 4:
        v = V_SHORT;
        return make(op, v + (int)rnd(NSHORT), v + (int)rnd(NSHORT), shift || rnd(2) ? NONE : v + (int)rnd(NSHORT),
                    rnd(15));
    case 5:
    case 6:
        v = V_FLOAT;
        return make(op, v + (int)rnd(NFLOAT), v + (int)rnd(NFLOAT), rnd(2) ? NONE : v + (int)rnd(NFLOAT), rnd(30));
    case 7: return make(OP_MOVE, V_WIDE + (int)rnd(NWIDE), any_int(), NONE, 0);
    case 8: return make(OP_MOVE, any_int(), (int)(rnd(2) ? V_WIDE + rnd(NWIDE) : V_SHORT + rnd(NSHORT)), NONE, 0);
    case 9: return make(OP_MOVE, V_SHORT + (int)rnd(NSHORT), any_int(), NONE, 0);
    case 10:
        return make(OP_MOVE, rnd(2) ? V_FLOAT + (int)rnd(NFLOAT) : any_int(),
                    rnd(2) ? any_int() : V_FLOAT + (int)rnd(NFLOAT), NONE, 0);
    case 11: {
        struct op s = make(OP_SETP, any_pred(), any_int(), rnd(2) ? any_source() : NONE, rnd(300));
        s.sub = (uint8_t)rnd(6);
        return s;
    }
    case 12: return make(rnd(2) ? OP_XOR : rnd(2) ? OP_AND : OP_OR, any_pred(), any_pred(), any_pred(), 0);
    case 13: {
        struct op s = make(OP_SELECT, any_int(), any_int(), any_source(), 0);
        s.c = any_pred();
        return s;
    }
    case 14: return make(OP_MOVE, any_int(), rnd(2) ? any_uniform() : NONE, NONE, rnd(1000));
    default:
        return make(op, any_int(), any_int(), shift || rnd(3) == 0 ? NONE : any_source(), shift ? rnd(32) : rnd(1000));
    }
}

struct op memory(struct place w)
{
    uint8_t space = w.kernel ? (uint8_t)rnd(3) : SP_GLOBAL;
    struct op op;
    switch (rnd(6)) {
    case 0: op = make(OP_INPUT, any_int(), any_source(), NONE, rnd(INPUTS)); break;
    case 1:
    case 2: op = make(OP_LOAD, any_int(), rnd(2) ? any_int() : NONE, NONE, rnd(SLOTS)); break;
    case 3: op = make(OP_STORE, NONE, rnd(2) ? any_int() : NONE, any_source(), rnd(SLOTS)); break;
    case 4: op = make(OP_ATOM, any_int(), rnd(2) ? any_int() : NONE, any_source(), rnd(SLOTS * NATOMS)); break;
    default: return make(OP_RED, NONE, any_source(), any_source(), rnd(ACC_KINDS));
    }
    op.sub = op.op == OP_ATOM && space == SP_LOCAL ? SP_SHARED : space;
    op.vol = rnd(3) == 0;
    return op;
}

/* Lanes together, then the block together, where it is known who is here. */
struct op collective(struct place w)
{
    struct op op;
    if (w.uniform && rnd(2)) {
        uint32_t what = rnd(4);
        if (what == 0)
            return make(OP_PEER, any_int(), any_int(), any_int(), rnd(SLOTS));
        if (what == 1)
            return make(OP_BAR, NONE, NONE, NONE, 0);
        op = make(OP_BAR_RED, what == 2 ? any_uniform() : any_pred(), any_pred(), NONE, 0);
        op.sub = what == 2 ? 2 : (uint8_t)rnd(2);
        return op;
    }
    switch (rnd(6)) {
    case 0: op = make(OP_SYNC, NONE, NONE, NONE, 0); break;
    case 1: op = make(OP_BALLOT, any_int(), any_pred(), NONE, 0); break;
    case 2: op = make(OP_VOTE, any_pred(), any_pred(), NONE, 0); break;
    case 3: op = make(OP_REDUX, any_int(), any_int(), NONE, 0); break;
    case 4: op = make(OP_LAST, any_int(), any_int(), NONE, 0); break;
    default: op = make(OP_SHUFFLE, any_int(), any_int(), any_int(), 0);
    }
    op.sub = (uint8_t)rnd(3);
    op.c = w.mask;
    return op;
}
