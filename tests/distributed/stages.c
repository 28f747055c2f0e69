/* Pipelines: layers on different ranks, a batch in parts that follow each other. */
#include "ranks.h"

enum { STAGES = 32, PARTS = 12, SIZE = 3 };

struct action { /* of one rank in one step of time */
    bool any, back;
    int stage, part;
};

/* When which part has passed which stage, forward and back; -1: not yet. */
struct times {
    int forward[STAGES][PARTS], back[STAGES][PARTS];
};

/* What a rank does next: the way back first, then forward, as long as it holds no more parts than stages lie behind its
 * own: 1F1B (Narayanan et al. 2019), and with several stages a rank the interleaved form of 2021. All ranks reckon the
 * same plan, step by step, so that both ends of a transfer know it. */
static struct action choose(const struct times *t, int rank, int n, int stages, int parts, int now)
{
    for (int s = stages - n + rank; s >= 0; s -= n)
        for (int p = 0; p < parts; p++)
            if (t->back[s][p] < 0 && t->forward[s][p] >= 0 && t->forward[s][p] < now &&
                (s == stages - 1 || (t->back[s + 1][p] >= 0 && t->back[s + 1][p] < now)))
                return (struct action){true, true, s, p};
    for (int s = stages - n + rank; s >= 0; s -= n) {
        int held = 0;
        for (int p = 0; p < parts; p++)
            held += t->forward[s][p] >= 0 && t->back[s][p] < 0;
        for (int p = 0; p < parts && held < stages - s; p++)
            if (t->forward[s][p] < 0 && (s == 0 || (t->forward[s - 1][p] >= 0 && t->forward[s - 1][p] < now)))
                return (struct action){true, false, s, p};
    }
    return (struct action){0};
}

static void run(struct rank *r, int each)
{
    const int stages = r->n * each, parts = between(r, 1, PARTS), b = between(r, 1, 5);
    const size_t m = SIZE * SIZE, n = (size_t)(SIZE * b);
    const unsigned salt = draw(r);
    double *w[STAGES], *g[STAGES], *in[STAGES][PARTS], *back[STAGES][PARTS], *out = room(r, n);
    struct times t;
    memset(&t, -1, sizeof t);
    for (int s = 0; s < stages; s++) {
        w[s] = put(r, matrix(r, salt + (unsigned)s, m), m);
        g[s] = room(r, m);
        for (int p = 0; p < parts && s % r->n == r->me; p++) {
            in[s][p] = s ? room(r, n) : put(r, matrix(r, salt + 1000 + (unsigned)p, n), n);
            back[s][p] = room(r, n); /* what comes to the stage from behind */
        }
    }
    for (int now = 0, left = 2 * stages * parts; left > 0; now++) {
        struct action a[STAGES];
        int did = 0;
        for (int q = 0; q < r->n; q++) {
            a[q] = choose(&t, q, r->n, stages, parts, now);
            did += a[q].any;
        }
        MUST(r, did > 0);
        if (!did)
            return;
        left -= did;
        const struct action *me = &a[r->me];
        const int s = me->stage, p = me->part;
        if (me->any && !me->back) { /* the last stage's difference is to zero */
            multiply(r, 0, 0, SIZE, b, SIZE, w[s], in[s][p], s == stages - 1 ? back[s][p] : out, false);
        } else if (me->any) {
            multiply(r, 0, 1, SIZE, SIZE, b, back[s][p], in[s][p], g[s], true);
            multiply(r, 1, 0, SIZE, b, SIZE, w[s], back[s][p], out, false);
        }
        MUST(r, ncclGroupStart() == 0); /* what this step has made, to who needs it in a later one */
        for (int q = 0; q < r->n; q++) {
            const int to = a[q].back ? a[q].stage - 1 : a[q].stage + 1;
            if (!a[q].any || to < 0 || to >= stages)
                continue;
            if (q == r->me)
                MUST(r, ncclSend(out, n, F64, to % r->n, r->comm, r->stream) == 0);
            if (to % r->n == r->me)
                MUST(r,
                     ncclRecv(a[q].back ? back[to][a[q].part] : in[to][a[q].part], n, F64, q, r->comm, r->stream) == 0);
        }
        MUST(r, ncclGroupEnd() == 0);
        for (int q = 0; q < r->n; q++)
            if (a[q].any)
                (a[q].back ? t.back : t.forward)[a[q].stage][a[q].part] = now;
    }
    double *y[STAGES + 1], *want[STAGES]; /* one device, all parts at once */
    const int all = b * parts;
    double *x = host(r, n * (size_t)parts);
    for (int p = 0; p < parts; p++)
        memcpy(x + n * (size_t)p, matrix(r, salt + 1000 + (unsigned)p, n), n * sizeof *x);
    y[0] = put(r, x, n * (size_t)parts);
    for (int s = 0; s < stages; s++)
        multiply(r, 0, 0, SIZE, all, SIZE, w[s], y[s], y[s + 1] = room(r, n * (size_t)parts), false);
    double *d = y[stages];
    for (int s = stages - 1; s >= 0; s--) {
        double *next = room(r, n * (size_t)parts);
        multiply(r, 0, 1, SIZE, SIZE, all, d, y[s], want[s] = room(r, m), false);
        multiply(r, 1, 0, SIZE, all, SIZE, w[s], d, next, false);
        d = next;
    }
    for (int s = r->me; s < stages; s += r->n)
        same(r, "a stage's gradient", g[s], got(r, want[s], m), m);
}

void pipeline(struct rank *r) { run(r, 1); }
void interleaved(struct rank *r) { run(r, between(r, 2, 3)); }
