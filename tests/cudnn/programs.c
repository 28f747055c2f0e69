/* Drawn programs of cuDNN's layers: sequences of calls whose descriptors are set anew, set wrongly, shared, in place or
 * of types that nobody puts together, on two streams; each result against plain loops, and nothing else is written.
 * `programs CALLS`, SEED=n. */
#include "program_elements.h"
#include "program_sums.h"

static void (*const layers[])(void) = {op_tensors, moves,        activations,  softmaxes,    lrns,
                                       pools,      convolutions, convolutions, convolutions, fused,
                                       biases,     reductions,   norms,        dropouts};

static void one_program(void)
{
    const int steps = 1 + upto(20), own = float_type();
    make_all();
    for (int i = 0; i < steps; i++) {
        if (upto(8) == 0) {
            drop_all();
            make_all();
        }
        if (upto(4) == 0)
            OK(cudnnSetStream(handle, streams[upto(2)]));
        type = upto(3) ? own : float_type();
        mixed = upto(4) == 0;
        chance = upto(4) ? 0 : 4;
        operands = 0;
        layers[upto((int)(sizeof layers / sizeof *layers))]();
    }
    drop_all();
}

int main(int argc, char **argv)
{
    draw_programs(argc, argv, one_program);
    EXPECT(done > calls * 3 / 4, "%u of %u calls were taken", done, calls);
    return check_end("drawn programs of layers");
}
