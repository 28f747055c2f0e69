/* Runs of the toolkit's compiler for `cumu doctor`, and the parts of the report that are made of them. */
#ifndef CUMU_CLI_DOCTOR_COMPILER_H
#define CUMU_CLI_DOCTOR_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

struct doctor_run {
    int status;
    unsigned ms;
    char log[4096];
    unsigned char *out; /* malloc'ed, a megabyte at most; NULL if there is none */
    size_t size;
};
/* The compiler with these words (split at spaces), behind them "kernel.mu -o out" where a text is given, for at most 20
 * seconds. False: it could not be tried; else free run->out. */
bool doctor_compile(struct doctor_run *run, const char *compiler, const char *words, const char *text);
/* The line that says most: the first with an error in it, else the first. */
void doctor_first_error(const char *log, char line[160]);

#define DOCTOR_KERNEL(body) "#include <musa_runtime.h>\nextern \"C\" __global__ void probe(int *p) { " body " }\n"

/* The commands that kernels are compiled by, one below the other, each with a kernel as programs' are: what it comes
 * to, and the time it takes. (doctor_ladder.c) */
void doctor_ladder(const char *compiler, unsigned arch);

#endif
