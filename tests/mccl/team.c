/* The teams of ranks that the MCCL tests run as. */
#include "team.h"

#include "../netns.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a team may take. Under a sanitizer, on a busy machine, the longest takes 5 s. */
#define PATIENCE_S 60
#define WAIT_S 20 /* for one thing to happen */

static bool hung;       /* a team did not end in time */
static int doomed = -1; /* a rank whose status does not count */

void team_doom(int rank) { doomed = rank; }

void team_end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

void team_end_if_hung(void)
{
    if (hung) { /* its threads are still about: what came now would not be told from what they do */
        printf("# it hung, and the rest was not tried\n");
        fflush(stdout);
        _exit(1);
    }
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
    RANK(r, musaGetDeviceCount(&devices) == musaSuccess && devices > 0);
    RANK(r, musaSetDevice(r->rank % (devices ? devices : 1)) == musaSuccess);
    RANK(r, musaStreamCreateWithFlags(&r->stream, musaStreamNonBlocking) == musaSuccess);
    if (m->join)
        RANK(r, mcclCommInitRank(&r->comm, r->nranks, r->id, r->rank) == mcclSuccess);
    if (!r->wrong)
        m->body(r);
    if (r->comm)
        RANK(r, mcclCommDestroy(r->comm) == mcclSuccess);
    musaStreamDestroy(r->stream);
    return NULL;
}

struct desk { /* shared with the processes of a team */
    mcclUniqueId id;
    _Atomic int ready; /* 1: the id is made; 2: it could not be */
};

int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t now_ns(void) { return (int64_t)(seconds() * 1e9); }

void nap_us(unsigned us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, NULL); }

void team_signal(int signal, unsigned us, _Atomic int64_t *since_ns, const _Atomic int *told, int others, unsigned ms)
{
    const pid_t self = getpid();
    if (fork())
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    nap_us(us);
    *since_ns = now_ns();
    kill(self, signal);
    while (*told < others && now_ns() - *since_ns < ms * INT64_C(1000000))
        nap_us(1000);
    kill(self, SIGCONT);
    _exit(0);
}

struct caught stderr_catch(void)
{
    char name[] = "/tmp/cumu-team-XXXXXX";
    struct caught c = {.file = mkstemp(name), .old = dup(2)};
    unlink(name);
    dup2(c.file, 2);
    return c;
}

void stderr_caught(struct caught c, char *text, size_t size)
{
    dup2(c.old, 2);
    close(c.old);
    ssize_t n = pread(c.file, text, size - 1, 0);
    close(c.file);
    text[n > 0 ? n : 0] = 0;
}

/* Makes the id in a process of its own, which stays until it is killed. This one must not get threads: a child
 * forked while another thread is inside ASan's allocator finds that locked for ever (gcc 12). A child of the
 * maker does nothing but hold what that has open, as children of a program do. The two are a process group. */
static pid_t make_id(struct desk *d)
{
    pid_t self = getpid(), maker = fork();
    if (maker) {
        setpgid(maker, maker);
        return maker;
    }
    setpgid(0, 0);
    team_end_with(self);
    enter_host(0);
    int good = mcclGetUniqueId(&d->id) == mcclSuccess;
    if (getenv("TEAM_SPARE")) { /* the lowest ones are taken: so many more than there are */
        int next = dup(0);
        struct rlimit l = {(rlim_t)(next + atoi(getenv("TEAM_SPARE"))), (rlim_t)(next + atoi(getenv("TEAM_SPARE")))};
        close(next);
        setrlimit(RLIMIT_NOFILE, &l);
    }
    self = getpid();
    if (fork())
        d->ready = good ? 1 : 2;
    else
        team_end_with(self);
    for (;;)
        pause();
}

static unsigned spaces_seed; /* 0: ranks stay where they are */

void team_spaces(unsigned seed) { spaces_seed = seed; }

/* Those of which a rank gets its own, as containers have them: in one pod that of the network is not among them. With
 * TEAM_PIDS every rank has one of pids. */
static int spaces_of(int rank)
{
    static const int all[] = {CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUTS};
    unsigned seed = spaces_seed * 2654435761u + (unsigned)rank;
    int flags = getenv("TEAM_PIDS") ? CLONE_NEWPID : 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all && spaces_seed; i++)
        flags |= rand_r(&seed) >> 5 & 1 ? all[i] : 0;
    return flags;
}

static bool put(const char *name, const char *text)
{
    const int fd = open(name, O_WRONLY | O_CLOEXEC);
    const bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool leave(int flags)
{
    char map[32];
    snprintf(map, sizeof map, "0 %d 1", (int)geteuid());
    return !unshare(flags) &&
           (!(flags & CLONE_NEWUSER) || (put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", map))) &&
           (!(flags & CLONE_NEWUTS) || !sethostname("elsewhere", 9));
}

bool team_may_spaces(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0)
        _exit(!leave(CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

bool team_can_open(const char *library)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0)
        _exit(dlopen(library, RTLD_NOW | RTLD_LOCAL) == NULL);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void enter_spaces(int rank)
{
    const int flags = spaces_of(rank);
    int status = 0;
    if (!flags)
        return;
    bool good = leave(flags);
    if (good && !(flags & CLONE_NEWPID))
        return;
    pid_t child = good ? fork() : -1;
    if (child == 0) { /* its first process, which no signal from within ends or stops */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((child = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            return;
        }
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("# rank %d finds no namespaces (%x): %s\n", rank, (unsigned)flags, strerror(errno));
        fflush(stdout);
        _exit(1);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static int run_processes(int nranks, struct member *m)
{
    struct desk *d = mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t *children = calloc((size_t)nranks, sizeof *children);
    double end = seconds() + PATIENCE_S;
    int wrong = 0, left = 0;
    pid_t self = getpid();
    if (d == MAP_FAILED || !children)
        return 1;
    pid_t maker = make_id(d);
    fflush(stdout);
    while (maker > 0 && !d->ready && seconds() < end)
        nap_us(1000);
    for (int i = 0; i < nranks && d->ready == 1; i++, left++) {
        m[i].r.id = d->id;
        m[i].r.maker = maker;
        if ((children[i] = fork()) == 0) {
            team_end_with(self);
            enter_host(i);
            enter_spaces(i);
            run(&m[i]);
            fflush(stdout);
            _exit(m[i].r.wrong != 0);
        }
    }
    wrong = left < nranks;
    while (left && seconds() < end) {
        for (int i = 0; i < nranks; i++) {
            int status = 0;
            if (!children[i] || (children[i] > 0 && waitpid(children[i], &status, WNOHANG) == 0))
                continue;
            wrong += children[i] < 0 || (status && i != doomed);
            if (children[i] > 0 && i != doomed && WIFSIGNALED(status))
                printf("# rank %d of %d was ended by signal %d\n", i, nranks, WTERMSIG(status));
            children[i] = 0;
            left--;
        }
        nap_us(1000);
    }
    for (int i = 0; i < nranks; i++)
        if (children[i] > 0) {
            printf("# rank %d of %d has not ended after %d s\n", i, nranks, PATIENCE_S);
            hung = true;
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
        }
    if (maker > 0) {
        kill(-maker, SIGKILL);
        waitpid(maker, NULL, 0);
    }
    munmap(d, sizeof *d);
    free(children);
    doomed = -1;
    return wrong;
}

static int run_threads(int nranks, struct member *m)
{
    pthread_t *threads = calloc((size_t)nranks, sizeof *threads);
    mcclUniqueId id;
    int wrong = mcclGetUniqueId(&id) != mcclSuccess;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    for (int i = 0; i < nranks; i++) {
        m[i].r.id = id;
        pthread_create(&threads[i], NULL, run, &m[i]);
    }
    for (int i = 0; i < nranks; i++) {
        if (pthread_timedjoin_np(threads[i], NULL, &end)) {
            printf("# rank %d of %d has not ended after %d s\n", i, nranks, PATIENCE_S);
            hung = true;
        }
        wrong += m[i].r.wrong;
    }
    free(threads);
    return wrong;
}

bool team_run(enum team kind, int nranks, bool join, void (*body)(struct rank *), void *arg)
{
    struct member *m = calloc((size_t)nranks, sizeof *m);
    for (int i = 0; i < nranks; i++)
        m[i] = (struct member){{.rank = i, .nranks = nranks, .arg = arg}, body, join};
    int wrong = kind == THREADS ? run_threads(nranks, m) : run_processes(nranks, m);
    if (!hung)
        free(m);
    return !wrong && !hung;
}

void *device_bytes(struct rank *r, size_t n)
{
    void *p = NULL;
    RANK(r, musaMalloc(&p, n ? n : 1) == musaSuccess);
    if (!p)
        _exit(1);
    memset(p, 0xa5, n); /* the device is this CPU */
    return p;
}

bool settled(struct rank *r)
{
    for (double end = seconds() + WAIT_S; seconds() < end; nap_us(1000))
        if (musaStreamQuery(r->stream) != musaErrorNotReady)
            return true;
    return false;
}

mcclResult_t async_error(struct rank *r, bool awaited)
{
    mcclResult_t e = mcclSuccess;
    double end = seconds() + (awaited ? WAIT_S : 0);
    do {
        RANK(r, mcclCommGetAsyncError(r->comm, &e) == mcclSuccess);
        if (!e && awaited)
            nap_us(1000);
    } while (!e && seconds() < end);
    return e;
}
