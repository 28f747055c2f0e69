/* Corrupt and truncated images: refused or loaded, never a crash. Images whose numbers were changed
 * are loaded only: what passes validation may still compute nonsense, as a program may. */
#include "tier0/kernels.h"

static const char text[] = HEAD
    ".global .align 8 .u64 tab[2] = {f, v}; .global .align 4 .u32 v[3] = {1, 2, 3};\n"
    ".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %r<3>; .local .align 4 .b8 d[8]; .reg .b64 %rd<3>;\n"
    "mov.u64 %rd1, d; ld.param.u32 %r1, [x]; st.local.u32 [%rd1], %r1; st.param.b32 [r], %r1; ret; }\n" ENTRY(
        "k") ".shared .align 4 .b8 s[64]; rem.u32 %r2, %r1, 2; T: .branchtargets A, B; brx.idx %r2, T;\n"
             "A: ld.global.u64 %rd5, [tab]; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
             "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call (v), %rd5, (a), P; ld.param.b32 %r3, [v]; }\n"
             "B: mov.u32 %r4, s; st.shared.u32 [%r4], %r1; bar.sync 0; shfl.sync.idx.b32 %r5|%p1, %r1, 3, 31, -1;\n"
             "@%p1 atom.global.add.u32 %r6, [v], 1; "
             "tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd31, {%f5, %f6}], {%f5, %f6}, {%f6, %f5};\n"
             "suld.b.1d.b32.zero {%r7}, [%rd31, {%r1}];\n"
             "wmma.load.a.sync.aligned.row.m16n16k8.tf32 {%r1, %r2, %r3, %r4}, [%rd31], %r1;\n"
             "mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, "
             "{%r3}, {%r1, %r2, %r3, %r4};\n" STORE("%r5") END;

static unsigned loaded, refused;

static void try(const void *image, size_t size)
{
    static const char unset[] = "";
    const char *why = unset;
    struct t0_kernel_info info;
    struct t0_module *m = t0_module_load(image, size, &t0t_env, &why);
    if (!m) {
        refused += why != unset; /* NULL: a variable for which there is no memory */
        return;
    }
    loaded++;
    struct t0_kernel *k = t0_module_kernel(m, "k");
    if (k)
        t0_kernel_info(k, &info);
    t0_module_global(m, "v", NULL, NULL);
    t0_module_unload(m);
}

static void corrupt(const char *what, const void *image, size_t size)
{
    uint8_t *copy = malloc(size);
    uint32_t seed = 12345;
    loaded = refused = 0;
    unsigned n = 0;
    if (!copy)
        return;
    for (size_t cut = 0; cut < size; cut += cut < 400 ? 1 : 37, n++) {
        uint8_t *part = malloc(cut + 1); /* exact, so that a sanitizer sees reads behind the end */
        memcpy(part, image, cut);
        try(part, cut);
        free(part);
    }
    check(!loaded && refused == n, "%s: %u truncations refused", what, n);
    loaded = refused = n = 0;
    for (size_t at = 0; at < size; at++)
        for (unsigned k = 0; k < 3; k++, n++) {
            static const uint8_t with[3] = {0xff, 0x80, 0x01};
            memcpy(copy, image, size);
            copy[at] ^= with[k];
            try(copy, size);
        }
    for (unsigned k = 0; k < 3000; k++, n++) { /* several bytes at once */
        memcpy(copy, image, size);
        for (unsigned j = 0; j < 4; j++) {
            seed = seed * 1664525 + 1013904223;
            copy[(seed >> 8) % size] = (uint8_t)(seed >> 24);
        }
        try(copy, size);
    }
    check(loaded + refused == n && refused > n / 20, "%s: %u changed, %u refused", what, n, refused);
    free(copy);
}

int main(void)
{
    struct ptx_diag diag = {0};
    void *image;
    size_t size;
    struct ptx_module *m = ptx_module_open(text, strlen(text), &diag);
    if (!m || lir_lower_kernel(m, "k", &image, &size, &diag)) {
        check(false, "line %u: %s: %s", diag.line, diag.what, diag.msg);
        return 1;
    }
    corrupt("code", image, size);
    free(image);
    if (lir_lower_data(m, &image, &size, &diag) || !image)
        check(false, "line %u: %s: %s", diag.line, diag.what, diag.msg);
    else
        corrupt("data", image, size);
    free(image);
    check(lir_lower_kernel(m, "nothing", &image, &size, &diag) == -1 && !image, "no such kernel: %s", diag.msg);
    ptx_module_close(m);
    return t0t_done();
}
