/* cumu memcheck: lines of reports as they were asked for, with another prefix, without folders or without stacks. What
 * is counted, suppressed and saved is the whole report. */
#include "cli/memcheck_reports.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = MEMCHECK_PREFIX;
enum { SEVERITIES = 4 };
static const char *const severities[SEVERITIES] = {"info", "warn", "error", "fatal"};

bool cumu_memcheck_print_level(struct memcheck_print *p, const char *name)
{
    for (p->level = 0; p->level < SEVERITIES; p->level++)
        if (!strcmp(name, severities[p->level]))
            return true;
    return false;
}

bool cumu_memcheck_print_backtrace(struct memcheck_print *p, const char *which)
{
    p->no_host = !strcmp(which, "device") || !strcmp(which, "no");
    p->no_device = !strcmp(which, "host") || !strcmp(which, "no");
    return p->no_host || p->no_device || !strcmp(which, "yes");
}

static unsigned severity_of(const char *title)
{
    static const char *const begins[SEVERITIES] = {"Info: ", "Warning: ", NULL, "Kernel ended: "};
    for (unsigned k = 0; k < SEVERITIES; k++)
        if (begins[k] && !strncmp(title, begins[k], strlen(begins[k])))
            return k;
    return 2;
}

bool cumu_memcheck_prints(const struct memcheck_print *p, const char *report)
{
    return severity_of(report + sizeof prefix - 1) >= p->level;
}

/* Where the file begins in "in FILE:LINE" or "inlined at FILE:LINE"; NULL: the line has none. No demangled name has the
 * word, but a folder may, so that the first one counts. */
static const char *find_path(const char *s, size_t n)
{
    if (n > 11 && !strncmp(s, "inlined at ", 11))
        return s + 11;
    const char *in = memmem(s, n, " in ", 4);
    return in ? in + 4 : NULL;
}

static void print_text(FILE *to, const struct memcheck_print *p, const char *s, size_t n)
{
    const char *path = p->no_folders ? find_path(s, n) : NULL, *name = path;
    for (const char *c = path; c && *c && *c != ':' && *c != '\n'; c++)
        name = *c == '/' ? c + 1 : name;
    if (path) {
        (void)fwrite(s, 1, (size_t)(path - s), to);
        n -= (size_t)(name - s);
        s = name;
    }
    (void)fwrite(s, 1, n, to);
}

/* Where a report is: whether a device frame that is left out goes on, and frames so far of the stack. */
struct place_in {
    bool left_out;
    unsigned hosts, devices;
};

/* Whether a line belongs to a stack, or a part of one, that is left out. */
static bool is_left_out(const struct memcheck_print *p, const char *s, struct place_in *in)
{
    const bool heads = !strncmp(s, "Saved host backtrace", 20), host = !strncmp(s, "Host Frame:", 11);
    const bool device = !strncmp(s, "Device Frame:", 13), more = !strncmp(s, "inlined at ", 11);
    const bool out = ((heads || host) && p->no_host) || (device && p->no_device) || (more && in->left_out) ||
                     (host && p->hosts && in->hosts >= p->hosts) || (device && p->devices && in->devices >= p->devices);
    in->hosts = host ? in->hosts + 1 : 0;
    in->devices = device || more ? in->devices + device : 0;
    in->left_out = out && (device || more);
    return out;
}

static void print_lines(FILE *to, const struct memcheck_print *p, const char *text, size_t n)
{
    struct place_in in = {.left_out = false};
    for (const char *s = text, *end = text + n, *next; s < end; s = next) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        next = newline ? newline + 1 : end;
        if (strncmp(s, prefix, sizeof prefix - 1) != 0) {
            (void)fwrite(s, 1, (size_t)(next - s), to);
            continue;
        }
        const char *words = s + sizeof prefix - 1;
        words += strspn(words, " ");
        if (is_left_out(p, words, &in))
            continue;
        fputs(p->prefix, to);
        (void)fwrite(s + sizeof prefix - 2, 1, (size_t)(words - s) - (sizeof prefix - 2), to);
        print_text(to, p, words, (size_t)(next - words));
    }
}

void cumu_memcheck_print(FILE *to, const struct memcheck_print *p, const char *text, size_t n)
{
    char *all = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&all, &size);
    if (f)
        print_lines(f, p, text, n);
    if (f && !fclose(f))
        (void)fwrite(all, 1, size, to);
    else
        print_lines(to, p, text, n);
    free(all);
}
