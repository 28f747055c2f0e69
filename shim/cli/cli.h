/* What the verbs of the cumu tool share. One file per verb; main.c has the table. */
#ifndef CUMU_CLI_CLI_H
#define CUMU_CLI_CLI_H

#include <limits.h>
#include <stdbool.h>

struct cumu_verb_entry {
    const char *name, *synopsis;       /* synopsis: one line for the list of verbs */
    const char *usage;                 /* `cumu help <verb>` */
    int (*run)(int argc, char **argv); /* argv[0] is the verb; the result is the exit status */
};

extern const struct cumu_verb_entry cumu_verb_run, cumu_verb_env, cumu_verb_check, cumu_verb_ptx, cumu_verb_version,
    cumu_verb_help, cumu_verb_cache, cumu_verb_trace, cumu_verb_coverage, cumu_verb_doctor, cumu_verb_smi,
    cumu_verb_pack, cumu_verb_memcheck, cumu_verb_launch;
extern const struct cumu_verb_entry *const cumu_verbs[]; /* NULL-terminated */

/* Exit statuses of a launcher (as env(1) and the shell). */
enum { CUMU_EXIT_USAGE = 125, CUMU_EXIT_CANNOT_RUN = 126, CUMU_EXIT_NOT_FOUND = 127 };

/* `cumu: text` on stderr, and the status handed back: return cumu_fail(126, "..."). */
int cumu_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The value of option `name` at argv[*i], as --name VALUE (*i moves on) or --name=VALUE; "" if it is missing, NULL for
 * another option. */
const char *cumu_option_value(const char *name, int argc, char **argv, int *i);
/* Wrong arguments: says what, points to the help. Always CUMU_EXIT_USAGE. */
int cumu_usage(const struct cumu_verb_entry *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Folder with libcumu-core.so, facade/ and host/, found from the tool's own place: ../lib/cumu. NULL
 * (and said) if it is not there. Lives as long as the process. */
const char *cumu_lib_dir(void);
/* The tool's own file; where there is no /proc, by the name it was started by. */
bool cumu_self(char path[PATH_MAX]);
/* A datum of the core's, by name: the tables that gen/ makes lie there. NULL (and said) without a core. */
const void *cumu_tool_symbol(const char *name);
/* cumu_tables of core/symbols.h. */
struct cumu_table;
const struct cumu_table *const *cumu_tool_tables(void);
/* Is there a facade with this soname? */
bool cumu_has_facade(const char *soname);

#endif
