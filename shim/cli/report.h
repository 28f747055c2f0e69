/* What `cumu check` collects about a file, and the ways it is printed. */
#ifndef CUMU_CLI_REPORT_H
#define CUMU_CLI_REPORT_H

#include "cli/check_target.h"
#include "cli/closure.h"
#include "cli/evidence.h"
#include "core/hmap.h"
#include "core/symbols.h"
#include "ptx/ir.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_verdict { CHECK_RUNS, CHECK_GAPS, CHECK_FAILS }; /* also the exit status */
enum check_runtime { CHECK_NO_RUNTIME, CHECK_SHARED_RUNTIME, CHECK_STATIC_RUNTIME };

struct check_symbol { /* one CUDA symbol that some object of the closure imports */
    const char *name, *soname;
    const struct cumu_symbol *entry; /* NULL: cumu's does not have it */
    bool data;                       /* no function */
};
struct check_image {    /* one entry of a fat binary */
    const char *object; /* file it is in */
    const char *kind, *compression;
    unsigned arch, major, minor; /* PTX ISA or cubin version */
    char suffix;
    bool relocatable;
    uint64_t stored, unpacked;
};
struct check_kernel { /* kept by name */
    char *name;
    bool ptx;
    char *problem; /* NULL: can be translated, and run on the target */
    char *slow;    /* what will be slow on the target; NULL for nothing */
    bool dynamic;  /* with a target: launches give it more shared memory than is written in it */
    UT_hash_handle hh;
};
struct check_library { /* a library of NVIDIA's that something needs */
    const char *soname;
    const char *node; /* version node of the symbols imported from it; "" without */
    const char *how;  /* "facade", "kept", "own" (NVIDIA's, as it is) or "missing" */
    bool opened;      /* not linked: its name stands among the strings, as dlopen wants it */
};

struct check_choice {    /* what becomes of the kernels where a compute capability is claimed */
    unsigned capability; /* 90 for 9.0 */
    size_t kernels, translated;
    bool beyond; /* some of their PTX is for other devices, which the program may find out */
};

struct check_report {
    const char *program;
    unsigned claimed; /* compute capability by which PTX is chosen: 80 */
    const struct cumu_table *const *tables;
    enum check_runtime runtime;
    struct check_library *library;
    size_t nlibrary;
    struct check_symbol *symbol;
    size_t nsymbol;
    struct check_image *image;
    size_t nimage;
    struct check_kernel *kernels;
    unsigned packed; /* modules that a pack is for; their kernels, and those that it lacks */
    size_t pack_kernels, pack_lacks;
    unsigned needs;              /* highest compute capability of the PTX that would be taken: 80; 0 without any */
    bool beyond;                 /* some of that PTX is for devices of other capabilities than the claimed */
    struct check_choice *choice; /* by capability; the claimed one is among them. None: there is no PTX */
    size_t nchoice;
    char **strings;
    size_t nstrings;       /* owned copies that outlive the closure's files */
    const char *unreached; /* first library without kernels whose own runtime cumu does not know; NULL for none */
    char *fatal;           /* first reason why it will not run */
    bool hidden;           /* a file is cut off or has no sections: what is said of it is not all */
    unsigned gaps;
    bool nomem;
    const struct check_target *target; /* the architecture that is asked about; NULL: none */
    struct check_kept **kept; /* by image, what became of its kernels, for reading it again; NULL: nothing is kept */
    /* Set: gets every PTX module that the runtime would use, instead of the translation of its kernels. */
    void (*on_module)(void *ctx, const struct ptx_module *m);
    void *on_module_ctx;
};

/* Device that programs would see: the target, or by what is installed "musa" or "host". */
const char *check_backend(const struct check_report *r);

/* Grows *list by one zeroed element and returns it; NULL (and r->nomem) on out of memory. */
void *check_grow(struct check_report *r, void *list, size_t *count, size_t size);
/* A copy that lives as long as the report; "" on out of memory. */
const char *check_keep(struct check_report *r, const char *s);
/* The program will not run because ...; the first reason counts. */
void check_fatal(struct check_report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, for what outweighs all other reasons: it stands before them. */
void check_fatal_first(struct check_report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The collectors. `elf` is the open file at `path`, called `name` in the report. */
void check_imports(struct check_report *r, const struct cumu_closure *c, const char *path, const char *name, Elf *elf);
void check_libraries(struct check_report *r, const struct cumu_closure *c);
/* Names of NVIDIA's libraries among the strings of the file. */
void check_strings(struct check_report *r, Elf *elf);
/* Is it one of NVIDIA's own libraries? Their insides are not the program's: replaced, or left alone. */
bool check_is_vendors(const char *soname);
void check_fatbins(struct check_report *r, const char *name, Elf *elf);
/* A file that is device code itself: a cubin, a fat binary or PTX text. False if it is none of these. */
bool check_device_code(struct check_report *r, const char *path, const char *name);
/* What becomes of the kernels at each capability that the file has PTX for: reads it again by `read` for each but the
 * claimed, if that leaves anything to wish for. Before check_judge. */
void check_choices(struct check_report *r, void (*read)(struct check_report *r, void *ctx), void *ctx);
/* The capability to claim: at which most kernels can be translated, then whose own the PTX is, then the claimed one,
 * then the lowest. NULL: there is no PTX. */
const struct check_choice *check_best(const struct check_report *r);
void check_judge(struct check_report *r);

enum check_verdict check_verdict(const struct check_report *r);
const char *check_verdict_text(enum check_verdict v);
/* By what evidence the calls into one facade are known; of all for NULL. */
struct cumu_evidence check_evidence(const struct check_report *r, const char *soname);
const char *check_verb(const struct check_symbol *s);
bool check_lost(const struct check_kernel *k);       /* cannot be translated */
const char *check_why(const struct check_kernel *k); /* "" if it can */
extern const char *const check_runtimes[];           /* by enum check_runtime */

/* How reports are printed. json: one object, opened before the first report and closed after the last. */
enum check_format { CHECK_TEXT, CHECK_TSV, CHECK_JSON };
void check_print(const struct check_report *r, enum check_format format, bool first);
void check_print_text(const struct check_report *r);
/* After the last of several files: how many came to which verdict. Always for json. */
struct check_totals {
    unsigned verdicts[3], without_cuda, unreadable;
};
void check_print_totals(const struct check_totals *t, enum check_format format, enum check_verdict worst);
void check_free(struct check_report *r);

#endif
