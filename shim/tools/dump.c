/* cuobjdump and nvdisasm: show the PTX of cubins that carry it, in the frames that readers look for. Everything else is
 * for NVIDIA's own. */
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "ptx/ir.h"
#include "tools/tools.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PTX = 1, SASS, SYMBOLS, USAGE, ELFS, TEXTS, FUNCTION, REFUSED };

static const struct tool_option dump_options[] = {
    {"dump-ptx", "ptx", TOOL_FLAG, PTX},
    {"dump-sass", "sass", TOOL_FLAG, SASS},
    {"dump-elf-symbols", "symbols", TOOL_FLAG, SYMBOLS},
    {"dump-resource-usage", "res-usage", TOOL_FLAG, USAGE},
    {"list-elf", "lelf", TOOL_FLAG, ELFS},
    {"list-ptx", "lptx", TOOL_FLAG, TEXTS},
    {"function", "fun", TOOL_TEXT, FUNCTION},
    {"dump-elf", "elf", TOOL_FLAG, REFUSED},
    {"extract-elf", "xelf", TOOL_TEXT, REFUSED},
    {"extract-ptx", "xptx", TOOL_TEXT, REFUSED},
    {"extract-text", "xtext", TOOL_TEXT, REFUSED},
    {"function-index", "findex", TOOL_TEXT, REFUSED},
    {"gpu-architecture", "arch", TOOL_TEXT, 0},
    {"all-fatbin", "all", TOOL_FLAG, 0},
    {"sort-functions", "sort", TOOL_FLAG, 0},
};

/* Of nvdisasm: how machine code is shown, of which there is none. */
static const struct tool_option disassembler_options[] = {
    {"cuda-function-index", "fun", TOOL_TEXT, 0},
    {"emit-json", "json", TOOL_FLAG, REFUSED},
    {"binary", "b", TOOL_TEXT, REFUSED},
    {"base-address", "base", TOOL_TEXT, 0},
    {"life-range-mode", "lrm", TOOL_TEXT, 0},
    {"no-dataflow", "ndf", TOOL_FLAG, 0},
    {"no-vliw", "novliw", TOOL_FLAG, 0},
    {"output-control-flow-graph", "cfg", TOOL_FLAG, REFUSED},
    {"print-code", "c", TOOL_FLAG, 0},
    {"print-instruction-encoding", "hex", TOOL_FLAG, 0},
    {"print-life-ranges", "plr", TOOL_FLAG, 0},
    {"print-line-info", "g", TOOL_FLAG, 0},
    {"print-line-info-inline", "gi", TOOL_FLAG, 0},
    {"print-line-info-ptx", "gp", TOOL_FLAG, 0},
    {"print-raw", "raw", TOOL_FLAG, 0},
    {"separate-functions", "sf", TOOL_FLAG, 0},
};

struct dump {
    const struct tool *tool;
    const struct tool_line *line;
    const char *stem; /* of the file's name, for lists */
    unsigned number;
};

/* Names of functions as NVIDIA's frame them, each with its text behind `//`. */
static void show_code(const struct dump *d, const struct ptx_module *m, const char *frame)
{
    const char *only = d->line->value[FUNCTION];
    for (uint32_t i = 0; i < m->nfunc; i++) {
        const struct ptx_func *f = &m->func[i];
        if (f->is_decl || (only && strcmp(only, f->name) != 0))
            continue;
        printf(frame, f->name, f->name, f->name);
        for (size_t at = 0; at < f->body_len;) {
            size_t n = strcspn(f->body + at, "\n");
            n = n > f->body_len - at ? f->body_len - at : n;
            printf("\t// %.*s\n", (int)n, f->body + at);
            at += n + 1;
        }
    }
}

static void show_symbols(const struct ptx_module *m)
{
    puts("\nsymbols:");
    for (uint32_t i = 0; i < m->nvar; i++)
        printf("STT_OBJECT       STB_%s STV_DEFAULT    %s\n", m->var[i].visible ? "GLOBAL" : "LOCAL ", m->var[i].name);
    for (uint32_t i = 0; i < m->nfunc; i++)
        if (!m->func[i].is_decl)
            printf("STT_FUNC         STB_GLOBAL STO_%s      %s\n", m->func[i].is_entry ? "ENTRY" : "     ",
                   m->func[i].name);
}

static void show(struct dump *d, const char *text, size_t len, unsigned arch)
{
    const char *const *want = d->line->value;
    struct ptx_diag diag;
    struct ptx_module *m = ptx_module_open(text, len, &diag);
    d->number++;
    if (!m)
        return;
    if (want[ELFS])
        printf("ELF file %4u: %s.sm_%u.cubin\n", d->number, d->stem, arch);
    if (want[TEXTS])
        printf("PTX file %4u: %s.sm_%u.ptx\n", d->number, d->stem, arch);
    if (want[PTX])
        printf("\nFatbin ptx code:\n================\narch = sm_%u\ncode version = [%u,%u]\nhost = linux\n"
               "compile_size = 64bit\n\n%.*s\n",
               arch, m->version_major, m->version_minor, (int)len, text);
    if (want[SASS]) {
        printf("\n\tcode for sm_%u\n\t.target\tsm_%u\n\n", arch, arch);
        show_code(d, m, "\t\tFunction : %s\n\t// PTX: cumu's ptxas makes no machine code\n");
    }
    if (want[SYMBOLS])
        show_symbols(m);
    if (want[USAGE])
        tool_usage(m, arch);
    ptx_module_close(m);
}

static bool show_entry(void *ctx, const struct fatbin_entry *e, int error)
{
    char *text;
    size_t len;
    if (!error && e && e->kind == FATBIN_PTX && fatbin_unpack(e, &text, &len) == 0) {
        show(ctx, text, len, e->arch);
        free(text);
    }
    return true;
}

/* All PTX of a file that is ours somewhere: a cubin, a fat binary or a host file. */
static void show_file(struct dump *d, const char *data, size_t size)
{
    static const char *const sections[] = {".nv_fatbin", "__nv_relfatbin"};
    size_t len;
    const char *text = fatbin_carried(data, size, &len);
    if (text)
        show(d, text, len, tool_cubin_arch(data));
    else if (!fatbin_is_elf(data, size))
        (void)fatbin_scan(data, size, show_entry, d);
    for (unsigned i = 0; i < 2 && !text; i++) {
        const char *section = fatbin_cubin_section(data, size, sections[i], &len);
        if (section)
            (void)fatbin_scan(section, len, show_entry, d);
    }
}

/* The only input, whole, and where its name begins; NULL and *status when there is nothing for us to do. */
static char *open_input(const struct tool *t, struct tool_line *l, char **argv, size_t *size, int *status)
{
    bool ours = l->ninput == 1;
    char *data = ours ? cumu_file_read(l->input[0], PTRDIFF_MAX, size) : NULL;
    if (data && tool_is_ours(data, *size)) {
        if (!l->value[REFUSED])
            return data;
        *status = tool_fatal(t, "An option is only for machine code; '%s' carries PTX", l->input[0]);
    } else {
        tool_become_real(t, argv);
        *status = !ours  ? tool_fatal(t, "Exactly one input file is expected")
                  : data ? tool_fatal(t, "'%s' was not made by cumu's ptxas, and there is no %s of NVIDIA's",
                                      l->input[0], t->name)
                         : tool_fatal(t, "Could not open input file '%s'", l->input[0]);
    }
    free(data);
    return NULL;
}

int tool_cuobjdump(const struct tool *t, int argc, char **argv)
{
    struct tool_line l;
    size_t size = 0;
    int status = tool_line_read(t, dump_options, sizeof dump_options / sizeof *dump_options, argc, argv, &l);
    char *data = status ? NULL : open_input(t, &l, argv, &size, &status);
    if (data) {
        char *stem = strdup(strrchr(l.input[0], '/') ? strrchr(l.input[0], '/') + 1 : l.input[0]);
        if (stem)
            stem[strcspn(stem, ".")] = 0;
        struct dump d = {t, &l, stem ? stem : "", 0};
        show_file(&d, data, size);
        free(stem);
    }
    free(data);
    tool_line_free(&l);
    return status;
}

int tool_nvdisasm(const struct tool *t, int argc, char **argv)
{
    struct tool_line l;
    struct ptx_diag diag;
    size_t size = 0, len = 0;
    int status = tool_line_read(t, disassembler_options, sizeof disassembler_options / sizeof *disassembler_options,
                                argc, argv, &l);
    char *data = status ? NULL : open_input(t, &l, argv, &size, &status);
    const char *text = data ? fatbin_carried(data, size, &len) : NULL;
    struct ptx_module *m = text ? ptx_module_open(text, len, &diag) : NULL;
    if (data && !m)
        status = tool_fatal(t, "File %s does not appear to be a cubin", l.input[0]);
    if (m) {
        struct dump d = {t, &l, "", 0};
        printf("\t.target\tsm_%u\n\n\t.elftype\t@\"ET_EXEC\"\n\n// PTX: cumu's ptxas makes no machine code\n",
               tool_cubin_arch(data));
        show_code(&d, m,
                  "\n//--------------------- .text.%s --------------------------\n\t.section\t.text.%s\n.text.%s:\n");
        ptx_module_close(m);
    }
    free(data);
    tool_line_free(&l);
    return status;
}
