/* cumu doctor: which names of ptx/musa/prelude/platform.h a toolkit really has, one tiny kernel each. */
#include "cli/doctor.h"
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text; /* text: what stands in the kernel, or a whole source if it has one of its own */
} probes[] = {
    {"a kernel", "p[threadIdx.x] = blockIdx.x;"},
    {"__shfl_sync of width 32", "p[0] = __shfl_sync(0xffffffffu, p[0], 3, 32);"},
    {"__ballot_sync", "p[0] = (int)__ballot_sync(0xffffffffu, p[0] > 0);"},
    {"__activemask", "p[0] = (int)__activemask();"},
    {"__syncwarp", "__syncwarp(); p[0] = 1;"},
    {"__syncthreads_count, _and, _or",
     "p[0] = __syncthreads_count(p[0]) + __syncthreads_and(p[1]) + __syncthreads_or(p[2]);"},
    {"fences of three scopes", "__threadfence_block(); __threadfence(); __threadfence_system(); p[0] = 1;"},
    {"__musa_isspacep_shared", "p[0] = __musa_isspacep_shared((const void *)p);"},
    {"clock64", "p[0] = (int)clock64();"},
    {"rsqrtf, exp2f, log2f, __sinf, __cosf, tanhf",
     "float x = p[0]; p[0] = (int)(rsqrtf(x) + exp2f(x) + log2f(x) + __sinf(x) + __cosf(x) + tanhf(x));"},
    {"64-bit atomicCAS, atomicAdd, atomicExch",
     "unsigned long long *q = (unsigned long long *)p; atomicCAS(q, 0ull, 1ull); atomicAdd(q, 1ull); atomicExch(q, 2ull);"},
    {"double precision", "double d = p[0]; p[0] = (int)(d / 3.0 + fma(d, d, 1.0));"},
    {"rounded arithmetic", "float x = p[0]; p[0] = (int)(__fadd_rz(x, x) + __fdiv_rn(x, 3) + __fmaf_ru(x, x, x));"},
    {"rintf, floorf, ceilf, truncf", "float x = p[0]; p[0] = (int)(rintf(x) + floorf(x) + ceilf(x) + truncf(x));"},
    {"tex2D, tex1Dfetch of a texture object",
     "musaTextureObject_t t = (musaTextureObject_t)p[0];\n"
     "p[0] = (int)(tex2D<float4>(t, 1.0f, 2.0f).x + tex1Dfetch<float4>(t, 3).y);"},
    {"surf2Dread, surf2Dwrite",
     "musaSurfaceObject_t s = (musaSurfaceObject_t)p[0];\n"
     "surf2Dwrite(surf2Dread<unsigned>(s, 4, 1, musaBoundaryModeTrap), s, 8, 1, musaBoundaryModeZero);"},
    {"malloc and free", "void *q = malloc(16); p[0] = q != 0; free(q);"},
    {"__trap", "if (p[0]) __trap();"},
    {"dynamic shared memory",
     "#include <musa_runtime.h>\nextern __shared__ __align__(128) unsigned char s[];\n"
     "extern \"C\" __global__ void probe(int *p) { s[threadIdx.x] = 1; __syncthreads(); p[0] = s[0]; }\n"},
    {"__launch_bounds__",
     "#include <musa_runtime.h>\nextern \"C\" __global__ void __launch_bounds__(256) probe(int *p) { p[0] = 1; }\n"},
    {"vprintf",
     "#include <musa_runtime.h>\nextern \"C\" __device__ int vprintf(const char *, const char *);\n"
     "extern \"C\" __global__ void probe(int *p) { p[0] = vprintf(\"x\", 0); }\n"},
    {"variables with initialisers",
     "#include <musa_runtime.h>\nextern \"C\" { __device__ int table[2] = {1, 2}; }\n"
     "extern \"C\" __global__ void probe(int *p) { p[0] = table[p[1] & 1]; }\n"},
};

void cumu_doctor_compiler(unsigned arch)
{
    const char *why, *file = cumu_musa_compiler(&why);
    unsigned good = 0;
    if (!file) {
        printf("%s\n", why);
        return;
    }
    printf("%s, for mp_%u\n", file, arch);
    for (unsigned k = 0; k < sizeof probes / sizeof *probes; k++) {
        char *text = NULL;
        struct cumu_compiled o = {0};
        int n = *probes[k].text == '#'
                    ? asprintf(&text, "%s", probes[k].text)
                    : asprintf(&text, "#include <musa_runtime.h>\nextern \"C\" __global__ void probe(int *p) { %s }\n",
                               probes[k].text);
        if (n < 0)
            return;
        bool made = cumu_mubin_make(&o, "probe", text, (size_t)n, arch, CUMU_WANT_COMPILED) != CUMU_MADE_FAILED;
        printf("%-46s %s%s\n", probes[k].name, made ? "yes" : "no: ", made ? "" : o.why);
        good += made;
        free(o.data);
        free(text);
    }
    printf("%u of %u\n", good, (unsigned)(sizeof probes / sizeof *probes));
}
