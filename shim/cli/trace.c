/* cumu trace: runs a program and shows its CUDA calls, or counts them. The program does the writing (its
 * options CUMU_TRACE...); what needs an end, a summary or a closing bracket, is done here after it. */
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "cli/summary.h"
#include "cli/view.h"
#include "core/config.h"
#include "core/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATHS = 3 };

struct trace_options {
    const char *format, *filter, *backend;
    const char *output, *manifest, *symbols; /* as given; NULL: none */
    bool summary;
    char **program;             /* and its arguments */
    char path[PATHS][PATH_MAX]; /* of output, manifest, symbols: the program may change folders */
    char temporary[PATH_MAX];   /* what the program writes when that is not the output; "" */
};

static const char *const formats[] = {"text", "jsonl", "chrome", "html"};

/* Formats with a beginning, which is written here before the program runs. */
static bool one_file(const struct trace_options *o)
{
    return strcmp(o->format, "chrome") == 0 || strcmp(o->format, "html") == 0;
}

static bool among(const char *const *words, unsigned n, const char *s)
{
    for (unsigned i = 0; i < n; i++)
        if (s && strcmp(words[i], s) == 0)
            return true;
    return false;
}

/* Reads the options before the program, and refuses what does not go together, before the program runs. */
static int parse(struct trace_options *o, int argc, char **argv)
{
    const struct {
        const char *name, **value;
    } named[] = {{"--format", &o->format},          {"-o", &o->output},
                 {"--filter", &o->filter},          {"--backend", &o->backend},
                 {"--comm-manifest", &o->manifest}, {"--record-symbols", &o->symbols}};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        bool known = strcmp(argv[i], "--summary") == 0;
        o->summary |= known;
        for (unsigned k = 0; k < sizeof named / sizeof *named && !known; k++) {
            const char *option = argv[i], *v = cumu_option_value(named[k].name, argc, argv, &i);
            if (v && !*v)
                return cumu_usage(&cumu_verb_trace, "%s wants a value", option);
            known = v != NULL;
            if (v)
                *named[k].value = v;
        }
        if (!known)
            return cumu_usage(&cumu_verb_trace, "unknown option %s", argv[i]);
    }
    if (i >= argc)
        return cumu_usage(&cumu_verb_trace, "no program given");
    if (o->backend && !cumu_launch_backend(o->backend))
        return cumu_usage(&cumu_verb_trace, "--backend wants auto, musa or host");
    if (o->format && !among(formats, sizeof formats / sizeof *formats, o->format))
        return cumu_usage(&cumu_verb_trace, "--format wants text, jsonl, chrome or html");
    if (o->format && o->summary)
        return cumu_usage(&cumu_verb_trace, "--summary has a form of its own");
    if (!o->format)
        o->format = "text";
    if (one_file(o) && !o->output)
        return cumu_usage(&cumu_verb_trace, "--format %s needs -o FILE", o->format);
    o->program = argv + i;
    return 0;
}

/* The name as it holds in every folder; the file is made empty, so that what is wrong with it shows now. */
static int make_file(char path[PATH_MAX], const char *name)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        folder[0] = 0;
    int n = name[0] == '/' ? snprintf(path, PATH_MAX, "%s", name) : snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (n >= PATH_MAX)
        return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", name, strerror(ENAMETOOLONG));
    if (strstr(path, "%p")) /* one for each process */
        return 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", name, strerror(errno));
    (void)close(fd);
    return 0;
}

static int make_temporary(struct trace_options *o)
{
    const char *folder = cumu_env("TMPDIR");
    int n = snprintf(o->temporary, sizeof o->temporary, "%s/cumu-trace.XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = n < (int)sizeof o->temporary ? mkostemp(o->temporary, O_CLOEXEC) : -1;
    if (fd < 0)
        return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", o->temporary, strerror(errno));
    (void)close(fd);
    return 0;
}

static int prepare(struct trace_options *o)
{
    int status = 0;
    if (o->output)
        status = make_file(o->path[0], o->output);
    if (!status && o->manifest)
        status = make_file(o->path[1], o->manifest);
    if (!status && o->symbols)
        status = make_file(o->path[2], o->symbols);
    if (!status && o->symbols && strstr(o->path[2], "%p"))
        status = cumu_usage(&cumu_verb_trace, "the list of symbols is one file: no %%p in its name");
    if (!status && one_file(o) && strstr(o->path[0], "%p"))
        status = cumu_usage(&cumu_verb_trace, "a trace in %s is one file: no %%p in its name", o->format);
    if (!status && o->summary)
        status = make_temporary(o);
    if (status)
        return status;
    bool html = strcmp(o->format, "html") == 0;
    const char *to = o->summary ? o->temporary : o->output ? o->path[0] : "-";
    bool good = setenv("CUMU_TRACE", to, 1) == 0 &&
                setenv("CUMU_TRACE_FORMAT",
                       o->summary ? "counts"
                       : html     ? "jsonl"
                                  : o->format,
                       1) == 0 &&
                (!o->filter || setenv("CUMU_TRACE_FILTER", o->filter, 1) == 0) &&
                (!o->symbols || setenv("CUMU_RECORD_SYMBOLS", o->path[2], 1) == 0) &&
                (!o->manifest || setenv("CUMU_COMM_RECORD", o->path[1], 1) == 0);
    return good ? 0 : cumu_fail(CUMU_EXIT_USAGE, "out of memory");
}

/* ---- with an end ------------------------------------------------------------------------------ */

/* A Chrome trace is one array: the program has written elements with a comma after each. */
static int close_array(const char *path, const char *name)
{
    FILE *f = fopen(path, "a");
    if (!f)
        return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
    fprintf(f, "{\"name\": \"cumu trace\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"program\": ");
    cumu_put_json(f, name);
    fprintf(f, "}}\n]\n");
    return fclose(f) == 0 ? 0 : cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
}

/* A page is followed by lines that it reads, however the program ends. */
static int begin_file(const char *path, bool chrome)
{
    FILE *f = fopen(path, "w");
    size_t n = (size_t)(cumu_view_trace_end - cumu_view_trace);
    bool good = f && (chrome ? fputs("[\n", f) >= 0 : fwrite(cumu_view_trace, 1, n, f) == n);
    good = f && fclose(f) == 0 && good;
    return good ? 0 : cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
}

static int run_to_the_end(const struct trace_options *o, const struct cumu_launch *l, const char *path)
{
    bool chrome = strcmp(o->format, "chrome") == 0;
    int status = one_file(o) ? begin_file(o->path[0], chrome) : 0, after = 0;
    if (status)
        return status;
    status = cumu_launch_wait(l, path, o->program, NULL, NULL);
    if (chrome)
        after = close_array(o->path[0], o->program[0]);
    if (o->summary)
        after = cumu_summary(o->temporary, o->output ? o->path[0] : NULL);
    if (o->symbols && !after)
        after = cumu_sort_symbols(o->path[2]);
    return status ? status : after;
}

static int trace(int argc, char **argv)
{
    static struct trace_options o;
    struct cumu_program p;
    struct cumu_launch l = {0};
    int status = parse(&o, argc, argv);
    if (!status)
        status = cumu_program_find(&p, o.program[0]);
    if (!status)
        status = cumu_launch_plan(&l, p.image, o.backend);
    if (!status)
        status = prepare(&o);
    if (!status)
        status = o.summary || o.symbols || one_file(&o) ? run_to_the_end(&o, &l, p.path)
                                                        : cumu_launch_exec(&l, p.path, o.program);
    if (*o.temporary)
        (void)unlink(o.temporary);
    cumu_launch_free(&l);
    return status;
}

const struct cumu_verb_entry cumu_verb_trace = {
    "trace", "run a CUDA program and show its calls, kernels and copies",
    "usage: cumu trace [--format text|jsonl|chrome|html] [-o FILE] [--filter WORDS] [--summary]\n"
    "                  [--comm-manifest FILE] [--record-symbols FILE] [--backend auto|musa|host] [--] program [arguments]\n"
    "\n"
    "  --format    text (the default), JSON lines, an array for Chrome's and Perfetto's viewers, or a page for any\n"
    "              browser: timeline, what was slow, list of calls\n"
    "  -o          to this file instead of stderr; with %p in its name each process has its own\n"
    "  --filter    only these, separated by commas: cudaMalloc, 'cuda*', cublas: (a library), 'cuda:cuMem*',\n"
    "              'kernel:*sum*', thread=2 (they are counted in order of their first calls); what begins\n"
    "              with - is left out\n"
    "  --summary   no calls, but how often each was made and how long it took\n"
    "  --comm-manifest   also write what NCCL communicators and buffers there were (CUMU_COMM_MANIFEST)\n"
    "  --record-symbols  also write which CUDA functions the program asks for: imports, cuGetProcAddress, calls;\n"
    "              by library, as in mapping/known\n"
    "\n"
    "The exit status is the program's (128 + number of the signal that ended it); 125 to 127 as of cumu run.\n",
    trace};
