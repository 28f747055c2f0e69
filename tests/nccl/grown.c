/* Drawn NCCL programs whose communicators split, shrink, grow and are revoked. Their ranks are threads of one or more
 * processes, in one or more network namespaces, and one of the processes runs out of something, is killed, stopped or
 * ends in the midst of that. What must hold is what starved.c says; and where a process is gone, the others make a
 * communicator without it, and get right sums there. Usage: grown [SEED [TEAMS [KIND]]], with TEAM_HOSTS
 * (tests/netns.sh) or CUMU_NCCL_HOST_RANKS for several hosts. */
#include <sys/wait.h>

#include "drawn.h"

#include "../netns.h"

enum { NO_ID, IS_THERE, NEVER_COMES, ABORT = 1, HOMES = MAX, FORSAKEN_S = 5 };

static struct shared {
    ncclUniqueId id[2];
    _Atomic int ready;
    struct {
        ncclUniqueId id;
        _Atomic int state;
    } grow[STEPS];
    _Atomic int failed[MAX];
    _Atomic int gone[HOMES]; /* the process has ended */
    _Atomic int unknown;     /* as a rank that somebody waits for to its limit: all go on later than that */
} * shared;

/* All communicators that a slot holds, as every rank knows them: what one rank has of them is its own slot. */
struct layout {
    int n; /* of teams */
    struct {
        int n, member[MAX];
    } team[MAX];
    bool revoked;
};
struct member { /* one rank, a thread of its process */
    struct rank r;
    struct layout layout[SLOTS];
    int home, nhomes, victim_home;
    pthread_barrier_t *together; /* the ranks of a process */
    bool leads, spans;
};

static int home_of(int rank, int n, int nhomes) { return rank * nhomes / n; }

/* ---- communicators ------------------------------------------------------------------------------- */

/* This rank's part of what the slot now holds. */
static void enter(struct member *m, int slot)
{
    struct team *t = &m->r.slot[slot];
    const struct layout *l = &m->layout[slot];
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->team[i].n; k++)
            if (l->team[i].member[k] == m->r.rank) {
                t->n = l->team[i].n;
                memcpy(t->member, l->team[i].member, sizeof t->member);
            }
}
static bool begin(struct member *m, int slot)
{
    struct team *t = &m->r.slot[slot];
    const bool there = t->comm != NULL;
    if (there) {
        const double since = seconds();
        const int e = ncclCommDestroy(t->comm);
        RANK(&m->r, e == 0 || m->r.struck || !m->r.waits || m->layout[slot].revoked, "destroy: %d", e);
        RANK(&m->r, seconds() - since < late_s, "ending took %.1f s", seconds() - since);
    }
    *t = (struct team){0};
    m->layout[slot] = (struct layout){0};
    return there;
}
static void made(struct member *m, int slot, int e, double since, const char *what)
{
    struct team *t = &m->r.slot[slot];
    m->r.error = e;
    complete(&m->r, t->comm);
    /* One that was to come by the id, and ended before: nobody knows it yet, so that it is waited for. */
    if (m->r.error && seconds() - since > JOIN_S - 2)
        shared->unknown = 1;
    RANK(&m->r, seconds() - since < late_s, "a %s took %.1f s", what, seconds() - since);
    RANK(&m->r, m->r.error || (t->comm != NULL) == (t->n > 0), "%s: %p of %d", what, t->comm, t->n);
}

static void split(struct member *m, int from, int to, unsigned *s)
{
    int color[MAX];
    for (int i = 0; i < MAX; i++)
        color[i] = (int)(draw(s) % 3) - (draw(s) % 6 == 0 ? 3 : 0);
    begin(m, to);
    const struct layout *p = &m->layout[from];
    struct layout *l = &m->layout[to];
    for (int i = 0; i < p->n; i++)
        for (int c = 0; c < 3; c++) {
            const int at = l->n;
            for (int rank = 0; rank < m->r.n; rank++) /* which are the keys */
                for (int k = 0; k < p->team[i].n; k++)
                    if (p->team[i].member[k] == rank && color[rank] == c)
                        l->team[at].member[l->team[at].n++] = rank;
            l->n += l->team[at].n > 0;
        }
    enter(m, to);
    const double since = seconds();
    const int mine = color[m->r.rank] < 0 ? NOCOLOR : color[m->r.rank];
    if (m->r.slot[from].comm)
        made(m, to, ncclCommSplit(m->r.slot[from].comm, mine, m->r.rank, &m->r.slot[to].comm, NULL), since, "split");
}

static void shrink(struct member *m, int from, int to, unsigned *s)
{
    const unsigned which = draw(s);
    begin(m, to);
    const struct layout *p = &m->layout[from];
    struct layout *l = &m->layout[to];
    int out = -1;
    for (int i = 0; i < p->n; i++) {
        const int n = p->team[i].n, gone = (int)(which % (unsigned)n);
        for (int k = 0; k < n && n > 1; k++) {
            if (k != gone)
                l->team[l->n].member[l->team[l->n].n++] = p->team[i].member[k];
            if (k != gone && p->team[i].member[k] == m->r.rank)
                out = gone;
        }
        l->n += n > 1;
    }
    enter(m, to);
    const double since = seconds();
    if (m->r.slot[from].comm && out >= 0)
        made(m, to, ncclCommShrink(m->r.slot[from].comm, &out, 1, &m->r.slot[to].comm, NULL, 0), since, "shrink");
}

static int meet_all(struct rank *r, const struct team *t)
{
    const int e = ncclAllReduce(r->in, r->out, 1, ncclInt32, ncclSum, t->comm, r->stream);
    return e ? e : cudaStreamSynchronize(r->stream);
}

static bool somebody_failed(const struct member *m)
{
    bool failed = false;
    for (int k = 0; k < m->r.n; k++)
        failed = failed || shared->failed[k] || shared->gone[home_of(k, m->r.n, m->nhomes)];
    return failed;
}

/* One of the teams, and some of those that are not in it. One of its members makes the id, and the program brings it to
 * the others; when the program hears that somebody has failed, it does not wait for that any longer. `forsaken`: those
 * that are to come do, and the parent ends. */
static void grow(struct member *m, int from, int to, int step, unsigned *s, bool forsaken)
{
    struct rank *r = &m->r;
    const unsigned which = draw(s), more = draw(s), first = draw(s), maker = draw(s), passed = draw(s);
    begin(m, to);
    const struct layout *p = &m->layout[from];
    struct layout *l = &m->layout[to];
    if (!p->n)
        return;
    const int i = (int)(which % (unsigned)p->n), before = p->team[i].n;
    int n = before, mine = -1;
    bool in[MAX] = {false};
    for (int k = 0; k < before; k++) {
        in[l->team[0].member[k] = p->team[i].member[k]] = true;
        if (p->team[i].member[k] == r->rank)
            mine = k;
    }
    const bool old = mine >= 0;
    for (int k = 0; k < r->n; k++) {
        const int rank = (int)((unsigned)k + first) % r->n;
        if (in[rank] || (n > before && more >> k & 1))
            continue;
        if (rank == r->rank)
            mine = n;
        l->team[0].member[n++] = rank;
    }
    l->team[0].n = n;
    l->n = n > before;
    if (forsaken && n > before) {
        struct layout *left = &m->layout[from];
        left->team[i] = left->team[--left->n];
        l->n = 0;
    }
    if (n == before || mine < 0)
        return;
    enter(m, to);
    const double since = seconds();
    ncclUniqueId id, *given = NULL;
    ncclConfig_t config = {sizeof config, 0xcafebeef, 21400, 0};
    const bool makes = mine == (int)(maker % (unsigned)before);
    if (makes) {
        r->error = ncclCommGetUniqueId(r->slot[from].comm, &shared->grow[step].id);
        RANK(r, !r->error || r->kind < NOTHING, "no id: %d", r->error);
        shared->grow[step].state = r->error ? NEVER_COMES : IS_THERE;
    } else if (!old || passed % 2) {
        while (!shared->grow[step].state && seconds() - since < JOIN_S && !somebody_failed(m))
            nap(0.0005);
        if (shared->grow[step].state == IS_THERE)
            id = shared->grow[step].id, given = &id;
        r->error = given || old ? 0 : -1;
    }
    if (!r->error && !(old && forsaken))
        made(m, to,
             ncclCommGrow(old ? r->slot[from].comm : NULL, n, given, old ? -1 : mine, &r->slot[to].comm,
                          r->waits ? NULL : &config),
             since, "growth");
    if (!forsaken)
        return;
    if (old && !r->error && !m->layout[from].revoked) /* others may ask still whether it has begun */
        r->error = meet_all(r, &r->slot[from]);
    if (old)
        end(r, &r->slot[from], passed % 3 == 0 || r->error || m->layout[from].revoked);
    else if (given) {
        RANK(r, r->error, "a growth without its parent");
        RANK(r, seconds() - since < FORSAKEN_S || r->kind < NOTHING, "which it heard after %.1f s", seconds() - since);
        r->error = 0;
        end(r, &r->slot[to], true);
    }
}

/* By all members, of whom one may be at the call before it still. */
static void revoke_all(struct member *m, int slot)
{
    struct rank *r = &m->r;
    struct team *t = &r->slot[slot];
    if (t->comm) {
        (void)meet_all(r, t);
        r->error = ncclCommRevoke(t->comm, 0);
        complete(r, t->comm);
        RANK(r, !r->error || r->kind < NOTHING, "revoke: %d", r->error);
        RANK(r, r->error || ncclAllReduce(r->in, r->out, 1, ncclInt32, ncclSum, t->comm, r->stream) != 0,
             "a call of what is revoked");
    }
    m->layout[slot].revoked = true;
}

static void world(struct member *m, int which)
{
    struct rank *r = &m->r;
    struct team *w = &r->slot[0];
    m->layout[0] = (struct layout){.n = 1, .team[0].n = r->n};
    for (int k = 0; k < r->n; k++)
        m->layout[0].team[0].member[k] = k;
    enter(m, 0);
    const double since = seconds();
    ncclConfig_t config = {sizeof config, 0xcafebeef, 21400, 0};
    made(m, 0,
         r->waits ? ncclCommInitRank(&w->comm, r->n, shared->id[which], r->rank)
                  : ncclCommInitRankConfig(&w->comm, r->n, shared->id[which], r->rank, &config),
         since, "world");
}

static void steps(struct member *m)
{
    struct rank *r = &m->r;
    unsigned s = r->seed * 7919u + 1;
    for (int step = 0; step < STEPS && !r->wrong && !r->error; step++) {
        if (step == r->at_step && !r->first)
            starve(r);
        const unsigned what = draw(&s), from = draw(&s) % SLOTS, to = 1 + draw(&s) % (SLOTS - 1);
        const int other = (int)(from == to ? 0 : from);
        if (what % 8 == 0)
            split(m, other, (int)to, &s);
        else if (what % 16 == 1)
            shrink(m, other, (int)to, &s);
        else if (what % 4 == 2)
            grow(m, other, (int)to, step, &s, other && what % 8 == 2);
        else if (what % 16 == 3 && !m->layout[to].revoked)
            revoke_all(m, (int)to);
        else if (what % 16 == 5 && !r->slot[0].window) {
            r->error = ncclCommWindowRegister(r->slot[0].comm, r->win, LARGEST * sizeof(int), &r->slot[0].window, 0);
            RANK(r, r->error || r->slot[0].window, "no window");
        } else if (!m->layout[from].revoked)
            call(r, &r->slot[what % 3 ? 0 : from], &s, step);
        if (getenv("GROWN_SHOW") || (r->error && r->kind >= NOISE))
            printf("# rank %d: step %d: %d of %d to %d: %d (%s)\n", r->rank, step, what % 16, other, to, r->error,
                   ncclGetLastError(NULL));
    }
}

/* A process is gone, or soon will be: the others go on without its ranks. */
static void go_on(struct member *m)
{
    struct rank *r = &m->r;
    struct team w = {0};
    int out[MAX], n = 0;
    for (int k = 0; k < r->n; k++)
        if (home_of(k, r->n, m->nhomes) == m->victim_home)
            out[n++] = k;
        else
            w.member[w.n++] = k;
    if (m->home == m->victim_home) { /* the others may have aborted before it came to that */
        nap(0.1);
        if (r->kind == KILLED)
            kill(getpid(), SIGKILL);
        _exit(0);
    }
    for (int k = 1; k < SLOTS; k++) /* others may be in a call there, and not know yet */
        end(r, &r->slot[k], true);
    if (!r->slot[0].comm)
        return;
    const double since = seconds();
    r->error = ncclCommShrink(r->slot[0].comm, out, n, &w.comm, NULL, ABORT);
    complete(r, w.comm);
    nap(r->error ? 2 : 0);
    if (r->error && shared->unknown) {
        end(r, &w, true);
        return;
    }
    RANK(r, !r->error, "going on without process %d: %d", m->victim_home, r->error);
    unsigned s = r->seed + 9;
    r->kind = NOTHING; /* that this rank might still call */
    for (int k = 0; k < 3 && !r->error; k++)
        call(r, &w, &s, -1);
    RANK(r, !r->error, "a call of those that are left: %d", r->error);
    RANK(r, seconds() - since < late_s, "going on took %.1f s", seconds() - since);
    end(r, &w, r->error != 0);
}

/* ---- a process ----------------------------------------------------------------------------------- */

static void rest(void *unused)
{
    (void)unused;
    nap(0.05);
}

/* Mappings of communicators' memory. */
static int maps(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "/memfd:mccl") != NULL;
    if (f)
        fclose(f);
    return n;
}

static void set_up(struct rank *r)
{
    int devices = 0;
    RANK(r, cudaGetDeviceCount(&devices) == 0 && cudaSetDevice(r->rank % (devices ? devices : 1)) == 0, "device");
    RANK(r, cudaStreamCreateWithFlags(&r->stream, 1) == 0, "stream");
    RANK(r,
         cudaMallocManaged((void **)&r->in, LARGEST * sizeof(int), 1) == 0 &&
             cudaMallocManaged((void **)&r->out, LARGEST * sizeof(int), 1) == 0 &&
             ncclMemAlloc((void **)&r->win, LARGEST * sizeof(int)) == 0,
         "memory");
}
/* What stays open from now on. */
static void warm_up(struct member *m)
{
    struct rank *r = &m->r;
    unsigned s = r->seed + 5;
    world(m, 0);
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
}

static void *run(void *arg)
{
    struct member *m = arg;
    struct rank *r = &m->r;
    static int files, threads, mapped;
    if (r->rank == 0) {
        for (int i = 0; i < 2; i++)
            RANK(r, ncclGetUniqueId(&shared->id[i]) == 0, "id");
        shared->ready = 1;
    }
    while (!shared->ready)
        nap(0.001);
    set_up(r);
    if (m->leads)
        dl_iterate_phdr(note, NULL);
    pthread_barrier_wait(m->together);
    if (r->first)
        starve(r);
    else
        warm_up(m);
    pthread_barrier_wait(m->together);
    if (m->leads) {
        nap(0.2);
        files = entries("/proc/self/fd");
        threads = entries("/proc/self/task");
        mapped = maps();
    }
    pthread_barrier_wait(m->together);
    if (!r->wrong)
        world(m, 1);
    if (!r->error && !r->wrong)
        steps(m);
    const int heard = r->error;
    shared->failed[r->rank] = heard;
    const enum kind kind = r->kind;
    if ((kind == KILLED || kind == EXITS) && !r->first)
        go_on(m);
    for (int k = SLOTS - 1; k >= 0; k--)
        end(r, &r->slot[k], heard || m->layout[k].revoked);
    r->kind = kind;
    pthread_barrier_wait(m->together);
    if (m->leads)
        feed();
    (void)cudaStreamSynchronize(r->stream);
    pthread_barrier_wait(m->together);
    if (!m->leads)
        return NULL;
    /* The door of an id that nobody could be told to give up stays until it has waited long enough. */
    int f, t, k = 0;
    const bool kept = r->first;
    do {
        f = entries("/proc/self/fd");
        t = entries("/proc/self/task");
        nap(k ? 0.01 : 0);
    } while ((f > files || t > threads || maps() > mapped) && !r->first && k++ < 1500);
    RANK(r, !closed_twice, "%d descriptors were closed twice", closed_twice);
    RANK(r, kept || (f <= files && t <= threads && maps() <= mapped),
         "%d descriptors where %d were, %d threads where %d were, %d mappings where %d were", f, files, t, threads,
         maps(), mapped);
    return NULL;
}

static int run_process(const struct member *plan, int home)
{
    struct member of[MAX + 1] = {0};
    pthread_t thread[MAX];
    pthread_barrier_t together;
    int n = 0, wrong = 0;
    for (int k = 0; k < plan->r.n; k++)
        if (home_of(k, plan->r.n, plan->nhomes) == home) {
            of[n] = *plan;
            of[n].r.rank = k;
            of[n].home = home;
            of[n].together = &together;
            of[n].leads = n == 0;
            of[n].r.struck = home == plan->victim_home && plan->r.kind < NOTHING;
            n++;
        }
    pthread_barrier_init(&together, NULL, (unsigned)n);
    for (int k = 0; k < n; k++)
        pthread_create(&thread[k], NULL, run, &of[k]);
    for (int k = 0; k < n; k++) {
        pthread_join(thread[k], NULL);
        wrong += of[k].r.wrong;
    }
    return wrong != 0;
}

/* ---- teams --------------------------------------------------------------------------------------- */

static bool team(unsigned seed, int kind)
{
    unsigned s = seed * 2654435761u;
    int wrong = 0, left, heard = 0;
    struct member plan = {.r.seed = seed, .r.n = 2 + (int)(draw(&s) % (MAX - 1))};
    struct rank *r = &plan.r;
    plan.spans = getenv("CUMU_NCCL_HOST_RANKS") || getenv("TEAM_HOSTS");
    plan.nhomes = 1 + (int)(draw(&s) % (unsigned)r->n);
    r->victim = (int)(draw(&s) % (unsigned)r->n);
    plan.victim_home = home_of(r->victim, r->n, plan.nhomes);
    r->kind = (enum kind)(draw(&s) % NOISE);
    if (draw(&s) % 12 == 0)
        r->kind = NOTHING;
    if (kind >= 0)
        r->kind = (enum kind)kind;
    if (r->kind == CLOSES && plan.spans)
        r->kind = LIMIT; /* without its descriptors UCX ends the process */
    r->first = draw(&s) % 6 == 0;
    r->at_step = (int)(draw(&s) % STEPS);
    r->waits = draw(&s) % 3;
    memset(shared, 0, sizeof *shared);
    pid_t child[HOMES], self = getpid();
    fflush(stdout);
    for (int k = 0; k < plan.nhomes; k++)
        if ((child[k] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != self)
                _exit(1);
            enter_host(k);
            const int bad = run_process(&plan, k);
            fflush(stdout);
            _exit(bad);
        }
    const double limit = seconds() + 90;
    for (left = plan.nhomes; left && seconds() < limit; nap(0.002))
        for (int k = 0; k < plan.nhomes; k++) {
            int status = 0;
            if (!child[k] || waitpid(child[k], &status, WNOHANG) == 0)
                continue;
            const bool doomed = k == plan.victim_home && (r->kind == KILLED || r->kind == STOPPED);
            wrong += status != 0 && !doomed;
            if (WIFSIGNALED(status) && !doomed)
                printf("# process %d was ended by signal %d\n", k, WTERMSIG(status));
            shared->gone[k] = 1;
            child[k] = 0;
            left--;
        }
    for (int k = 0; k < plan.nhomes; k++)
        if (child[k]) {
            printf("# process %d of %d, %d, hangs\n", k, plan.nhomes, (int)child[k]);
            wrong++;
            if (getenv("STORM_KEEP")) {
                fflush(stdout);
                pause();
            }
            kill(child[k], SIGKILL);
            waitpid(child[k], NULL, 0);
        }
    for (int k = 0; k < r->n; k++)
        heard += shared->failed[k] != 0;
    if (r->kind >= NOISE && heard)
        wrong++;
    printf("%s seed %u: %d ranks in %d processes%s, rank %d's %s from %s on, step %d: %d heard\n",
           wrong ? "not ok" : "ok", seed, r->n, plan.nhomes, r->waits ? "" : " in the background", r->victim,
           kinds[r->kind], r->first ? "the beginning" : "then", r->at_step, heard);
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
    printf(bad ? "FAIL grown: %d of %d\n" : "PASS grown: %d wrong of %d\n", bad, teams);
    return bad != 0;
}
