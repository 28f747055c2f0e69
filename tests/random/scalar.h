/* One arithmetic instruction on one thread's values, after the text of the PTX ISA. */
#ifndef CUMU_TESTS_RANDOM_SCALAR_H
#define CUMU_TESTS_RANDOM_SCALAR_H

#include "ptx/ir.h"

/* s: source bits, zero-extended from their width; d: results (setp p|q has two). cc: the carry
 * flag. False: an instruction, or a form of it, that is not here. Predicates are 0 or 1. */
bool scalar(const struct ptx_instr *in, const uint64_t s[4], uint64_t d[2], bool *cc);
/* A narrow value as a register of `size` bytes has it. */
uint64_t extend(uint64_t v, unsigned type, unsigned size);

#endif
