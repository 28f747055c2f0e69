/* cumu check: says before anything runs what a program needs and whether cumu has it. */
#include "cli/cli.h"
#include "cli/program.h"
#include "cli/report.h"
#include "core/config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *check_grow(struct check_report *r, void *list, size_t *count, size_t size)
{
    void **at = list; /* the caller passes &array, whatever its element */
    /* Room for a power of two; a full array doubles. */
    if ((*count & (*count - 1)) == 0) {
        void *grown = realloc(*at, (*count ? *count * 2 : 1) * size);
        if (!grown) {
            r->nomem = true;
            return NULL;
        }
        *at = grown;
    }
    char *element = (char *)*at + (*count)++ * size;
    memset(element, 0, size);
    return element;
}

const char *check_keep(struct check_report *r, const char *s)
{
    char **kept = check_grow(r, &r->strings, &r->nstrings, sizeof *kept);
    if (kept)
        *kept = strdup(s);
    if (!kept || !*kept) {
        r->nomem = true;
        return "";
    }
    return *kept;
}

void check_fatal(struct check_report *r, const char *format, ...)
{
    va_list args;
    if (r->fatal)
        return;
    va_start(args, format);
    if (vasprintf(&r->fatal, format, args) < 0) {
        r->fatal = NULL;
        r->nomem = true;
    }
    va_end(args);
}

enum check_verdict check_verdict(const struct check_report *r)
{
    return r->fatal || r->nomem ? CHECK_FAILS : r->gaps ? CHECK_GAPS : CHECK_RUNS;
}

void check_free(struct check_report *r)
{
    for (size_t i = 0; i < r->nkernel; i++) {
        free(r->kernel[i].name);
        free(r->kernel[i].problem);
    }
    for (size_t i = 0; i < r->nstrings; i++)
        free(r->strings[i]);
    free(r->strings);
    free(r->library);
    free(r->symbol);
    free(r->image);
    free(r->kernel);
    free(r->fatal);
}

/* The symbol tables live in the core; it has no constructor, so opening it does nothing else. */
static bool open_tables(struct check_report *r)
{
    char path[PATH_MAX];
    const char *dir = cumu_lib_dir();
    if (!dir)
        return false;
    (void)snprintf(path, sizeof path, "%s/libcumu-core.so", dir);
    void *core = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    r->tables = core ? dlsym(core, "cumu_tables") : NULL;
    if (!r->tables)
        (void)cumu_fail(0, "%s: %s", path, dlerror());
    return r->tables != NULL;
}

static void read_object(struct check_report *r, const struct cumu_closure *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf) {
        check_imports(r, c, path, elf);
        check_fatbins(r, path, elf);
        (void)elf_end(elf);
    }
    if (fd >= 0)
        (void)close(fd);
}

static int check_file(struct check_report *r, const char *name)
{
    struct cumu_closure c = {0};
    char path[PATH_MAX];
    bool library = strstr(name, ".so") != NULL && access(name, X_OK) != 0;
    if (cumu_program_file(path, name))
        return CUMU_EXIT_NOT_FOUND;
    if (cumu_program_is_script(path))
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: a script; check the programs and libraries it starts",
                         path);
    if (!open_tables(r))
        return CUMU_EXIT_USAGE;
    const char *why = cumu_program_refusal(path, library || strstr(path, ".so"));
    if (why)
        check_fatal(r, "%s", why);
    else if (!cumu_closure_read(&c, path, cumu_env("LD_LIBRARY_PATH"), cumu_has_facade))
        r->nomem = true;
    check_libraries(r, &c);
    for (unsigned i = 0; i < c.count; i++) {
        const struct cumu_object *o = &c.objects[i];
        if (o->path && !o->facade && (i == 0 || !check_is_vendors(o->soname)))
            read_object(r, &c, o->path);
    }
    check_judge(r);
    if (r->nomem)
        (void)cumu_fail(0, "out of memory; the report is not complete");
    if (r->tsv)
        check_print_tsv(r);
    else
        check_print_text(r);
    cumu_closure_free(&c);
    return (int)check_verdict(r);
}

static int check(int argc, char **argv)
{
    struct check_report r = {0};
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--") == 0) {
            i++;
            break;
        }
        if (strncmp(a, "--format", 8) == 0 && (a[8] == '=' || !a[8])) {
            const char *f = a[8] ? a + 9 : argv[++i];
            if (!f || (strcmp(f, "text") != 0 && strcmp(f, "tsv") != 0))
                return cumu_usage(&cumu_verb_check, "--format wants text or tsv");
            r.tsv = strcmp(f, "tsv") == 0;
        } else
            return cumu_usage(&cumu_verb_check, "unknown option %s", a);
    }
    if (i + 1 != argc)
        return cumu_usage(&cumu_verb_check, "one program or shared object, please");
    r.program = argv[i];
    int status = check_file(&r, argv[i]);
    check_free(&r);
    return status;
}

const struct cumu_verb_entry cumu_verb_check = {
    "check", "say whether a program will run, before it runs",
    "usage: cumu check [--format text|tsv] program\n"
    "\n"
    "Reads the program and the libraries it needs: which CUDA functions it imports and what cumu does\n"
    "with them, how the CUDA runtime is linked, and which kernels can be translated.\n"
    "Exit status: 0 will run, 1 will run with gaps, 2 will not run; 125 and above: could not look.\n"
    "\n"
    "tsv: one record a line: library, runtime, symbol, image, kernel, verdict, each with its fields.\n",
    check};
