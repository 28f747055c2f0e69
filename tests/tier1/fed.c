/* tests/tier0/fed.c, run by compiled objects, all of them. */
#define main tier0_main
#define FED_ALIGNED 1 /* others are left to the interpreter where lanes may have diverged */
#include "tier1/on_tier1.h"
#include "tier0/fed.c"
#undef main

int main(void)
{
    const int failed = t1t_run_all(tier0_main, false);
    return !check(!t1t_refused, "none is left to the interpreter") || failed;
}
