/* Strands: a thread that runs blocks has its own stack, and as many further ones as blocks of it wait at a time.
 * Each has a worker of its own, so that neither tier sees the others; one runs, the others wait for their turn. */
#include <pthread.h>
#include <stdlib.h>

#include "host/driver/strands.h"
#include "ptx/tier0/stack.h"
#include "sanitize.h"

#if CUMU_ASAN
#define ON_ASAN(x) x
void __sanitizer_start_switch_fiber(void **fake, const void *low, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **low, size_t *size);
#else
#define ON_ASAN(x)
#endif
#if CUMU_TSAN
#define ON_TSAN(x) x
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#else
#define ON_TSAN(x)
#endif

/* What emitted code, tier 0 and the second run of a block that faults take of a stack. */
#define STACK ((size_t)1 << 20)

struct host_strand {
    struct host_strand *next, *prev; /* the ring of a thread; next: the list of those that nobody uses */
    struct host_strands *of;
    struct t0_worker *worker;
    void *sp;    /* where it was left */
    void *stack; /* NULL: the thread's own */
    size_t size;
    void *fake, *tsan; /* what sanitizers know it by */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_strand *unused; /* of all threads; with what their workers have grown to */

static struct host_strand *take_strand(void)
{
    pthread_mutex_lock(&lock);
    struct host_strand *t = unused;
    if (t)
        unused = t->next;
    pthread_mutex_unlock(&lock);
    if (t || !(t = calloc(1, sizeof *t)))
        return t;
    t->size = STACK;
    t->stack = t0_stack_map(&t->size);
    t->worker = t->stack ? host_worker_new() : NULL;
    if (!t->worker) {
        if (t->stack)
            t0_stack_unmap(t->stack, t->size);
        free(t);
        return NULL;
    }
    t0_worker_crowd(t->worker);
    return t;
}

static void give_strands(struct host_strand *first)
{
    while (first) {
        struct host_strand *t = first;
        first = t->next;
        pthread_mutex_lock(&lock);
        t->next = unused;
        unused = t;
        pthread_mutex_unlock(&lock);
    }
}

/* The other stack comes back here, or goes on in main(). done: nobody will come back to the one that runs. */
static void go_to(struct host_strands *s, struct host_strand *to, bool done)
{
    struct host_strand *from = s->now;
    s->now = to;
    host_fault_serve(to->worker);
    (void)done;
    ON_ASAN(__sanitizer_start_switch_fiber(done ? NULL : &from->fake, to->stack ? to->stack : s->low,
                                           to->stack ? to->size : s->size));
    ON_TSAN(__tsan_switch_to_fiber(to->tsan, 0));
    t0_stack_switch(&from->sp, to->sp);
    ON_ASAN(__sanitizer_finish_switch_fiber(from->fake, NULL, NULL));
}

/* A further strand's first frame: the thread's blocks like any other of its strands. */
static void main_of_strand(void *arg)
{
    struct host_strand *t = arg;
    struct host_strands *s = t->of;
    ON_ASAN(__sanitizer_finish_switch_fiber(NULL, NULL, NULL));
    s->body(s);
    t->next->prev = t->prev;
    t->prev->next = t->next;
    s->count--;
    struct host_strand *next = t->next;
    t->next = s->done;
    s->done = t;
    go_to(s, next, true);
    __builtin_unreachable();
}

bool host_strands_add(struct host_strands *s)
{
    struct host_strand *t = s->done, *now = s->now;
    if (t)
        s->done = t->next;
    else if (!(t = take_strand()))
        return false;
    t->of = s;
    ON_TSAN(if (t->tsan) __tsan_destroy_fiber(t->tsan));
    ON_TSAN(t->tsan = __tsan_create_fiber(0));
    t->sp = t0_stack_start(t->stack, t->size, main_of_strand, t);
    t->prev = now; /* next, so that all others come before it is its turn again */
    t->next = now->next;
    now->next->prev = t;
    now->next = t;
    s->count++;
    go_to(s, t, false);
    return true;
}

bool host_strands_turn(struct host_strands *s)
{
    if (s->now->next == s->now)
        return false;
    go_to(s, s->backward ? s->now->prev : s->now->next, false);
    return true;
}

struct t0_worker *host_strands_worker(const struct host_strands *s) { return s->now->worker; }

void host_strands_run(struct host_strands *s, struct t0_worker *w, void (*body)(struct host_strands *))
{
    struct host_strand own = {.next = &own, .prev = &own, .of = s, .worker = w};
    s->now = &own;
    s->body = body;
    s->count = 1;
    s->backward = false;
    s->done = NULL;
#if CUMU_ASAN
    pthread_attr_t attr;
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        pthread_attr_getstack(&attr, &s->low, &s->size);
        pthread_attr_destroy(&attr);
    }
#endif
    ON_TSAN(own.tsan = __tsan_get_current_fiber());
    body(s);
    s->count--;
    while (host_strands_turn(s))
        ;
    give_strands(s->done);
}
