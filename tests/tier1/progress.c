/* tests/tier0/progress.c, run by compiled objects, and by those in the checked form. */
#define main tier0_main
#include "tier1/on_tier1.h"
#include "tier0/progress.c"
#undef main

int main(void)
{
    int failed = t1t_run_all(tier0_main, false);
    t1t_options = T1_EMIT_CHECKED;
    return failed | t1t_run_all(tier0_main, false);
}
