/* Places of what products of warpgroups keep: matrices that take two of them beside such that take one, drawn. What is
 * found has been overwritten by none. */
#define T0_LEVEL 1
#include "ptx/tier0/alu_kept.h"

#include "check.h"

static uint64_t seed = 11;
static uint32_t any(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

int main(void)
{
    static struct kept_columns all;
    static uint64_t owner[KEPT];
    unsigned found = 0, wrong = 0;
    for (unsigned k = 0; k < 20000; k++) {
        const bool wide = any(3) == 0;
        const uint64_t descriptor = any(7), form = 2 + any(2), mine = descriptor << 8 | form << 1 | wide;
        const uint64_t named = form | (uint64_t)wide << 63;
        const unsigned at = find_kept(&all, named, descriptor, wide);
        if (all.entry[at].form) {
            found++;
            wrong += owner[at] != mine || (wide && (at % 2 || owner[at + 1] != mine));
        }
        all.entry[at].form = named;
        all.entry[at].descriptor = descriptor;
        owner[at] = mine;
        if (wide)
            owner[at + 1] = mine;
    }
    check(!wrong && found > 1000, "%u of %u that were found were overwritten", wrong, found);
    return check_end("what products keep");
}
