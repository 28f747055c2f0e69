/* Threads that share streams: what a call of one of them does is one work of its stream, also where its own thread does
 * it at once. Each thread has a communicator of its own to a rank on another device, and all change and read the same
 * memory by the same streams, in sequences that are drawn: calls, groups, host functions, copies, events between the
 * streams. What they change are sums, so the oracle needs no order: nothing that was added may be missing in
 * the end, nobody sees a half of a change, and who has added sees that from then on. `order SEED` for another one. */
#include "team.h"

#include <pthread.h>
#include <string.h>

enum { MOST = 4, STREAMS = 2, STEPS = 400, LARGEST = 6000 };
enum what { ADD, ADD_AND_SEND, ADD_BY_HOST, SEND, LOOK, LOOK_BEHIND_EVENT, WAIT, WHATS };

struct shared { /* memory that the works of one stream change; and how it can be looked at */
    musaStream_t stream;
    int *sums;
};

static struct shared shared[STREAMS];
static size_t count; /* of numbers in each */
static unsigned seed = 1;

struct thread {
    int number;
    unsigned state; /* both ends draw the same */
    mcclComm_t comm[2];
    musaStream_t side, far;
    musaEvent_t event;
    int *seen, *again, *sent, *in; /* of this rank; of the other one: */
    int *ones, *theirs;
    int added[STREAMS];
    struct addend {
        int *sums;
        int by;
    } addend;
    struct rank wrong[2];
};

static unsigned draw(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static void add(void *arg)
{
    const struct addend *a = arg;
    for (size_t i = 0; i < count; i++)
        a->sums[i] += a->by;
}

static void verify(struct rank *r, const struct thread *t, const int *seen, int least, const char *where)
{
    size_t i = 0;
    while (i < count && seen[i] >= least && seen[i] == seen[0])
        i++;
    if (i < count && r->wrong++ < 3)
        printf("# seed %u, thread %d, %zu numbers, %s: %d, at %zu %d, not less than %d\n", seed, t->number, count,
               where, seen[0], i, seen[i], least);
}

/* In the stream; or what was copied there is looked at in another one, which waits for an event only. */
static void look(struct rank *r, struct thread *t, int which, bool aside)
{
    const size_t bytes = count * sizeof(int);
    const musaStream_t stream = aside ? t->side : shared[which].stream;
    RANK(r, musaMemcpyAsync(t->seen, shared[which].sums, bytes, musaMemcpyDeviceToDevice, shared[which].stream) == 0);
    if (aside) {
        RANK(r, musaEventRecord(t->event, shared[which].stream) == 0);
        RANK(r, musaStreamWaitEvent(stream, t->event, 0) == 0);
        RANK(r, musaMemcpyAsync(t->again, t->seen, bytes, musaMemcpyDeviceToDevice, stream) == 0);
    }
    RANK(r, musaStreamSynchronize(stream) == 0);
    verify(r, t, aside ? t->again : t->seen, t->added[which], aside ? "behind an event" : "in the stream");
}

static void *near_end(void *arg)
{
    struct thread *t = arg;
    struct rank *r = &t->wrong[0];
    unsigned state = t->state;
    musaSetDevice(0);
    for (int k = 0; k < STEPS && !r->wrong; k++) {
        const enum what what = (enum what)draw(&state, WHATS);
        const int which = (int)draw(&state, STREAMS);
        const struct shared *s = &shared[which];
        switch (what) {
        case ADD:
            RANK(r, mcclAllReduce(s->sums, s->sums, count, mcclInt32, mcclSum, t->comm[0], s->stream) == 0);
            break;
        case ADD_AND_SEND:
            RANK(r, mcclGroupStart() == 0);
            RANK(r, mcclAllReduce(s->sums, s->sums, count, mcclInt32, mcclSum, t->comm[0], s->stream) == 0);
            RANK(r, mcclSend(t->sent, count, mcclInt32, 1, t->comm[0], t->side) == 0);
            RANK(r, mcclRecv(t->in, count, mcclInt32, 1, t->comm[0], s->stream) == 0);
            RANK(r, mcclGroupEnd() == 0);
            break;
        case ADD_BY_HOST:
            t->addend = (struct addend){s->sums, 1};
            RANK(r, musaLaunchHostFunc(s->stream, add, &t->addend) == 0);
            RANK(r, musaStreamSynchronize(s->stream) == 0);
            break;
        case SEND: RANK(r, mcclSend(s->sums, count, mcclInt32, 1, t->comm[0], s->stream) == 0); break;
        case LOOK:
        case LOOK_BEHIND_EVENT: look(r, t, which, what == LOOK_BEHIND_EVENT); break;
        default: RANK(r, musaStreamSynchronize(s->stream) == 0);
        }
        t->added[which] += what <= ADD_BY_HOST;
    }
    for (int i = 0; i < STREAMS; i++)
        RANK(r, musaStreamSynchronize(shared[i].stream) == 0);
    if (r->wrong)
        (void)mcclCommAbort(t->comm[0]);
    return NULL;
}

/* The same calls; here nobody else is. */
static void *far_end(void *arg)
{
    struct thread *t = arg;
    struct rank *r = &t->wrong[1];
    unsigned state = t->state;
    int added[STREAMS] = {0};
    musaSetDevice(1);
    for (int k = 0; k < STEPS && !r->wrong && !t->wrong[0].wrong; k++) {
        const enum what what = (enum what)draw(&state, WHATS);
        const int which = (int)draw(&state, STREAMS);
        if (what == ADD || what == ADD_AND_SEND) {
            RANK(r, mcclGroupStart() == 0);
            RANK(r, mcclAllReduce(t->ones, t->theirs, count, mcclInt32, mcclSum, t->comm[1], t->far) == 0);
            if (what == ADD_AND_SEND) {
                RANK(r, mcclRecv(t->theirs, count, mcclInt32, 0, t->comm[1], t->far) == 0);
                RANK(r, mcclSend(t->ones, count, mcclInt32, 0, t->comm[1], t->far) == 0);
            }
            RANK(r, mcclGroupEnd() == 0);
            RANK(r, musaStreamSynchronize(t->far) == 0);
        } else if (what == SEND) {
            RANK(r, mcclRecv(t->theirs, count, mcclInt32, 0, t->comm[1], t->far) == 0);
            RANK(r, musaStreamSynchronize(t->far) == 0);
            verify(r, t, t->theirs, added[which], "sent");
        }
        added[which] += what <= ADD_BY_HOST;
    }
    return NULL;
}

static int *numbers(int first)
{
    int *p = NULL;
    MUST(musaMalloc((void **)&p, LARGEST * sizeof *p));
    for (int i = 0; i < LARGEST; i++)
        p[i] = first;
    return p;
}

static void run(int nthreads, size_t n)
{
    struct thread t[MOST] = {0};
    pthread_t end[MOST][2];
    int wrong = 0, total[STREAMS] = {0};
    count = n;
    for (int i = 0; i < STREAMS; i++)
        memset(shared[i].sums, 0, LARGEST * sizeof(int));
    for (int i = 0; i < nthreads; i++) {
        const int devices[] = {0, 1};
        t[i] = (struct thread){.number = i, .state = seed * 31 + (unsigned)i * 7919u + (unsigned)n};
        MUST(mcclCommInitAll(t[i].comm, 2, devices));
        musaSetDevice(1);
        MUST(musaStreamCreateWithFlags(&t[i].far, musaStreamNonBlocking));
        t[i].ones = numbers(1);
        t[i].theirs = numbers(0);
        musaSetDevice(0);
        MUST(musaStreamCreateWithFlags(&t[i].side, musaStreamNonBlocking));
        MUST(musaEventCreate(&t[i].event));
        t[i].seen = numbers(0);
        t[i].again = numbers(0);
        t[i].sent = numbers(0);
        t[i].in = numbers(0);
        for (int k = 0; k < 2; k++)
            t[i].wrong[k] = (struct rank){.rank = k, .nranks = 2};
    }
    for (int i = 0; i < nthreads; i++) {
        MUST(pthread_create(&end[i][0], NULL, near_end, &t[i]));
        MUST(pthread_create(&end[i][1], NULL, far_end, &t[i]));
    }
    for (int i = 0; i < nthreads; i++)
        for (int k = 0; k < 2; k++) {
            pthread_join(end[i][k], NULL);
            wrong += t[i].wrong[k].wrong;
        }
    for (int i = 0; i < nthreads; i++)
        for (int k = 0; k < STREAMS; k++)
            total[k] += t[i].added[k];
    for (int k = 0; k < STREAMS && !wrong; k++) {
        struct rank r = {.nranks = nthreads};
        verify(&r, t, shared[k].sums, total[k], "in the end");
        wrong += r.wrong || shared[k].sums[0] != total[k];
    }
    check(!wrong, "%d threads on %d streams, %zu numbers", nthreads, STREAMS, n);
    if (wrong)
        exit(check_end("mccl order")); /* some may wait for others that went */
    for (int i = 0; i < nthreads; i++) {
        for (int k = 0; k < 2; k++)
            OK(mcclCommDestroy(t[i].comm[k]));
        OK(musaStreamDestroy(t[i].side) || musaStreamDestroy(t[i].far) || musaEventDestroy(t[i].event));
        OK(musaFree(t[i].seen) || musaFree(t[i].again) || musaFree(t[i].sent) || musaFree(t[i].in) ||
           musaFree(t[i].ones) || musaFree(t[i].theirs));
    }
}

int main(int argc, char **argv)
{
    setenv("CUMU_HOST_DEVICES", "2", 1);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : seed;
    for (int i = 0; i < STREAMS; i++) {
        MUST(musaStreamCreateWithFlags(&shared[i].stream, i ? musaStreamNonBlocking : 0));
        shared[i].sums = numbers(0);
    }
    /* In the counter's line, by a staging area, by the others' memory on the caller's thread and beyond. */
    static const size_t sizes[] = {5, 300, 2500, LARGEST};
    for (int n = 2; n <= MOST; n++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            run(n, sizes[i]);
    return check_end("mccl order");
}
