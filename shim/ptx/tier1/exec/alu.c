/* Tier 0's arithmetic for tier 1 objects: what emitted code has no expression for. */
#include "ptx/tier0/handler.h"
#include "ptx/tier1/tier1.h"

#include <pthread.h>

static t0_handler *table[LIR_NOPS];

static void fill(void) { t0_alu_handlers(table); }

void t1_service_alu(struct t1_block *b, struct t1_rows *rows, uint32_t op, uint32_t aux, int32_t imm, uint32_t mask)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum { ROW = sizeof rows->row[0] };
    struct t0_lanes lanes = {.regs = (uint8_t *)rows->row, .mask = mask, .carry = rows->carry};
    const struct lir_insn insn = {.op = (uint16_t)op,
                                  .aux = (uint16_t)aux,
                                  .d = 0,
                                  .a = ROW,
                                  .b = 2 * ROW,
                                  .c = 3 * ROW,
                                  .e = 4 * ROW,
                                  .imm = imm};
    (void)b;
    pthread_once(&once, fill);
    if (op >= LIR_NOPS || !table[op] || !mask)
        return;
    table[op]((struct t0_warp *)(void *)&lanes, &insn);
    rows->carry = lanes.carry;
}
