/* cumu check: says before anything runs what a program needs and whether cumu has it. */
#include "cli/check_kernels.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/program.h"
#include "cli/report.h"
#include "cli/sections.h"
#include "cli/view.h"
#include "core/config.h"
#include "compile/pack.h"
#include "compile/progress.h"

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

void check_fatal_first(struct check_report *r, const char *format, ...)
{
    va_list args;
    char *first, *both;
    va_start(args, format);
    if (vasprintf(&first, format, args) < 0)
        first = NULL;
    va_end(args);
    if (!first || asprintf(&both, "%s%s%s", first, r->fatal ? "; " : "", r->fatal ? r->fatal : "") < 0) {
        r->nomem = true;
    } else {
        free(r->fatal);
        r->fatal = both;
    }
    free(first);
}

enum check_verdict check_verdict(const struct check_report *r)
{
    return r->fatal || r->nomem ? CHECK_FAILS : r->gaps ? CHECK_GAPS : CHECK_RUNS;
}

void check_free(struct check_report *r)
{
    struct check_kernel *k, *next;
    HASH_ITER(hh, r->kernels, k, next)
    {
        HASH_DEL(r->kernels, k);
        free(k->name);
        free(k->problem);
        free(k->slow);
        free(k);
    }
    for (size_t i = 0; i < r->nstrings; i++)
        free(r->strings[i]);
    free(r->strings);
    free(r->library);
    free(r->symbol);
    free(r->image);
    free(r->choice);
    free(r->fatal);
}

/* A file as it is read: once for the report, and for its device code again (check_choices). */
struct reading {
    const struct cumu_closure *c;
    const char *path;
    bool alone; /* of a folder: what it brings along has a report of its own */
    bool code;  /* is device code itself */
    bool again; /* device code only */
};

/* name: what the file is called in the report. */
static void read_object(struct check_report *r, const struct reading *in, const char *path, const char *name)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf) {
        if (!in->again) {
            const char *why = cumu_sections_hidden(elf);
            r->hidden |= why != NULL;
            if (why)
                check_fatal(r, "%s %s", name, why);
            check_imports(r, in->c, path, name, elf);
            check_strings(r, elf);
        }
        check_fatbins(r, name, elf);
        (void)elf_end(elf);
    }
    if (fd >= 0)
        (void)close(fd);
}

static void read_objects(struct check_report *r, void *reading)
{
    const struct reading *in = reading;
    if (in->code && in->again)
        (void)check_device_code(r, in->path, r->program);
    for (unsigned i = 0; i < in->c->count; i++) {
        const struct cumu_object *o = &in->c->objects[i];
        if (o->path && !o->facade && (i == 0 || (!in->alone && !check_is_vendors(o->soname))))
            read_object(r, in, o->path, i ? o->path : r->program);
    }
}

/* What the files of one call share. */
struct session {
    const struct cumu_table *const *tables;
    enum check_format format;
    const struct check_target *target;
    bool html; /* the format's JSON in a page */
    bool several;
    unsigned printed;
    struct check_totals totals;
    int refused; /* exit status of an operand that is no program: a script, nothing */
};

static bool uses_cuda(const struct check_report *r)
{
    return r->nlibrary || r->nsymbol || r->nimage || r->kernels || r->runtime != CHECK_NO_RUNTIME;
}

/* Reports on one file: its closure of libraries, what each object imports and carries, and the verdict. Of many
 * files only those are printed that use CUDA. */
static void check_file(struct session *s, const struct check_inputs *in, const struct check_input *file)
{
    struct check_kept *kept = NULL;
    struct check_report r = {.program = file->name,
                             .tables = s->tables,
                             .target = s->target,
                             .kept = &kept,
                             .claimed = (unsigned)cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY)};
    struct cumu_closure c = {0};
    const char *env = cumu_env("LD_LIBRARY_PATH"), *path = file->path, *base = strrchr(path, '/');
    char *folders = NULL;
    if (s->several)
        cumu_progress_line("cumu: %.70s", file->name);
    if (in->folders && asprintf(&folders, "%s%s%s", env ? env : "", env ? ":" : "", in->folders) < 0) {
        folders = NULL;
        r.nomem = true;
    }
    bool library = in->many || access(path, X_OK) != 0 || strstr(base ? base : path, ".so");
    const char *why = cumu_program_refusal(path, library);
    const bool code = why && !in->many && check_device_code(&r, path, file->name);
    r.hidden = why && !code && strncmp(why, CUMU_TRUNCATED, strlen(CUMU_TRUNCATED)) == 0;
    if (why && !code)
        check_fatal(&r, "%s", why);
    else if (!code && !cumu_closure_read(&c, path, folders ? folders : env, cumu_has_facade))
        r.nomem = true;
    check_libraries(&r, &c);
    struct reading reading = {&c, path, in->many, code, false};
    read_objects(&r, &reading);
    reading.again = true;
    check_choices(&r, read_objects, &reading);
    check_judge(&r);
    cumu_progress_line("%s", "");
    if (r.nomem)
        (void)cumu_fail(0, "out of memory; the report of %s is not complete", r.program);
    if (!in->many || uses_cuda(&r) || r.hidden) {
        check_print(&r, s->format, s->printed++ == 0);
        s->totals.verdicts[check_verdict(&r)]++;
    } else
        s->totals.without_cuda++;
    cumu_closure_free(&c);
    check_free(&r);
    check_forget(kept);
    free(folders);
}

static void check_operand(struct session *s, const char *name)
{
    struct check_inputs in;
    int status = check_inputs_make(&in, name);
    s->totals.unreadable += in.unreadable;
    s->several |= in.many;
    for (size_t i = 0; !status && i < in.count; i++) {
        const char *base = strrchr(in.file[i].path, '/');
        if (!in.many && cumu_program_is_script(in.file[i].path))
            status = cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: a script; check the programs and libraries it starts",
                               in.file[i].path);
        else if (in.many && base && check_is_vendors(base + 1))
            s->totals.without_cuda++; /* NVIDIA's own: replaced, or left alone */
        else
            check_file(s, &in, &in.file[i]);
    }
    if (status) {
        s->totals.unreadable++;
        s->refused = status;
    }
    check_inputs_free(&in);
}

static int check_all(struct session *s, int n, char **names)
{
    s->tables = cumu_tool_tables();
    if (!s->tables)
        return CUMU_EXIT_USAGE;
    s->several = n > 1;
    for (int i = 0; i < n; i++)
        check_operand(s, names[i]);
    if (!s->printed && !s->totals.without_cuda)
        return s->refused;
    const struct check_totals *t = &s->totals;
    enum check_verdict worst = t->verdicts[CHECK_FAILS]                   ? CHECK_FAILS
                               : t->verdicts[CHECK_GAPS] || t->unreadable ? CHECK_GAPS
                                                                          : CHECK_RUNS;
    if (s->several || s->format == CHECK_JSON)
        check_print_totals(t, s->format, worst);
    return (int)worst;
}

/* Reads the verb's arguments. */
static int check(int argc, char **argv)
{
    static const char *const formats[] = {"text", "tsv", "json", "html"};
    struct session s = {0};
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--") == 0) {
            i++;
            break;
        }
        if (strncmp(a, "--format", 8) == 0 && (a[8] == '=' || !a[8])) {
            const char *f = a[8] ? a + 9 : i + 1 < argc ? argv[++i] : "";
            unsigned k = 0;
            while (k < 4 && strcmp(f, formats[k]) != 0)
                k++;
            if (k == 4)
                return cumu_usage(&cumu_verb_check, "--format wants text, tsv, json or html");
            s.html = k == CHECK_JSON + 1;
            s.format = s.html ? CHECK_JSON : (enum check_format)k;
        } else if (strncmp(a, "--target", 8) == 0 && (a[8] == '=' || !a[8])) {
            s.target = check_target_named(a[8] ? a + 9 : i + 1 < argc ? argv[++i] : "");
            if (!s.target)
                return cumu_usage(&cumu_verb_check, "--target wants mp_21, mp_22 or mp_31");
        } else if (strncmp(a, "--pack", 6) == 0 && (a[6] == '=' || !a[6])) {
            if (!cumu_packs_use(a[6] ? a + 7 : i + 1 < argc ? argv[++i] : ""))
                return CUMU_EXIT_CANNOT_RUN;
        } else
            return cumu_usage(&cumu_verb_check, "unknown option %s", a);
    }
    if (i >= argc)
        return cumu_usage(&cumu_verb_check, "check what? Programs, shared objects, wheels or folders");
    if (s.html)
        (void)fwrite(cumu_view_check, 1, (size_t)(cumu_view_check_end - cumu_view_check), stdout);
    return check_all(&s, argc - i, argv + i);
}

const struct cumu_verb_entry cumu_verb_check = {
    "check", "say whether a program will run, before it runs",
    "usage: cumu check [--format text|tsv|json|html] [--target mp_21|mp_22|mp_31] [--pack FILE[:FILE]] file...\n"
    "\n"
    "A file is a program, a shared object, device code (a cubin, a fat binary, PTX), a Python wheel (any zip\n"
    "archive) or a folder. Reads it and the\n"
    "libraries it needs: which CUDA functions it imports and what cumu does with them, how the CUDA runtime\n"
    "is linked, which CUDA libraries it may open later, and which kernels can be translated.\n"
    "  --target   for that architecture: kernels that cannot run on it (shared memory, what MUSA has no counterpart\n"
    "             of), and those that will be slow (matrix products in scalar code, double precision in software,\n"
    "             votes of warps made of shuffles)\n"
    "  --pack     with the PTX packs (cumu pack) that CUMU_PTX_PACK would name, which counts without it, too\n"
    "Exit status, of the worst file: 0 will run, 1 will run with gaps or something could not be read,\n"
    "2 will not run; 125 and above: nothing could be looked at.\n"
    "\n"
    "tsv: one record a line, first its kind, then its fields; json has the same, under these names\n"
    "(html shows it in a browser):\n"
    "  file     path\n"
    "  runtime  linked (none, shared or static)\n"
    "  library  soname, how (facade, kept, own = NVIDIA's, missing), node (version node), needed (linked or dlopen)\n"
    "  symbol   name, verb (jump, conv, wrap, pass, stub or missing), soname, reason\n"
    "  evidence soname, sure, named, guessed (its functions by what is known of MUSA's), own (cumu's wrappers)\n"
    "  image    kind (ptx, sass or ltoir), arch, compression, stored, unpacked (bytes), object, version,\n"
    "           device_code (whole or relocatable)\n"
    "  kernel   name, code (ptx or sass), translated (ok or lost), reason\n"
    "  slow     name, reason (with --target: what of a kernel will be slow)\n"
    "  device   backend (host, musa or the target), claimed, needed, best (compute capability times ten: as told,\n"
    "           of the PTX that is taken, the one to tell programs; 0 without PTX)\n"
    "  choice   capability, kernels, translated, ptx (own or other: for that capability, or for other devices)\n"
    "  verdict  verdict, reason, gaps\n"
    "  total    verdict, will_run, with_gaps, will_not_run, without_cuda, unreadable (of several files)\n",
    check};
