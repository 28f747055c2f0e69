/* cumu doctor --explain: what a report says, in plain words; and the names in it as files for tests. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/doctor_probes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what is said, in the order in which it is printed -------------------------------------------- */

enum kind { WORKS, FAILS, NOTE, ADVICE, KINDS };

struct said {
    FILE *to[KINDS];
    char *text[KINDS];
    size_t size[KINDS];
    unsigned count[KINDS];
};

static void say(struct said *s, enum kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(struct said *s, enum kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (s->to[kind]) {
        (void)fputs("  - ", s->to[kind]);
        (void)vfprintf(s->to[kind], format, args);
        (void)fputc('\n', s->to[kind]);
    }
    s->count[kind]++;
    va_end(args);
}

static bool begins(const char *text, const char *with) { return text && strncmp(text, with, strlen(with)) == 0; }

/* How much of a value is of interest: a compiler's options are the report's. */
static int short_of(const char *value)
{
    const char *options = strstr(value, " (options: ");
    return (int)(options ? (size_t)(options - value) : strlen(value));
}

static unsigned number(const char *text)
{
    return text && isdigit((unsigned char)*text) ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* ---- one part of the report each ------------------------------------------------------------------ */

static void explain_devices(struct said *s, const struct doctor_file *f)
{
    const char *count = doctor_file_value(f, "devices", "devices"), *name = doctor_file_value(f, "devices", "device 0");
    const char *kind = doctor_file_value(f, "kernels", "device"), *driver = doctor_file_value(f, "machine", "driver");
    if (number(count) && kind && strcmp(kind, "the CPU") == 0)
        say(s, NOTE, "the libraries here are cumu's own on the CPU: this is a rehearsal, no device is behind it");
    if (number(count)) {
        say(s, WORKS, "%u device%s answer%s; the first is %s, %s", number(count), number(count) > 1 ? "s" : "",
            number(count) > 1 ? "" : "s", name ? name : "without a name", kind ? kind : "of an unknown kind");
        return;
    }
    say(s, FAILS, "no MUSA device answers: %s", count ? count : "nothing was asked");
    say(s, ADVICE,
        "install Moore Threads' driver, or start the container with the vendor's runtime; /dev/mtgpu0 must "
        "be there%s",
        begins(driver, "none") ? " (the kernel has no driver now)" : "");
}

static int by_uses(const void *a, const void *b)
{
    const struct doctor_line *x = a, *y = b;
    unsigned m = number(x->value), n = number(y->value);
    return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

/* The most used of what a library lacks; the rest is a number. */
static void explain_lacking(struct said *s, const char *library, struct doctor_section lacking)
{
    struct doctor_line *sorted = malloc((lacking.count + 1) * sizeof *sorted);
    char text[400] = "";
    unsigned used = 0;
    if (!sorted)
        return;
    memcpy(sorted, lacking.line, lacking.count * sizeof *sorted);
    qsort(sorted, lacking.count, sizeof *sorted, by_uses);
    while (used < lacking.count && number(sorted[used].value))
        used++;
    for (unsigned k = 0; k < used && k < 5; k++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.60s (%u)", k ? ", " : "", sorted[k].name,
                       number(sorted[k].value));
    free(sorted);
    if (used)
        say(s, FAILS,
            "%s lacks %zu functions; of 978 programs known to us these are used by so many: %s%s; where cumu "
            "has no other way, what calls them is told \"not supported\"",
            library, lacking.count, text, used > 5 ? " and others" : "");
    else
        say(s, NOTE, "%s lacks %zu functions, none of which a program known to us imports%s", library, lacking.count,
            strcmp(library, "musa") == 0 ? " (what programs look up in the driver instead is not counted)" : "");
}

/* From the counts of a report, which libraries are there and what of them cumu has to do without. */
static void explain_libraries(struct said *s, const struct doctor_file *f)
{
    char title[128], absent[400] = "";
    for (size_t k = 0; k < f->nsection; k++) {
        const char *library = f->section[k].title + 8, *file;
        if (!begins(f->section[k].title, "library "))
            continue;
        file = doctor_file_value(f, f->section[k].title, "file");
        if (!file || !strcmp(file, "not found") || !strcmp(file, "cannot be read")) {
            if (strcmp(library, "mtrtc") != 0) /* only where there is no mcc */
                (void)snprintf(absent + strlen(absent), sizeof absent - strlen(absent), "%s%.30s", *absent ? ", " : "",
                               library);
            continue;
        }
        unsigned asked = number(doctor_file_value(f, f->section[k].title, "asked for"));
        unsigned other = number(doctor_file_value(f, f->section[k].title, "under another name"));
        unsigned made = number(doctor_file_value(f, f->section[k].title, "made of the plain function"));
        (void)snprintf(title, sizeof title, "lacking %.100s", library);
        struct doctor_section lacking = doctor_file_section(f, title);
        say(s, WORKS, "%s: %zu of %u functions that cumu asks for (%u under another name, %u made of another)", library,
            lacking.count < asked ? asked - lacking.count : 0, asked, other, made);
        if (lacking.count)
            explain_lacking(s, library, lacking);
    }
    if (*absent)
        say(s, FAILS, "not found: %s; programs that need one of these do not run", absent);
}

static void explain_answers(struct said *s, const struct doctor_file *f)
{
    struct doctor_section answers = doctor_file_section(f, "answers");
    for (size_t k = 0; k < answers.count; k++) {
        const char *name = answers.line[k].name, *value = answers.line[k].value;
        const char *expected = strstr(value, "(expected ");
        if (strcmp(name, "graph update") == 0 && !number(doctor_file_value(f, "devices", "devices")))
            continue; /* without a device there are no graphs */
        if (strcmp(name, "graph update") == 0) {
            if (strstr(value, "answers 0"))
                say(s, begins(value, "takes") ? WORKS : FAILS, "the update of graphs %s", value);
            else
                say(s, FAILS, "graphs cannot be updated (%s): programs make them anew, which takes longer", value);
        } else if (expected && number(expected + 10) != number(value)) {
            say(s, FAILS, "%s is %s: cumu counts on another value", name, value);
        } else if (!expected) {
            say(s, FAILS, "%s: %s", name, value);
        }
    }
    answers = doctor_file_section(f, "versions");
    for (size_t k = 0; k < answers.count; k++)
        if (!isdigit((unsigned char)*answers.line[k].value) && strcmp(answers.line[k].value, "not there") != 0)
            say(s, FAILS, "%s: %s", answers.line[k].name, answers.line[k].value);
}

/* How long kernels take the compiler, and which of its ways to compile one fail. */
static void explain_ladder(struct said *s, const struct doctor_file *f)
{
    struct doctor_section ladder = doctor_file_section(f, "compiler's ladder");
    const char *header = doctor_file_value(f, "compiler's ladder", "the toolkit's header alone");
    const char *usual = doctor_file_value(f, "compiler's ladder", "a kernel by -O2");
    for (size_t k = 0; k < ladder.count; k++)
        if (begins(ladder.line[k].value, "no"))
            say(s, ladder.line[k].value == usual ? FAILS : NOTE, "the compiler fails on %s: %s", ladder.line[k].name,
                ladder.line[k].value);
    if (number(usual))
        say(s, WORKS, "the compiler takes %s for a kernel, %s of which its start and the toolkit's header take", usual,
            number(header) ? header : "an unknown part");
}

/* From the trials of a report, whether kernels can be compiled, and what the user can do if they cannot. */
static void explain_compiler(struct said *s, const struct doctor_file *f)
{
    const char *file = doctor_file_value(f, "compiler", "file"), *output = doctor_file_value(f, "compiler", "output");
    const char *cuda = doctor_file_value(f, "compiler's options", "--cuda-device-only");
    const char *musa = doctor_file_value(f, "compiler's options", "--musa-device-only");
    struct doctor_section names = doctor_file_section(f, "compiler's names");
    unsigned good = 0;
    if (!file || begins(file, "none")) {
        say(s, FAILS, "no compiler: kernels that the cache does not have cannot run on a device");
        say(s, ADVICE,
            "install the SDK's toolkit, or name its mcc by CUMU_MCC; `cumu cache warm` on a machine that "
            "has one fills the cache");
        return;
    }
    for (size_t k = 0; k < names.count; k++) {
        good += begins(names.line[k].value, "yes");
        if (begins(names.line[k].value, "yes,"))
            say(s, FAILS, "the compiler breaks down on %s and takes it with less optimisation: %.*s",
                names.line[k].name, short_of(names.line[k].value + 4), names.line[k].value + 4);
        else if (!begins(names.line[k].value, "yes"))
            say(s, FAILS, "the compiler does not take %s: kernels that use it do not run (%.*s)", names.line[k].name,
                short_of(names.line[k].value), names.line[k].value);
    }
    explain_ladder(s, f);
    say(s, WORKS, "%s compiles %u of %zu constructs that kernels use", file, good, names.count);
    if (cuda && musa && !begins(cuda, "taken") && !begins(musa, "taken"))
        say(s, FAILS, "the compiler takes neither spelling of \"device code only\"");
    if (output && !begins(output, "bundle") && !begins(output, "ELF") && !begins(output, "fat binary"))
        say(s, FAILS, "the compiler's output is of an unknown form: %s", output);
}

/* From the probes of a report, how many kernels are right, what each wrong one means for programs, and which
 * switches of the prelude the toolkit has earned. */
static void explain_kernels(struct said *s, const struct doctor_file *f)
{
    struct doctor_section kernels = doctor_file_section(f, "kernels");
    unsigned right = 0, tried = 0;
    for (size_t k = 0; k < kernels.count; k++) {
        const char *name = kernels.line[k].name, *value = kernels.line[k].value;
        const struct doctor_probe *p = doctor_probe_named(name);
        const char *means = p && p->means ? p->means : "unknown to this version of cumu";
        if (!strcmp(name, "device") || !strcmp(name, "compiler") || begins(value, "not tried: the CPU"))
            continue;
        bool extra = begins(name, "mcc: ");
        tried += !extra;
        right += !extra && begins(value, "right");
        if (begins(value, "right,"))
            say(s, FAILS, "kernel \"%s\" is right, but the compiler broke down before: %.*s", name, short_of(value + 7),
                value + 7);
        else if (begins(value, "value"))
            say(s, NOTE, "%s: %s", name, value + 5 + (value[5] == ' '));
        else if (extra && begins(value, "right"))
            say(s, NOTE, "%s: right", name);
        else if (!begins(value, "right"))
            say(s, extra ? NOTE : FAILS, "kernel \"%s\": %.*s (%s)", name, short_of(value), value, means);
    }
    if (tried)
        say(s, right == tried ? WORKS : FAILS, "%u of %u kernels give what they must", right, tried);
}

/* What kernels are compiled with from now on on this machine. */
static void explain_forms(struct said *s, const struct doctor_file *f)
{
    struct doctor_section forms = doctor_file_section(f, "forms of the toolkit's own");
    char right[300] = "";
    for (size_t k = 0; k < forms.count; k++) {
        const char *name = forms.line[k].name, *value = forms.line[k].value;
        if (begins(value, "right"))
            (void)snprintf(right + strlen(right), sizeof right - strlen(right), " %.40s", name);
        else if (strcmp(name, "device") != 0 && strcmp(name, "compiler") != 0)
            say(s, NOTE, "form %s: %.*s (kernels do without)", name, short_of(value), value);
    }
    if (*right)
        say(s, WORKS, "kernels use from now on what this toolkit does right:%s", right);
}

static void explain_speed(struct said *s, const struct doctor_file *f)
{
    struct doctor_section speed = doctor_file_section(f, "speed");
    for (size_t k = 0; k < speed.count; k++) {
        bool good = isdigit((unsigned char)*speed.line[k].value) || begins(speed.line[k].value, "right");
        say(s, good ? WORKS : FAILS, "%s: %s", speed.line[k].name, speed.line[k].value);
    }
}

void cumu_doctor_explain(const struct doctor_file *f, FILE *to)
{
    static const char *const heads[KINDS] = {"What works", "What does not", "Worth knowing", "What to do"};
    struct said s = {.count = {0}};
    const char *cumu = doctor_file_value(f, "machine", "cumu"), *first = doctor_file_value(f, "kernels", "a kernel");
    for (int k = 0; k < KINDS; k++)
        s.to[k] = open_memstream(&s.text[k], &s.size[k]);
    explain_devices(&s, f);
    explain_libraries(&s, f);
    explain_answers(&s, f);
    explain_compiler(&s, f);
    explain_kernels(&s, f);
    explain_speed(&s, f);
    explain_forms(&s, f);
    if (s.count[FAILS])
        say(&s, ADVICE, "send the report to those who make cumu: it names neither you nor the machine");
    (void)fprintf(to, "Report of cumu %s: %s\n", cumu ? cumu : "of no known version",
                  begins(first, "right") ? "kernels run here"
                                         : "no kernel runs on a MUSA device here; programs run on the CPU");
    for (int k = 0; k < KINDS; k++) {
        if (s.to[k])
            (void)fclose(s.to[k]);
        if (s.count[k] && s.text[k])
            (void)fprintf(to, "\n%s\n%s", heads[k], s.text[k]);
        free(s.text[k]);
    }
}

/* ---- the names, as tests/sdk has them -------------------------------------------------------------- */

int cumu_doctor_fixture(const struct doctor_file *f, const char *folder)
{
    char path[PATH_MAX];
    unsigned files = 0;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", folder, strerror(errno));
    for (size_t k = 0; k < f->nsection; k++) {
        const struct doctor_section *s = &f->section[k];
        const char *library = s->title + 8;
        if (!begins(s->title, "exports "))
            continue;
        if (!doctor_is_name(library, ".-"))
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: not the name of a library", library);
        for (size_t i = 0; i < s->count; i++)
            if (!doctor_is_name(s->line[i].name, ""))
                return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: not the name of a function", s->line[i].name);
        int n = snprintf(path, sizeof path, "%s/%s.names", folder, library);
        FILE *out = n < (int)sizeof path ? fopen(path, "we") : NULL;
        for (size_t i = 0; out && i < s->count; i++)
            (void)fprintf(out, "%s\n", s->line[i].name);
        if (!out || fclose(out) != 0)
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", path, strerror(errno));
        printf("%s: %zu names\n", path, s->count);
        files++;
    }
    return files ? 0 : cumu_fail(CUMU_EXIT_CANNOT_RUN, "the report has no library's names");
}
