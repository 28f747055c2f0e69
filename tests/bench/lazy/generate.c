/* Writes the library of lazy.h as assembler text and a file of fat binaries that it includes, one container a
 * module, PTX packed with zstd as nvcc does. usage: generate OUT.S OUT.bin */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lazy.h"

enum { LINE = 40, HEADER = 64, TEXT = (KERNELS / MODULES + 1) * (LINES + 16) * LINE };

static void put(uint8_t *p, uint64_t v, unsigned bytes) { memcpy(p, &v, bytes); }

static size_t module_text(char *to, unsigned module)
{
    char *p = to;
    p += sprintf(p, ".version 8.0\n.target sm_75\n.address_size 64\n");
    for (unsigned k = module; k < KERNELS; k += MODULES) {
        p += sprintf(p,
                     ".visible .entry kernel_%u(.param .u64 out)\n{\n.reg .b32 %%r<9>;\n"
                     ".reg .b64 %%rd<4>;\nld.param.u64 %%rd1, [out];\ncvta.to.global.u64 %%rd2, %%rd1;\n"
                     "mov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd3, %%r1, 4;\n"
                     "add.s64 %%rd2, %%rd2, %%rd3;\n",
                     k);
        for (unsigned l = 0; l < LINES; l++)
            p += sprintf(p, "add.s32 \t%%r1, %%r1, %u;\n", constant(k, l));
        p += sprintf(p, "st.global.u32 [%%rd2], %%r1;\nret;\n}\n");
    }
    return (size_t)(p - to);
}

/* Container and entry headers of the fat binary format; the sizes in front of a padded payload. */
static size_t container(uint8_t *to, const char *text, size_t size)
{
    size_t packed = ZSTD_compress(to + 16 + HEADER, ZSTD_compressBound(size), text, size, 1);
    if (ZSTD_isError(packed))
        exit(1);
    size_t padded = (packed + 7) & ~(size_t)7;
    memset(to, 0, 16 + HEADER);
    memset(to + 16 + HEADER + packed, 0, padded - packed);
    put(to, 0xBA55ED50u, 4);
    put(to + 4, 1, 2);
    put(to + 6, 16, 2);
    put(to + 8, HEADER + padded, 8);
    uint8_t *e = to + 16;
    put(e, 1, 2); /* PTX */
    put(e + 2, 0x0101, 2);
    put(e + 4, HEADER, 4);
    put(e + 8, padded, 8);
    put(e + 0x10, packed, 4);
    put(e + 0x18, 0, 2);
    put(e + 0x1A, 8, 2); /* PTX ISA 8.0 */
    put(e + 0x1C, 75, 4);
    put(e + 0x28, 0x8011, 8); /* zstd, 64 bits, Linux */
    put(e + 0x38, size, 8);
    return 16 + HEADER + padded;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    char *text = malloc(TEXT);
    uint8_t *packed = malloc(ZSTD_compressBound(TEXT) + 16 + HEADER + 8);
    FILE *s = fopen(argv[1], "w"), *bin = fopen(argv[2], "w");
    size_t at = 0, total = 0;
    if (!text || !packed || !s || !bin)
        return 1;
    fprintf(s, ".section .nv_fatbin,\"a\"\n.balign 8\n");
    for (unsigned m = 0; m < MODULES; m++) {
        size_t size = module_text(text, m) + 1, n = container(packed, text, size);
        if (fwrite(packed, 1, n, bin) != n)
            return 1;
        fprintf(s, "module_%u: .incbin \"%s\", %zu, %zu\n.balign 8\n", m, argv[2], at, n);
        at += n;
        total += size;
    }
    fprintf(s, ".section .nvFatBinSegment,\"aw\"\n.balign 8\n.globl wrappers\n.hidden wrappers\nwrappers:\n");
    for (unsigned m = 0; m < MODULES; m++)
        fprintf(s, ".long 0x466243b1, 1\n.quad module_%u, 0\n", m);
    fprintf(s, ".section .data.rel.ro,\"aw\"\n.balign 8\n.globl names\n.hidden names\nnames:\n");
    for (unsigned k = 0; k < KERNELS; k++)
        fprintf(s, ".quad name_%u\n", k);
    fprintf(s, ".section .rodata\n");
    for (unsigned k = 0; k < KERNELS; k++)
        fprintf(s, "name_%u: .asciz \"kernel_%u\"\n", k, k);
    fprintf(s, ".section .note.GNU-stack,\"\",@progbits\n");
    printf("lazy: %u modules, %u kernels, %.0f MB of PTX, %.0f MB packed\n", (unsigned)MODULES, (unsigned)KERNELS,
           (double)total / 1e6, (double)at / 1e6);
    return fclose(s) || fclose(bin) ? 1 : 0;
}
