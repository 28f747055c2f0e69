/* The second half of each.h: one element type, with indices of 32 and of 64 bits. */
#define MUL(a, b) EACH_NAME(mul_, LETTER)(a, b)
#define I int32_t
#define N(name) EACH_NAME(EACH_NAME(EACH_PASTE(name, _), LETTER), 32)
#include KERNEL
#undef I
#undef N
#define I int64_t
#define N(name) EACH_NAME(EACH_NAME(EACH_PASTE(name, _), LETTER), 64)
#include KERNEL
#undef I
#undef N
#undef MUL
#undef T
#undef R
#undef LETTER
#undef CONJ
#undef ABS
#undef REAL
