/* Checks one PTX instruction against a scalar reference: the text goes through the front end and
 * lir_select_alu, the handler of every CPU level this machine has runs on edge cases and random
 * lanes, under full and random masks and with the result in a source's row.
 *
 * A signature names the operands, results before the colon: r d h p = 32, 64, 16 bits, predicate;
 * b = 8 bits; f F e g = f32, f64, f16, bf16; P = a pair of f32; E G = f16x2, bf16x2; s = a shift amount, k = a small
 * count (32 bits). */
#ifndef CUMU_TESTS_PTX_INSN_H
#define CUMU_TESTS_PTX_INSN_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

struct lane {
    u64 s[5];   /* sources, as bits, truncated to their width */
    u64 d[4];   /* results that the reference fills in */
    bool carry; /* .cc: in and out */
    long p, q;  /* what the caller of insn_check passed */
};
typedef void insn_ref(struct lane *x);

/* `text` is the opcode, or a whole instruction with $d $e $f $g for the results and $a $b $c $h for
 * the sources, $i for a fifth. What the front end puts together of others' is checked in kernels alone.
 * Prints one ok or not ok line. */
void insn_check(const char *sig, insn_ref *ref, long p, long q, const char *text, ...)
    __attribute__((format(printf, 5, 6)));
/* Prints the summary; main's exit status. */
int insn_done(void);

u64 test_random(void);
float bits_f32(u64 u);
double bits_f64(u64 u);
u32 f32_u(float x);
u64 f64_u(double x);
#define NAN_F32 0x7fffffffu

#endif
