/* What the files of `cumu coverage` share. */
#ifndef CUMU_CLI_COVERAGE_H
#define CUMU_CLI_COVERAGE_H

#include "core/symbols.h"

enum { CUMU_VERBS = CUMU_PASS + 1 };
extern const char *const cumu_verb_names[CUMU_VERBS]; /* by enum cumu_verb */

/* Prints, per MUSA library, how many functions the shim asks for, and those that a back end lacks. */
void cumu_coverage_below(void);

#endif
