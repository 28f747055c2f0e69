/* The MUSA SDK's compiler as a program. */
#ifndef CUMU_COMPILE_MCC_H
#define CUMU_COMPILE_MCC_H

#include "compile/tool.h"

/* The recipe's tool is mcc; its flags are filled in here. Without `compile` only the cache is asked. */
enum cumu_made cumu_mcc_make(struct cumu_compiled *o, struct cumu_recipe *r, const struct cumu_musa_source *s,
                             bool compile);

#endif
