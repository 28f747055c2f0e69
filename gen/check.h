/* `gen check`: the map against what really exists. Each check reports through the errors of the
 * job. */
#ifndef CUMU_GEN_CHECK_H
#define CUMU_GEN_CHECK_H

#include "gen/emit.h"

/* A names-only list (mapping/known/SONAME.symbols): each name has a line and each line a name. */
void check_known(const struct job *j, const char *path);
/* A real NVIDIA library: each function that it exports has a line in the facade of its soname. */
void check_real(const struct job *j, const char *path);
/* The built core: each wrap line has its function and each wrap_ function its line. */
void check_wraps(const struct job *j, const char *core);
/* A built host library: it exports what the map calls in it, except what is marked !host. */
void check_host(const struct job *j, const char *path);

#endif
