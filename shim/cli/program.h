/* The program to run or check: found on PATH, followed through #! lines, vetted. */
#ifndef CUMU_CLI_PROGRAM_H
#define CUMU_CLI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

struct cumu_program {
    char path[PATH_MAX];  /* what exec gets: the file found for the name */
    char image[PATH_MAX]; /* the ELF file that will run: path, or the interpreter of a script */
};

/* 0, or an exit status (126, 127) after saying what is wrong with it. */
int cumu_program_find(struct cumu_program *p, const char *name);
/* The readable file that a path, or a program's name, stands for: what check and warm look into. 0, or an
 * exit status after saying what is wrong. */
int cumu_program_file(char path[PATH_MAX], const char *name);
/* Does the file start with #!? */
bool cumu_program_is_script(const char *path);
#define CUMU_TRUNCATED "a truncated"
/* Why the dynamic linker would not preload anything into this ELF file, or NULL. For a shared object
 * (library = true) an entry point is not asked for. Begins with CUMU_TRUNCATED where the file is cut off. */
const char *cumu_program_refusal(const char *image, bool library);

#endif
