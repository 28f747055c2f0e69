/* The lines of ptxas's -v: what variables, kernels and functions take. The numbers are those that a loaded kernel's
 * attributes tell, so they are of our translation, not of NVIDIA's: a register is 32 bits of PTX registers that are
 * live at once, and nothing is ever spilled. */
#include "ptx/ir.h"
#include "ptx/lir/image.h"
#include "ptx/lir/lir.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Barriers that a function names: the highest number and one, or all where a register says which. */
static unsigned count_barriers(const struct ptx_func *f)
{
    enum { ALL = 16 };
    unsigned most = 0;
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        if ((in->op != PTX_OP_BAR && in->op != PTX_OP_BARRIER) || in->sub == PTX_SUB_WARP_SYNC)
            continue;
        unsigned n = in->src[0].kind == PTX_O_IMM && in->src[0].imm < ALL ? (unsigned)in->src[0].imm + 1 : ALL;
        most = n > most ? n : most;
    }
    return most;
}

/* Where parameters lie in the constant bank, by architecture: mapping/facts/cuda.md X2. */
static unsigned parameters_begin(unsigned arch)
{
    return arch >= 100 ? 896 : arch >= 90 ? 528 : arch >= 70 ? 352 : 320;
}

struct usage {
    struct lir_kernel_rec kernel;
    unsigned barriers, constant; /* constant: bytes of the bank of the parameters */
};

/* False where the kernel cannot be lowered: that is said when it is used. */
static bool find_usage(const struct ptx_module *m, const struct ptx_func *f, unsigned arch, struct usage *u)
{
    struct ptx_diag diag;
    void *image;
    size_t size;
    if (lir_lower_kernel(m, f->name, &image, &size, &diag) != 0)
        return false;
    const struct lir_image *i = image;
    u->kernel = *LIR_AT(i, kernels, struct lir_kernel_rec);
    u->constant = parameters_begin(arch) + u->kernel.param_size;
    free(image);
    struct ptx_func *copy = ptx_func_copy(f);
    u->barriers = copy && ptx_func_parse(copy, &diag) == 0 ? count_barriers(copy) : 0;
    ptx_func_free(copy);
    return true;
}

static void count_variables(const struct ptx_module *m, uint64_t *global, uint64_t *constant)
{
    *global = *constant = 0;
    for (uint32_t i = 0; i < m->nvar; i++) {
        *global += m->var[i].space == PTX_SP_GLOBAL && !m->var[i].is_extern ? m->var[i].size : 0;
        *constant += m->var[i].space == PTX_SP_CONST && !m->var[i].is_extern ? m->var[i].size : 0;
    }
}

static bool is_kernel(const struct ptx_func *f) { return f->is_entry && !f->is_decl; }

static void report_kernel(const struct tool *t, const struct ptx_func *f, const char *arch, unsigned number,
                          const struct usage *u)
{
    fprintf(stderr, "%s info    : Compiling entry function '%s' for '%s'\n", t->name, f->name, arch);
    fprintf(stderr, "%s info    : Function properties for %s\n", t->name, f->name);
    fprintf(stderr, "    %u bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n", u->kernel.own_local);
    fprintf(stderr, "%s info    : Used %u registers, used %u barriers", t->name, u->kernel.num_regs, u->barriers);
    if (u->kernel.local_size)
        fprintf(stderr, ", %u bytes cumulative stack size", u->kernel.local_size);
    if (u->kernel.shared_size)
        fprintf(stderr, ", %u bytes smem", u->kernel.shared_size);
    if (number < 90) /* later ones are not told */
        fprintf(stderr, ", %u bytes cmem[0]", u->constant);
    fputc('\n', stderr);
}

void tool_report(const struct tool *t, const struct ptx_module *m, const char *arch, bool verbose, bool local)
{
    uint64_t global, constant;
    struct usage u;
    char suffix;
    bool code;
    unsigned number = tool_arch(arch, &suffix, &code);
    if (!verbose && !local)
        return;
    count_variables(m, &global, &constant);
    if (verbose) {
        fprintf(stderr, "%s info    : %llu bytes gmem", t->name, (unsigned long long)global);
        if (constant)
            fprintf(stderr, ", %llu bytes cmem[3]", (unsigned long long)constant);
        fputc('\n', stderr);
    }
    for (uint32_t i = 0; i < m->nfunc; i++) {
        if (!is_kernel(&m->func[i]) || !find_usage(m, &m->func[i], number, &u))
            continue;
        if (verbose)
            report_kernel(t, &m->func[i], arch, number, &u);
        if (local && u.kernel.own_local)
            tool_warning(t, "Local memory used for function '%s', size of stack frame: %u bytes", m->func[i].name,
                         u.kernel.own_local);
    }
}

void tool_usage(const struct ptx_module *m, unsigned arch)
{
    uint64_t global, constant;
    struct usage u;
    count_variables(m, &global, &constant);
    printf("\nResource usage:\n Common:\n  GLOBAL:%llu", (unsigned long long)global);
    printf(constant ? " CONSTANT[3]:%llu\n" : "\n", (unsigned long long)constant);
    for (uint32_t i = 0; i < m->nfunc; i++)
        if (is_kernel(&m->func[i]) && find_usage(m, &m->func[i], arch, &u))
            printf(" Function %s:\n  REG:%u STACK:%u SHARED:%u LOCAL:0 CONSTANT[0]:%u TEXTURE:0 SURFACE:0 SAMPLER:0\n",
                   m->func[i].name, u.kernel.num_regs, u.kernel.own_local, u.kernel.shared_size, u.constant);
}
