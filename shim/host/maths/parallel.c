/* Spreads the parts of a job over the CPUs. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "host/maths/parallel.h"

#include "abi/musa.h"
#include "musa_enums.h"

enum { MOST = 64 };

struct work {
    void (*part)(void *job, unsigned i);
    void *job;
    unsigned parts;
    atomic_uint next;
};

static void *take(void *arg)
{
    struct work *w = arg;
    for (unsigned i; (i = w->next++) < w->parts;)
        w->part(w->job, i);
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
    struct work w = {part, job, parts, 0};
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
    while (started + 1 < wanted && !pthread_create(&thread[started], NULL, take, &w))
        started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    take(&w);
    while (started)
        pthread_join(thread[--started], NULL);
}
