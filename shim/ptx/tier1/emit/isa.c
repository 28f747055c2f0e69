/* What tier 1 knows of instruction sets and compilers: which this machine has, the flags for one,
 * the prelude's text. */
#include "ptx/tier1/emit/alu.h"
#include "ptx/tier1/tier1.h"

extern const char t1_prelude_text[], t1_prelude_end[];

const char *t1_prelude(size_t *size)
{
    *size = (size_t)(t1_prelude_end - t1_prelude_text);
    return t1_prelude_text;
}

/* -O1 is enough, as the vectors are explicit. -fcaller-saves: calls on rare paths cost nothing on the others. The
 * two parameters bound what grows faster than the kernel (16 s become 7 for 2000 instructions of doubles) and cost
 * no kernel speed; a mandelbrot loop that three instructions were combined in takes half the time. The rest
 * keeps results the bits PTX asks for and makes room for the warp switch; a frame that is larger than its stack touches
 * the page below, however far it reaches. */
#define COMMON \
    "-x c -std=gnu11 -O1 -fcaller-saves --param=max-combine-insns=2 " \
    "--param=ira-max-conflict-table-size=10 -w -fPIC -shared -nostdlib -fvisibility=hidden -ffp-contract=off " \
    "-fno-strict-aliasing -fno-math-errno -fno-trapping-math -fno-stack-protector -fstack-clash-protection " \
    "-fno-asynchronous-unwind-tables"
#if defined(__x86_64__)
#define COMMON_FLAGS COMMON " -mno-red-zone"
#else
#define COMMON_FLAGS COMMON
#endif

/* -Og is -O1 without the passes over loops and aliases: 0.55 of its time, which grows faster than the text. Measured
 * over the benchmark's kernels it costs those no speed but the ones that walk a warp's lanes in loops to be unrolled
 * (histogram: 1.5), and large texts spend their time elsewhere. T1_LARGE: stores lane by lane are called. */
const char *t1_size_flags(size_t text)
{
    enum { LARGE = 94000 };
    return text > LARGE ? " -Og -DT1_LARGE" : "";
}

const char *t1_isa_flags(enum t1_isa isa)
{
    static const char *const flags[T1_NISA] = {
        [T1_PLAIN] = COMMON_FLAGS " -DT1_ISA=0 -Wl,--no-as-needed -lm", /* fmaf */
        [T1_AVX2] = COMMON_FLAGS " -DT1_ISA=1 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt",
        [T1_AVX512] = COMMON_FLAGS " -DT1_ISA=2 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd -mfma"
                                   " -mbmi -mbmi2 -mlzcnt -mpopcnt -mprefer-vector-width=512",
    };
    return flags[isa < T1_NISA ? isa : T1_PLAIN];
}
