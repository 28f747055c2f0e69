/* Drawn programs of cuDNN's layers over sequences and grids: recurrent layers, CTC losses, multi-head attention,
 * spatial transformers, divisive normalisation, foldings. As programs.c: descriptors set anew and wrongly, results that
 * hold NaN before, each result against a model of its own. `sequences CALLS`, SEED=n. */
#include "program_grids.h"
#include "program_heads.h"
#include "program_rnn.h"

static void (*const layers[])(void) = {recurrents, recurrents, attentions, ctcs, spatials, divisives, foldings};

static void one_program(void)
{
    const int steps = 1 + upto(12), own = float_type();
    make_all();
    OK(cudnnCreateRNNDescriptor(&rnn));
    OK(cudnnCreateRNNDataDescriptor(&x_data));
    OK(cudnnCreateRNNDataDescriptor(&y_data));
    OK(cudnnCreateAttnDescriptor(&attention));
    OK(cudnnCreateCTCLossDescriptor(&ctc));
    OK(cudnnCreateSpatialTransformerDescriptor(&spatial));
    OK(cudnnCreateTensorTransformDescriptor(&folding));
    for (int i = 0; i < 4; i++)
        OK(cudnnCreateSeqDataDescriptor(&sequence[i]));
    for (int i = 0; i < steps; i++) {
        if (upto(4) == 0)
            OK(cudnnSetStream(handle, streams[upto(2)]));
        type = upto(3) ? own : float_type();
        operands = 0;
        layers[upto((int)(sizeof layers / sizeof *layers))]();
    }
    drop_all();
    OK(cudnnDestroyRNNDescriptor(rnn));
    OK(cudnnDestroyRNNDataDescriptor(x_data));
    OK(cudnnDestroyRNNDataDescriptor(y_data));
    OK(cudnnDestroyAttnDescriptor(attention));
    OK(cudnnDestroyCTCLossDescriptor(ctc));
    OK(cudnnDestroySpatialTransformerDescriptor(spatial));
    OK(cudnnDestroyTensorTransformDescriptor(folding));
    for (int i = 0; i < 4; i++)
        OK(cudnnDestroySeqDataDescriptor(sequence[i]));
}

int main(int argc, char **argv)
{
    draw_programs(argc, argv, one_program);
    EXPECT(done > calls / 2, "%u of %u calls were taken", done, calls);
    free(tape);
    return check_end("drawn programs of sequences");
}
