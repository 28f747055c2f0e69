/* ptxas: checks PTX and wraps it into a cubin that carries it, for the loader to translate when it is loaded. Messages,
 * exit statuses and the lines of -v are those that callers of NVIDIA's read (Triton, XLA, GCC's offload assembler). */
#include "compile/bound.h"
#include "compile/link.h"
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "ptx/ir.h"
#include "tools/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARCH = 1, OUTPUT, VERBOSE, RELOCATABLE, LOCAL, SILENT, REGISTERS };

/* Names of ptxas 13.0's --help, and one of Triton's that it keeps to itself (mapping/facts/cuda.md X1). */
static const struct tool_option options[] = {
    {"gpu-name", "arch", TOOL_TEXT, ARCH},
    {"output-file", "o", TOOL_TEXT, OUTPUT},
    {"verbose", "v", TOOL_FLAG, VERBOSE},
    {"compile-only", "c", TOOL_FLAG, RELOCATABLE},
    {"extensible-whole-program", "ewp", TOOL_FLAG, RELOCATABLE},
    {"warn-on-local-memory-usage", "warn-lmem-usage", TOOL_FLAG, LOCAL},
    {"disable-warnings", "w", TOOL_FLAG, SILENT},
    {"input-as-string", "ias", TOOL_LIST, 0},
    {"machine", "m", TOOL_JOINED, 0},
    {"opt-level", "O", TOOL_JOINED, 0},
    {"Ofast-compile", "Ofc", TOOL_TEXT, 0},
    {"allow-expensive-optimizations", "allow-expensive-optimizations", TOOL_BOOL, 0},
    {"compile-as-tools-patch", "astoolspatch", TOOL_FLAG, 0},
    {"compiler-annotations", "annotate", TOOL_FLAG, 0},
    {"def-load-cache", "dlcm", TOOL_TEXT, 0},
    {"def-store-cache", "dscm", TOOL_TEXT, 0},
    {"device-debug", "g", TOOL_FLAG, 0},
    {"device-function-maxrregcount", "func-maxrregcount", TOOL_NUMBER, 0},
    {"device-stack-protector", "device-stack-protector", TOOL_BOOL, 0},
    {"disable-optimizer-constants", "disable-optimizer-consts", TOOL_FLAG, 0},
    {"dont-merge-basicblocks", "no-bb-merge", TOOL_FLAG, 0},
    {"entry", "e", TOOL_TEXT, 0},
    {"fmad", "fmad", TOOL_BOOL, 0},
    {"force-load-cache", "flcm", TOOL_TEXT, 0},
    {"force-store-cache", "fscm", TOOL_TEXT, 0},
    {"generate-line-info", "lineinfo", TOOL_FLAG, 0},
    {"g-tensor-memory-access-check", "g-tmem-access-check", TOOL_FLAG, 0},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", TOOL_FLAG, 0},
    {"legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", TOOL_FLAG, 0},
    {"make-errors-visible-at-exit", "make-errors-visible-at-exit", TOOL_FLAG, 0},
    {"maxntid", "maxntid", TOOL_TEXT, 0},
    {"maxrregcount", "maxrregcount", TOOL_NUMBER, REGISTERS},
    {"minnctapersm", "minnctapersm", TOOL_NUMBER, 0},
    {"optimize-float-atomics", "opt-fp-atomics", TOOL_FLAG, 0},
    {"override-directive-values", "override-directive-values", TOOL_FLAG, 0},
    {"position-independent-code", "pic", TOOL_BOOL, 0},
    {"preserve-relocs", "preserve-relocs", TOOL_FLAG, 0},
    {"regAllocOptLevel", NULL, TOOL_NUMBER, 0},
    {"register-usage-level", "regUsageLevel", TOOL_NUMBER, 0},
    {"return-at-end", "ret-end", TOOL_FLAG, 0},
    {"sanitize", "sanitize", TOOL_TEXT, 0},
    {"sp-bounds-check", "sp-bounds-check", TOOL_FLAG, 0},
    {"split-compile", "split-compile", TOOL_NUMBER, 0},
    {"suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", TOOL_FLAG, 0},
    {"suppress-debug-info", "suppress-debug-info", TOOL_FLAG, 0},
    {"suppress-double-demote-warning", "suppress-double-demote-warning", TOOL_FLAG, 0},
    {"suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", TOOL_FLAG, 0},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", TOOL_FLAG, 0},
    {"warn-on-double-precision-use", "warn-double-usage", TOOL_FLAG, 0},
    {"warn-on-spills", "warn-spills", TOOL_FLAG, 0},
    {"warning-as-error", "Werror", TOOL_FLAG, 0},
};

/* ---- what is wrong with a text -------------------------------------------------------------- */

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    return n >= m && strcmp(s + n - m, with) == 0;
}

/* A finding of the front end in the words of NVIDIA's where callers may know them. A gap is no error of the text: the
 * kernel is carried, and says so when it is loaded. */
static bool find_fault(const struct tool *t, const char *path, const struct ptx_diag *d, bool silent)
{
    if (d->gap) {
        if (!silent)
            tool_warning(t, "%s, line %u: %s: %s; cumu cannot run this yet", path, d->line, d->what, d->msg);
        return false;
    }
    (void)fflush(stdout);
    fprintf(stderr, "%s %s, line %u; ", t->name, path, d->line ? d->line : 1);
    if (strstr(d->msg, "expected .version"))
        fprintf(stderr, "fatal   : Missing .version directive at start of file '%s'\n", path);
    else if (strncmp(d->msg, "unexpected;", 11) == 0 || strstr(d->msg, ": expected '") ||
             ends(d->msg, "operand is missing"))
        fprintf(stderr, "fatal   : Parsing error near '%s': syntax error\n", d->what);
    else if (strncmp(d->msg, "text ends;", 10) == 0 || strncmp(d->msg, "no matching", 11) == 0)
        fputs("fatal   : Parsing error near '': syntax error\n", stderr);
    else if (strcmp(d->msg, "unknown instruction") == 0)
        fprintf(stderr, "error   : Not a name of any known instruction: '%.*s'\n", (int)strcspn(d->what, "."), d->what);
    else if (strstr(d->msg, ": register is ."))
        fprintf(stderr, "error   : Arguments mismatch for instruction '%.*s'\n", (int)strcspn(d->msg, ".:"), d->msg);
    else if (strstr(d->msg, "unknown modifier "))
        fprintf(stderr, "error   : Unknown modifier '%s'\n", strrchr(d->msg, ' ') + 1);
    else if (strcmp(d->msg, "undefined label") == 0 || ends(d->msg, "undeclared name") ||
             ends(d->msg, "undeclared register"))
        fprintf(stderr, "error   : Unknown symbol '%s'\n", d->what);
    else if (strcmp(d->msg, "defined twice") == 0 || strcmp(d->msg, "declared twice in one scope") == 0)
        fprintf(stderr, "error   : Duplicate definition of '%s'\n", d->what);
    else
        fprintf(stderr, "error   : %s: %s\n", d->what, d->msg);
    return true;
}

/* Functions that NVIDIA's knows itself. */
static bool built_in(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The first function that f calls and nobody defines, NULL if there is none. */
static const char *find_unresolved(const struct ptx_func *f)
{
    for (uint32_t i = 0; i < f->ninstr; i++) {
        const struct ptx_instr *in = &f->instr[i];
        if (in->op != PTX_OP_CALL || in->src[0].kind != PTX_O_SYM || PTX_SYM_BAND(in->src[0].sym) != PTX_BAND_FUNC)
            continue;
        const char *name = f->module->func[PTX_SYM_INDEX(in->src[0].sym)].name;
        if (ptx_module_func(f->module, name)->is_decl && !built_in(name))
            return name;
    }
    return NULL;
}

/* Every function is read, so that the first fault of each is told. *unresolved: what is called and not there. */
static bool check_functions(const struct tool *t, const char *path, const struct ptx_module *m, bool silent,
                            const char **unresolved)
{
    bool bad = false;
    for (uint32_t i = 0; i < m->nfunc; i++) {
        struct ptx_diag diag = {0};
        struct ptx_func *f = m->func[i].is_decl ? NULL : ptx_func_copy(&m->func[i]);
        if (f && ptx_func_parse(f, &diag) != 0)
            bad |= find_fault(t, path, &diag, silent);
        else if (f && !*unresolved)
            *unresolved = find_unresolved(f);
        ptx_func_free(f);
    }
    return bad;
}

/* ---- inputs --------------------------------------------------------------------------------- */

/* A whole file, "-" for standard input; NULL if it cannot be read. */
static char *read_input(const char *path, size_t *size)
{
    return cumu_file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, PTRDIFF_MAX, size);
}

static struct ptx_module *open_text(const struct tool *t, const char *path, const char *text, size_t size)
{
    struct ptx_diag diag = {0};
    if (strlen(text) < size) {
        unsigned line = 1;
        for (const char *c = text; *c; c++)
            line += *c == '\n';
        (void)tool_fatal(t, "Unexpected EOF encountered on line %u", line);
        return NULL;
    }
    struct ptx_module *m = ptx_module_open(text, size, &diag);
    if (m)
        return m;
    diag.gap = false; /* nothing is left that could be carried */
    (void)find_fault(t, path, &diag, false);
    return NULL;
}

/* The module of all inputs; NULL and said what is wrong. Several become one, as with NVIDIA's; *unresolved is of one
 * alone. */
static struct ptx_module *open_inputs(const struct tool *t, const struct tool_line *l, const char **unresolved)
{
    unsigned n = l->ninput + l->nlist, good = 0;
    struct ptx_module *one = NULL, **m = calloc(n, sizeof *m);
    for (unsigned i = 0; m && i < n; i++) {
        const char *path = i < l->ninput ? l->input[i] : "<input>";
        size_t size = 0;
        char *text = i < l->ninput ? read_input(path, &size) : strdup(l->list[i - l->ninput]);
        if (!text)
            (void)tool_fatal(t, "Input file '%s' could not be opened", path);
        else if ((m[i] = open_text(t, path, text, i < l->ninput ? size : strlen(text))) != NULL &&
                 !check_functions(t, path, m[i], l->value[SILENT] != NULL, unresolved))
            good++;
        free(text);
    }
    if (good == n && n == 1) {
        one = m[0];
        m[0] = NULL;
    } else if (good == n) {
        size_t size;
        *unresolved = NULL;
        char *text = cumu_ptx_link(m, n, &size);
        one = text ? open_text(t, l->ninput ? l->input[0] : "<input>", text, size) : NULL;
        free(text);
    }
    for (unsigned i = 0; m && i < n; i++)
        if (m[i])
            ptx_module_close(m[i]);
    free(m);
    if (!one)
        (void)tool_fatal(t, "Ptx assembly aborted due to errors");
    return one;
}

/* m, or in its place one that keeps to --maxrregcount; NULL and said so without memory. */
static struct ptx_module *limit_registers(const struct tool *t, const struct tool_line *l, struct ptx_module *m)
{
    const uint32_t registers = l->value[REGISTERS] ? (uint32_t)strtoul(l->value[REGISTERS], NULL, 0) : 0;
    struct ptx_module *limited = registers ? cumu_ptx_open(m->text, m->text_len, registers, NULL) : m;
    if (limited != m)
        ptx_module_close(m);
    if (!limited)
        (void)tool_fatal(t, "Memory allocation failure");
    return limited;
}

/* ---- the program ---------------------------------------------------------------------------- */

static int assemble(const struct tool *t, const struct tool_line *l, char **argv)
{
    const char *arch = l->value[ARCH] ? l->value[ARCH] : "sm_75";
    char suffix;
    bool code;
    unsigned number = tool_arch(arch, &suffix, &code);
    if (!number)
        return tool_fatal(t, "Value '%s' is not defined for option 'gpu-name'", arch);
    const char *unresolved = NULL;
    struct ptx_module *m = open_inputs(t, l, &unresolved);
    if (!m)
        return TOOL_FAILED;
    int status = 0;
    if (m->target > number)
        status = tool_fatal(t, "SM version specified by .target is higher than default SM version assumed");
    else if (m->target_suffix == 'a' && (m->target != number || suffix != 'a'))
        status = tool_fatal(t, "PTX with .target 'sm_%ua' cannot be compiled for architecture '%s'", m->target, arch);
    else if (unresolved && !l->value[RELOCATABLE])
        status = tool_fatal(t, "Unresolved extern function '%s'", unresolved);
    if (!status && !(m = limit_registers(t, l, m)))
        return TOOL_FAILED;
    if (!status)
        tool_report(t, m, arch, l->value[VERBOSE] != NULL, l->value[LOCAL] != NULL && !l->value[SILENT]);
    if (!status && code) {
        size_t size;
        char *cubin = tool_cubin(m, number, l->value[RELOCATABLE] != NULL, argv, &size);
        if (!cubin)
            status = tool_fatal(t, "Memory allocation failure");
        else if (!tool_write(t, l->value[OUTPUT] ? l->value[OUTPUT] : "elf.o", cubin, size))
            status = TOOL_FAILED;
        free(cubin);
    }
    ptx_module_close(m);
    return status;
}

static int usage(const struct tool *t)
{
    printf("\nUsage  : %s [options] <ptx file>,...\n\nOptions\n=======\n\n", t->name);
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        printf("--%s%s%s\n", options[i].name, options[i].brief ? "  -" : "", options[i].brief ? options[i].brief : "");
    return 0;
}

int tool_ptxas(const struct tool *t, int argc, char **argv)
{
    struct tool_line l;
    int status = tool_line_read(t, options, sizeof options / sizeof *options, argc, argv, &l);
    if (!status && l.asks_real)
        status = usage(t);
    else if (!status && l.ninput + l.nlist == 0)
        status = usage(t);
    else if (!status)
        status = assemble(t, &l, argv);
    tool_line_free(&l);
    return status;
}
