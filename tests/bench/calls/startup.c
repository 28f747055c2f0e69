/* What cumu adds to the start of a program that does nothing: in cumu's environment, as children of a program
 * under cumu have it, and through `cumu run`, which is one exec more. Each beside the bare program, and
 * beside a bare exec of a program that execs it. usage: startup CUMU EMPTY
 * Prints `bench hotpath.FIGURE VALUE ms` lines: medians of the paired differences. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ROUNDS = 301, WAYS = 4, VARIABLES = 16 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

/* The environment plus what `cumu env EMPTY` prints: export NAME='VALUE' lines. */
static char **with_cumu(const char *cumu, const char *empty)
{
    static char *list[1024], lines[VARIABLES][8192];
    char command[8192];
    unsigned n = 0, added = 0;
    for (; environ[n] && n < 1000; n++)
        list[n] = environ[n];
    snprintf(command, sizeof command, "'%s' env '%s'", cumu, empty);
    FILE *f = popen(command, "r");
    while (f && added < VARIABLES && fgets(lines[added], sizeof lines[added], f)) {
        char *value = strchr(lines[added], '='), *from = value ? value + 2 : NULL;
        if (!from || strncmp(lines[added], "export ", 7) != 0)
            continue;
        from[strcspn(from, "'")] = 0;
        memmove(value + 1, from, strlen(from) + 1);
        list[n++] = lines[added++] + 7;
    }
    if (!f || pclose(f) || added < 3) {
        fprintf(stderr, "bench: %s does not work\n", command);
        exit(1);
    }
    return list;
}

static double start(char **argv, char **env)
{
    pid_t pid;
    int status = -1;
    double t = now_ms();
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, env) || waitpid(pid, &status, 0) < 0 || status) {
        fprintf(stderr, "bench: %s ends with %x\n", argv[0], status);
        exit(1);
    }
    return now_ms() - t;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "exec") == 0) {
        execv(argv[2], argv + 2);
        return 1;
    }
    if (argc != 3)
        return 2;
    char run[] = "run", backend[] = "--backend=host", exec[] = "exec";
    char *bare[] = {argv[2], NULL}, *through[] = {argv[1], run, backend, argv[2], NULL},
         *twice[] = {argv[0], exec, argv[2], NULL};
    char **env = with_cumu(argv[1], argv[2]);
    double t[WAYS][ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        t[0][r] = start(bare, environ);
        t[1][r] = start(bare, env) - t[0][r];
        t[2][r] = start(through, environ) - t[0][r];
        t[3][r] = start(twice, environ) - t[0][r];
    }
    printf("bench hotpath.startup_bare %.3f ms\n", median(t[0]));
    printf("bench hotpath.startup_extra %.3f ms\n", median(t[1]));
    printf("bench hotpath.startup_run_extra %.3f ms\n", median(t[2]));
    printf("bench hotpath.startup_exec_extra %.3f ms\n", median(t[3]));
    return 0;
}
