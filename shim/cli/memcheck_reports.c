/* cumu memcheck: what the program's processes report, as it comes: counted, suppressed, limited, saved. */
#include "cli/memcheck_reports.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = MEMCHECK_PREFIX;

static void append(struct memcheck_text *t, const char *s, size_t n)
{
    if (n + 1 > t->room - t->n) {
        size_t room = 2 * (t->room + n) + 256;
        char *more = realloc(t->s, room);
        if (!more)
            return;
        t->s = more;
        t->room = room;
    }
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

/* ---- suppressions ---------------------------------------------------------------------------- */

enum { PATTERNS = 32 };
struct memcheck_suppression {
    struct memcheck_suppression *next;
    struct {
        char *tag, *text;
    } pattern[PATTERNS];
    unsigned patterns;
    char *copy; /* what they point into */
};

/* &lt; and the like become what they mean, in place. */
static void unescape(char *s)
{
    static const struct {
        const char *name;
        char c;
    } names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *to = s;
    while (*s) {
        size_t k = 0, all = sizeof names / sizeof *names;
        while (k < all && strncmp(s, names[k].name, strlen(names[k].name)) != 0)
            k++;
        *to++ = k < all ? names[k].c : *s;
        s += k < all ? strlen(names[k].name) : 1;
    }
    *to = 0;
}

/* The elements of a record that hold text and nothing else; the others only group them. */
static void parse_record(struct memcheck_suppression *s)
{
    for (char *p = s->copy; (p = strchr(p, '<'));) {
        char *tag = ++p, *close = strchr(p, '>'), *text = close ? close + 1 : NULL;
        char *end = text ? strchr(text, '<') : NULL;
        if (!end)
            return;
        const size_t n = (size_t)(close - tag);
        if (*tag == '/' || end[1] != '/' || strncmp(end + 2, tag, n) != 0 || end[2 + n] != '>')
            continue;
        *close = *end = 0;
        p = end + 1;
        unescape(text);
        if (s->patterns < PATTERNS) {
            s->pattern[s->patterns].tag = tag;
            s->pattern[s->patterns++].text = text;
        }
    }
}

bool cumu_memcheck_suppress(struct memcheck_reports *r, const char *path)
{
    struct memcheck_text all = {0};
    char part[4096];
    FILE *f = fopen(path, "re");
    for (size_t n; f && (n = fread(part, 1, sizeof part, f)) > 0;)
        append(&all, part, n);
    const bool bad = !f || ferror(f);
    if (f)
        (void)fclose(f);
    if (bad) {
        cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
        free(all.s);
        return false;
    }
    /* What `--save` wrote of a program without a fault has none. */
    bool known = all.s && strstr(all.s, "</ComputeSanitizerOutput>");
    for (char *p = all.s, *end; p && (p = strstr(p, "<record>")) && (end = strstr(p, "</record>"));
         p = end, known = true) {
        struct memcheck_suppression *s = calloc(1, sizeof *s);
        if (s && (s->copy = strndup(p + 8, (size_t)(end - p - 8)))) {
            parse_record(s);
            s->next = r->suppressions;
            r->suppressions = s;
        } else {
            free(s);
        }
    }
    free(all.s);
    if (!known)
        cumu_fail(CUMU_EXIT_USAGE, "%s: no <record> in it", path);
    return known;
}

static bool is(const char *pattern, const char *text)
{
    regex_t e;
    char whole[2048];
    if (!text)
        return false;
    if (!strcmp(pattern, text) || !fnmatch(pattern, text, 0))
        return true;
    int n = snprintf(whole, sizeof whole, "^(%s)$", pattern);
    if (n >= (int)sizeof whole || regcomp(&e, whole, REG_EXTENDED | REG_NOSUB))
        return false;
    const bool matches = !regexec(&e, text, 0, NULL, 0);
    regfree(&e);
    return matches;
}

static bool frame_is(const char *tag, const char *pattern, const struct memcheck_frame *f)
{
    char line[24];
    snprintf(line, sizeof line, "%lu", f->line);
    return is(pattern, !strcmp(tag, "func")     ? f->name
                       : !strcmp(tag, "module") ? f->module
                       : !strcmp(tag, "file")   ? f->file
                       : f->line                ? line
                                                : NULL);
}

/* Whether the record has what the pattern asks for; elements of other names ask for nothing. */
static bool has(const struct memcheck_record *r, const char *tag, const char *pattern)
{
    static const char *const of_frames[] = {"func", "module", "file", "line"};
    if (!strcmp(tag, "kind"))
        return is(pattern, r->tool);
    if (!strcmp(tag, "text"))
        return is(pattern, r->title);
    for (size_t t = 0; t < sizeof of_frames / sizeof *of_frames; t++) {
        if (strcmp(tag, of_frames[t]) != 0)
            continue;
        bool found = false;
        for (unsigned k = 0; k < r->places && !found; k++)
            found = frame_is(tag, pattern, &r->place[k].at);
        for (unsigned k = 0; k < r->frames && !found; k++)
            found = frame_is(tag, pattern, &r->frame[k].at);
        return found;
    }
    return true;
}

static bool is_suppressed(const struct memcheck_suppression *all, const struct memcheck_record *r)
{
    for (const struct memcheck_suppression *s = all; s; s = s->next) {
        unsigned k = 0;
        while (k < s->patterns && has(r, s->pattern[k].tag, s->pattern[k].text))
            k++;
        if (k == s->patterns && k)
            return true;
    }
    return false;
}

/* ---- reports --------------------------------------------------------------------------------- */

bool cumu_memcheck_save(struct memcheck_reports *r, const char *path, bool xml)
{
    r->save = fopen(path, "we");
    r->xml = xml;
    if (!r->save) {
        cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
        return false;
    }
    fputs(xml ? "<?xml version=\"1.0\"?>\n<ComputeSanitizerOutput>\n" : "{\"records\": [\n", r->save);
    return true;
}

static void finish_report(struct memcheck_reports *r)
{
    char *copy = r->report.n ? strdup(r->report.s) : NULL;
    struct memcheck_record *record = calloc(1, sizeof *record);
    r->left_out = false;
    if (copy && record) {
        record->tool = r->tool;
        record->process = r->process;
        cumu_memcheck_parse(record, copy);
        r->left_out = is_suppressed(r->suppressions, record);
        if (!r->left_out && r->save) {
            fputs(r->saved_one && !r->xml ? ",\n" : "", r->save);
            cumu_memcheck_write(r->save, record, r->xml);
            r->saved_one = true;
        }
        const char *title = record->title ? record->title : "";
        r->race_errors += !r->left_out && !strncmp(title, "Error: Race", 11);
        r->race_warnings += !r->left_out && !strncmp(title, "Warning: Race", 13);
    }
    r->suppressed += r->left_out;
    r->errors += !r->left_out;
    if (!r->left_out && r->report.n && cumu_memcheck_prints(&r->print, r->report.s) &&
        (!r->limit || r->printed++ < r->limit))
        cumu_memcheck_print(r->to, &r->print, r->report.s, r->report.n);
    free(record);
    free(copy);
    r->report.n = 0;
}

/* A report begins with a line that is not indented and ends with an empty one; some lines stand alone. */
static void take_line(struct memcheck_reports *r)
{
    const char *s = r->line.s, *text = s + sizeof prefix - 1;
    unsigned long long more;
    if (sscanf(s, "@%23s %ld", r->tool, &r->process) == 2)
        return;
    if (strncmp(s, prefix, sizeof prefix - 1) != 0) {
        cumu_memcheck_print(r->to, &r->print, s, r->line.n);
    } else if (!r->report.n && sscanf(text, "%llu more errors", &more) == 1) {
        if (r->left_out)
            return;
        r->errors += more;
        cumu_memcheck_print(r->to, &r->print, s, r->line.n);
    } else if (!r->report.n && (!strncmp(text, "LEAK SUMMARY", 12) || *text == '\n')) {
        if (*text != '\n' || !r->left_out)
            cumu_memcheck_print(r->to, &r->print, s, r->line.n);
    } else {
        append(&r->report, s, r->line.n);
        if (*text == '\n')
            finish_report(r);
    }
}

/* What has been read needs no room any more, where the file system can give it back: a program may report for days. */
static void give_back(struct memcheck_reports *r)
{
    enum { PIECE = 1 << 20 };
    const off_t end = lseek(r->fd, 0, SEEK_CUR);
    if (end - r->given_back >= PIECE &&
        fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r->given_back, end - r->given_back) == 0)
        r->given_back = end;
}

void cumu_memcheck_read(struct memcheck_reports *r)
{
    char text[4096];
    for (ssize_t n; (n = read(r->fd, text, sizeof text)) > 0;)
        for (ssize_t k = 0, end; k < n; k = end) {
            const char *newline = memchr(text + k, '\n', (size_t)(n - k));
            end = newline ? newline - text + 1 : n;
            append(&r->line, text + k, (size_t)(end - k));
            if (newline && r->line.n) {
                take_line(r);
                r->line.n = 0;
            }
        }
    (void)fflush(r->to);
    give_back(r);
}

bool cumu_memcheck_close(FILE *f, const char *path)
{
    bool good = !ferror(f);
    errno = EIO; /* of an earlier write, whose error nobody kept */
    good &= fclose(f) == 0;
    if (!good)
        cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
    return good;
}

bool cumu_memcheck_finish(struct memcheck_reports *r, const char *path)
{
    if (r->report.n)
        finish_report(r);
    if (!r->save)
        return true;
    fputs(r->xml ? "</ComputeSanitizerOutput>\n" : "\n]}\n", r->save);
    FILE *save = r->save;
    r->save = NULL;
    return cumu_memcheck_close(save, path);
}

void cumu_memcheck_free(struct memcheck_reports *r)
{
    for (struct memcheck_suppression *s = r->suppressions, *next; s; s = next) {
        next = s->next;
        free(s->copy);
        free(s);
    }
    if (r->save)
        (void)fclose(r->save);
    free(r->line.s);
    free(r->report.s);
}
