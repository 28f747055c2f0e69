/* cumu doctor: forms of the toolkit's own (ptx/musa/native.def) against the safe ones, on the device: a kernel that
 * leans on one is compiled both ways, and both give the same or the form is not used. What was found is kept beside the
 * compiled kernels. The shim calls this, too, in a process of its own, before the first kernel with matrix products. */
#include "cli/native.h"
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"
#include "cli/doctor_driver.h"
#include "cli/native_probes.h"
#include "compile/compile.h"
#include "compile/native.h"
#include "ptx/lir/lir.h"
#include "ptx/musa/musa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 60, NONE = 126 };
enum { RIGHT, NOT_RIGHT, NO_DEVICE }; /* what a child answers */

/* The kernel with the forms of a set, for the device that is open. */
static bool compile(const char *name, const char *ptx, uint32_t set, struct mu_info *info, struct cumu_compiled *o)
{
    struct ptx_diag diag = {0};
    char *text = NULL;
    void *image = NULL;
    size_t size;
    struct ptx_module *m = ptx_module_open(ptx, strlen(ptx), &diag);
    if (!m || lir_lower_kernel(m, "probe", &image, &size, &diag) ||
        mu_emit(m, "probe", image, MU_MUSA, &text, &size, info, &diag)) {
        doctor_line(name, "no: not translated: line %u: %s: %s", diag.line, diag.what, diag.msg);
        return false;
    }
    const struct cumu_musa_source s = {.kernel = "probe", .text = text, .size = size, .native = &set};
    bool made = cumu_mubin_make(o, &s, doctor_driver_arch(), CUMU_WANT_COMPILED) != CUMU_MADE_FAILED;
    if (!made)
        doctor_line(name, "no: not compiled: %s", o->why);
    free(text);
    free(image);
    return made;
}

static int run(const struct mu_info *info, const void *mubin, uint32_t out[NATIVE_WORDS])
{
    const size_t bytes = NATIVE_WORDS * sizeof *out;
    MUdeviceptr memory = 0;
    MUmodule module = NULL;
    MUfunction function = NULL;
    void *args[] = {&memory};
    int err = MU(muMemAlloc_v2)(&memory, bytes);
    if (!err)
        err = MU(muMemcpyHtoD_v2)(memory, out, bytes);
    if (!err)
        err = MU(muModuleLoadData)(&module, mubin);
    if (!err)
        err = MU(muModuleGetFunction)(&function, module, info->symbol);
    if (!err)
        err = MU(muLaunchKernel)(function, 1, 1, 1, NATIVE_THREADS, 1, 1, 0, NULL, args, NULL);
    if (!err)
        err = MU(muCtxSynchronize)();
    return err ? err : MU(muMemcpyDtoH_v2)(out, memory, bytes);
}

/* In a child: what became of the form, with its line. */
static int try_form(void *ctx)
{
    const unsigned k = *(const unsigned *)ctx;
    const char *name = mu_natives[k].name;
    uint32_t out[2][NATIVE_WORDS] = {{0}}, some = 0;
    if (doctor_driver_open())
        return NO_DEVICE;
    for (unsigned native = 0; native < 2; native++) {
        struct mu_info info;
        struct cumu_compiled o = {.data = NULL};
        if (!compile(name, native_probes[k], native << k, &info, &o))
            return NOT_RIGHT;
        int err = run(&info, o.data, out[native]);
        if (err) {
            doctor_line(name, "no: %s", doctor_error(err));
            return NOT_RIGHT;
        }
    }
    for (unsigned w = 0; w < NATIVE_THREADS; w++)
        some |= out[0][w]; /* a device that does nothing agrees with itself */
    for (unsigned w = 0; w < NATIVE_WORDS; w++)
        if (out[0][w] != out[1][w] || !some) {
            doctor_line(name, some ? "wrong: word %u is 0x%x, not 0x%x" : "no: the safe form gives 0 (%u, %x, %x)", w,
                        out[1][w], out[0][w]);
            return NOT_RIGHT;
        }
    doctor_line(name, "right: %s", mu_natives[k].what);
    return RIGHT;
}

static int find_arch(void *unused)
{
    (void)unused;
    if (doctor_driver_open() || doctor_driver_is_host() || doctor_driver_arch() >= NONE)
        return NONE;
    return (int)doctor_driver_arch();
}

/* Those of the set that the architecture may have; what is found is kept after each, since the next may end us. What
 * there was no time for stays unknown. */
static void probe(uint32_t set, unsigned arch)
{
    struct cumu_native_found found;
    cumu_native_get(arch, &found);
    for (unsigned k = 0; mu_natives[k].name; k++) {
        if (!(set >> k & 1) || arch < mu_natives[k].least)
            continue;
        const int was = doctor_child(mu_natives[k].name, try_form, &k, SECONDS);
        if (was == NO_DEVICE || was == DOCTOR_LATE)
            return;
        found.tried |= 1u << k;
        found.right = was == RIGHT ? found.right | 1u << k : found.right & ~(1u << k);
        cumu_native_keep(arch, &found);
    }
}

void cumu_doctor_native(void)
{
    doctor_section("forms of the toolkit's own");
    const int arch = doctor_child("device", find_arch, NULL, SECONDS);
    const char *why;
    if (arch <= 0 || arch == NONE || !cumu_arch_known((unsigned)arch))
        doctor_line("device", "none that takes compiled code");
    else if (!cumu_musa_compiler(&why))
        doctor_line("compiler", "none: %s", why);
    else
        probe(~0u, (unsigned)arch);
}

int cumu_native(int argc, char **argv)
{
    const unsigned arch = argc > 1 && strncmp(argv[1], "mp_", 3) == 0 ? (unsigned)strtoul(argv[1] + 3, NULL, 10) : 0;
    if (!cumu_arch_known(arch) || !cumu_tool_tables() || !doctor_write_begin(stdout))
        return CUMU_EXIT_USAGE;
    doctor_section("forms of the toolkit's own");
    probe(argc > 2 && strcmp(argv[2], "all") == 0 ? ~0u : cumu_native_matrices(), arch);
    return 0;
}
