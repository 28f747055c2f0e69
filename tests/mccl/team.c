/* The teams of ranks that the MCCL tests run as. */
#include "team.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

void report(bool ok, const char *format, ...)
{
    va_list a;
    printf(ok ? "ok " : "not ok ");
    va_start(a, format);
    vprintf(format, a);
    va_end(a);
    printf("\n");
    failures += !ok;
}

int finish(void)
{
    fflush(stdout);
    return failures != 0;
}

struct member {
    struct rank r;
    void (*body)(struct rank *);
    bool join;
};

static void *run(void *arg)
{
    struct member *m = arg;
    struct rank *r = &m->r;
    int devices = 0;
    EXPECT(r, musaGetDeviceCount(&devices) == musaSuccess && devices > 0);
    EXPECT(r, musaSetDevice(r->rank % (devices ? devices : 1)) == musaSuccess);
    EXPECT(r, musaStreamCreateWithFlags(&r->stream, musaStreamNonBlocking) == musaSuccess);
    if (m->join)
        EXPECT(r, mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank) == mcclSuccess);
    if (!r->wrong)
        m->body(r);
    if (r->comm)
        EXPECT(r, mcclCommDestroy(r->comm) == mcclSuccess);
    musaStreamDestroy(r->stream);
    return NULL;
}

bool team_run(enum team kind, int nranks, bool join, void (*body)(struct rank *), void *arg)
{
    mcclUniqueId id;
    int wrong = mcclGetUniqueId(&id) != mcclSuccess;
    struct member *m = calloc((size_t)nranks, sizeof *m);
    pthread_t *threads = calloc((size_t)nranks, sizeof *threads);
    pid_t *children = calloc((size_t)nranks, sizeof *children);
    fflush(stdout);
    for (int i = 0; i < nranks; i++) {
        m[i] = (struct member){ { i, nranks, id, NULL, NULL, arg, 0 }, body, join };
        if (kind == THREADS)
            pthread_create(&threads[i], NULL, run, &m[i]);
        else if ((children[i] = fork()) == 0) {
            run(&m[i]);
            fflush(stdout);
            _exit(m[i].r.wrong != 0);
        }
    }
    for (int i = 0; i < nranks; i++) {
        int status = 0;
        if (kind == THREADS) {
            pthread_join(threads[i], NULL);
            wrong += m[i].r.wrong;
        } else if (waitpid(children[i], &status, 0) != children[i] || status)
            wrong++;
    }
    free(m);
    free(threads);
    free(children);
    return !wrong;
}

void *device_bytes(struct rank *r, size_t n)
{
    void *p = NULL;
    EXPECT(r, musaMalloc(&p, n ? n : 1) == musaSuccess);
    if (!p)
        _exit(1);
    memset(p, 0xa5, n); /* the device is this CPU */
    return p;
}

bool settled(struct rank *r)
{
    for (int i = 0; i < 10000; i++) {
        if (musaStreamQuery(r->stream) != musaErrorNotReady)
            return true;
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    return false;
}
