/* cumu check: the kernels of a report, and the translation of a module's. */
#ifndef CUMU_CLI_CHECK_KERNELS_H
#define CUMU_CLI_CHECK_KERNELS_H

#include "cli/report.h"

/* The report's kernel of that name, made if need be; NULL (and r->nomem) on out of memory. */
struct check_kernel *check_kernel_named(struct check_report *r, const char *name);
/* What is wrong with a kernel's PTX; the first problem counts. line: of the PTX, or 0. */
void check_problem(struct check_report *r, const char *name, const char *text, unsigned line);
void check_diag_problem(struct check_report *r, const char *name, const struct ptx_diag *d);

/* Takes every kernel of an open module through the lowering that the runtime would do, by as many threads as there are
 * CPUs. key: what tells this PTX from other, under which r->kept gets what came out; NULL for nothing. */
void check_lower(struct check_report *r, const struct ptx_module *m, const char *key);
/* The same by what was kept. False: nothing was, the module has to be opened. */
bool check_lower_again(struct check_report *r, const char *key);
void check_forget(struct check_kept *kept);

#endif
