/* Makes a program that fails smaller: statements go, or give way to what stands inside them; then
 * the launch, the results and the order of blocks become simple. */
#include "flow/shrink.h"

#include <time.h>

static struct program *prog;
static bool (*still_fails)(const struct program *p, void *arg);
static void *argument;
static time_t end;

static bool good(void) { return time(NULL) < end && still_fails(prog, argument); }

static bool shrink_list(struct node **link);

/* The statement's place is taken by what follows it, or by one of its parts. */
static bool shrink_node(struct node **link)
{
    struct node *n = *link;
    *link = n->next;
    if (good())
        return true;
    for (int k = 0; k < n->nkid; k++) {
        struct node *last = n->kid[k];
        if (!last)
            continue;
        while (last->next)
            last = last->next;
        *link = n->kid[k];
        last->next = n->next;
        if (good())
            return true;
        last->next = NULL;
    }
    *link = n;
    return false;
}

/* Fewer parts of what has many; no guards. */
static bool shrink_inside(struct node *n)
{
    bool any = false;
    if (n->nkid > 2 && (n->kind == N_GRAPH || n->kind == N_SHARE || n->kind == N_SWITCH)) {
        n->nkid--;
        any = good();
        n->nkid += !any;
    }
    if (n->op.guard != NONE && n->kind == N_OP) {
        struct op was = n->op;
        n->op.guard = NONE;
        if (good())
            any = true;
        else
            n->op = was;
    }
    for (int k = 0; k < n->nkid; k++)
        any |= shrink_list(&n->kid[k]);
    return any;
}

static bool shrink_list(struct node **link)
{
    bool any = false;
    while (*link && time(NULL) < end)
        if (shrink_node(link)) {
            any = true;
        } else {
            any |= shrink_inside(*link);
            link = &(*link)->next;
        }
    return any;
}

static void shrink_launch(void)
{
    static const uint32_t simple[][3] = {{32, 1, 1}, {1, 1, 1}, {2, 1, 1}};
    struct program was = *prog;
    prog->grid = 1;
    if (!good())
        prog->grid = was.grid;
    for (int k = 0; k < 3; k++) {
        struct program before = *prog;
        for (int i = 0; i < 3; i++)
            prog->block[i] = simple[k][i];
        if (!good())
            for (int i = 0; i < 3; i++)
                prog->block[i] = before.block[i];
    }
    prog->shuffled = false;
    if (!good())
        prog->shuffled = was.shuffled;
    for (int v = 0; v < V_STORED; v++)
        if (prog->keep[v]) {
            prog->keep[v] = false;
            prog->keep[v] = !good();
        }
}

void shrink(struct program *p, bool (*fails)(const struct program *p, void *arg), void *arg, int seconds)
{
    prog = p;
    still_fails = fails;
    argument = arg;
    end = time(NULL) + seconds;
    for (bool any = true; any && time(NULL) < end;) {
        any = false;
        for (int f = NFUNCS; f >= 0; f--)
            any |= shrink_list(&p->body[f]);
    }
    shrink_launch();
}
