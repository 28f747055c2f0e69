/* tests/tier0/control.c, run by compiled objects: as programs run them, and in the checked form, with loops that share
 * a header as one. */
#define main tier0_main
#include "tier1/on_tier1.h"
#include "tier0/control.c"
#undef main

int main(void)
{
    int failed = t1t_run_all(tier0_main, true);
    for (t1t_options = T1_EMIT_CHECKED; t1t_options <= (T1_EMIT_CHECKED | T1_EMIT_SHARED_HEADERS);
         t1t_options += T1_EMIT_SHARED_HEADERS)
        failed |= t1t_run_all(tier0_main, false);
    return failed;
}
