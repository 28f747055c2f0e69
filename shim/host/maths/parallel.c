/* Spreads the parts of a job over the CPUs. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "host/maths/parallel.h"

#include "host/driver/task.h"
#include "musa_enums.h"

enum { MOST = 64 };

struct work {
    void (*part)(void *job, unsigned i);
    void *job;
    unsigned parts;
    atomic_uint next;
    struct cumu_task *task; /* the call that it is part of */
};

static void do_parts(struct work *w)
{
    for (unsigned i; (i = w->next++) < w->parts;)
        w->part(w->job, i);
}

static void *help(void *arg)
{
    struct work *w = arg;
    cumu_task_join(w->task);
    do_parts(w);
    return NULL;
}

static unsigned processors(void)
{
    int device = 0, count = 1;
    if (musaGetDevice(&device) || musaDeviceGetAttribute(&count, musaDevAttrMultiProcessorCount, device))
        return 1;
    return count > MOST ? MOST : (unsigned)count;
}

void maths_parallel(unsigned parts, void (*part)(void *job, unsigned i), void *job)
{
    struct work w = {part, job, parts, 0, cumu_task_current()};
    pthread_t thread[MOST];
    unsigned wanted = parts > 1 ? processors() : 1, started = 0;
    sigset_t all, old;
    if (wanted > parts)
        wanted = parts;
    /* The application's signal handlers run on its own threads. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigfillset(&all);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (started + 1 < wanted && !pthread_create(&thread[started], NULL, help, &w))
        started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    do_parts(&w);
    while (started)
        pthread_join(thread[--started], NULL);
}
