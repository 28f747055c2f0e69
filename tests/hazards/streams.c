/* Programs drawn at random: kernels, copies and fills on streams of every kind, graphs among them, with events and
 * waits that order some of them. What races is worked out here, by paths from one to the other; run.sh holds what
 * racecheck reports to that.
 * usage: streams SEED ROUNDS FILE    writes a line `race A B` for each pair that nothing orders to the file */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/driver.h"

enum {
    STREAMS = 5,
    EVENTS = 4,
    OPS = 40,
    NODES = 3 * OPS,
    BUFFERS = 4,
    PIECES = 2,
    PIECE = 64,
    BYTES = PIECES * PIECE
};
enum kind { READ, WRITE, ATOMIC, FILL, COPY, NONE };

static uint64_t state;
static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* ---- what is before what ------------------------------------------------------------------------ */

struct node { /* something that happens: on the device, or in the host's one thread */
    enum kind kind;
    char name[32];
    unsigned buffer[2], piece[2], touched; /* written (or read) first */
    unsigned char before[NODES];
};
static struct node node[NODES];
static unsigned nodes;
static int last[STREAMS], recorded[EVENTS], host; /* the node that comes next is behind these; -1: none */

static void order(int earlier, unsigned later)
{
    if (earlier < 0)
        return;
    node[later].before[earlier] = 1;
    for (unsigned k = 0; k < NODES; k++)
        node[later].before[k] |= node[earlier].before[k];
}

static unsigned add(enum kind kind)
{
    node[nodes] = (struct node){.kind = kind};
    return nodes++;
}

/* Stream 0 is the legacy one, 1 and 2 wait for it and it for them, the others do not. */
static void order_stream(unsigned s, unsigned n)
{
    order(host, n);
    order(last[s], n);
    for (unsigned k = 0; k < 3; k++)
        if (s == 0 || (s < 3 && k == 0))
            order(last[k], n);
}

static int writes(const struct node *n, unsigned k) { return n->kind != READ && (n->kind != COPY || k == 0); }

static int clashes(const struct node *a, const struct node *b)
{
    for (unsigned x = 0; x < a->touched; x++)
        for (unsigned y = 0; y < b->touched; y++)
            if (a->buffer[x] == b->buffer[y] && a->piece[x] == b->piece[y] && (writes(a, x) || writes(b, y)) &&
                !(a->kind == ATOMIC && b->kind == ATOMIC))
                return 1;
    return 0;
}

/* ---- a round ------------------------------------------------------------------------------------ */

static void *stream[STREAMS], *event[EVENTS];
static uint64_t buffer[BUFFERS];
static unsigned round_number;

static void *kernel_of(void *module, unsigned n)
{
    static const char letter[] = "rwa";
    void *f;
    snprintf(node[n].name, sizeof node[n].name, "%c%u_%u", letter[node[n].kind], round_number, n);
    need(cuModuleGetFunction(&f, module, node[n].name), node[n].name);
    return f;
}

static void *make_module(void)
{
    static char text[NODES * 3 * 300];
    size_t at = 0;
    void *m;
    at += (size_t)sprintf(text, ".version 7.0\n.target sm_70\n.address_size 64\n");
    for (unsigned k = 0; k < NODES; k++)
        for (unsigned kind = READ; kind <= ATOMIC; kind++) {
            static const char *const body[] = {"ld.global.u32 %r1, [%rd1+4];", "st.global.u32 [%rd1+4], 1;",
                                               "red.global.add.u32 [%rd1+4], 1;"};
            at += (size_t)sprintf(text + at,
                                  ".visible .entry %c%u_%u(.param .u64 p)\n{\n.reg .u64 %%rd<2>; .reg .u32 %%r<2>;\n"
                                  "ld.param.u64 %%rd1, [p];\n%s\nret;\n}\n",
                                  "rwa"[kind], round_number, k, body[kind]);
        }
    need(cuModuleLoadData(&m, text), "cuModuleLoadData");
    return m;
}

static void put(void *module, unsigned s, unsigned n)
{
    struct node *x = &node[n];
    uint64_t p[2];
    x->touched = x->kind == COPY ? 2 : 1;
    for (unsigned k = 0; k < x->touched; k++) {
        x->buffer[k] = draw(BUFFERS);
        x->piece[k] = draw(PIECES);
        p[k] = buffer[x->buffer[k]] + PIECE * x->piece[k];
    }
    void *args[] = {&p[0]};
    if (x->kind == COPY) {
        strcpy(x->name, "copy");
        need(cuMemcpyDtoDAsync_v2(p[0], p[1], 8, stream[s]), "copy");
    } else if (x->kind == FILL) {
        strcpy(x->name, "fill");
        need(cuMemsetD8Async(p[0], 1, 8, stream[s]), "fill");
    } else {
        need(cuLaunchKernel(kernel_of(module, n), 1, 1, 1, 1, 1, 1, 0, stream[s], args, NULL), x->name);
    }
}

static enum kind draw_kind(void) { return draw(8) < 6 ? draw(3) : draw(2) ? FILL : COPY; }

/* Two kernels beside each other, between one before them and one behind, captured and launched. */
static void put_graph(void *module, unsigned s)
{
    void *graph, *exec, *fork, *join;
    const unsigned t = s == 3 ? 4 : 3, a = add(draw(3)), b = add(draw(3)), c = add(draw(3)), d = add(draw(3));
    need(cuEventCreate(&fork, 2), "event");
    need(cuEventCreate(&join, 2), "event");
    need(cuStreamBeginCapture_v2(stream[s], 2), "capture");
    put(module, s, a);
    need(cuEventRecord(fork, stream[s]), "record");
    need(cuStreamWaitEvent(stream[t], fork, 0), "wait");
    put(module, s, b);
    put(module, t, c);
    need(cuEventRecord(join, stream[t]), "record");
    need(cuStreamWaitEvent(stream[s], join, 0), "wait");
    put(module, s, d);
    need(cuStreamEndCapture(stream[s], &graph), "end of a capture");
    need(cuGraphInstantiateWithFlags(&exec, graph, 0), "graph");
    need(cuGraphLaunch(exec, stream[s]), "launch of a graph");
    need(cuGraphExecDestroy(exec), "graph");
    need(cuGraphDestroy(graph), "graph");
    need(cuEventDestroy_v2(fork), "event");
    need(cuEventDestroy_v2(join), "event");
    order_stream(s, a);
    order((int)a, b);
    order((int)a, c);
    order((int)b, d);
    order((int)c, d);
    last[s] = (int)d;
}

/* The host goes on behind some works. */
static unsigned wait_on_host(void)
{
    const unsigned n = add(NONE);
    order(host, n);
    host = (int)n;
    return n;
}

static void step(void *module)
{
    const unsigned s = draw(STREAMS), e = draw(EVENTS), what = draw(16);
    if (what < 8) {
        const unsigned n = add(draw_kind());
        put(module, s, n);
        order_stream(s, n);
        last[s] = (int)n;
    } else if (what < 10) {
        const unsigned n = add(NONE);
        need(cuEventRecord(event[e], stream[s]), "record");
        order_stream(s, n);
        last[s] = recorded[e] = (int)n;
    } else if (what < 13) {
        need(cuStreamWaitEvent(stream[s], event[e], 0), "wait");
        if (recorded[e] < 0)
            return;
        const unsigned n = add(NONE);
        order_stream(s, n);
        order(recorded[e], n);
        last[s] = (int)n;
    } else if (what == 13) {
        need(cuStreamSynchronize(stream[s]), "wait");
        const unsigned n = wait_on_host();
        for (unsigned k = 0; k < (s ? 1 : 3); k++) /* what a blocking stream would wait for it has not waited for yet */
            order(last[s + k], n);
    } else if (what == 14) {
        need(cuEventSynchronize(event[e]), "wait");
        order(recorded[e], wait_on_host());
    } else if (s >= 3) {
        put_graph(module, s);
    }
}

static void run_round(FILE *out)
{
    void *module = make_module();
    nodes = 0;
    host = -1;
    memset(last, -1, sizeof last);
    memset(recorded, -1, sizeof recorded);
    for (unsigned k = 0; k < EVENTS; k++)
        need(cuEventCreate(&event[k], 2), "event");
    for (unsigned k = 0; k < BUFFERS; k++)
        need(cuMemAlloc_v2(&buffer[k], BYTES), "allocation");
    for (unsigned k = 0; k < OPS && nodes + 8 < NODES; k++)
        step(module);
    need(cuCtxSynchronize(), "end");
    for (unsigned b = 0; b < nodes; b++)
        for (unsigned a = 0; a < b; a++)
            if (clashes(&node[a], &node[b]) && !node[b].before[a] && !node[a].before[b])
                fprintf(out, "race %u %s %s\n", round_number, node[a].name, node[b].name);
    for (unsigned k = 0; k < BUFFERS; k++)
        need(cuMemFree_v2(buffer[k]), "free");
    for (unsigned k = 0; k < EVENTS; k++)
        need(cuEventDestroy_v2(event[k]), "event");
    need(cuModuleUnload(module), "unload");
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    state = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
    FILE *out = fopen(argv[3], "w");
    need(!out, argv[3]);
    open_device();
    for (unsigned k = 1; k < STREAMS; k++)
        need(cuStreamCreate(&stream[k], k >= 3), "cuStreamCreate");
    for (int k = atoi(argv[2]); k > 0; k--, round_number++)
        run_round(out);
    fclose(out);
    puts("done");
    return 0;
}
