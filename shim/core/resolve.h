/* Finds the MUSA libraries below, and the NVIDIA library behind a facade that was not opted in. */
#ifndef CUMU_CORE_RESOLVE_H
#define CUMU_CORE_RESOLVE_H

#include "core/symbols.h"

#include <stdbool.h>
#include <stddef.h>

enum cumu_backend { CUMU_BACKEND_NONE, CUMU_BACKEND_MUSA, CUMU_BACKEND_HOST };

/* Which MUSA libraries this process uses; decided, and said at info level, on the first call. NONE: no
 * library was found, said as an error. */
enum cumu_backend cumu_backend(void);

/* Address of `symbol` in cumu_libraries[library], which is opened if it is not yet. NULL if library or
 * symbol is missing (*opened says which), or if it resolves into cumu's own exports. No lock is held
 * while the library below is loaded; two threads may race here harmlessly. */
void *cumu_resolve_mu(unsigned library, const char *symbol, bool *opened);

/* The same without what cumu does itself (stand_in of upper.h). */
void *cumu_resolve_below(unsigned library, const char *symbol, bool *opened);

/* Can this MUSA function, one that the map names, be called? Off the hot path. */
bool cumu_mu_has(const char *symbol);
/* Is it one that the map names, and missing below? */
bool cumu_mu_lacks(const char *symbol);
/* Does the library below ("musart", "musa") export the symbol itself? */
bool cumu_below_has(const char *library, const char *symbol);
void *cumu_below(const char *library, const char *symbol); /* NULL: it has not */

/* Address of the runtime's function "musa" + name, NULL if the runtime below lacks it as well. */
void *cumu_resolve_runtime(const char *name);

/* Address of a driver function, in whichever form the driver below has it; NULL if in none. */
void *cumu_resolve_driver(const char *name);

/* Address of `symbol` in the real NVIDIA library of this soname; NULL if there is none. */
void *cumu_resolve_real(const char *soname, const char *symbol, bool *opened);

/* Calls visit(path, ctx) for the files that the program may have meant by that soname, best first, until it returns
 * true; nothing is opened. The first may be a name alone that tells the release of a runtime that is linked in. */
bool cumu_real_find(const char *soname, bool (*visit)(const char *path, void *ctx), void *ctx);

/* Says, once per soname, that a program which keeps its own copy of that library has none, and where one
 * comes from. */
void cumu_real_missed(const char *soname);

/* Folder of libcumu-core.so, without a trailing slash; facade/ and host/ are in it. NULL if unknown. */
const char *cumu_home(void);

/* Calls visit(path, ctx) for each candidate of a MUSA library in search order until visit returns true;
 * the result says whether it did. Pure except for the environment: for tests and `cumu doctor`. */
bool cumu_candidates(const struct cumu_library *l, enum cumu_backend b, bool (*visit)(const char *path, void *ctx),
                     void *ctx);

#endif
