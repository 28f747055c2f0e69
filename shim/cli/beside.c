/* Runs programs side by side (beside.h). Each is the leader of a process group, and stays a zombie until the end, so
 * that its group's number is nobody else's when the group is ended. What leaves its group comes to us as the subreaper,
 * and is ended, too; the programs themselves end with us however we end. */
#include "cli/beside.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 1 << 20 /* of a line that is held back */, READS = 64 /* of one stream in a row */, STRAYS_MS = 2000 };

struct run {
    struct cumu_beside *all;
    int n, left; /* left: have not ended */
    int grace, failed /* index of the first that failed, -1 */, broken /* our own output is closed */;
    bool ending;    /* all have been told to end */
    double kill_at; /* seconds of the clock, 0: never */
    sigset_t heard, before;
    int signals;
};

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void tell(const struct run *r, int number)
{
    for (int i = 0; i < r->n; i++) {
        struct cumu_beside *c = &r->all[i];
        const unsigned char byte = (unsigned char)number;
        if (c->remote && number != SIGKILL) {
            if (c->hold >= 0 && number != SIGTSTP && number != SIGCONT &&
                write(c->hold, &byte, 1) < 0) /* it is gone: its end tells more */
                continue;
        } else if (c->pid > 0) {
            (void)kill(-c->pid, number);
        }
    }
}

static void end_all(struct run *r)
{
    if (!r->ending)
        tell(r, SIGTERM);
    r->ending = true;
    if (r->kill_at == 0)
        r->kill_at = now() + r->grace;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void put(struct run *r, const struct cumu_beside *c, int which, const char *text, size_t n)
{
    FILE *to = which ? stderr : stdout;
    if (fprintf(to, "%s%.*s\n", c->mark, (int)n, text) < 0 || fflush(to) != 0)
        r->broken = 1;
}

/* Keeps [text, text + n) for the line that it begins. Without memory, or of an endless line, it is a line itself. */
static void keep(struct run *r, struct cumu_beside *c, int which, const char *text, size_t n)
{
    const size_t want = c->out[which].n + n;
    if (want > c->out[which].room) {
        char *grown = want <= LONGEST ? realloc(c->out[which].text, 2 * want) : NULL;
        if (!grown) {
            if (c->out[which].n)
                put(r, c, which, c->out[which].text, c->out[which].n);
            put(r, c, which, text, n);
            c->out[which].n = 0;
            return;
        }
        c->out[which].text = grown;
        c->out[which].room = 2 * want;
    }
    memcpy(c->out[which].text + c->out[which].n, text, n);
    c->out[which].n = want;
}

/* What is there now, or much of it; at the end of the stream it is closed. */
static void pass_on(struct run *r, struct cumu_beside *c, int which)
{
    char text[16384];
    ssize_t n;
    int reads = 0;
    while (c->out[which].fd >= 0 && (n = read(c->out[which].fd, text, sizeof text)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        const char *at = text, *end = text + n, *line;
        for (; (line = memchr(at, '\n', (size_t)(end - at))); at = line + 1)
            if (c->out[which].n) {
                keep(r, c, which, at, (size_t)(line - at));
                if (c->out[which].n)
                    put(r, c, which, c->out[which].text, c->out[which].n);
                c->out[which].n = 0;
            } else {
                put(r, c, which, at, (size_t)(line - at));
            }
        if (end > at)
            keep(r, c, which, at, (size_t)(end - at));
        if (++reads == READS)
            return;
    }
    if (c->out[which].fd < 0)
        return;
    if (c->out[which].n)
        put(r, c, which, c->out[which].text, c->out[which].n);
    (void)close(c->out[which].fd);
    c->out[which].fd = -1;
    c->out[which].n = 0;
}

/* ---- beginning and end of one ------------------------------------------------------------------ */

static void become(const struct run *r, const struct cumu_beside *c, int in, const int out[2], pid_t parent)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CUMU_EXIT_USAGE);
    if ((in >= 0 && dup2(in, 0) < 0) || dup2(out[0], 1) < 0 || dup2(out[1], 2) < 0)
        _exit(CUMU_EXIT_USAGE);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &r->before, NULL);
    const int status = c->become(c);
    (void)fflush(NULL);
    _exit(status);
}

static bool start(struct run *r, struct cumu_beside *c)
{
    int in[2] = {-1, -1}, out[2][2] = {{-1, -1}, {-1, -1}};
    const pid_t us = getpid();
    bool good = pipe2(out[0], O_CLOEXEC) == 0 && pipe2(out[1], O_CLOEXEC) == 0;
    if (c->remote)
        good = good && pipe2(in, O_CLOEXEC) == 0;
    else if (!c->input)
        good = good && (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
    (void)fflush(NULL);
    c->pid = good ? fork() : -1;
    if (c->pid == 0)
        become(r, c, in[0], (const int[]){out[0][1], out[1][1]}, us);
    if (c->pid < 0)
        (void)cumu_fail(CUMU_EXIT_USAGE, "%s: cannot be started: %s", c->who, strerror(errno));
    else
        (void)setpgid(c->pid, c->pid); /* it may be told to end before it has come that far */
    if (in[0] >= 0)
        (void)close(in[0]);
    c->hold = in[1];
    for (int k = 0; k < 2; k++) {
        if (out[k][1] >= 0)
            (void)close(out[k][1]);
        c->out[k].fd = out[k][0];
        if (out[k][0] >= 0)
            (void)fcntl(out[k][0], F_SETFL, O_NONBLOCK);
    }
    return c->pid > 0;
}

static void report(const struct cumu_beside *c)
{
    if (WIFSIGNALED(c->status))
        (void)cumu_fail(0, "%s (process %ld) was ended by signal %d, %s", c->who, (long)c->pid, WTERMSIG(c->status),
                        strsignal(WTERMSIG(c->status)));
    else
        (void)cumu_fail(0, "%s (process %ld) ended with status %d", c->who, (long)c->pid, WEXITSTATUS(c->status));
}

/* Looks who has ended since, without taking it away. */
static void look(struct run *r)
{
    for (int i = 0; i < r->n; i++) {
        struct cumu_beside *c = &r->all[i];
        siginfo_t info = {0};
        if (c->ended || c->pid <= 0 || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
            continue;
        c->ended = true;
        c->status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
        r->left--;
        for (int k = 0; k < 2; k++) /* its last words come before ours about it */
            pass_on(r, c, k);
        if (c->status && r->failed < 0 && !r->broken) { /* nobody reads any more: no failure of theirs */
            r->failed = i;
            report(c);
            end_all(r);
        }
    }
}

/* ---- all of them -------------------------------------------------------------------------------- */

static void hear(struct run *r, int number)
{
    if (number == SIGCHLD) {
        look(r);
    } else if (number == SIGTSTP) {
        tell(r, SIGTSTP);
        (void)kill(getpid(), SIGSTOP);
        tell(r, SIGCONT);
    } else {
        const bool ends = number != SIGUSR1 && number != SIGUSR2;
        if (ends && r->ending && r->failed < 0) /* asked twice */
            r->kill_at = now();
        else
            tell(r, number);
        r->ending = r->ending || ends;
    }
}

/* One byte of our standard input is a signal for all, its end the end of all. */
static bool obey(struct run *r)
{
    unsigned char byte;
    const ssize_t n = read(0, &byte, 1);
    if (n == 1 && sigismember(&r->heard, byte) == 1 && byte != SIGCHLD)
        hear(r, byte);
    else if (n == 0 || (n < 0 && errno != EINTR))
        end_all(r);
    return n != 0 && (n > 0 || errno == EINTR);
}

/* Ends what the programs have left: in their groups, and what came to us as its parent died. */
static void end_strays(const struct run *r)
{
    char path[64], list[4096];
    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    for (int i = 0; i < r->n; i++)
        if (r->all[i].pid > 0)
            (void)kill(-r->all[i].pid, SIGKILL);
    for (int ms = 0; ms < STRAYS_MS; ms++) {
        pid_t done;
        while ((done = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (done < 0 && errno == ECHILD)
            return;
        FILE *f = fopen(path, "re");
        size_t n = f ? fread(list, 1, sizeof list - 1, f) : 0;
        if (f)
            (void)fclose(f);
        list[n] = 0;
        for (char *at = list, *end; (done = (pid_t)strtol(at, &end, 10)) > 0; at = end)
            if (*end) /* the last number may be cut off */
                (void)kill(done, SIGKILL);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Until all have ended. Pipes may stay open longer, in the hands of what they started: that is ended then. */
static void wait_all(struct run *r, bool commanded)
{
    struct pollfd *p = calloc(2 * (size_t)r->n + 2, sizeof *p);
    while (r->left > 0) {
        double wait = r->kill_at > 0 ? r->kill_at - now() : p ? 3600 : 0.01;
        if (r->kill_at > 0 && wait <= 0) {
            tell(r, SIGKILL);
            r->kill_at = now() + 1;
            continue;
        }
        if (p) {
            p[0] = (struct pollfd){.fd = r->signals, .events = POLLIN};
            p[1] = (struct pollfd){.fd = commanded ? 0 : -1, .events = POLLIN};
            for (int i = 0; i < 2 * r->n; i++)
                p[2 + i] = (struct pollfd){.fd = r->all[i / 2].out[i % 2].fd, .events = POLLIN};
        }
        (void)poll(p, p ? 2 * (nfds_t)r->n + 2 : 0, (int)(wait * 1000) + 1);
        for (int i = 0; i < 2 * r->n; i++)
            if (!p || p[2 + i].revents)
                pass_on(r, &r->all[i / 2], i % 2);
        if (r->broken == 1) {
            r->broken = 2;
            end_all(r);
        }
        struct signalfd_siginfo info;
        while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
            hear(r, (int)info.ssi_signo);
        if (p && p[1].revents)
            commanded = obey(r) && commanded;
    }
    free(p);
}

int cumu_beside_run(struct cumu_beside *all, int n, int grace, bool commanded)
{
    static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
    struct run r = {.all = all, .n = n, .grace = grace, .failed = -1};
    (void)sigemptyset(&r.heard);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaddset(&r.heard, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &r.heard, &r.before);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that leaves is to end the programs, and not us alone */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    r.signals = signalfd(-1, &r.heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r.signals < 0)
        return cumu_fail(CUMU_EXIT_USAGE, "signalfd: %s", strerror(errno));
    bool good = true;
    for (int i = 0; i < n; i++) {
        all[i].hold = all[i].out[0].fd = all[i].out[1].fd = -1;
        good = good && start(&r, &all[i]);
        r.left += all[i].pid > 0;
    }
    if (!good)
        end_all(&r);
    wait_all(&r, commanded);
    end_strays(&r);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) {
            pass_on(&r, &all[i], k);
            if (all[i].out[k].fd >= 0)
                (void)close(all[i].out[k].fd);
            free(all[i].out[k].text);
        }
        if (all[i].hold >= 0)
            (void)close(all[i].hold);
    }
    (void)close(r.signals);
    (void)sigprocmask(SIG_SETMASK, &r.before, NULL);
    if (r.failed >= 0) {
        const int status = all[r.failed].status;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return !good ? CUMU_EXIT_USAGE : r.broken ? 128 + SIGPIPE : 0;
}
