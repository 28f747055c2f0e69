/* Broadcasts, most of them so short that a root waits for nobody, of which in one two ranks take themselves for the
 * root, or one takes another for it than all others do. Each rank goes on with calls that agree, at its own pace. All
 * must hear of it; and no rank may ever have data of a root that it has not named. `rivals SEED TEAMS` for other ones.
 */
#include "team.h"

#include <string.h>

enum { STEPS = 60, LARGEST = 1500, NOTHING = -1 };

struct plan {
    unsigned seed;
    int at, odd, other; /* in this step, this rank takes that one for the root */
};

static unsigned draw(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static int value(int step, int root, size_t i) { return step * 1000003 + root * 10007 + (int)i; }

struct call {
    size_t n;
    int root;
};

/* Each element is what the root gave, or, if the call may not be done, untouched. */
static void verify(struct rank *r, const struct call *c, const int *from, int step, bool done)
{
    size_t i = 0;
    while (i < c->n && (from[i] == value(step, c->root, i) || (!done && from[i] == NOTHING)))
        i++;
    RANK(r, i == c->n);
    if (i < c->n)
        printf("# step %d: element %zu of %zu, root %d: %d\n", step, i, c->n, c->root, from[i]);
}

static void body(struct rank *r)
{
    const struct plan *p = r->arg;
    unsigned all = p->seed, own = p->seed * 31 + (unsigned)r->rank; /* what all ranks draw, and what this one does */
    int *in = device_bytes(r, sizeof(int) * STEPS * LARGEST), *out = device_bytes(r, sizeof(int) * STEPS * LARGEST);
    struct call calls[STEPS];
    int made = 0, verified = 0;
    bool failed = false;
    for (size_t i = 0; i < STEPS * LARGEST; i++)
        in[i] = value((int)(i / LARGEST), r->rank, i % LARGEST), out[i] = NOTHING;
    for (int k = 0; k < STEPS && !failed; k++) {
        struct call *c = &calls[k];
        c->n = 1 + draw(&all, draw(&all, 8) ? draw(&all, 2) ? 10 : 512 : LARGEST);
        c->root = (int)draw(&all, (unsigned)r->nranks);
        if (k == p->at) /* all others mean a third one, or the second of two */
            c->root = r->rank == p->odd ? p->other : (p->odd + 1) % r->nranks;
        if (draw(&own, 3) == 0)
            nap_us(draw(&own, 60));
        failed = mcclBroadcast(in + k * LARGEST, out + k * LARGEST, c->n, mcclInt32, c->root, r->comm, r->stream);
        made += !failed;
        if (!failed && draw(&own, 4) == 0) {
            failed = musaStreamSynchronize(r->stream) != musaSuccess;
            for (; verified < made && !failed; verified++)
                verify(r, &calls[verified], out + verified * LARGEST, verified, true);
        }
    }
    (void)musaStreamSynchronize(r->stream);
    RANK(r, async_error(r, true) == mcclInvalidUsage);
    for (int k = 0; k < made; k++)
        verify(r, &calls[k], out + k * LARGEST, k, k < verified);
    RANK(r, mcclCommAbort(r->comm) == mcclSuccess);
    r->comm = NULL;
}

int main(int argc, char **argv)
{
    const unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    const int teams = argc > 2 ? atoi(argv[2]) : 60;
    setenv("CUMU_HOST_DEVICES", "4", 1);
    for (int kind = PROCESSES; kind >= THREADS; kind--) {
        int bad = 0;
        for (int i = 0; i < teams; i++) {
            unsigned s = (first + (unsigned)i) * 2654435761u;
            const int n = 2 + (int)draw(&s, 3), odd = (int)draw(&s, (unsigned)n), to = (int)draw(&s, 2);
            const struct plan p = {.seed = s,
                                   .at = (int)draw(&s, STEPS - 2),
                                   .odd = odd,
                                   .other = to                                   ? odd
                                            : (odd + n - 1) % n == (odd + 1) % n ? odd
                                                                                 : (odd + n - 1) % n};
            struct caught caught = stderr_catch();
            char text[4096];
            const bool good = team_run((enum team)kind, n, true, body, (void *)&p);
            stderr_caught(caught, text, sizeof text);
            const bool said = strstr(text, "root ") != NULL;
            if ((!good || !said) && bad++ < 4)
                report(false, "seed %u: %d ranks, rank %d takes %d for the root in step %d, as %s: %s",
                       first + (unsigned)i, n, p.odd, p.other, p.at, kind == PROCESSES ? "processes" : "threads", text);
        }
        report(!bad, "%d programs whose ranks name different roots, as %s", teams,
               kind == PROCESSES ? "processes" : "threads");
    }
    return check_end("mccl rivals");
}
