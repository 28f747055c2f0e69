/* What the files of `cumu coverage` share: names of functions, asked for and exported. */
#ifndef CUMU_CLI_COVERAGE_H
#define CUMU_CLI_COVERAGE_H

#include "core/hmap.h"
#include "core/symbols.h"

#include <limits.h>
#include <stdbool.h>

enum { CUMU_VERBS = CUMU_PASS + 1 };
extern const char *const cumu_verb_names[CUMU_VERBS]; /* by enum cumu_verb */

/* Made by gen from the compiled objects: where the wrapper of a facade's symbol is written. Ends with NULLs. */
struct cumu_wrapper {
    const char *soname, *symbol, *file; /* "shim/api/cudart/memory.c" */
};
extern const struct cumu_wrapper cumu_wrappers[];

/* What becomes of each symbol (or pattern) in each facade that has it; 1, and the closest names, if one is unknown. */
int cumu_coverage_symbols(char **symbols, int count, bool tsv);
struct cumu_name { /* of a set; sets are sorted by text and empty at NULL */
    char *text;
    unsigned uses; /* of a wanted name: programs of the census that need it, at least */
    UT_hash_handle hh;
};
/* Adds what a shared object defines; false if it cannot be read. */
bool cumu_names_exported(const char *path, struct cumu_name **set);
/* Adds what the shim asks the MUSA library of that number for. */
void cumu_names_wanted(unsigned library, struct cumu_name **set);
const struct cumu_name *cumu_names_find(const struct cumu_name *set, const char *text);
void cumu_names_free(struct cumu_name **set);

/* Prints, per MUSA library, how many functions the shim asks for, and those that a back end lacks. */
void cumu_coverage_below(void);
/* Where the library of an SDK on this machine lies; false if there is none. path: PATH_MAX bytes. */
bool cumu_sdk_library(const struct cumu_library *l, char *path);

#endif
