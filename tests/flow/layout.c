/* From the tree to basic blocks, in the order of the text: each statement in turn, or shuffled. */
#include <string.h>

#include "flow/flow.h"

static struct graph *g;
static const struct node *loops[MAX_LOOPS]; /* those that have been laid out */
static int at;                              /* block being filled */
static int head_of[MAX_LOOPS], leave_to[MAX_LOOPS], next_round[MAX_LOOPS];

static int new_block(void)
{
    if (g->nblock == MAX_BLOCKS - 1) {
        g->full = true;
        return 0;
    }
    g->block[g->nblock] = (struct block){.end = END_RETURN};
    return g->nblock++;
}

static void start(int b)
{
    at = b;
    if (g->full)
        return;
    g->order[g->norder++] = b;
    g->block[b].first = g->nop;
}

static void put(struct op op)
{
    if (g->nop == MAX_OPS) {
        g->full = true;
        return;
    }
    g->op[g->nop++] = op;
    g->block[at].n++;
}

static void put_goto(int to)
{
    struct block *b = &g->block[at];
    b->end = END_GO;
    b->to[0] = to;
    b->nto = 1;
}

static void put_if(const struct cond *c, int yes, int no)
{
    for (int k = 0; k < c->nop; k++)
        put(c->op[k]);
    struct block *b = &g->block[at];
    b->end = END_IF;
    b->flag = c->flag;
    b->not = c->not ;
    b->uniform = c->uniform;
    b->to[0] = yes;
    b->to[1] = no;
    b->nto = 2;
}

static void put_list(const struct node *n);

static void put_part(const struct node *kid, int from, int to)
{
    start(from);
    put_list(kid);
    put_goto(to);
}

/* The loop's test stands at its head, at its foot, at both, or nowhere (then it breaks in the
 * body). */
static void put_loop(const struct node *n)
{
    int head = new_block(), body = n->form == LOOP_WHILE ? new_block() : head, out = new_block();
    int test = n->form == LOOP_DO || n->form == LOOP_GUARDED ? new_block() : head;
    loops[n->loop] = n;
    head_of[n->loop] = head;
    leave_to[n->loop] = out;
    next_round[n->loop] = test;
    if (n->op.d != NONE)
        put(n->op);
    if (n->form == LOOP_GUARDED)
        put_if(&n->cond[1], head, out);
    else
        put_goto(head);
    if (n->form == LOOP_WHILE) {
        start(head);
        put_if(&n->cond[0], body, out);
    }
    put_part(n->kid[0], body, test);
    if (test != head) {
        start(test);
        put_if(&n->cond[0], head, out);
    }
    start(out);
}

/* Loops with a header in common: every part's condition goes back to it. */
static void put_share(const struct node *n)
{
    int head = new_block(), out = new_block();
    loops[n->loop] = n;
    head_of[n->loop] = head;
    leave_to[n->loop] = out;
    next_round[n->loop] = head;
    if (n->op.d != NONE)
        put(n->op);
    put_goto(head);
    for (int k = 0, b = head; k < n->nkid; k++) {
        int next = k + 1 < n->nkid ? new_block() : out;
        start(b);
        put_list(n->kid[k]);
        put_if(&n->cond[k], head, next);
        b = next;
    }
    start(out);
}

/* Parts in a row, entered at the first or, by the last condition, at another; from the end back to
 * the first. */
static void put_tangle(const struct node *n)
{
    int b[KIDS], out = new_block();
    for (int k = 0; k < n->nkid; k++)
        b[k] = new_block();
    if (n->op.d != NONE)
        put(n->op);
    put_if(&n->cond[1], b[n->form], b[0]);
    for (int k = 0; k < n->nkid; k++) {
        start(b[k]);
        put_list(n->kid[k]);
        if (k + 1 < n->nkid)
            put_goto(b[k + 1]);
        else
            put_if(&n->cond[0], b[0], out);
    }
    start(out);
}

static void put_table(int index, const int *to, int nto)
{
    struct block *b = &g->block[at];
    b->end = END_TABLE;
    b->index = index;
    b->nto = nto;
    for (int k = 0; k < nto; k++)
        b->to[k] = to[k];
}

/* cond[k] of part k: its flag says whether fuel is left, its fourth instruction computes the way
 * on. */
static void put_graph(const struct node *n)
{
    int b[KIDS], out = new_block();
    for (int k = 0; k < n->nkid; k++)
        b[k] = new_block();
    put(n->op);
    put_goto(b[0]);
    for (int k = 0; k < n->nkid; k++) {
        int to[4], go = new_block();
        for (int i = 0; i < 3; i++)
            to[i] = n->target[k][i] < 0 || n->target[k][i] >= n->nkid ? out : b[n->target[k][i]];
        to[3] = out;
        start(b[k]);
        put_list(n->kid[k]);
        struct cond fuel = n->cond[k], way = {.flag = n->cond[k].op[4].d};
        fuel.nop = 2;
        put_if(&fuel, go, out);
        start(go);
        for (int i = 2; i < 5; i++)
            put(n->cond[k].op[i]);
        if (n->table[k])
            put_table(n->cond[k].op[3].d, to, 4);
        else
            put_if(&way, to[0], to[1]);
    }
    start(out);
}

/* cond[0]'s instructions leave the value in its `flag`, the last of them below the number of kids, of which the reducer
 * takes some away. */
static void put_switch(const struct node *n)
{
    int b[KIDS], out = new_block(), index = n->cond[0].flag;
    for (int k = 0; k < n->nkid; k++)
        b[k] = new_block();
    for (int k = 0; k < n->cond[0].nop; k++) {
        struct op op = n->cond[0].op[k];
        if (op.op == OP_MIN)
            op.imm = (uint32_t)n->nkid - 1;
        put(op);
    }
    if (n->table[0]) {
        put_table(index, b, n->nkid);
    } else {
        for (int k = 0; k + 1 < n->nkid; k++) {
            struct cond is = {.nop = 1, .flag = n->cond[k + 1].flag};
            is.op[0] = (struct op){.op = OP_SETP,
                                   .sub = CMP_EQ,
                                   .d = is.flag,
                                   .a = index,
                                   .b = NONE,
                                   .c = NONE,
                                   .imm = (uint32_t)k,
                                   .guard = NONE};
            int next = k + 2 < n->nkid ? new_block() : b[n->nkid - 1];
            put_if(&is, b[k], next);
            if (next != b[n->nkid - 1])
                start(next);
        }
        if (n->nkid == 1)
            put_goto(b[0]);
    }
    for (int k = 0; k < n->nkid; k++)
        put_part(n->kid[k], b[k], n->through && n->target[k][0] && k + 1 < n->nkid ? b[k + 1] : out);
    start(out);
}

/* A jump whose loop the reducer has taken away leads nowhere: that is no program. */
static void put_jump(const struct node *n)
{
    const struct node *l = loops[n->loop];
    if (!l) {
        g->full = true;
        return;
    }
    int on = new_block(), to = n->form == 0 ? leave_to[n->loop] : next_round[n->loop];
    if (n->form == 2 && l->kind == N_LOOP && l->form != LOOP_FOREVER && l->form != LOOP_WHILE) {
        int again = new_block();
        put_if(&n->cond[0], again, on);
        start(again); /* the loop's test once more: one more edge to its header */
        put_if(&l->cond[0], head_of[n->loop], leave_to[n->loop]);
    } else {
        put_if(&n->cond[0], to, on);
    }
    start(on);
}

static void put_leave(const struct node *n)
{
    if (n->form) {
        int on = new_block(), gone = new_block();
        put_if(&n->cond[0], gone, on);
        start(gone);
        put(n->op);
        start(on);
        return;
    }
    struct op op = n->op;
    for (int k = 0; k < n->cond[0].nop; k++)
        put(n->cond[0].op[k]);
    op.guard = n->cond[0].flag;
    op.not = n->cond[0].not ;
    put(op);
}

static void put_list(const struct node *n)
{
    for (; n && !g->full; n = n->next)
        switch (n->kind) {
        case N_OP: put(n->op); break;
        case N_IF: {
            int yes = new_block(), out = new_block(), no = n->kid[1] ? new_block() : out;
            put_if(&n->cond[0], yes, no);
            put_part(n->kid[0], yes, out);
            if (no != out)
                put_part(n->kid[1], no, out);
            start(out);
            break;
        }
        case N_LOOP: put_loop(n); break;
        case N_SHARE: put_share(n); break;
        case N_TANGLE: put_tangle(n); break;
        case N_GRAPH: put_graph(n); break;
        case N_SWITCH: put_switch(n); break;
        case N_JUMP: put_jump(n); break;
        case N_LEAVE: put_leave(n); break;
        }
}

bool lay_out(const struct program *p, struct graphs *all)
{
    bool good = true;
    uint64_t state = p->seed * 2654435761u + 99;
    memset(loops, 0, sizeof loops);
    for (int f = 0; f <= NFUNCS; f++) {
        g = &all->of[f];
        g->nblock = g->norder = g->nop = 0;
        g->full = false;
        start(new_block());
        put_list(p->body[f]);
        good &= !g->full;
        for (int k = g->norder - 1; k > 1 && p->shuffled; k--) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            int other = 1 + (int)((state >> 33) % (unsigned)k), was = g->order[k];
            g->order[k] = g->order[other];
            g->order[other] = was;
        }
    }
    return good;
}
