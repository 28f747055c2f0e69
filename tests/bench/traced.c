/* What a call costs while it is traced: cudaGetDevice through the facade, with tracing off, on for other
 * functions, and on for it, as text to /dev/null and to a file. Started under `cumu run`; starts itself for
 * each way, for tracing is decided once in a process. Prints `bench trace.FIGURE VALUE ns` lines. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 31, CALLS_OFF = 100000, CALLS_ON = 2000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const char *figure, int calls)
{
    void *library = dlopen("libcudart.so.13", RTLD_NOW);
    int (*get)(int *), device;
    void *f = library ? dlsym(library, "cudaGetDevice") : NULL;
    double took[ROUNDS];
    if (!f)
        return 1;
    memcpy(&get, &f, sizeof get);
    if (get(&device))
        return 1;
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_ns();
        for (int i = 0; i < calls; i++)
            if (get(&device))
                return 1;
        took[r] = (now_ns() - begin) / calls;
    }
    qsort(took, ROUNDS, sizeof *took, by_value);
    printf("bench trace.%s %.2f ns\n", figure, took[ROUNDS / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return measure(argv[1], atoi(argv[2]));
    char file[] = "/tmp/cumu-bench-traced.XXXXXX";
    int fd = mkstemp(file);
    if (fd < 0)
        return 1;
    (void)close(fd);
    const struct {
        const char *figure, *to, *filter, *format;
        int calls;
    } ways[] = {
        {"call_off", NULL, NULL, "text", CALLS_OFF},
        {"call_not_selected", file, "-cudaGetDevice", "text", CALLS_OFF},
        {"call_text_null", "/dev/null", "", "text", CALLS_ON},
        {"call_text_file", file, "", "text", CALLS_ON},
        {"call_jsonl_file", file, "", "jsonl", CALLS_ON},
    };
    int bad = 0;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways && !bad; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            char calls[16];
            (void)snprintf(calls, sizeof calls, "%d", ways[i].calls);
            if (ways[i].to && (setenv("CUMU_TRACE", ways[i].to, 1) || setenv("CUMU_TRACE_FILTER", ways[i].filter, 1) ||
                               setenv("CUMU_TRACE_FORMAT", ways[i].format, 1)))
                _exit(1);
            (void)execl("/proc/self/exe", argv[0], ways[i].figure, calls, (char *)NULL);
            _exit(1);
        }
        int status = 1;
        bad = pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    (void)unlink(file);
    return bad;
}
