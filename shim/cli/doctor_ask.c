/* cumu doctor: what the MUSA libraries answer. They are strangers here, so a child asks them. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 30, ATTRIBUTES = 140, ERRORS = 1000 };

static void *handle[16]; /* of the libraries, by number */

static void *function(const char *name)
{
    void *at = NULL;
    for (unsigned k = 0; k < 16 && !at; k++)
        at = handle[k] ? dlsym(handle[k], name) : NULL;
    if (!at)
        printf("%-36s not there\n", name);
    return at;
}

static void load(void)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX];
    /* The device libraries of some count on the runtime's symbols (mapping/facts/musa.md L4). */
    for (unsigned k = 0; l && l[k].name && k < 16; k++)
        if (cumu_sdk_library(&l[k], path) && !(handle[k] = dlopen(path, RTLD_NOW | RTLD_GLOBAL)))
            printf("%-36s %s\n", l[k].name, dlerror());
}

static void ask_int(const char *name)
{
    int (*f)(int *) = (int (*)(int *))(uintptr_t)function(name);
    int value = -1, r = f ? f(&value) : 0;
    if (f)
        printf("%-36s %d (status %d)\n", name, value, r);
}

static void ask_devices(void)
{
    int (*count)(int *) = (int (*)(int *))(uintptr_t)function("musaGetDeviceCount");
    int (*attribute)(int *, int, int) = (int (*)(int *, int, int))(uintptr_t)function("musaDeviceGetAttribute");
    int n = 0, value;
    if (!count || !attribute || count(&n) != 0)
        return;
    for (int d = 0; d < n; d++)
        for (int a = 1; a < ATTRIBUTES; a++)
            if (attribute(&value, a, d) == 0)
                printf("device %d attribute %-3d %d\n", d, a, value);
}

static void ask_errors(void)
{
    const char *(*name)(int) = (const char *(*)(int))(uintptr_t)function("musaGetErrorName");
    const char *none = name ? name(-12345) : NULL;
    for (int e = 0; name && e < ERRORS; e++) {
        const char *text = name(e);
        if (text && (!none || strcmp(text, none) != 0))
            printf("error %-3d %s\n", e, text);
    }
}

/* Kinds of memory, which public sources give in two ways; the handles that stand for streams. */
static void ask_values(void)
{
    int (*make)(void **, size_t) = (int (*)(void **, size_t))(uintptr_t)function("musaMalloc");
    int (*make_host)(void **, size_t) = (int (*)(void **, size_t))(uintptr_t)function("musaMallocHost");
    int (*attributes)(void *, const void *) =
        (int (*)(void *, const void *))(uintptr_t)function("musaPointerGetAttributes");
    int (*query)(void *) = (int (*)(void *))(uintptr_t)function("musaStreamQuery");
    void *device = NULL, *host = NULL;
    int of[64] = {0};
    if (make && attributes && make(&device, 4096) == 0 && attributes(of, device) == 0)
        printf("memory of musaMalloc has type       %d (expected 2)\n", of[0]);
    if (make_host && attributes && make_host(&host, 4096) == 0 && attributes(of, host) == 0)
        printf("memory of musaMallocHost has type   %d (expected 1)\n", of[0]);
    for (uintptr_t s = 1; query && s <= 2; s++)
        printf("stream %zu answers                    %d (expected 0)\n", (size_t)s, query((void *)s));
}

void cumu_doctor_ask(void)
{
    int status = 0;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(SECONDS);
        load();
        ask_int("musaRuntimeGetVersion");
        ask_int("musaDriverGetVersion");
        ask_int("muDriverGetVersion");
        ask_int("mcclGetVersion");
        ask_int("mufftGetVersion");
        ask_int("murandGetVersion");
        (void)fflush(stdout);
        ask_devices();
        (void)fflush(stdout);
        ask_values();
        (void)fflush(stdout);
        ask_errors();
        (void)fflush(stdout);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        printf("the libraries could not be asked\n");
    else if (WIFSIGNALED(status))
        printf(WTERMSIG(status) == SIGALRM ? "the libraries did not answer in %d seconds\n"
                                           : "the libraries died of signal %d\n",
               WTERMSIG(status) == SIGALRM ? SECONDS : WTERMSIG(status));
}
