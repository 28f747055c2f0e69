/* When a kernel leaves the interpreter for code of the baseline generator: once it has been interpreted for as long as
 * making the code takes, so that at the worst twice that time is spent (the ski rental problem). */
#include "ptx/base/base.h"
#include "ptx/tier0/warp.h"

enum { CYCLES = 5000 }; /* of an instruction of the LIR: seen over the corpus, tests/bench/README.md */

static atomic_int when = T0_BASELINE_NEVER;

void t0_baseline(enum t0_baseline how) { atomic_store(&when, how); }

static void make(struct t0_module *m)
{
    if (!atomic_exchange(&m->settled, true)) /* others go on interpreting meanwhile */
        atomic_store_explicit(&m->base, base_compile(m->image, lir_table), memory_order_release);
}

void t0_base_loaded(struct t0_module *m)
{
    const int how = atomic_load(&when);
    m->settled = !m->nkernel || how == T0_BASELINE_NEVER || !base_possible();
    if (how == T0_BASELINE_AT_ONCE && !m->settled)
        make(m);
}

void t0_base_spent(struct t0_module *m, uint64_t cycles)
{
    if (atomic_fetch_add(&m->spent, cycles) + cycles > (uint64_t)CYCLES * m->image->code.count)
        make(m);
}
