/* What the files of the generator of random programs share. */
#ifndef CUMU_TESTS_FLOW_GENERATE_H
#define CUMU_TESTS_FLOW_GENERATE_H

#include "flow/flow.h"

/* Where statements stand. */
struct place {
    int depth;
    bool kernel;  /* not a function */
    bool uniform; /* all threads of the block take the same way here */
    int mask;     /* of the lanes that are here, all of which come by; NONE: not known */
    int loops[8]; /* that may be left from here, the innermost last */
    int nloop;
    bool may_leave;
};

/* conditions.c */
extern struct program *prog;
extern uint64_t state; /* of the random numbers */
extern uint32_t nint;  /* variables in use: the others stay what they are */
uint32_t rnd(uint32_t n);
int new_count(void), new_counter(void), new_flag(void);
int any_int(void), any_pred(void), any_uniform(void), any_source(void);
struct op make(enum opcode op, int d, int a, int b, uint32_t imm);
void add(struct cond *c, struct op op);
void add_setp(struct cond *c, enum compare cmp, int a, int b, uint32_t imm);
struct cond own_cond(struct place w);
struct cond uniform_cond(void);
struct cond fuel_cond(int fuel);
struct cond lcg_cond(int s);
struct cond counting(int i, bool uniform);
struct cond voted(int i, int mask);

/* instructions.c */
struct op arithmetic(struct place w);
struct op memory(struct place w);
struct op collective(struct place w);

/* control.c */
extern int budget; /* of nodes */
struct node *instruction(struct op op);
struct node *make_branch(struct place w);
struct node *make_jump(struct place w);
struct node *make_leave(struct place w);
struct node *make_loop(struct place w);
struct node *make_share(struct place w);
struct node *make_tangle(struct place w);
struct node *make_knot(struct place w);
struct node *make_switch(struct place w);

/* generate.c */
struct node *statements(struct place w);
struct node *statements_of(struct place w, int most);

#endif
