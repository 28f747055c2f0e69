/* CUMU_CHECK=sync, as the thunks of the tracer see it: which calls it wants to hear of, and the calls. While
 * it is off no slot holds a thunk for it. Defined in api/check_calls.c. */
#ifndef CUMU_CORE_CHECK_H
#define CUMU_CORE_CHECK_H

#include "core/calls.h"
#include "core/trace.h"

#include <stdbool.h>

bool cumu_checking(void);
bool cumu_check_wants(const char *library, const char *symbol);
/* After the call, with its arguments and its result. */
void cumu_check_call(const struct cumu_prototype *c, const struct cumu_frame *f);

#endif
