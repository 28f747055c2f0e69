/* Options: one table (config.def), read once from the environment on first use. The only reader of
 * the environment in the shim. All functions are thread-safe and cheap after the first call. */
#ifndef CUMU_CORE_CONFIG_H
#define CUMU_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum cumu_option {
#define OPTION(id, name, kind, value, help) CUMU_OPT_##id,
#include "core/config.def"
#undef OPTION
    CUMU_NOPTIONS
};

/* Value of an option of that kind; a value that does not parse was warned about and is the default.
 * Text is never NULL and lives as long as the process. */
bool cumu_opt_bool(enum cumu_option o);
long cumu_opt_int(enum cumu_option o);                   /* INT and CAPABILITY */
const char *cumu_opt_text(enum cumu_option o);           /* TEXT, CHOICE and WORDS */
bool cumu_opt_has(enum cumu_option o, const char *word); /* of WORDS: is it one of them? */

/* A variable that is not cumu's (MUSA_HOME, LD_LIBRARY_PATH ...); NULL if unset or in a setuid process. */
const char *cumu_env(const char *name);
/* Sets a variable unless it is set. */
void cumu_env_default(const char *name, const char *value);
/* Copies variable `from` to `to` unless `to` is set; for the vendor's names (CUDA_LAUNCH_BLOCKING). */
void cumu_env_copy(const char *from, const char *to);
/* The same for every variable whose name begins with `from`: NCCL_DEBUG -> MCCL_DEBUG. */
void cumu_env_copy_prefix(const char *from, const char *to);

/* The environment for a compiler that we start: the process's, without what puts libraries into processes
 * and without cumu's options, with its temporary files in `tmp`. One malloc'ed block, NULL on out of
 * memory; refers to the strings of the environment and to `tmp`. */
char **cumu_env_child(const char *tmp);

/* The parser, for tests: checks `value` for option o. NULL if it is good, else what was expected. */
const char *cumu_opt_expected(enum cumu_option o, const char *value);
/* True if `name` is an option of this table or reserved for the project's own tests (CUMU_TEST_...). */
bool cumu_opt_known(const char *name, size_t length);

#endif
