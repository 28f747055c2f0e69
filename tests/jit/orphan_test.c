/* However a program ends, nothing of a compiler that it was running is left a second later. */
#include "compile/child.h"
#include "check.h"
#include "sanitize.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char fifo[64], script[200];

/* A program's own, as ASan brings one that clears marks from the thread's stack to the one it is called on, and so all
 * of memory where a minder calls it: cumu starts its processes without. */
static int vforks;
pid_t vfork(void)
{
    vforks++;
    errno = ENOSYS;
    return -1;
}

/* As a driver: two processes, one of them behind a third, that would go on for minutes. All have the FIFO open, and
 * say so by a byte each. */
static int compile(unsigned seconds)
{
    char sh[] = "sh", option[] = "-c", *argv[] = {sh, option, script, NULL}, *envp[] = {"PATH=/usr/bin:/bin", NULL};
    const struct cumu_child c = {
        .file = "/bin/sh", .argv = argv, .envp = envp, .folder = -1, .output = "/dev/null", .seconds = seconds};
    return cumu_child_run(&c);
}

static void *compile_on(void *unused)
{
    (void)compile(100);
    return unused;
}

enum ending { BY_SIGNAL, BY_EXIT, BY_EXEC, BY_MINDER, ENDINGS };

/* The program: compiles on a thread of its own, and ends in the given way when told to. */
static _Noreturn void program(enum ending how, int go)
{
    pthread_t thread;
    char byte;
    (void)pthread_create(&thread, NULL, compile_on, NULL);
    (void)!read(go, &byte, 1);
    if (how == BY_EXEC)
        (void)execl("/bin/sleep", "sleep", "2", (char *)NULL);
    exit(0);
}

/* The minder: the process's only child, that of another thread's included. */
static pid_t minder_of(pid_t pid)
{
    char path[64], text[200];
    pid_t found = -1;
    (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        (void)snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, e->d_name);
        FILE *f = e->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (f && fgets(text, sizeof text, f))
            found = (pid_t)atol(text);
        if (f)
            (void)fclose(f);
    }
    if (d)
        (void)closedir(d);
    return found;
}

/* Milliseconds until nobody has the FIFO open for writing any more; -1: longer than `most`. */
static int until_gone(int reader, int most)
{
    struct pollfd p = {.fd = reader, .events = 0};
    int ms = 0;
    for (; ms < most && poll(&p, 1, 10) == 0; ms += 10)
        ;
    return p.revents & POLLHUP ? ms : -1;
}

static void test_end(enum ending how, int sig, const char *what)
{
    int go[2], reader = open(fifo, O_RDONLY | O_NONBLOCK), ms = -1;
    (void)fflush(stdout);
    if (reader < 0 || pipe(go) != 0) {
        check(false, "files for: %s", what);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)chdir("/tmp"); /* a core file, if there is one, is not the tree's */
        program(how, go[0]);
    }
    char bytes[8];
    struct pollfd p = {.fd = reader, .events = POLLIN};
    int have = 0;
    for (int tries = 0; have < 3 && tries < 500; tries++)
        if (poll(&p, 1, 20) > 0 && p.revents & POLLIN)
            have += (int)read(reader, bytes, sizeof bytes);
    if (how == BY_SIGNAL)
        (void)kill(pid, sig);
    else if (how == BY_MINDER)
        (void)kill(minder_of(pid), SIGKILL);
    else
        (void)!write(go[1], "x", 1);
    ms = until_gone(reader, 5000);
    check(have == 3 && ms >= 0 && ms <= 1000, "nothing is left after %s (%d of 3 processes, %d ms)", what, have, ms);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(reader);
    (void)close(go[0]);
    (void)close(go[1]);
}

/* A driver that ends leaves nothing either, and one that takes too long takes all with it. */
static void test_time(void)
{
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    check(compile(1) == 128 + SIGKILL && until_gone(reader, 1000) >= 0, "nothing is left of one that took too long");
    char kept[sizeof script];
    memcpy(kept, script, sizeof kept);
    (void)snprintf(script, sizeof script, "exec 9>%s; sleep 100 & exit 7", fifo);
    check(compile(100) == 7 && until_gone(reader, 1000) >= 0, "nor of one that has left something behind");
    check(vforks == 0, "the program's vfork was not called");
    memcpy(script, kept, sizeof kept);
    (void)close(reader);
}

/* The limits of what runs, as it sees them. */
static void test_limits(void)
{
    char sh[] = "sh", option[] = "-c", text[] = "ulimit -d; ulimit -t; ulimit -c; cat /proc/self/oom_score_adj; pwd",
         out[] = "said", said[200] = "", folder[] = "/tmp/cumu-orphan.XXXXXX", expected[200];
    char *argv[] = {sh, option, text, NULL}, *envp[] = {"PATH=/usr/bin:/bin", NULL};
    int dir = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY) : -1;
    const struct cumu_child c = {
        .file = "/bin/sh", .argv = argv, .envp = envp, .folder = dir, .output = out, .seconds = 10, .megabytes = 100};
    check(dir >= 0 && cumu_child_run(&c) == 0, "a child in a folder of its own");
    int fd = openat(dir, out, O_RDONLY);
    (void)!read(fd, said, sizeof said - 1);
    (void)snprintf(expected, sizeof expected, "%u\n15\n0\n1000\n%s\n", 100u << 10, folder);
    bool as_expected = !strcmp(said, expected);
    for (char *s = said; *s; s++)
        *s = *s == '\n' ? ' ' : *s;
    check(as_expected, "its memory, CPU time and core are limited: %s", said);
    (void)close(fd);
    (void)unlinkat(dir, out, 0);
    (void)close(dir);
    (void)rmdir(folder);
}

int main(void)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {{SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},
                   {SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGXCPU, "SIGXCPU"}, {SIGPIPE, "SIGPIPE"}};
#if CUMU_ASAN || CUMU_TSAN
    printf("skip orphans: sanitizers do not know processes that share memory\n");
    return 0;
#endif
    (void)snprintf(fifo, sizeof fifo, "/tmp/cumu-fifo.%ld", (long)getpid());
    (void)snprintf(script, sizeof script,
                   "exec 9>%s; printf a >&9; sh -c 'printf b >&9; sleep 200; :' & sleep 200 & printf c >&9; wait",
                   fifo);
    check(mkfifo(fifo, 0600) == 0, "a FIFO");
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        test_end(BY_SIGNAL, signals[i].number, signals[i].name);
    test_end(BY_EXIT, 0, "exit");
    test_end(BY_EXEC, 0, "exec");
    test_end(BY_MINDER, 0, "SIGKILL of the minder");
    test_time();
    test_limits();
    (void)unlink(fifo);
    return check_end("orphans");
}
