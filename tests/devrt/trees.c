/* Trees of launches by kernels, drawn from a seed: every grid runs once, and what CUDA's rules order is in that order.
 * `trees PTX SEED COUNT`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { MOST = 96, CHILDREN = 8, EVENTS = 2 };
struct node { /* as kernels.cu has it */
    int first, count, block, stream, record, wait, blocks, threads;
    unsigned value;
};
static struct node node[MOST];
static int parent[MOST], n;
static unsigned begun[MOST], ended[MOST], sum[MOST], error[MOST], whole[MOST]; /* whole: the end of all of it */
static unsigned long long state;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

/* Children of a node lie side by side, behind those of nodes before it. */
static void grow(int room)
{
    memset(node, 0, sizeof node);
    node[0] = (struct node){.blocks = 1 + (int)draw(3), .threads = 1 + (int)draw(40), .value = 1, .record = -1};
    parent[0] = -1;
    n = 1;
    for (int at = 0; at < n; at++) {
        struct node *p = &node[at];
        p->first = n;
        p->count = at && draw(3) == 0 ? 0 : (int)draw(CHILDREN);
        if (p->count > room - n)
            p->count = room - n;
        for (int k = 0; k < p->count; k++, n++) {
            const int stream = (int)draw(5), named = stream < 3;
            parent[n] = at;
            node[n] = (struct node){.block = stream == 3 ? 0 : (int)draw((unsigned)p->blocks),
                                    .stream = stream,
                                    .record = named && draw(3) == 0 ? (int)draw(EVENTS) : -1,
                                    .wait = named && draw(3) == 0 ? (int)draw(EVENTS) : -1,
                                    .blocks = 1 + (int)draw(3),
                                    .threads = 1 + (int)draw(70),
                                    .value = 1 + draw(1000)};
        }
    }
}

static const char *wrong(int i, const char *what)
{
    static char text[100];
    snprintf(text, sizeof text, "node %d of %d, of parent %d: %s", i, n, parent[i], what);
    return text;
}

/* What must be over before each child of a node begins, by the order in which each block launches them. */
static const char *check_children(int at)
{
    const struct node *p = &node[at];
    unsigned tails = 0, others = 0;
    for (int block = 0; block < p->blocks; block++) {
        unsigned before[3] = {0}, event[EVENTS] = {0}; /* sets of children */
        for (int k = 0; k < p->count; k++) {
            const struct node *c = &node[p->first + k];
            unsigned after = 0;
            if (c->block != block)
                continue;
            if (c->stream < 3) {
                if (c->wait >= 0)
                    before[c->stream] |= event[c->wait];
                after = before[c->stream];
                before[c->stream] |= 1u << k;
                if (c->record >= 0)
                    event[c->record] = before[c->stream];
            }
            if (c->stream == 3) {
                after = tails;
                tails |= 1u << k;
                if (begun[p->first + k] <= ended[at])
                    return wrong(p->first + k, "a tail launch before its parent's end");
            } else {
                others |= 1u << k;
            }
            for (int j = 0; j < p->count; j++)
                if (after >> j & 1 && whole[p->first + j] >= begun[p->first + k])
                    return wrong(p->first + k, "before what it waits for has ended");
        }
    }
    for (int k = 0; k < p->count; k++)
        for (int j = 0; tails >> k & 1 && j < p->count; j++)
            if (others >> j & 1 && whole[p->first + j] >= begun[p->first + k])
                return wrong(p->first + k, "a tail launch before another child's end");
    return NULL;
}

static const char *check_tree(void)
{
    const char *bad = NULL;
    for (int i = n - 1; i >= 0; i--) {
        const unsigned times = (unsigned)(node[i].blocks * node[i].threads);
        whole[i] = ended[i];
        for (int k = node[i].first; k < node[i].first + node[i].count; k++)
            whole[i] = whole[k] > whole[i] ? whole[k] : whole[i];
        if (error[i])
            return wrong(i, "a call failed");
        if (sum[i] != node[i].value * times)
            return wrong(i, "not every thread ran once");
        if (i && begun[i] <= begun[parent[i]])
            return wrong(i, "before its parent");
    }
    for (int i = 0; i < n && !bad; i++)
        bad = check_children(i);
    return bad;
}

int main(int argc, char **argv)
{
    struct {
        unsigned long long tree, begin, end, sum, error, clock;
    } book;
    void *module, *visit;
    int at = 0, seed = argc > 2 ? atoi(argv[2]) : 1, count = argc > 3 ? atoi(argv[3]) : 1, launches = 0;
    void *args[] = {&book, &at};
    if (argc < 2 || start() || CALL(cuModuleLoad, &module, argv[1]) ||
        CALL(cuModuleGetFunction, &visit, module, "visit") || CALL(cuMemAlloc_v2, &book.tree, sizeof node) ||
        CALL(cuMemAlloc_v2, &book.begin, sizeof begun) || CALL(cuMemAlloc_v2, &book.end, sizeof ended) ||
        CALL(cuMemAlloc_v2, &book.sum, sizeof sum) || CALL(cuMemAlloc_v2, &book.error, sizeof error) ||
        CALL(cuMemAlloc_v2, &book.clock, 4))
        return 2;
    for (int round = 0; round < count; round++) {
        state = (unsigned long long)(seed + round) * 7919u;
        grow(round % 4 ? MOST : 12);
        if (CALL(cuMemcpyHtoD_v2, book.tree, node, sizeof node) || CALL(cuMemsetD8_v2, book.begin, 255, sizeof begun) ||
            CALL(cuMemsetD8_v2, book.end, 0, sizeof ended) || CALL(cuMemsetD8_v2, book.sum, 0, sizeof sum) ||
            CALL(cuMemsetD8_v2, book.error, 0, sizeof error) || CALL(cuMemsetD8_v2, book.clock, 0, 4) ||
            CALL(cuLaunchKernel, visit, node[0].blocks, 1, 1, node[0].threads, 1, 1, 0, NULL, args, NULL) ||
            CALL(cuMemcpyDtoH_v2, begun, book.begin, sizeof begun) ||
            CALL(cuMemcpyDtoH_v2, ended, book.end, sizeof ended) || CALL(cuMemcpyDtoH_v2, sum, book.sum, sizeof sum) ||
            CALL(cuMemcpyDtoH_v2, error, book.error, sizeof error))
            return 3;
        const char *bad = check_tree();
        if (bad) {
            printf("seed %d: %s\n", seed + round, bad);
            return 1;
        }
        launches += n - 1;
    }
    printf("%d trees, %d launches by kernels\n", count, launches);
    return 0;
}
