/* tests/tier0/specialised.c, run by compiled objects, all of them. */
#define main tier0_main
#include "tier1/on_tier1.h"
#include "tier0/specialised.c"
#undef main

int main(void)
{
    const int failed = t1t_run_all(tier0_main, false);
    return !check(!t1t_refused, "none is left to the interpreter") || failed;
}
