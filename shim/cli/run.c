/* cumu run: starts a program with cumu preloaded. Nothing is left between the caller and the program:
 * it is exec'ed, so signals and the exit status are its own. */
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "core/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *backend;
    bool verbose, dry, gdb;
    char **program; /* and its arguments */
};

/* Reads the options before the program; what follows the program's name is its own. */
static int parse(struct options *o, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--") == 0) {
            i++;
            break;
        }
        if (strcmp(a, "-v") == 0)
            o->verbose = true;
        else if (strcmp(a, "-n") == 0)
            o->dry = true;
        else if (strcmp(a, "-g") == 0)
            o->gdb = true;
        else if (strncmp(a, "--backend", 9) == 0 && (a[9] == '=' || !a[9])) {
            o->backend = a[9] ? a + 10 : argv[++i];
            if (!o->backend || !cumu_launch_backend(o->backend))
                return cumu_usage(&cumu_verb_run, "--backend wants auto, musa or host");
        } else
            return cumu_usage(&cumu_verb_run, "unknown option %s", a);
    }
    if (i >= argc)
        return cumu_usage(&cumu_verb_run, "no program given");
    o->program = argv + i;
    return 0;
}

/* A word as the shell would read it back. */
static void quoted(FILE *f, const char *s)
{
    if (*s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%") == strlen(s)) {
        fputs(s, f);
        return;
    }
    fputc('\'', f);
    for (; *s; s++)
        if (*s == '\'')
            fputs("'\\''", f);
        else
            fputc(*s, f);
    fputc('\'', f);
}

static void show(FILE *f, const struct cumu_launch *l, char **program)
{
    for (unsigned i = 0; l->var[i].name; i++) {
        fprintf(f, "%s=", l->var[i].name);
        quoted(f, l->var[i].value);
        fputc(' ', f);
    }
    for (char **a = program; *a; a++) {
        quoted(f, *a);
        fputc(a[1] ? ' ' : '\n', f);
    }
    (void)fflush(f);
}

/* gdb itself stays free of the preloads: the program gets them from gdb's own environment settings. */
static int run_gdb(const struct cumu_launch *l, const char *path, char **program)
{
    unsigned n = 0, nargs = 0;
    while (program[nargs])
        nargs++;
    char **argv = calloc(10 + 2 * CUMU_LAUNCH_VARS + nargs, sizeof *argv);
    if (!argv)
        return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    char gdb[] = "gdb", quiet[] = "-q", ex[] = "-ex", shell[] = "set startup-with-shell off", args[] = "--args",
         debug[] = "set environment CUMU_JIT_DEBUG=1";
    argv[n++] = gdb;
    argv[n++] = quiet;
    argv[n++] = ex;
    argv[n++] = shell;
    if (!cumu_env("CUMU_JIT_DEBUG")) { /* lines of kernels */
        argv[n++] = ex;
        argv[n++] = debug;
    }
    for (unsigned i = 0; l->var[i].name; i++) {
        argv[n++] = ex;
        if (asprintf(&argv[n++], "set environment %s=%s", l->var[i].name, l->var[i].value) < 0) {
            free(argv);
            return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
        }
    }
    argv[n++] = args;
    argv[n++] = strdup(path);
    for (unsigned i = 1; i < nargs; i++)
        argv[n++] = program[i];
    (void)execvp(gdb, argv);
    int status = cumu_fail(CUMU_EXIT_NOT_FOUND, "gdb: %s", strerror(errno));
    free(argv);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct cumu_program p;
    struct cumu_launch l = {0};
    int status = parse(&o, argc, argv);
    if (!status)
        status = cumu_program_find(&p, o.program[0]);
    if (!status)
        status = cumu_launch_plan(&l, p.image, o.backend);
    if (status)
        goto out;
    if (o.verbose || o.dry)
        show(o.dry ? stdout : stderr, &l, o.program);
    if (o.dry)
        goto out;
    if (o.gdb) {
        status = run_gdb(&l, p.path, o.program);
        goto out;
    }
    status = cumu_launch_exec(&l, p.path, o.program);
out:
    cumu_launch_free(&l);
    return status;
}

const struct cumu_verb_entry cumu_verb_run = {
    "run", "run a CUDA program",
    "usage: cumu run [--backend auto|musa|host] [-v] [-n] [-g] [--] program [arguments]\n"
    "\n"
    "  --backend   MUSA libraries to use (default: CUMU_BACKEND, else the SDK if it loads, else the CPU)\n"
    "  -v          show the environment it sets, then run\n"
    "  -n          show it and stop\n"
    "  -g          run under gdb, with line tables for kernels (CUMU_JIT_DEBUG=1)\n"
    "\n"
    "The exit status is the program's; 125 wrong use, 126 the program cannot be served, 127 not found.\n",
    run};
