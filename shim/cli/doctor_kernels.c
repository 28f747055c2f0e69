/* cumu doctor: kernels through the whole way to the device: written as MUSA C++, compiled, loaded, run, and their
 * results compared. Each in a child of its own, which may crash or hang. cumu's own driver on the CPU takes them as the
 * interpreter's images; kernels in MUSA C++ are none of its. */
#include "cli/doctor.h"
#include "cli/doctor_driver.h"
#include "cli/doctor_kernels.h"
#include "cli/doctor_probes.h"
#include "compile/compile.h"
#include "ptx/tier0/tier0.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SECONDS = 45, SHARED = 512, MAX_EXTERNS = 8, VARIABLE = 64 };
enum { COMPILES, TAKES_IMAGES, NO_DEVICE }; /* what a child finds of the device */

/* ---- one kernel -------------------------------------------------------------------------------- */

/* MUSA C++ around the statements of a probe, behind the prelude that emitted kernels have. */
static char *musa_text(const char *statements, size_t *size)
{
    char *prelude = mu_prelude(size), *text = NULL;
    int n = prelude
                ? asprintf(
                      &text,
                      "%.*s#define CM_IN_FRONT 0u\nnamespace cm {\nCM_KERNEL CM_BOUNDS(%d) void cumu_probe(u64 a0)\n{\n"
                      "    unsigned *out = (unsigned *)a0, t = tid(0), r = 0;\n    %s\n    out[t] = r;\n}\n"
                      "} // namespace cm\n",
                      (int)*size, prelude, (int)DOCTOR_THREADS, statements)
                : -1;
    free(prelude);
    *size = n < 0 ? 0 : (size_t)n;
    return n < 0 ? NULL : text;
}

/* PTX to what the driver takes, in `code`; text is what a compiler gets for it. */
static bool translate(struct doctor_kernel *k, const char *ptx, char **text, size_t *size, char why[DOCTOR_WHY])
{
    struct ptx_diag diag = {0};
    k->ptx = ptx_module_open(ptx, strlen(ptx), &diag);
    if (k->ptx && !lir_lower_kernel(k->ptx, "probe", &k->image, size, &diag)) {
        if (doctor_driver_is_host()) {
            (void)snprintf(k->info.symbol, sizeof k->info.symbol, "probe");
            k->code = k->image;
            return true;
        }
        if (!mu_emit(k->ptx, "probe", k->image, MU_MUSA, text, size, &k->info, &diag))
            return true;
    }
    (void)snprintf(why, DOCTOR_WHY, "not translated: line %u: %s: %s", diag.line, diag.what, diag.msg);
    return false;
}

/* Kernels of programs get the forms of the toolkit's own that were found right. One in MUSA C++ tries what stands in it
 * against the prelude's safe forms; where it speaks of halves, the prelude includes their header for the form that uses
 * them. */
static const uint32_t *forms_for(const char *musa, uint32_t *set)
{
    *set = 0;
    for (unsigned k = 0; musa && strstr(musa, "__half") && mu_natives[k].name; k++)
        *set |= strcmp(mu_natives[k].name, "atomic16") == 0 ? 1u << k : 0;
    return musa ? set : NULL;
}

bool doctor_kernel_make(struct doctor_kernel *k, const char *ptx, const char *musa, unsigned arch, char why[DOCTOR_WHY])
{
    struct cumu_compiled o = {.data = NULL};
    char *text = NULL;
    size_t size = 0;
    memset(k, 0, sizeof *k);
    *why = '\0';
    if (ptx ? !translate(k, ptx, &text, &size, why) : !(text = musa_text(musa, &size)))
        return false;
    if (k->code)
        return true;
    if (!ptx)
        (void)snprintf(k->info.symbol, sizeof k->info.symbol, "cumu_probe");
    uint32_t set;
    const struct cumu_musa_source s = {.kernel = "probe", .text = text, .size = size, .native = forms_for(musa, &set)};
    enum cumu_made made = cumu_mubin_make(&o, &s, arch, CUMU_WANT_COMPILED);
    free(text);
    if (made == CUMU_MADE_FAILED)
        (void)snprintf(why, DOCTOR_WHY, "not compiled: %s", o.why);
    else if (*o.why)
        (void)snprintf(why, DOCTOR_WHY, "%s", o.why);
    k->code = o.data;
    return made != CUMU_MADE_FAILED;
}

/* The module's variables, each in memory of its own, as kernel/device.c does it; addresses in the image's order. An
 * image of the interpreter's is told them itself. */
static int place_variables(const struct doctor_kernel *k, unsigned long long address[MAX_EXTERNS])
{
    unsigned long long last = 0; /* what another variable may hold the address of comes first in the probes */
    const char *name;
    int err = 0;
    for (uint32_t v = 0; k->ptx && v < k->ptx->nvar && !err; v++) {
        const struct ptx_var *var = &k->ptx->var[v];
        unsigned char value[VARIABLE] = {0};
        unsigned long long at = 0;
        if (var->space == PTX_SP_SHARED)
            continue;
        memcpy(value, var->init, var->init_size < VARIABLE ? var->init_size : VARIABLE);
        if (var->nreloc)
            memcpy(value, &last, sizeof last);
        err = MU(muMemAlloc_v2)(&at, VARIABLE);
        if (!err)
            err = MU(muMemcpyHtoD_v2)(at, value, VARIABLE);
        for (unsigned n = 0; (name = lir_image_extern(k->image, n)) && n < MAX_EXTERNS; n++)
            if (!strcmp(name, var->name)) {
                address[n] = at;
                if (k->code == k->image)
                    lir_image_bind(k->image, n, at);
            }
        last = at;
    }
    return err;
}

int doctor_kernel_load(struct doctor_kernel *k)
{
    unsigned long long address[MAX_EXTERNS] = {0}, table = 0;
    size_t size = 0;
    MUmodule module = NULL;
    int err = place_variables(k, address);
    if (!err)
        err = MU(muModuleLoadData)(&module, k->code);
    if (!err)
        err = MU(muModuleGetFunction)(&k->function, module, k->info.symbol);
    if (err || !k->info.nextern)
        return err;
    err = MU(muModuleGetGlobal_v2)(&table, &size, module, MU_EXTERNS);
    return err ? err : MU(muMemcpyHtoD_v2)(table, address, 8 * (size_t)k->info.nextern);
}

int doctor_kernel_launch(const struct doctor_kernel *k, void **args)
{
    return MU(muLaunchKernel)(k->function, 1, 1, 1, DOCTOR_THREADS, 1, 1,
                              SHARED + (k->info.dynamic ? k->info.shared : 0), NULL, args, NULL);
}

/* A texture whose element in column x of row y is 100 * y + x. */
static int make_texture(MUtexObject *texture)
{
    enum { ROWS = DOCTOR_THREADS / DOCTOR_TEXTURE_WIDTH };
    float texels[ROWS][DOCTOR_TEXTURE_WIDTH];
    const MUSA_ARRAY_DESCRIPTOR of = {DOCTOR_TEXTURE_WIDTH, ROWS, MU_AD_FORMAT_FLOAT, 1};
    MUarray array = NULL;
    for (unsigned y = 0; y < ROWS; y++)
        for (unsigned x = 0; x < DOCTOR_TEXTURE_WIDTH; x++)
            texels[y][x] = (float)(100 * y + x);
    int err = MU(muArrayCreate_v2)(&array, &of);
    const MUSA_MEMCPY2D copy = {.srcMemoryType = MU_MEMORYTYPE_HOST,
                                .srcHost = texels,
                                .srcPitch = sizeof texels[0],
                                .dstMemoryType = MU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .WidthInBytes = sizeof texels[0],
                                .Height = ROWS};
    if (!err)
        err = MU(muMemcpy2D_v2)(&copy);
    const MUSA_RESOURCE_DESC resource = {.resType = MU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    const MUSA_TEXTURE_DESC desc = {.addressMode = {1, 1, 1}};
    return err ? err : MU(muTexObjectCreate)(texture, &resource, &desc, NULL);
}

static int run(struct doctor_kernel *k, const struct doctor_probe *p, uint32_t out[DOCTOR_THREADS])
{
    unsigned long long memory = 0;
    MUtexObject texture = 0;
    uint8_t a = 0x0a;
    uint16_t b = 0x0b0c;
    uint32_t c = 0x0d;
    void *args[] = {&memory, p->needs == DOCTOR_NEEDS_TEXTURE ? (void *)&texture : (void *)&a, &b, &c};
    int err = MU(muMemAlloc_v2)(&memory, DOCTOR_THREADS * sizeof *out);
    if (!err)
        err = MU(muMemcpyHtoD_v2)(memory, out, DOCTOR_THREADS * sizeof *out);
    if (!err && p->needs == DOCTOR_NEEDS_TEXTURE)
        err = make_texture(&texture);
    if (!err)
        err = doctor_kernel_load(k);
    if (!err)
        err = doctor_kernel_launch(k, args);
    if (!err)
        err = MU(muCtxSynchronize)();
    return err ? err : MU(muMemcpyDtoH_v2)(out, memory, DOCTOR_THREADS * sizeof *out);
}

/* ---- what comes of it ---------------------------------------------------------------------------- */

/* The different values that threads gave, in the order of the first that did. */
static void tell_values(const char *name, const uint32_t out[DOCTOR_THREADS])
{
    char text[128] = "";
    for (unsigned t = 0, shown = 0; t < DOCTOR_THREADS && shown < 4; t++) {
        bool seen = false;
        for (unsigned u = 0; u < t; u++)
            seen |= out[u] == out[t];
        if (!seen && ++shown)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), " %u", out[t]);
    }
    doctor_line(name, "value%s", text);
}

static void judge(const struct doctor_probe *p, const uint32_t out[DOCTOR_THREADS], const char *remark)
{
    for (uint32_t t = 0; t < DOCTOR_THREADS && p->want; t++) {
        uint32_t want = p->want(t);
        if ((out[t] > want ? out[t] - want : want - out[t]) <= p->tolerance)
            continue;
        doctor_line(p->name, "wrong: thread %u has 0x%x, not 0x%x%s%s", t, out[t], want, *remark ? ", " : "", remark);
        return;
    }
    if (p->want)
        doctor_line(p->name, "right%s%s", *remark ? ", " : "", remark);
    else
        tell_values(p->name, out);
}

struct task {
    const struct doctor_probe *probe;
    unsigned arch; /* for a device of no known architecture */
};

/* What kernels print comes out of this process's stdout, which leads into memory while they do. */
static int run_printing(struct doctor_kernel *k, const struct doctor_probe *p, uint32_t out[DOCTOR_THREADS],
                        bool *printed)
{
    char text[64] = "";
    int fd = memfd_create("printed", MFD_CLOEXEC);
    *printed = fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
    int err = run(k, p, out);
    (void)fflush(stdout);
    *printed = *printed && pread(fd, text, sizeof text - 1, 0) > 0 && strcmp(text, DOCTOR_PRINTED) == 0;
    return err;
}

/* Takes one kernel the whole way: MUSA C++, compiler, module, launch, results against what they must be. Runs in a
 * process of its own, as a driver may crash in it. */
static int try_one(void *task)
{
    const struct task *t = task;
    const struct doctor_probe *p = t->probe;
    uint32_t out[DOCTOR_THREADS] = {0};
    struct doctor_kernel k;
    char why[DOCTOR_WHY];
    bool printed = true;
    int err = doctor_driver_open();
    unsigned arch = err ? 0 : doctor_driver_arch();
    if (!err && !p->ptx && doctor_driver_is_host()) {
        doctor_line(p->name, "not tried: the CPU libraries take no compiled code");
        return 0;
    }
    if (!err && !doctor_kernel_make(&k, p->ptx, p->musa, cumu_arch_known(arch) ? arch : t->arch, why)) {
        doctor_line(p->name, "no: %s", why);
        return 0;
    }
    if (!err)
        err = p->needs == DOCTOR_PRINTS ? run_printing(&k, p, out, &printed) : run(&k, p, out);
    if (err)
        doctor_line(p->name, "no: %s", doctor_error(err));
    else if (!printed)
        doctor_line(p->name, "wrong: its text did not come out");
    else
        judge(p, out, why);
    return 0;
}

static int find_device(void *unused)
{
    (void)unused;
    if (doctor_driver_open())
        return NO_DEVICE;
    if (doctor_driver_is_host()) {
        doctor_line("device", "the CPU");
        return TAKES_IMAGES;
    }
    doctor_line("device", "mp_%u", doctor_driver_arch());
    return COMPILES;
}

void cumu_doctor_kernels(unsigned arch)
{
    const char *why;
    doctor_section("kernels");
    const int found = doctor_child("device", find_device, NULL, SECONDS);
    if (found == NO_DEVICE)
        doctor_line("device", "none: no driver, or no device behind it");
    if (found == COMPILES && !cumu_musa_compiler(&why)) {
        doctor_line("compiler", "none: %s", why);
        return;
    }
    const bool runs = found == COMPILES || found == TAKES_IMAGES;
    for (struct task t = {doctor_probes, arch}; runs && t.probe->name; t.probe++)
        (void)doctor_child(t.probe->name, try_one, &t, SECONDS);
}
