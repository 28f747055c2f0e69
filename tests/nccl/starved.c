/* Drawn NCCL programs of which one rank runs out of something, at a place that is drawn, too: memory, descriptors,
 * mappings, threads, or all of them; once or from then on; or it calls something else than the others, or a foreign
 * process knocks at their doors. What must hold: a value that a call gives is right, a rank that is told of an error
 * aborts and goes, every other rank then hears of it in time, and what a rank leaves behind is what it had before.
 * Usage: starved [SEED [TEAMS [KIND]]], CUMU_NCCL_HOST_RANKS for several hosts. */
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "drawn.h"

static struct shared {
    ncclUniqueId id[2];
    _Atomic int ready;
    _Atomic int failed[MAX]; /* the rank heard of an error */
    unsigned long doors[16]; /* sockets of who made the ids, by their inodes, before UCX has any */
} * shared;

/* Its colour is drawn for each rank, whether that is a member or not. */
static void split(struct rank *r, const struct team *p, struct team *to, unsigned *s)
{
    int color[MAX];
    for (int i = 0; i < MAX; i++)
        color[i] = (int)(draw(s) % 3) - (draw(s) % 6 == 0 ? 3 : 0);
    *to = (struct team){0};
    if (!p->comm)
        return;
    const int mine = color[r->rank] < 0 ? NOCOLOR : color[r->rank];
    const double since = seconds();
    r->error = ncclCommSplit(p->comm, mine, r->rank, &to->comm, NULL);
    complete(r, to->comm);
    RANK(r, seconds() - since < late_s, "a split took %.1f s", seconds() - since);
    RANK(r, r->error || (to->comm != NULL) == (mine >= 0), "split: %p", to->comm);
    for (int i = 0; i < MAX && mine >= 0; i++) /* members of the parent, by their numbers in the world */
        for (int k = 0; k < p->n; k++)
            if (p->member[k] == i && color[i] == mine)
                to->member[to->n++] = i;
}
static void shrink(struct rank *r, const struct team *p, struct team *to, unsigned *s)
{
    int out = (int)(draw(s) % MAX);
    *to = (struct team){0};
    if (!p->comm || p->n < 2)
        return;
    out %= p->n;
    if (p->member[out] == r->rank)
        return;
    for (int i = 0; i < p->n; i++)
        if (i != out)
            to->member[to->n++] = p->member[i];
    const double since = seconds();
    r->error = ncclCommShrink(p->comm, &out, 1, &to->comm, NULL, 0);
    complete(r, to->comm);
    RANK(r, seconds() - since < late_s, "a shrink took %.1f s", seconds() - since);
    RANK(r, r->error || to->comm, "a shrink without a communicator");
}
static void world(struct rank *r, int which)
{
    struct team *w = &r->slot[0];
    *w = (struct team){.n = r->n};
    for (int k = 0; k < r->n; k++)
        w->member[k] = k;
    const double since = seconds();
    ncclConfig_t config = {sizeof config, 0xcafebeef, 21400, 0};
    r->error = r->waits ? ncclCommInitRank(&w->comm, r->n, shared->id[which], r->rank)
                        : ncclCommInitRankConfig(&w->comm, r->n, shared->id[which], r->rank, &config);
    complete(r, w->comm);
    RANK(r, seconds() - since < late_s, "joining took %.1f s", seconds() - since);
    RANK(r, !r->error == (w->comm != NULL) || !r->waits, "a world and %d", r->error);
}

static void steps(struct rank *r)
{
    unsigned s = r->seed * 7919u + 1;
    for (int step = 0; step < STEPS && !r->wrong && !r->error; step++) {
        if (step == r->at_step && !r->first)
            starve(r);
        const unsigned what = draw(&s), from = draw(&s) % SLOTS, to = 1 + draw(&s) % (SLOTS - 1);
        if (what % 10 == 0 && from != to) {
            end(r, &r->slot[to], false);
            split(r, &r->slot[from], &r->slot[to], &s);
        } else if (what % 25 == 1 && from != to) {
            end(r, &r->slot[to], false);
            shrink(r, &r->slot[from], &r->slot[to], &s);
        } else if (what % 12 == 2 && !r->slot[0].window && r->slot[0].comm) {
            r->error = ncclCommWindowRegister(r->slot[0].comm, r->win, LARGEST * sizeof(int), &r->slot[0].window, 0);
            RANK(r, r->error || r->slot[0].window, "no window");
        } else
            call(r, &r->slot[what % 3 ? 0 : from], &s, step);
        if (r->error && r->kind >= NOISE)
            printf("# rank %d: step %d: %d (%s)\n", r->rank, step, r->error, ncclGetLastError(NULL));
    }
}

static void rest(void *unused)
{
    (void)unused;
    nap(0.05);
}

static void run(struct rank *r)
{
    int devices = 0, files = 0, threads = 0;
    RANK(r, cudaGetDeviceCount(&devices) == 0 && cudaSetDevice(r->rank % (devices ? devices : 1)) == 0, "device");
    RANK(r, cudaStreamCreateWithFlags(&r->stream, 1) == 0, "stream");
    RANK(r,
         cudaMallocManaged((void **)&r->in, LARGEST * sizeof(int), 1) == 0 &&
             cudaMallocManaged((void **)&r->out, LARGEST * sizeof(int), 1) == 0 &&
             ncclMemAlloc((void **)&r->win, LARGEST * sizeof(int)) == 0,
         "memory");
    if (r->wrong)
        return;
    dl_iterate_phdr(note, NULL);
    if (r->first)
        starve(r);
    else { /* what stays open from now on */
        unsigned s = r->seed + 5;
        world(r, 0);
        for (int k = 0; k < 8 && !r->error; k++)
            call(r, &r->slot[0], &s, -10);
        RANK(r, !r->error && captured(r, &r->slot[0], r->rank, LARGEST) == 0, "the first world: %d", r->error);
        end(r, &r->slot[0], false);
        for (int k = 0; k < MAX; k++) {
            void *other = NULL;
            RANK(r,
                 cudaStreamCreateWithFlags(&other, 1) == 0 && cudaLaunchHostFunc(other, rest, NULL) == 0 &&
                     cudaStreamDestroy(other) == 0,
                 "threads");
        }
        nap(0.2);
        files = entries("/proc/self/fd");
        threads = entries("/proc/self/task");
    }
    if (r->wrong)
        return;
    world(r, 1);
    if (!r->error)
        steps(r);
    const bool heard = r->error != 0;
    const bool kept = r->first;
    shared->failed[r->rank] = heard ? r->error : 0;
    for (int k = SLOTS - 1; k >= 0; k--)
        end(r, &r->slot[k], heard);
    feed();
    (void)cudaStreamSynchronize(r->stream);
    /* The door of an id that nobody could be told to give up stays until it has waited long enough. */
    for (int k = 0; k < 1500 && !r->first && (entries("/proc/self/fd") > files || entries("/proc/self/task") > threads);
         k++)
        nap(0.01);
    const int f = entries("/proc/self/fd"), t = entries("/proc/self/task");
    RANK(r, !closed_twice, "%d descriptors were closed twice", closed_twice);
    RANK(r, kept || (f <= files && t <= threads), "%d descriptors where %d were, %d threads where %d were", f, files, t,
         threads);
}

static void note_doors(void)
{
    char path[64], to[64];
    for (int fd = 3, n = 0; fd < 256 && n < 16; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(path, to, sizeof to - 1);
        to[length > 0 ? length : 0] = 0;
        n += sscanf(to, "socket:[%lu]", &shared->doors[n]) == 1;
    }
}

/* ---- noise --------------------------------------------------------------------------------------- */

static void knock(int fd, const void *at, socklen_t size, unsigned *s)
{
    char noise[4096];
    struct timeval soon = {0, 20000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    if (fd < 0 || connect(fd, at, size))
        return;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)draw(s);
    if (draw(s) % 3) /* the others are silent */
        (void)send(fd, noise, draw(s) % 3 ? draw(s) % 300 : draw(s) % sizeof noise, MSG_NOSIGNAL | MSG_DONTWAIT);
}
/* A foreign process, which knocks at all doors of ours, and keeps some of them open; not at UCX's: those of 1.13 end
 * the process then (an assertion of ucp_worker_iface_init). */
static void make_noise(unsigned seed)
{
    unsigned s = seed;
    int open_[512] = {0}, next = 0;
    for (;; nap(1e-3 * (draw(&s) % 8))) {
        char line[512], name[256];
        FILE *f = fopen("/proc/net/unix", "r");
        while (f && fgets(line, sizeof line, f)) {
            char *at = strstr(line, "@cumu-mccl-");
            struct sockaddr_un un = {.sun_family = AF_UNIX};
            if (!at || draw(&s) % 2)
                continue;
            at[strcspn(at, "\n")] = 0;
            snprintf(name, sizeof name, "%s", at + 1);
            const size_t length = strlen(name) < sizeof un.sun_path - 1 ? strlen(name) : sizeof un.sun_path - 1;
            memcpy(un.sun_path + 1, name, length);
            int *slot = &open_[next++ % 512];
            if (*slot)
                close(*slot);
            *slot = socket(AF_UNIX, draw(&s) % 4 ? SOCK_SEQPACKET : SOCK_STREAM, 0);
            knock(*slot, &un, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length), &s);
        }
        if (f)
            fclose(f);
        f = fopen("/proc/net/tcp", "r");
        unsigned port, state;
        unsigned long address, inode;
        while (f && fgets(line, sizeof line, f)) {
            bool own = false;
            if (sscanf(line, "%*d: %lx:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*d %*d %lu", &address, &port, &state,
                       &inode) != 4 ||
                state != 10)
                continue;
            for (int k = 0; k < 16; k++)
                own = own || shared->doors[k] == inode;
            struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
            in.sin_addr.s_addr = address ? (in_addr_t)address : htonl(INADDR_LOOPBACK);
            if (!own)
                continue;
            int *slot = &open_[next++ % 512];
            if (*slot)
                close(*slot);
            *slot = socket(AF_INET, SOCK_STREAM, 0);
            knock(*slot, &in, sizeof in, &s);
        }
        if (f)
            fclose(f);
    }
}

/* ---- teams --------------------------------------------------------------------------------------- */

static bool team(unsigned seed, int kind)
{
    unsigned s = seed * 2654435761u;
    int wrong = 0, left, heard = 0;
    struct rank plan = {.seed = seed, .n = 2 + (int)(draw(&s) % 4)};
    plan.victim = (int)(draw(&s) % (unsigned)plan.n);
    plan.kind = (enum kind)(draw(&s) % KINDS);
    if (kind >= 0)
        plan.kind = (enum kind)kind;
    if (plan.kind == CLOSES && getenv("CUMU_NCCL_HOST_RANKS"))
        plan.kind = LIMIT; /* without its descriptors UCX ends the process */
    plan.first = draw(&s) % 3 == 0;
    plan.at_step = (int)(draw(&s) % STEPS);
    plan.waits = draw(&s) % 3;
    memset(shared, 0, sizeof *shared);
    pid_t child[MAX], self = getpid();
    fflush(stdout);
    for (int k = 0; k < plan.n; k++)
        if ((child[k] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != self)
                _exit(1);
            struct rank r = plan;
            r.rank = k;
            r.struck = k == plan.victim && plan.kind < NOTHING;
            if (k == 0) {
                for (int i = 0; i < 2; i++)
                    RANK(&r, ncclGetUniqueId(&shared->id[i]) == 0, "id");
                note_doors();
                shared->ready = 1;
            }
            while (!shared->ready)
                nap(0.001);
            run(&r);
            fflush(stdout);
            _exit(r.wrong != 0);
        }
    pid_t noise = plan.kind == NOISE ? fork() : 1;
    if (noise == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make_noise(seed);
    }
    const double limit = seconds() + 90;
    for (left = plan.n; left && seconds() < limit; nap(0.002))
        for (int k = 0; k < plan.n; k++) {
            int status = 0;
            if (!child[k] || waitpid(child[k], &status, WNOHANG) == 0)
                continue;
            const bool doomed = k == plan.victim && (plan.kind == KILLED || plan.kind == STOPPED);
            wrong += status != 0 && !doomed;
            if (WIFSIGNALED(status) && !doomed)
                printf("# rank %d was ended by signal %d\n", k, WTERMSIG(status));
            child[k] = 0;
            left--;
        }
    for (int k = 0; k < plan.n; k++)
        if (child[k]) {
            printf("# rank %d of %d, process %d, hangs\n", k, plan.n, (int)child[k]);
            wrong++;
            if (getenv("STORM_KEEP")) {
                fflush(stdout);
                pause();
            }
            kill(child[k], SIGKILL);
            waitpid(child[k], NULL, 0);
        }
    if (noise > 1) {
        kill(noise, SIGKILL);
        waitpid(noise, NULL, 0);
    }
    for (int k = 0; k < plan.n; k++)
        heard += shared->failed[k] != 0;
    if (plan.kind >= NOISE && heard)
        wrong++;
    printf("%s seed %u: %d ranks%s, rank %d %s from %s on, step %d: %d heard\n", wrong ? "not ok" : "ok", seed, plan.n,
           plan.waits ? "" : " in the background", plan.victim, kinds[plan.kind], plan.first ? "the beginning" : "then",
           plan.at_step, heard);
    return !wrong;
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int teams = argc > 2 ? atoi(argv[2]) : 4, bad = 0, kind = argc > 3 ? atoi(argv[3]) : -1;
    char join[8];
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(join, sizeof join, "%d", JOIN_S);
    setenv("CUMU_NCCL_JOIN_SECONDS", join, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    for (int i = 0; i < teams; i++)
        bad += !team(seed + (unsigned)i, kind);
    printf(bad ? "FAIL starved: %d of %d\n" : "PASS starved: %d wrong of %d\n", bad, teams);
    return bad != 0;
}
