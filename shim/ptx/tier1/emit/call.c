/* Tier 1 emitter: calls of device functions and of the device's runtime; .param variables of functions. */
#include "ptx/tier1/emit/emit.h"

void t1_param_plan(struct t1_emit *e) { (void)e; }
void t1_param_declare(struct t1_emit *e) { (void)e; }
bool t1_param_access(struct t1_emit *e, bool store) { (void)e; (void)store; return false; }
void t1_call(struct t1_emit *e) { t1_fail(e, "calls are not supported"); }
