/* Programs of ours under the names of NVIDIA's (core/tools.h): what frameworks start while they run. PTX goes through
 * them as it is, in cubins that carry it (fatbin/fatbin.h). What NVIDIA's programs know better is asked of them, where
 * they lie: their release, options that are not in our tables, files that they made. */
#ifndef CUMU_TOOLS_TOOLS_H
#define CUMU_TOOLS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

enum { TOOL_FAILED = 255 };

struct tool {
    const char *name, *title; /* "ptxas", "Ptx optimizing assembler" */
    int (*run)(const struct tool *t, int argc, char **argv);
};
/* The program's tool, by the name that it was started under; NULL if it is the cumu tool itself. */
const struct tool *tool_of(char **argv);
int tool_run(const struct tool *t, int argc, char **argv); /* its exit status */

/* ---- messages, in the form of NVIDIA's ------------------------------------------------------ */

/* "ptxas fatal   : text" on stderr; TOOL_FAILED. */
int tool_fatal(const struct tool *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tool_warning(const struct tool *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- options -------------------------------------------------------------------------------- */

enum tool_kind {
    TOOL_FLAG,   /* takes no value */
    TOOL_BOOL,   /* true or false */
    TOOL_NUMBER, /* a number, or a word in which NVIDIA's programs see one */
    TOOL_TEXT,
    TOOL_LIST,   /* a text that may be given again: each is kept */
    TOOL_JOINED, /* the short name and its value are one word: -O3 */
    TOOL_WORDS   /* likewise, and each is kept: the word without its dash, lfoo */
};
struct tool_option {
    const char *name, *brief; /* --name, -brief; either may be NULL */
    enum tool_kind kind;
    unsigned short id; /* what the program asks for it by; 0: it changes nothing here */
};
enum { TOOL_IDS = 32 };
struct tool_line {              /* a command line */
    const char **input, **list; /* list: values of the TOOL_LIST option */
    unsigned ninput, nlist;
    const char *value[TOOL_IDS]; /* last value of an option by id, "" of a flag; NULL: not given */
    bool asks_real;              /* --version and the like: what NVIDIA's program answers best */
    char **kept;                 /* words of options files; freed with the rest */
};
/* Reads argv[1..]. 0, or TOOL_FAILED when it was said what is wrong. Names count with one dash or two. An option that
 * the table lacks is held to be good if NVIDIA's own program takes the line. Release with tool_line_free. */
int tool_line_read(const struct tool *t, const struct tool_option *table, unsigned n, int argc, char **argv,
                   struct tool_line *l);
void tool_line_free(struct tool_line *l);

/* ---- NVIDIA's program ----------------------------------------------------------------------- */

/* The program that would have been run without cumu: at the path it was called by, else on PATH; NULL if there is
 * none. */
const char *tool_real(const struct tool *t, char **argv);
/* Becomes it, with these arguments. Returns only if there is none. */
void tool_become_real(const struct tool *t, char **argv);
/* Would it take these arguments? It is run with --version behind them; what it says goes to stderr where it does not.
 * false, and nothing said, where there is none: *none is set. */
bool tool_real_takes(const struct tool *t, char **argv, bool *none);
/* What --version says where there is none. */
int tool_version(const struct tool *t);

/* ---- the programs --------------------------------------------------------------------------- */

int tool_ptxas(const struct tool *t, int argc, char **argv);
int tool_nvlink(const struct tool *t, int argc, char **argv);
int tool_fatbinary(const struct tool *t, int argc, char **argv);
int tool_cuobjdump(const struct tool *t, int argc, char **argv);
int tool_nvdisasm(const struct tool *t, int argc, char **argv);

/* ---- device code ---------------------------------------------------------------------------- */

/* 80 for "sm_80" or "compute_80a", with *suffix and whether code is wanted (sm, lto); 0 if there is no such. */
unsigned tool_arch(const char *name, char *suffix, bool *code);

struct ptx_module;
/* The cubin that carries the module's text, malloc'ed; NULL when memory is short. argv: the command line to note. */
char *tool_cubin(const struct ptx_module *m, unsigned arch, bool relocatable, char **argv, size_t *size);
/* Did our ptxas write this, or something in it? */
bool tool_is_ours(const char *data, size_t size);
unsigned tool_cubin_arch(const char *cubin); /* 80 of a cubin for sm_80 */
/* Writes a whole file, or nothing: false and said. */
bool tool_write(const struct tool *t, const char *path, const void *data, size_t size);
/* ptxas's -v: what the module's variables and each kernel take. */
void tool_report(const struct tool *t, const struct ptx_module *m, const char *arch, bool verbose, bool local);
/* The same in the lines of cuobjdump's --dump-resource-usage, on stdout. */
void tool_usage(const struct ptx_module *m, unsigned arch);

#endif
