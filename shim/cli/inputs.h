/* cumu check: the files that an operand stands for: itself, or the ELF files of a folder or of a wheel. */
#ifndef CUMU_CLI_INPUTS_H
#define CUMU_CLI_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct check_input {
    char *path; /* where it can be read */
    char *name; /* what it is called in the report: the path, or archive/member */
};

struct check_inputs {
    struct check_input *file; /* in order of their names */
    size_t count;
    char *folders;       /* those that hold shared objects, as LD_LIBRARY_PATH lists them; NULL for a single file */
    char *unpacked;      /* folder that the archive's files were written to; removed by check_inputs_free, or by */
    pid_t remover;       /* a process that waits for the end of this one, -1: none; which it sees by */
    int lifeline;        /* this end of a pipe */
    unsigned unreadable; /* files that could not be looked into; each was said on stderr */
    bool many;           /* a folder or an archive */
};

/* Links are not followed in a folder, so a loop of folders ends. 0, or an exit status after saying what is
 * wrong with the operand. Free in both cases. */
int check_inputs_make(struct check_inputs *in, const char *operand);
void check_inputs_free(struct check_inputs *in);

#endif
