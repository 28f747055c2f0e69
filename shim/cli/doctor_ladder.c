/* cumu doctor: the commands that kernels are compiled by, from the usual one down the ladder for kernels that the
 * compiler breaks down on (compile/mcc.c), and the time that each takes. */
#include "cli/doctor_compiler.h"
#include "cli/doctor.h"
#include "cli/doctor_driver.h"
#include "compile/mcc.h"
#include "ptx/lir/lir.h"
#include "ptx/musa/musa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Conditions inside a loop, two deep. */
static const char kernel[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry probe(.param .u64 out)\n{\n"
    ".reg .u32 %r<8>;\n.reg .u64 %d<4>;\n.reg .pred %p<4>;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
    "LOOP:\nand.b32 %r3, %r0, %r2;\nsetp.eq.u32 %p0, %r3, 0;\n@%p0 bra NEXT;\nsetp.gt.u32 %p1, %r3, 3;\n"
    "@%p1 bra OTHER;\nadd.u32 %r1, %r1, %r3;\nbra NEXT;\nOTHER:\nxor.b32 %r1, %r1, %r2;\nNEXT:\n"
    "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 20;\n@%p2 bra LOOP;\nld.param.u64 %d0, [out];\n"
    "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], %r1;\nret;\n}\n";

static char *emit_kernel(bool flat)
{
    struct ptx_diag diag = {0};
    struct mu_info info;
    char *text = NULL;
    void *image = NULL;
    size_t size;
    struct ptx_module *m = ptx_module_open(kernel, sizeof kernel - 1, &diag);
    if (m && lir_lower_kernel(m, "probe", &image, &size, &diag) == 0)
        (void)mu_emit(m, "probe", image, flat ? MU_MUSA_FLAT : MU_MUSA, &text, &size, &info, &diag);
    free(image);
    ptx_module_close(m);
    return text;
}

/* Tries one command, in the spelling that the compiler has taken before; *spelling: -1 as long as it took none. */
static void try_rung(const char *name, const char *compiler, unsigned arch, unsigned rung, const char *text,
                     int *spelling)
{
    struct doctor_run run = {.status = -1};
    char words[1024], line[160];
    for (int k = 0; k < CUMU_MCC_SPELLINGS && run.status; k++) {
        if (*spelling >= 0 && k != *spelling)
            continue;
        cumu_mcc_words(words, sizeof words, (unsigned)k, arch, rung);
        if (!doctor_compile(&run, compiler, words, text))
            return;
        free(run.out);
        *spelling = run.status == 0 ? k : *spelling;
    }
    doctor_first_error(run.log, line);
    if (run.status == 0)
        doctor_line(name, "%u ms", run.ms);
    else
        doctor_line(name, "no: status %d after %u ms: %s", run.status, run.ms, line);
}

void doctor_ladder(const char *compiler, unsigned arch)
{
    int spelling = -1;
    try_rung("the toolkit's header alone", compiler, arch, 0, DOCTOR_KERNEL("p[threadIdx.x] = 1;"), &spelling);
    for (unsigned rung = 0; rung < CUMU_MCC_RUNGS && doctor_left(); rung++) {
        bool flat;
        char name[40];
        const char *level = cumu_mcc_rung(rung, &flat);
        char *text = emit_kernel(flat);
        (void)snprintf(name, sizeof name, "a kernel by %s%s", level, flat ? ", flattened" : "");
        if (text)
            try_rung(name, compiler, arch, rung, text, &spelling);
        free(text);
    }
}
