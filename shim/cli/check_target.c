/* cumu check --target: kernels against what is known of MUSA's architectures. How many registers a kernel takes only
 * its compiler knows. */
#include "cli/check_target.h"
#include "ptx/lir/image.h"
#include "ptx/musa/musa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Public measurements and sources (mapping/facts/musa.md D3): 28 KiB on an S80, 72 KiB on an S4000, 192 KiB on
 * an S5000, where it is a multiprocessor's. Vendor builds for mp_22 switch double precision off: it is software. */
static const struct check_target targets[] = {
    {"mp_21", 28 << 10, true, true, false},
    {"mp_22", 72 << 10, true, true, false},
    {"mp_31", 192 << 10, false, false, true},
};

const struct check_target *check_target_named(const char *name)
{
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
        if (strcmp(targets[k].name, name) == 0)
            return &targets[k];
    return NULL;
}

/* Operations of double precision, by their names. */
static bool is_double(unsigned op)
{
    static const char *const names[LIR_NOPS] = {
        "",
#define LIR_OP(id, ...) #id,
#include "ptx/lir/alu_ops.def"
#include "ptx/lir/core_ops.def"
#undef LIR_OP
    };
    return op < LIR_NOPS && strstr(names[op], "F64");
}

static void add_slow(char slow[CHECK_SLOW], unsigned n, const char *what, const char *how)
{
    const size_t used = strlen(slow);
    if (n)
        (void)snprintf(slow + used, CHECK_SLOW - used, "%s%u %s%s %s", used ? ", " : "", n, what, n > 1 ? "s" : "",
                       how);
}

/* What the prelude makes of other operations there. With 128 lanes a warp, a vote of 32 of them is a loop of
 * shuffles. */
static void find_slow(const struct check_target *t, const struct lir_image *image, char slow[CHECK_SLOW])
{
    const struct lir_insn *code = LIR_AT(image, code, struct lir_insn);
    unsigned doubles = 0, votes = 0;
    for (uint32_t k = 0; k < image->code.count; k++) {
        const unsigned op = code[k].op;
        votes += t->wide_warps && (op == LIR_VOTE || op == LIR_MATCH || op == LIR_REDUX || op == LIR_ELECT);
        doubles += t->soft_double && is_double(op);
    }
    add_slow(slow, mu_scalar_products(image, t->units), "matrix product", "in scalar code");
    add_slow(slow, doubles, "operation", "of double precision in software");
    add_slow(slow, votes, "operation", "of a warp by 32 shuffles");
}

void check_on_target(const struct check_target *t, const struct ptx_module *m, const char *kernel, const void *image,
                     struct ptx_diag *diag, struct check_on_target *on)
{
    struct mu_info info;
    char *text;
    size_t size;
    *on = (struct check_on_target){.dynamic = false};
    int refused = mu_emit(m, kernel, image, MU_MUSA, &text, &size, &info, diag);
    free(text);
    if (refused) {
        if (strcmp(diag->what, kernel) == 0) /* which is said anyway */
            diag->what[0] = '\0';
        return;
    }
    *diag = (struct ptx_diag){.line = 0};
    on->dynamic = info.dynamic;
    if (info.shared > t->shared)
        (void)snprintf(diag->msg, sizeof diag->msg, "needs %u bytes of shared memory, %s has %u", info.shared, t->name,
                       t->shared);
    else if (info.barriers && t->wide_warps)
        (void)snprintf(diag->msg, sizeof diag->msg, "barriers of some of a block's threads, which %s has not", t->name);
    else
        find_slow(t, image, on->slow);
}
