/* Forward progress between the lanes of a warp: locks, tickets, producers and consumers, as nvcc writes them with and
 * without optimisation (ptx/progress.cu). Every lane must get on while others spin; half a minute of CPU is a hang. */
#include "tier0/harness.h"

#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 64, SECONDS = 30 };
struct state {
    uint32_t lock, ticket, serving, sum, flag[64], lock2[8];
};

static const char *volatile running = "";

static void on_alarm(int sig)
{
    static const char text[] = "not ok hangs: ";
    (void)sig;
    if (write(1, text, sizeof text - 1) < 0 || write(1, running, strlen(running)) < 0 || write(1, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

/* sum: what the kernel leaves there; each: what every thread stores */
static const struct progress {
    const char *name;
    uint32_t n, sum;
    bool debug; /* in progress_debug.ptx as well */
} kernels[] = {
    {"guide", 0, THREADS, true},           {"computed", 0, THREADS, false},    {"ticket", 0, THREADS, true},
    {"pairs", 0, THREADS, true},           {"fenced", 0, THREADS, false},      {"done_flag", 0, THREADS, true},
    {"hand_over_hand", 0, THREADS, false}, {"backoff", 0, 2 * THREADS, false}, {"called", 0, THREADS, false},
    {"retry", 0, 3 * THREADS / 2, false},  {"queue", THREADS, THREADS, false}};

/* By the CPU's time: who spins gives it up to all others of a busy machine. */
static void limit(long seconds) { (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {seconds, 0}}, NULL); }

static void run_one(const char *text, const struct progress *p, const char *how)
{
    uint32_t out[THREADS] = {0}, wrong = 0;
    struct state s = {0};
    struct {
        void *out, *state;
        uint32_t n;
    } args = {out, &s, p->n};
    running = p->name;
    limit(SECONDS);
    bool good = t0t_once(text, p->name, 1, THREADS, &args, NULL);
    limit(0);
    for (unsigned t = 0; t < THREADS; t++)
        wrong += out[t] != 1;
    check(good && s.sum == p->sum && !wrong, "%s%s: %u of %u, %u threads wrong", p->name, how, s.sum, p->sum, wrong);
}

static void run_file(const char *path, bool debug)
{
    static char text[1 << 17];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    if (!check(n > 0, "%s can be read", path))
        return;
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        if (kernels[k].debug || !debug)
            run_one(text, &kernels[k], debug ? ", not optimised" : "");
}

int main(void)
{
    signal(SIGPROF, on_alarm);
    run_file("tests/tier0/ptx/progress.ptx", false);
    run_file("tests/tier0/ptx/progress_debug.ptx", true);
    return t0t_done();
}
