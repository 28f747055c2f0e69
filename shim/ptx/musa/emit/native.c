/* The MUSA emitter: the table of forms that a toolkit may have of its own. */
#include "ptx/musa/musa.h"

#include <stddef.h>

const struct mu_native mu_natives[] = {
#define MU_NATIVE(id, name, least, evidence, what) {"CM_USE_" #id, name, evidence, what, least},
#include "ptx/musa/native.def"
#undef MU_NATIVE
    {.name = NULL},
};
