/* The baseline code generator: LIR to machine code without a compiler, in about a microsecond an instruction. It stands
 * between tier 0 and tier 1 and keeps tier 0's state: registers are rows in memory, splits and barriers are the
 * dispatch loop's, so that a warp goes from the interpreter to this code and back at any block's begin, and what has
 * no template here is a call of the interpreter's handler. Results are tier 0's, bit for bit.
 *
 * Between two such calls, arithmetic runs piece by piece (8 lanes, an AVX2 register), each piece through all of the
 * instructions, so that values stay in registers. */
#ifndef CUMU_PTX_BASE_H
#define CUMU_PTX_BASE_H

#include "ptx/lir/image.h"
#include "ptx/tier0/handler.h"

struct base_code {
    const uint8_t *text; /* executable */
    size_t size;
    /* By instruction: where code for it begins when all lanes run, and when some do, as offsets into text; 0: nowhere.
     * A warp may come in there with this instruction as its next. */
    const uint32_t *full, *part;
};

/* Code for an image that was validated; it calls the handlers of `table` and refers to the image, both of which stay
 * where they are. NULL: not on this machine, or no memory. */
struct base_code *base_compile(const struct lir_image *image, t0_handler *const *table);
void base_free(struct base_code *c);
/* Whether this CPU can run such code: x86-64 with AVX2, FMA and F16C. */
bool base_possible(void);

/* Runs w from code `at` (an offset of full or part) on; the instruction with which the interpreter goes on. */
const struct lir_insn *base_enter(const struct base_code *c, struct t0_warp *w, uint32_t at);

#endif
