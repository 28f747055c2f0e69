/* Random control flow on every back end: each kernel's memory must be what the reference leaves.
 * Kernels run in child processes, some hundred at a time, so that one that crashes or hangs is a
 * finding like others. A difference is reduced and printed as PTX.
 *
 * FLOW_SECONDS=n goes on for that long, from seed FLOW_SEED on; FLOW_COUNT=n runs so many kernels.
 * By default they run on all back ends, but one in eight on tier 1's second widest vectors and one
 * in thirty on the narrowest; FLOW_WAYS=0134 chooses back ends, which then run all kernels, by
 * number (enum way). Half of the objects are compiled without
 * optimisation, with FLOW_LIGHT=1 all of them, FLOW_JOBS=n many at a time; FLOW_KEEP=folder keeps the reduced PTX;
 * FLOW_PRINT=1 prints FLOW_SEED's. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "flow/shrink.h"

enum { ROUND = 120, ROUND0 = 1000, MOST_FAILURES = 200, STUCK_SECONDS = 20, MOST_SHRUNK = 4 };
static struct shared { /* with the child */
    volatile int now, way;
    volatile bool made;     /* a trial's program is one, and its back end has begun */
    volatile uint64_t seed; /* of `now` */
    uint64_t programs, rejected, runs[NWAYS], refused[NWAYS];
    struct failure {
        uint64_t seed;
        int way;
        char why[300];
    } failed[MOST_FAILURES];
    int nfailed;
    char refusal[300];
} * shared;
static bool ways[NWAYS];
/* Compilers take longest for narrow vectors: one kernel in so many runs, unless ways were chosen. */
static unsigned stride[NWAYS] = {1, 1, 1, 1, 1, 1};

static void add_failure(uint64_t seed, int way, const char *why)
{
    if (shared->nfailed == MOST_FAILURES)
        return;
    struct failure *x = &shared->failed[shared->nfailed++];
    x->seed = seed;
    x->way = way;
    snprintf(x->why, sizeof x->why, "%s", why);
}

static bool has_failed(uint64_t seed, int way)
{
    for (int k = 0; k < shared->nfailed; k++)
        if (shared->failed[k].seed == seed && shared->failed[k].way == way)
            return true;
    return false;
}

/* ---- a child's work ---- */

/* The job of a program, if the reference takes it. */
static bool make_job(struct job *j, const struct program *p)
{
    static struct graphs g;
    char why[80];
    memset(j, 0, sizeof *j);
    j->want = malloc(sizeof *j->want);
    if (!lay_out(p, &g) || !reference_run(p, &g, j->want, why, sizeof why)) {
        free(j->want);
        return false;
    }
    j->seed = p->seed;
    memcpy(j->block, p->block, sizeof j->block);
    j->grid = p->grid;
    j->text = program_text(p, &g);
    return true;
}

static void note_results(const struct job *job, int n, enum way w)
{
    for (int k = 0; k < n; k++)
        if (job[k].result[w] > 0) {
            shared->runs[w]++;
        } else if (job[k].result[w] < 0) {
            shared->refused[w]++;
            memcpy(shared->refusal, job[k].why[w], sizeof shared->refusal);
        } else {
            add_failure(job[k].seed, (int)w, job[k].why[w]);
        }
}

/* Those of the round's programs that did not crash before, on every back end chosen. */
static void run_round(uint64_t seed, int n, const bool *chosen)
{
    static struct program p;
    struct job *job = calloc((size_t)n, sizeof *job), *some = calloc((size_t)n, sizeof *some);
    int njob = 0;
    for (int k = 0; k < n; k++) {
        shared->seed = seed + (uint64_t)k;
        generate(&p, shared->seed);
        if (make_job(&job[njob], &p))
            njob++;
        else
            shared->rejected++;
    }
    shared->programs += (uint64_t)njob;
    for (int w = 0; w < NWAYS; w++) {
        int m = 0;
        for (int k = 0; k < njob; k++)
            if (!has_failed(job[k].seed, w) && job[k].seed % stride[w] == 0)
                some[m++] = job[k];
        shared->way = w;
        if (!chosen[w] || !m)
            continue;
        run_jobs(some, m, (enum way)w, &shared->now);
        note_results(some, m, (enum way)w);
    }
    exit(0);
}

/* ---- children ---- */

/* Waits for the child; one that stays at a job for long is killed. False with *why for one that did
 * not end well. */
static bool watch(pid_t child, const char **why)
{
    int status = 0, was = NONE;
    time_t since = time(NULL);
    for (;;) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child)
            break;
        if (shared->now != was || was == NONE) {
            was = shared->now;
            since = time(NULL);
        }
        if (time(NULL) - since > STUCK_SECONDS) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            *why = "hangs";
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    *why = "crashes";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static uint64_t option(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* Runs the seeds; what crashes is noted, and the round begins again without it. */
static void round_of(uint64_t seed, int n, const bool *chosen)
{
    for (int tries = 0; tries < 5; tries++) {
        struct shared before = *shared;
        const char *why;
        shared->now = NONE;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            run_round(seed, n, chosen);
        if (watch(child, &why))
            return;
        uint64_t bad = shared->now == NONE ? shared->seed : 0;
        int way = shared->way;
        if (shared->now != NONE) { /* which seed the job has: those before it are the accepted ones */
            static struct program p;
            struct job j;
            int left = shared->now;
            for (uint64_t s = seed; s < seed + (uint64_t)n; s++) {
                generate(&p, s);
                bool took = make_job(&j, &p);
                if (took) {
                    free(j.text);
                    free(j.want);
                }
                bool failed = false;
                for (int k = 0; k < before.nfailed; k++)
                    failed |= before.failed[k].seed == s && before.failed[k].way == way;
                failed |= s % stride[way] != 0;
                if (took && !failed && left-- == 0) {
                    bad = s;
                    break;
                }
            }
        }
        *shared = before;
        add_failure(bad, way, why);
    }
}

/* ---- reducing ---- */

struct trial {
    int way;
};

/* The way's child exits with 0 if the program runs right there, or is none. One that ends before its back end has begun
 * says nothing of that. */
static bool fails(const struct program *p, void *arg)
{
    const struct trial *t = arg;
    const char *why;
    shared->now = NONE;
    shared->made = false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct job j;
        if (!freopen("/dev/null", "w", stdout) || !make_job(&j, p))
            _exit(0);
        shared->made = true;
        shared->now = 0;
        run_jobs(&j, 1, (enum way)t->way, &shared->now);
        memcpy(shared->refusal, j.why[t->way], sizeof j.why[0]);
        _exit(j.result[t->way] == 0);
    }
    return !watch(child, &why) && shared->made;
}

static void print_commented(const char *text, FILE *f)
{
    for (const char *end; *text; text = end + (*end != '\0')) {
        end = strchrnul(text, '\n');
        fprintf(f, "#   %.*s\n", (int)(end - text), text);
    }
}

static void reduce(const struct failure *x)
{
    static struct program p;
    static struct graphs g;
    struct trial t = {x->way};
    const char *keep = getenv("FLOW_KEEP");
    char path[600];
    generate(&p, x->seed);
    shared->refusal[0] = '\0';
    if (!fails(&p, &t)) {
        printf("# alone it runs\n");
        return;
    }
    shrink(&p, fails, &t, (int)option("FLOW_SHRINK", 60));
    fails(&p, &t);
    if (!lay_out(&p, &g))
        return;
    char *text = program_text(&p, &g);
    printf("# reduced to %u blocks of %u x %u x %u threads: %s\n", p.grid, p.block[0], p.block[1], p.block[2],
           shared->refusal);
    print_commented(text, stdout);
    snprintf(path, sizeof path, "%s/%llu-%d.ptx", keep ? keep : ".", (unsigned long long)x->seed, x->way);
    FILE *f = keep ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "// %s, grid %u, block %u x %u x %u: %s\n%s", way_name[x->way], p.grid, p.block[0], p.block[1],
                p.block[2], shared->refusal, text);
        fclose(f);
    }
    free(text);
}

/* ---- the search ---- */

static int report(bool sound)
{
    for (int k = 0, shrunk = 0; k < shared->nfailed; k++) {
        struct failure x = shared->failed[k];
        printf("not ok kernel %llu on %s: %s\n", (unsigned long long)x.seed, way_name[x.way], x.why);
        if (shrunk++ < (int)option("FLOW_SHRUNK", MOST_SHRUNK))
            reduce(&x);
        fflush(stdout);
    }
    for (int w = 0; w < NWAYS; w++)
        if (ways[w])
            printf("# %s%s: %llu kernels alike, %llu refused%s%s\n", way_name[w],
                   light() && w >= TIER1_PLAIN && w <= TIER1_AVX512 ? ", light" : "",
                   (unsigned long long)shared->runs[w], (unsigned long long)shared->refused[w],
                   shared->refused[w] ? ", as " : "", shared->refused[w] ? shared->refusal : "");
    printf("%s %llu kernels of control flow, %llu more end too late\n", shared->nfailed ? "not ok" : "ok",
           (unsigned long long)shared->programs, (unsigned long long)shared->rejected);
    return shared->nfailed != 0 || !sound;
}

static int print_one(uint64_t seed)
{
    static struct program p;
    struct job j;
    generate(&p, seed);
    if (!make_job(&j, &p))
        return 1;
    printf("// grid %u, block %u x %u x %u\n%s", p.grid, p.block[0], p.block[1], p.block[2], j.text);
    return 0;
}

int main(void)
{
    static const bool tier0[NWAYS] = {[TIER0] = true, [BASELINE] = true};
    uint64_t seed = option("FLOW_SEED", 1), seconds = option("FLOW_SECONDS", 0), count = option("FLOW_COUNT", 240);
    const char *chosen = getenv("FLOW_WAYS");
    time_t end = time(NULL) + (time_t)seconds;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    if (getenv("FLOW_PRINT"))
        return print_one(seed);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const bool sound = shrink_is_sound();
    for (int w = 0; w < NWAYS; w++)
        ways[w] = (!chosen || strchr(chosen, '0' + w)) && way_possible((enum way)w);
    for (int w = TIER1_AVX512, n = 1; w >= TIER1_PLAIN && !chosen; w--)
        if (ways[w]) {
            stride[w] = (unsigned)n;
            n = n == 1 ? 8 : 30;
        }
    for (uint64_t done = 0; (seconds ? time(NULL) < end : done < count) && shared->nfailed < 40;) {
        int n = seconds || count - done > ROUND ? ROUND : (int)(count - done);
        round_of(seed + done, n, ways);
        done += (uint64_t)n;
        if (ways[TIER0]) /* it costs little: some more without a compiler */
            round_of((seed + done) * 100000, ROUND0, tier0);
    }
    return report(sound);
}
