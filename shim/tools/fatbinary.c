/* fatbinary: puts images into one container, as a file or as the C text that nvcc compiles. Cubins that carry PTX are
 * stored as they are; where no image is of ours, NVIDIA's own does it. */
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "ptx/ir.h"
#include "tools/tools.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CREATE = 1, EMBEDDED, DEVICE_C, LINK, CMDLINE };

/* Names of fatbinary 13.0's --help, and those of older releases that XLA and clang use. */
static const struct tool_option options[] = {
    {"create", "create", TOOL_TEXT, CREATE},
    {"embedded-fatbin", "fatbin", TOOL_TEXT, EMBEDDED},
    {"device-c", "c", TOOL_FLAG, DEVICE_C},
    {"link", "link", TOOL_FLAG, LINK},
    {"image", "image", TOOL_LIST, 0},
    {"image2", "image2", TOOL_LIST, 0},
    {"image3", "image3", TOOL_LIST, 0},
    {"32", "32", TOOL_FLAG, 0},
    {"64", "64", TOOL_FLAG, 0},
    {"cicc-cmdline", "cicc-cmdline", TOOL_TEXT, 0},
    {"cmdline", "cmdline", TOOL_TEXT, CMDLINE},
    {"compress", "compress", TOOL_TEXT, 0},
    {"compress-all", "compress-all", TOOL_FLAG, 0},
    {"compress-mode", "compress-mode", TOOL_TEXT, 0},
    {"debug", "g", TOOL_FLAG, 0},
    {"embed-fatbin", "embed-fatbin", TOOL_FLAG, 0},
    {"ident", "ident", TOOL_TEXT, 0},
    {"no-asm", "no-asm", TOOL_FLAG, 0},
};

struct image {
    char *data;
    size_t size;
    unsigned arch;
    char suffix; /* 'a' or 'f' of sm_90a; else 0 */
    bool ptx;
};

static size_t padded(size_t n) { return (n + 7) & ~(size_t)7; }

/* "kind=elf,sm=80,file=x" or "profile=sm_80,file=x". What kind it is, the file says. */
static int read_image(const struct tool *t, const char *spec, struct image *image)
{
    char *text = strdup(spec), *rest = text;
    int status = text ? 0 : tool_fatal(t, "Memory allocation failure");
    for (char *part; !status && (part = strsep(&rest, ","));) {
        char *end;
        bool code;
        if (strncmp(part, "sm=", 3) == 0) {
            image->arch = (unsigned)strtoul(part + 3, &end, 10);
            image->suffix = *end;
        } else if (strncmp(part, "profile=", 8) == 0)
            image->arch = tool_arch(part + 8, &image->suffix, &code);
        else if (strncmp(part, "file=", 5) == 0 && !(image->data = cumu_file_read(part + 5, PTRDIFF_MAX, &image->size)))
            status = tool_fatal(t, "Could not open input file '%s'", part + 5);
    }
    if (!status && (!image->data || !image->arch))
        status = tool_fatal(t, "Invalid image specification '%s'", spec);
    if (!status)
        image->ptx = !fatbin_is_elf(image->data, image->size);
    free(text);
    return status;
}

static void put(char *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (char)(value >> (8 * i));
}

enum { HEADER = 64 }; /* without options */

/* What ptxas is to be told stands behind the header of PTX. */
static size_t header_size(const struct image *image, const char *cmdline)
{
    return HEADER + (image->ptx && cmdline ? padded(8 + strlen(cmdline)) : 0);
}

/* The entry's header and payload; the layout: mapping/facts/cuda.md F3. */
static size_t write_entry(char *to, const struct image *image, const char *cmdline)
{
    enum { VERSION = 0x0101, FLAGS = 0x11 /* 64 bits, Linux */ };
    const size_t header = header_size(image, cmdline);
    struct ptx_diag diag;
    struct ptx_module *m = image->ptx ? ptx_module_open(image->data, image->size, &diag) : NULL;
    size_t size = padded(image->size + image->ptx);
    put(to, image->ptx ? FATBIN_PTX : FATBIN_CUBIN, 2);
    put(to + 2, VERSION, 2);
    put(to + 4, header, 4);
    put(to + 8, size, 8);
    put(to + 0x18, m ? m->version_minor : 7, 2);
    put(to + 0x1a, m ? m->version_major : 1, 2);
    put(to + 0x1c, image->arch, 4);
    put(to + 0x28, FLAGS | (image->suffix == 'a' ? FATBIN_F_ARCH_A : image->suffix == 'f' ? FATBIN_F_ARCH_F : 0), 8);
    if (header > HEADER) { /* where the block is; in it, where its text is, and how long */
        put(to + 0x14, HEADER, 4);
        put(to + HEADER, HEADER + 8, 4);
        put(to + HEADER + 4, strlen(cmdline), 4);
        memcpy(to + HEADER + 8, cmdline, strlen(cmdline));
    }
    memcpy(to + header, image->data, image->size);
    if (m)
        ptx_module_close(m);
    return header + size;
}

/* All images in one container, malloc'ed. */
static char *make_container(const struct image *image, unsigned n, const char *cmdline, size_t *size)
{
    enum { FRONT = 16 };
    *size = FRONT;
    for (unsigned i = 0; i < n; i++)
        *size += header_size(&image[i], cmdline) + padded(image[i].size + image[i].ptx);
    char *to = calloc(1, *size), *at = to + FRONT;
    if (!to)
        return NULL;
    put(to, FATBIN_MAGIC, 4);
    put(to + 4, 1, 2);
    put(to + 6, FRONT, 2);
    put(to + 8, *size - FRONT, 8);
    for (unsigned i = 0; i < n; i++)
        at += write_entry(at, &image[i], cmdline);
    return to;
}

/* The C text that nvcc's stubs include: the container as assembly, and the wrapper that registration is given. Its
 * names are those that the stubs and crt/link.stub use. */
static bool write_embedded(const struct tool *t, const struct tool_line *l, const char *data, size_t size)
{
    bool relocatable = l->value[DEVICE_C], link = l->value[LINK];
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return tool_fatal(t, "Memory allocation failure") == 0;
    fprintf(f,
            "#ifndef __SKIP_INTERNAL_FATBINARY_HEADERS\n#include \"fatbinary_section.h\"\n#endif\n"
            "#define __CUDAFATBINSECTION  \".nvFatBinSegment\"\n#define __CUDAFATBINDATASECTION  \"%s\"\n"
            "asm(\n\".section %s, \\\"a\\\"\\n\"\n\".align 8\\n\"\n\"fatbinData:\\n\"\n",
            relocatable ? "__nv_relfatbin" : ".nv_fatbin", relocatable ? "__nv_relfatbin" : ".nv_fatbin");
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, sizeof word);
        fprintf(f, "\".quad 0x%016" PRIx64 "\\n\"\n", word);
    }
    fputs("\".text\\n\");\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nextern const unsigned long long fatbinData[];\n"
          "#ifdef __cplusplus\n}\n#endif\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
          f);
    if (relocatable)
        fputs(
            "#undef __FATIDNAME_CORE\n#undef __FATIDNAME\n#define __FATIDNAME_CORE(x) __fatbinwrap##x\n"
            "#define __FATIDNAME(x) __FATIDNAME_CORE(x)\nextern const __fatBinC_Wrapper_t __FATIDNAME(__NV_MODULE_ID)",
            f);
    else
        fputs("static const __fatBinC_Wrapper_t __fatDeviceText", f);
    fprintf(f,
            " __attribute__ ((aligned (8))) __attribute__ ((section (__CUDAFATBINSECTION)))= \n"
            "\t{ 0x466243b1, %d, fatbinData, %s };\n#ifdef __cplusplus\n}\n#endif\n",
            link ? 2 : 1, link ? "(void**)__cudaPrelinkedFatbins" : "0");
    bool good = fclose(f) == 0 && tool_write(t, l->value[EMBEDDED], text, len);
    free(text);
    return good;
}

int tool_fatbinary(const struct tool *t, int argc, char **argv)
{
    struct tool_line l;
    bool ours = false;
    int status = tool_line_read(t, options, sizeof options / sizeof *options, argc, argv, &l);
    struct image *image = calloc(l.nlist + 1, sizeof *image);
    for (unsigned i = 0; image && !status && i < l.nlist; i++) {
        status = read_image(t, l.list[i], &image[i]);
        ours |= !status && tool_is_ours(image[i].data, image[i].size);
    }
    if (!status && !ours)
        tool_become_real(t, argv);
    size_t size = 0;
    char *container = image && !status ? make_container(image, l.nlist, l.value[CMDLINE], &size) : NULL;
    if (!status && !container)
        status = tool_fatal(t, "Memory allocation failure");
    if (!status && l.value[CREATE] && !tool_write(t, l.value[CREATE], container, size))
        status = TOOL_FAILED;
    if (!status && l.value[EMBEDDED] && !write_embedded(t, &l, container, size))
        status = TOOL_FAILED;
    free(container);
    for (unsigned i = 0; image && i < l.nlist; i++)
        free(image[i].data);
    free(image);
    tool_line_free(&l);
    return status;
}
