/* What the files of `cumu coverage` share. */
#ifndef CUMU_CLI_COVERAGE_H
#define CUMU_CLI_COVERAGE_H

#include "core/symbols.h"

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
/* Prints, per MUSA library, how many functions the shim asks for, and those that a back end lacks. */
void cumu_coverage_below(void);
/* Where the SDK's library stands: MUSA_HOME, its usual folder, the dynamic linker's cache. path: PATH_MAX bytes. */
bool cumu_sdk_library(const struct cumu_library *l, char *path);
/* Writes the names of the functions that a shared object defines, sorted, one a line. */
bool cumu_write_exports(const char *library, const char *to);

#endif
