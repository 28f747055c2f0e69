/* What the files of the generator share: random numbers, the text of items, registers. */
#ifndef CUMU_TESTS_RANDOM_GENERATE_H
#define CUMU_TESTS_RANDOM_GENERATE_H

#include "random/random.h"

extern struct program *prog; /* the one being made */

uint32_t rnd(uint32_t n);
static inline bool may(unsigned flag) { return prog->flags & flag; }
static inline unsigned any(unsigned pool) { return rnd(pools[pool].n); }
const char *reg(unsigned pool); /* a register of the class; good for the next seven calls */

/* say adds to the item being written, done ends it; part ends one that belongs to the construct. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void done(void);
void part(void);

/* What is accessed: element types by what register holds them, which may be wider. */
struct element {
    const char *type;
    unsigned size, pool;
};
const struct element *any_element(void);
void data(unsigned pool, unsigned count, bool store); /* the registers of a load or store */
void guard(void);                                     /* now and then */

void choose_layouts(void);

/* One item each. */
void arithmetic(void);
void move(void);
void memory(bool uniform);
void places(bool uniform);
void atomic(void);
void collective(int mask, bool uniform); /* among the lanes of register %m<mask> */
void call(void);
void functions(void); /* says the device functions, no item */

#endif
