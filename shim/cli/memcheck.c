/* cumu memcheck: runs a program with its kernels looked at (CUMU_CHECK), and shows what is wrong as compute-sanitizer
 * does. The program's processes append their reports to a file of ours, which is read while they run. */
#include "abi/report.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/memcheck_reports.h"
#include "cli/program.h"
#include "core/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct memcheck_options {
    const char *tool, *leaks, *exitcode, *log, *limit, *save, *suppressions, *api, *processes, *skip, *count, *after;
    const char *level, *print_level, *backtrace, *folders, *prefix, *padding, *hosts, *devices, *threshold, *status,
        *nvtx, *copies;
    bool unused;
    const char *backend;
    const char *words; /* of CUMU_CHECK */
    char kernels[4096];
    bool xml;
    long code;      /* exit status when there were errors; 0: the program's own */
    char **program; /* and its arguments */
};

static bool number(const char *s, long most, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(s, &end, 10);
    return *s && !*end && !errno && *value >= 0 && *value <= most;
}

/* compute-sanitizer's names of the tools, and CUMU_CHECK's. */
static const char *words_of(const char *tool)
{
    static const struct {
        const char *tool, *words;
    } tools[] = {{"memcheck", "memory"},
                 {"racecheck", "race"},
                 {"initcheck", "init"},
                 {"synccheck", "sync"},
                 {"all", "memory,race,init,sync"}};
    for (size_t k = 0; k < sizeof tools / sizeof *tools; k++)
        if (!strcmp(tool, tools[k].tool))
            return tools[k].words;
    return NULL;
}

static bool among(const char *s, const char *a, const char *b, const char *c)
{
    return !s || !strcmp(s, a) || !strcmp(s, b) || (c && !strcmp(s, c));
}

/* Kernel filters are written as compute-sanitizer's are: kernel_name=, kernel_substring= or short, several by commas;
 * a regular expression has an option of its own. */
static int add_kernels(struct memcheck_options *o, const char *sign, const char *form, const char *list)
{
    static const struct {
        const char *longer, *form;
    } forms[] = {{"kernel_name=", "kne="}, {"kernel_substring=", "kns="}, {"kne=", "kne="}, {"kns=", "kns="}};
    for (const char *s = list; *s;) {
        size_t n = form ? strlen(s) : strcspn(s, ","), used = strlen(o->kernels), k = 0;
        const size_t all = sizeof forms / sizeof *forms;
        while (!form && k < all && strncmp(s, forms[k].longer, strlen(forms[k].longer)) != 0)
            k++;
        const char *word = form ? form : k < all ? forms[k].form : "kne=";
        const size_t skip = form || k == all ? 0 : strlen(forms[k].longer);
        if (n == skip || memchr(s, ';', n) ||
            snprintf(o->kernels + used, sizeof o->kernels - used, "%s%s%.*s;", sign, word, (int)(n - skip), s + skip) >=
                (int)(sizeof o->kernels - used))
            return cumu_usage(&cumu_verb_memcheck, "%s: not a kernel's name", s);
        s += n + (s[n] == ',');
    }
    return 0;
}

/* compute-sanitizer took a value of it, by = or as the next word, and takes none today. */
static const char unused_option[] = "--track-unused-memory";
static int track_unused(struct memcheck_options *o, int argc, char **argv, int *i)
{
    const size_t n = sizeof unused_option - 1;
    const char *next = *i + 1 < argc ? argv[*i + 1] : "";
    const bool word = !argv[*i][n] && (!strcmp(next, "yes") || !strcmp(next, "no"));
    const char *value = argv[*i][n] ? argv[*i] + n + 1 : word ? next : "yes";
    *i += word;
    if (!among(value, "yes", "no", NULL))
        return cumu_usage(&cumu_verb_memcheck, "%s wants yes or no", unused_option);
    o->unused = !strcmp(value, "yes");
    return 0;
}

static int check(struct memcheck_options *o)
{
    long n;
    if (o->api && !strcmp(o->api, "extended")) /* by what CUDA's driver logs: there is no more here */
        o->api = "explicit";
    if (o->print_level && !strcmp(o->print_level, "auto"))
        o->print_level = NULL;
    o->words = words_of(o->tool ? o->tool : "memcheck");
    if (!o->words)
        return cumu_usage(&cumu_verb_memcheck, "--tool wants memcheck, racecheck, initcheck, synccheck or all");
    if (!among(o->level, "info", "warn", "error"))
        return cumu_usage(&cumu_verb_memcheck, "--racecheck-detect-level wants info, warn or error");
    if (!among(o->leaks, "full", "no", NULL))
        return cumu_usage(&cumu_verb_memcheck, "--leak-check wants full or no");
    if (o->exitcode && !number(o->exitcode, 255, &o->code))
        return cumu_usage(&cumu_verb_memcheck, "--error-exitcode wants a number up to 255");
    if (o->limit && !number(o->limit, INT_MAX, &n))
        return cumu_usage(&cumu_verb_memcheck, "--print-limit wants a number, 0 for all");
    if ((o->skip && !number(o->skip, LONG_MAX, &n)) || (o->count && !number(o->count, LONG_MAX, &n)))
        return cumu_usage(&cumu_verb_memcheck, "--launch-skip and --launch-count want a number");
    if (!among(o->api, "all", "explicit", "no"))
        return cumu_usage(&cumu_verb_memcheck, "--report-api-errors wants all, explicit (or extended) or no");
    if (!among(o->processes, "all", "application-only", NULL))
        return cumu_usage(&cumu_verb_memcheck, "--target-processes wants all or application-only");
    if (!among(o->after, "context", "kernel", NULL))
        return cumu_usage(&cumu_verb_memcheck, "--destroy-on-device-error wants context or kernel");
    if (!among(o->copies, "yes", "no", NULL))
        return cumu_usage(&cumu_verb_memcheck, "--check-api-memory-access wants yes or no");
    if (!among(o->nvtx, "yes", "no", "true") && strcmp(o->nvtx, "false") != 0)
        return cumu_usage(&cumu_verb_memcheck, "--nvtx wants yes or no");
    if (!among(o->folders, "yes", "no", NULL))
        return cumu_usage(&cumu_verb_memcheck, "--strip-paths wants yes or no");
    if (o->print_level && !cumu_memcheck_print_level(&(struct memcheck_print){0}, o->print_level))
        return cumu_usage(&cumu_verb_memcheck, "--print-level wants info, warn, error or fatal");
    if (o->backtrace && !cumu_memcheck_print_backtrace(&(struct memcheck_print){0}, o->backtrace))
        return cumu_usage(&cumu_verb_memcheck, "--show-backtrace wants yes, host, device or no");
    if (o->padding && !number(o->padding, 1L << 30, &n))
        return cumu_usage(&cumu_verb_memcheck, "--padding wants a number of bytes up to 1 GiB");
    if ((o->hosts && !number(o->hosts, INT_MAX, &n)) || (o->devices && !number(o->devices, INT_MAX, &n)))
        return cumu_usage(&cumu_verb_memcheck, "--num-callers-host and --num-callers-device want a number, 0 for all");
    if (o->threshold && !number(o->threshold, 100, &n))
        return cumu_usage(&cumu_verb_memcheck, "--unused-memory-threshold wants a percentage");
    if (!among(o->status, "yes", "no", NULL))
        return cumu_usage(&cumu_verb_memcheck, "--check-exit-code wants yes or no");
    if (o->backend && strcmp(o->backend, "host") != 0)
        return cumu_usage(
            &cumu_verb_memcheck,
            "--backend %s: accesses are seen on the CPU only, so that memcheck needs --backend host, which "
            "is its default",
            o->backend);
    if (o->xml && !o->save)
        return cumu_usage(&cumu_verb_memcheck, "--xml is the form of what --save FILE writes");
    return 0;
}

static int parse(struct memcheck_options *o, int argc, char **argv)
{
    const char *kernels = NULL, *excluded = NULL, *expression = NULL;
    const struct {
        const char *name, **value;
    } named[] = {{"--tool", &o->tool},
                 {"--leak-check", &o->leaks},
                 {"--error-exitcode", &o->exitcode},
                 {"--log-file", &o->log},
                 {"--print-limit", &o->limit},
                 {"--save", &o->save},
                 {"--suppressions", &o->suppressions},
                 {"--report-api-errors", &o->api},
                 {"--target-processes", &o->processes},
                 {"--launch-skip", &o->skip},
                 {"--launch-count", &o->count},
                 {"--destroy-on-device-error", &o->after},
                 {"--kernel-name", &kernels},
                 {"--kernel-name-exclude", &excluded},
                 {"--kernel-regex", &expression},
                 {"--racecheck-detect-level", &o->level},
                 {"--print-level", &o->print_level},
                 {"--show-backtrace", &o->backtrace},
                 {"--check-api-memory-access", &o->copies},
                 {"--strip-paths", &o->folders},
                 {"--nvtx", &o->nvtx},
                 {"--prefix", &o->prefix},
                 {"--padding", &o->padding},
                 {"-s", &o->skip},
                 {"-c", &o->count},
                 {"--num-callers-host", &o->hosts},
                 {"--num-callers-device", &o->devices},
                 {"--unused-memory-threshold", &o->threshold},
                 {"--check-exit-code", &o->status},
                 {"--backend", &o->backend}};
    int i = 1, status = 0;
    for (; i < argc && argv[i][0] == '-' && !status; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        bool known = !strcmp(argv[i], "--xml");
        o->xml |= known;
        const size_t n = strcspn(argv[i], "=");
        if (n == sizeof unused_option - 1 && !strncmp(argv[i], unused_option, n)) {
            status = track_unused(o, argc, argv, &i);
            continue;
        }
        if ((status = cumu_memcheck_fixed(argc, argv, &i)) >= 0)
            continue;
        status = 0;
        kernels = excluded = expression = NULL;
        for (unsigned k = 0; k < sizeof named / sizeof *named && !known; k++) {
            const char *option = argv[i], *v = cumu_option_value(named[k].name, argc, argv, &i);
            if (v && !*v)
                return cumu_usage(&cumu_verb_memcheck, "%s wants a value", option);
            known = v != NULL;
            if (v)
                *named[k].value = v;
        }
        if (!known)
            return cumu_usage(&cumu_verb_memcheck, "unknown option %s", argv[i]);
        const char *list = kernels ? kernels : excluded ? excluded : expression;
        if (list)
            status = add_kernels(o, excluded ? "-" : "", expression ? "regex=" : NULL, list);
    }
    if (status)
        return status;
    if (i >= argc)
        return cumu_usage(&cumu_verb_memcheck, "no program given");
    o->program = argv + i;
    return check(o);
}

static void while_running(void *arg)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    cumu_memcheck_read(arg);
}

/* The name with %p for our process, %q{NAME} for a variable and %% for a percent sign. */
static bool expand(const char *name, char path[PATH_MAX])
{
    size_t n = 0;
    for (; *name && n + 1 < PATH_MAX; name++) {
        int more = 1;
        const char *end = name[0] == '%' && name[1] == 'q' && name[2] == '{' ? strchr(name, '}') : NULL;
        if (end) {
            char variable[256];
            snprintf(variable, sizeof variable, "%.*s", (int)(end - name - 3), name + 3);
            const char *value = cumu_env(variable);
            more = snprintf(path + n, PATH_MAX - n, "%s", value ? value : "");
            name = end;
        } else if (name[0] == '%' && name[1] == 'p') {
            more = snprintf(path + n, PATH_MAX - n, "%ld", (long)getpid());
            name++;
        } else {
            name += name[0] == '%' && name[1] == '%';
            path[n] = *name;
        }
        n += (size_t)more;
    }
    path[n < PATH_MAX ? n : PATH_MAX - 1] = 0;
    return !*name && n < PATH_MAX;
}

static int open_reports(const struct memcheck_options *o, struct memcheck_reports *r, char path[PATH_MAX])
{
    const char *folder = cumu_env("TMPDIR");
    char log[PATH_MAX];
    int n = snprintf(path, PATH_MAX, "%s/cumu-memcheck.XXXXXX", folder && *folder ? folder : "/tmp");
    r->fd = n < PATH_MAX ? mkostemp(path, O_CLOEXEC) : -1;
    if (r->fd < 0) {
        int status = cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
        *path = 0;
        return status;
    }
    errno = ENAMETOOLONG;
    r->to = !o->log ? stderr : expand(o->log, log) ? fopen(log, "we") : NULL;
    if (!r->to)
        return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", o->log, strerror(errno));
    r->print.prefix = o->prefix ? o->prefix : "=========";
    r->print.no_folders = o->folders && !strcmp(o->folders, "yes");
    r->print.hosts = o->hosts ? (unsigned)strtoul(o->hosts, NULL, 10) : 0;
    r->print.devices = o->devices ? (unsigned)strtoul(o->devices, NULL, 10) : 0;
    if (o->print_level)
        (void)cumu_memcheck_print_level(&r->print, o->print_level);
    if (o->backtrace)
        (void)cumu_memcheck_print_backtrace(&r->print, o->backtrace);
    r->limit = o->limit ? strtoull(o->limit, NULL, 10) : 100;
    if ((o->suppressions && !cumu_memcheck_suppress(r, o->suppressions)) ||
        (o->save && !cumu_memcheck_save(r, o->save, o->xml)))
        return CUMU_EXIT_USAGE;
    return 0;
}

/* What the program's processes read of it. */
static int set_environment(const struct memcheck_options *o, const char *path)
{
    char reader[24], launches[48];
    const bool only = o->processes && !strcmp(o->processes, "application-only");
    const bool all = o->print_level && !strcmp(o->print_level, "info"); /* who names it wants to see it */
    const char *level = o->level ? o->level : all ? "info" : "warn";
    snprintf(reader, sizeof reader, "%ld", only ? (long)getpid() : 0);
    snprintf(launches, sizeof launches, "%s,%s", o->skip ? o->skip : "0", o->count ? o->count : "0");
    const char *const set[][2] = {{"CUMU_CHECK", o->words},
                                  {"CUMU_CHECK_FILE", path},
                                  {"CUMU_CHECK_READER", reader},
                                  {"CUMU_CHECK_LIMIT", "0"}, /* suppressed reports do not count */
                                  {"CUMU_CHECK_LEAKS", o->leaks && strcmp(o->leaks, "full") == 0 ? "1" : "0"},
                                  {"CUMU_CHECK_LEVEL", level},
                                  {"CUMU_CHECK_UNUSED", o->unused ? "1" : "0"},
                                  {"CUMU_CHECK_UNUSED_FROM", o->threshold ? o->threshold : "0"},
                                  {"CUMU_CHECK_COPIES", o->copies && !strcmp(o->copies, "no") ? "0" : "1"},
                                  {"CUMU_CHECK_NVTX", o->nvtx && strchr("nf", *o->nvtx) ? "0" : "1"},
                                  {"CUMU_CHECK_KERNELS", o->kernels},
                                  {"CUMU_CHECK_LAUNCHES", launches},
                                  {"CUMU_CHECK_PADDING", o->padding ? o->padding : "0"},
                                  {"CUMU_CHECK_API", o->api ? o->api : "explicit"},
                                  {"CUMU_CHECK_AFTER", o->after ? o->after : "context"}};
    for (size_t k = 0; k < sizeof set / sizeof *set; k++)
        if (setenv(set[k][0], set[k][1], 1))
            return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    return 0;
}

/* As compute-sanitizer says it; it is no error of the count. */
static void say_status(const struct memcheck_reports *r, const struct memcheck_options *o, int status)
{
    enum { SIGNALLED = 128 };
    if (!status || (o->status && !strcmp(o->status, "no")))
        return;
    if (status > SIGNALLED)
        fprintf(r->to, "%s Error: process didn't terminate successfully\n", r->print.prefix);
    fprintf(r->to, "%s Target application returned an error\n", r->print.prefix);
}

static void say_summary(const struct memcheck_reports *r, const struct memcheck_options *o)
{
    const unsigned long long races = r->race_errors + r->race_warnings;
    const char *prefix = r->print.prefix;
    if (o->suppressions)
        fprintf(r->to, "%s %llu report%s suppressed\n", prefix, r->suppressed, r->suppressed == 1 ? "" : "s");
    if (r->limit && r->printed > r->limit)
        fprintf(r->to, "%s %llu reports were not printed (--print-limit)\n", prefix, r->printed - r->limit);
    if (strstr(o->words, "race"))
        fprintf(r->to, "%s RACECHECK SUMMARY: %llu hazard%s displayed (%llu error%s, %llu warning%s)\n", prefix, races,
                races == 1 ? "" : "s", r->race_errors, r->race_errors == 1 ? "" : "s", r->race_warnings,
                r->race_warnings == 1 ? "" : "s");
    if (strcmp(o->words, "race") != 0)
        fprintf(r->to, "%s ERROR SUMMARY: %llu error%s\n", prefix, r->errors, r->errors == 1 ? "" : "s");
}

/* The first line, before the program's own; its reader may be gone, which cumu_launch_wait looks after from then on. */
static void print_header(const struct memcheck_reports *r)
{
    struct sigaction old;
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &old);
    fprintf(r->to, "%s COMPUTE-SANITIZER\n", r->print.prefix);
    (void)fflush(r->to);
    (void)sigaction(SIGPIPE, &old, NULL);
}

/* Whether the processes had reports that the file did not take. */
static bool lost_reports(int fd, const char *path)
{
    struct stat s;
    const bool lost = fstat(fd, &s) == 0 && (s.st_mode & 0777) == CUMU_HOST_REPORTS_LOST;
    if (lost)
        (void)cumu_fail(CUMU_EXIT_USAGE, "%s: no room for all reports: those above on stderr are not counted", path);
    return lost;
}

/* Where stderr is closed, no file that is opened may take its place: what is written there would be lost in it without
 * an error. */
static void keep_stderr_closed(void)
{
    int fd = 0;
    while (fd >= 0 && fcntl(STDERR_FILENO, F_GETFD) < 0)
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest number that is free */
}

static int memcheck(int argc, char **argv)
{
    struct memcheck_options o = {0};
    struct cumu_program p;
    struct cumu_launch l = {0};
    struct memcheck_reports r = {.fd = -1};
    char path[PATH_MAX] = "";
    keep_stderr_closed();
    int status = parse(&o, argc, argv);
    if (!status)
        status = cumu_program_find(&p, o.program[0]);
    if (!status)
        status = cumu_launch_plan(&l, p.image, "host");
    if (!status)
        status = open_reports(&o, &r, path);
    if (!status)
        status = set_environment(&o, path);
    if (!status) {
        print_header(&r);
        const int ended = status = cumu_launch_wait(&l, p.path, o.program, while_running, &r);
        cumu_memcheck_read(&r);
        if (!cumu_memcheck_finish(&r, o.save) && !status)
            status = CUMU_EXIT_USAGE;
        if (lost_reports(r.fd, path) && !status)
            status = CUMU_EXIT_USAGE;
        say_status(&r, &o, ended);
        say_summary(&r, &o);
        if (r.errors && o.code)
            status = (int)o.code;
    }
    const bool written = !r.to ||
                         (r.to == stderr ? !fflush(stderr) && !ferror(stderr) : cumu_memcheck_close(r.to, o.log));
    if (!written && !status) /* of stderr nothing else can tell */
        status = CUMU_EXIT_USAGE;
    if (r.fd >= 0)
        (void)close(r.fd);
    if (*path)
        (void)unlink(path);
    cumu_memcheck_free(&r);
    cumu_launch_free(&l);
    return status;
}

const struct cumu_verb_entry cumu_verb_memcheck = {
    "memcheck", "run a CUDA program and report wrong accesses, races and barriers of its kernels",
    "usage: cumu memcheck [options] [--] program [arguments]\n"
    "\n"
    "  --tool TOOL               memcheck (default), racecheck, initcheck, synccheck, or all of them, as below\n"
    "  --leak-check full         also what is never freed\n"
    "  --error-exitcode N        exit status if there were errors (default: the program's own)\n"
    "  --log-file FILE           where reports go (default: stderr); %p is a process id, %q{NAME} a variable\n"
    "  --save FILE [--xml]       reports as records, too, of JSON or XML\n"
    "  --suppressions FILE       records of XML; reports that have their kind, text, func, file, line and module\n"
    "                            (the text, a shell's pattern or a regular expression) do not count\n"
    "  --print-limit N           reports that are printed (default 100; 0: all); all are counted\n"
    "  --print-level LEVEL       reports that are printed: info (auto, the default: all), warn, error, fatal; all are counted\n"
    "  --show-backtrace WHICH    stacks in reports: yes (default), host, device or no\n"
    "  --strip-paths yes         source files without their folders (default: no)\n"
    "  --num-callers-host N, --num-callers-device N   frames of a stack that are printed (default 0: all)\n"
    "  --prefix TEXT             begins each line in place of =========\n"
    "  --padding N               bytes between allocations, beyond cumu's 512 (default 0)\n"
    "  --kernel-name LIST        kernels that are looked at: kernel_name=NAME (kne=) or kernel_substring=PART (kns=)\n"
    "  --kernel-name-exclude LIST, --kernel-regex EXPRESSION   the same: others; by an expression\n"
    "  --launch-skip N (-s), --launch-count N (-c)   of their launches the first N are not looked at; only N are\n"
    "  --report-api-errors WHICH calls that return an error: explicit (default; extended is the same); all: also\n"
    "                            `not ready' and tables that are looked up and not there; no\n"
    "  --track-unused-memory     initcheck: also bytes of allocations that nobody ever writes (yes and no may follow)\n"
    "  --unused-memory-threshold N   only allocations of which at least N % are unused\n"
    "  --check-api-memory-access no   initcheck looks at no copies to the host (default: yes)\n"
    "  --nvtx no                 what the program says of its memory by NVTX does not count (default: yes)\n"
    "  --check-exit-code no      no line that the program returned an error (default: yes)\n"
    "  --racecheck-detect-level LEVEL   error; warn: also lanes of one warp (default); info: also two stores of one value\n"
    "                            (which --print-level info asks for, too)\n"
    "  --target-processes WHICH  all (default) or application-only: not what the program starts\n"
    "  --destroy-on-device-error kernel   a wrong access does not make its launch fail (default: context)\n"
    "  Others of compute-sanitizer's: values that are done here anyway are taken, the rest is refused with the reason\n"
    "\n"
    "Kernels run on the CPU back end, which looks at every access of every thread, compiled or not: outside of\n"
    "live allocations, of the block's shared memory, of the thread's local memory, misaligned, in memory of the\n"
    "program that no device can reach. A thread ends at such an access, its launch fails with error 719.\n"
    "racecheck: two threads of a launch, or two launches, copies or fills of different streams, use the same bytes,\n"
    "one of them writes, and no barrier, atomic, fence with a flag, event or wait orders them. initcheck: a\n"
    "kernel or a copy to the host reads device memory that nobody wrote. synccheck: threads pass a barrier by that others of their warp\n"
    "wait at, a mask does not name the lanes that arrive, thread counts, mbarrier objects, cooperative launches.\n"
    "Programs built with -lineinfo get source lines. The summary's last line is ERROR SUMMARY: N errors. Where stderr or\n"
    "a file does not take what is written, the exit status is 125 in place of 0.\n",
    memcheck};
