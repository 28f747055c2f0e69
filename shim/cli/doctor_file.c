/* cumu doctor: its file, written and read. */
#include "cli/doctor_file.h"
#include "core/config.h"
#include "core/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FIRST "cumu doctor report 1"
#define MARK "== "    /* in front of a section's title */
#define END "== end " /* and the number of lines above it */
enum { MOST = 4 << 20, VALUE = 1000 };

/* ---- reading ----------------------------------------------------------------------------------- */

static bool damaged(char why[160], const char *what, size_t line)
{
    (void)snprintf(why, 160, "line %zu: %s", line, what);
    return false;
}

/* Cuts the copy into lines and counts them and the sections. Whatever is no printable character could be a terminal's
 * command, and is refused. */
static bool cut_lines(char *text, size_t size, size_t *lines, size_t *sections, char why[160])
{
    *lines = *sections = 0;
    for (char *at = text, *end = text + size; at < end; ++*lines) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            return damaged(why, "does not end; the file is cut off", *lines + 1);
        bool title = strncmp(at, MARK, sizeof MARK - 1) == 0;
        char *tab = memchr(at, '\t', (size_t)(stop - at)); /* between a name and its value; no other */
        for (char *c = at; c < stop; c++)
            if ((*c < ' ' && (c != tab || title)) || *c > '~')
                return damaged(why, "holds what is not plain text", *lines + 1);
        *stop = '\0';
        *sections += title;
        at = stop + 1;
    }
    return true;
}

/* Sections point into one array of all lines, which has room for as many as the text has. */
static bool sort_lines(struct doctor_file *f, size_t lines, char why[160])
{
    struct doctor_line *line = f->lines;
    char *at = f->text;
    if (!lines || strcmp(at, FIRST) != 0) {
        (void)snprintf(why, 160, "%s",
                       lines && strncmp(at, "cumu doctor report ", 19) == 0
                           ? "written by another version of cumu, which can explain it"
                           : "no report of cumu doctor");
        return false;
    }
    for (size_t n = 1; n < lines; n++) {
        at += strlen(at) + 1;
        if (strncmp(at, END, sizeof END - 1) == 0) {
            char *digits = at + sizeof END - 1, *rest;
            if (strtoul(digits, &rest, 10) != n || *rest || !isdigit((unsigned char)*digits))
                return damaged(why, "lines are missing above the end", n + 1);
            return n + 1 == lines || damaged(why, "stands behind the end", n + 2);
        }
        if (strncmp(at, MARK, sizeof MARK - 1) == 0) {
            f->section[f->nsection++] = (struct doctor_section){at + sizeof MARK - 1, line, 0};
            continue;
        }
        if (!f->nsection)
            return damaged(why, "stands before the first section", n + 1);
        char *tab = strchr(at, '\t');
        *line++ = (struct doctor_line){at, tab ? tab + 1 : at + strlen(at)};
        f->section[f->nsection - 1].count++;
    }
    (void)snprintf(why, 160, "cut off: it has no end");
    return false;
}

bool doctor_file_parse(struct doctor_file *f, const char *text, size_t size, char why[160])
{
    size_t lines = 0, sections = 0;
    memset(f, 0, sizeof *f);
    if (size > MOST) {
        (void)snprintf(why, 160, "larger than any report");
        return false;
    }
    f->text = malloc(size + 1);
    if (f->text) {
        memcpy(f->text, text, size);
        f->text[size] = '\0';
        if (!cut_lines(f->text, size, &lines, &sections, why))
            return false;
        f->lines = calloc(lines + 1, sizeof *f->lines);
        f->section = calloc(sections + 1, sizeof *f->section);
    }
    if (!f->text || !f->lines || !f->section) {
        (void)snprintf(why, 160, "out of memory");
        return false;
    }
    if (!sort_lines(f, lines, why))
        return false;
    /* Names end where their values begin; only now, since lines were told apart by their ends. */
    for (size_t s = 0; s < f->nsection; s++)
        for (size_t i = 0; i < f->section[s].count; i++) {
            const struct doctor_line *l = &f->section[s].line[i];
            if (l->value[-1] == '\t')
                f->text[l->value - 1 - f->text] = '\0';
        }
    return true;
}

bool doctor_file_read(struct doctor_file *f, const char *path, char why[160])
{
    size_t size;
    char *text = cumu_file_read(path, MOST + 1, &size);
    memset(f, 0, sizeof *f);
    if (!text)
        (void)snprintf(why, 160, "%s", strerror(errno));
    bool good = text && doctor_file_parse(f, text, size, why);
    free(text);
    return good;
}

void doctor_file_free(struct doctor_file *f)
{
    free(f->text);
    free(f->lines);
    free(f->section);
    memset(f, 0, sizeof *f);
}

struct doctor_section doctor_file_section(const struct doctor_file *f, const char *title)
{
    for (size_t s = 0; s < f->nsection; s++)
        if (strcmp(f->section[s].title, title) == 0)
            return f->section[s];
    return (struct doctor_section){title, NULL, 0};
}

const char *doctor_file_value(const struct doctor_file *f, const char *title, const char *name)
{
    struct doctor_section s = doctor_file_section(f, title);
    for (size_t i = 0; i < s.count; i++)
        if (strcmp(s.line[i].name, name) == 0)
            return s.line[i].value;
    return NULL;
}

bool doctor_is_name(const char *text, const char *more)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_' || (*text && strchr(more, *text)))
        text++;
    return !*text;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static FILE *out;

bool doctor_write_begin(FILE *to)
{
    out = to;
    (void)setvbuf(to, NULL, _IOLBF, BUFSIZ);
    return fputs(FIRST "\n", to) >= 0;
}

/* Children have written lines that this process has not counted: the file has. */
bool doctor_write_end(void)
{
    size_t lines = 0;
    int c;
    if (fflush(out) != 0 || fseek(out, 0, SEEK_SET) != 0)
        return false;
    while ((c = getc(out)) != EOF)
        lines += c == '\n';
    return fseek(out, 0, SEEK_END) == 0 && fprintf(out, END "%zu\n", lines) > 0 && fflush(out) == 0;
}

void doctor_section(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs(MARK, out);
    (void)vfprintf(out, format, args);
    (void)fputc('\n', out);
    va_end(args);
}

void doctor_line(const char *name, const char *format, ...)
{
    char text[VALUE], tidy[2 * VALUE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    doctor_tidy(tidy, sizeof tidy, text);
    (void)fprintf(out, *tidy ? "%s\t%s\n" : "%s\n", name, tidy);
}

static bool of_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.'; }

/* What may stay of a path: those of the system, and the name of a file with a suffix. */
static void tidy_path(const char *path, size_t n, char *word, size_t size)
{
    static const char *const system[] = {"/usr/", "/opt/", "/lib", "/proc/", "/dev/", "/sys/", "/etc/"};
    for (size_t k = 0; k < sizeof system / sizeof *system; k++)
        if (n >= strlen(system[k]) && memcmp(path, system[k], strlen(system[k])) == 0) {
            (void)snprintf(word, size, "%.*s", (int)n, path);
            return;
        }
    size_t base = n;
    while (base && path[base - 1] != '/')
        base--;
    bool file = memchr(path + 1, '/', n - 1) &&
                (memchr(path + base, '.', n - base) || strncmp(path + base, "mcc", n - base) == 0);
    const char *home = cumu_env("HOME");
    if (home && strlen(home) == n && memcmp(home, path, n) == 0)
        file = false;
    (void)snprintf(word, size, "<path>%s%.*s", file ? "/" : "", file ? (int)(n - base) : 0, path + base);
}

/* Characters of what numbers one device of all, which no report needs: a UUID, or the address of a network card. */
static size_t length_of_id(const char *text)
{
    static const char *const forms[] = {"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "xx:xx:xx:xx:xx:xx"};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t n = 0;
        while (forms[k][n] && (forms[k][n] == 'x' ? isxdigit((unsigned char)text[n]) != 0 : text[n] == forms[k][n]))
            n++;
        if (!forms[k][n])
            return n;
    }
    return 0;
}

void doctor_tidy(char *to, size_t size, const char *text)
{
    struct utsname u = {.nodename = ""};
    const char *own = cumu_opt_text(CUMU_OPT_MCC_FLAGS); /* the user's, which messages repeat */
    const char *home = cumu_env("HOME");                 /* as a whole: it may have blanks */
    const char *secret[] = {cumu_env("USER"), cumu_env("LOGNAME"), uname(&u) == 0 ? u.nodename : NULL};
    size_t used = 0;
    for (const char *c = text; *c && used + 1 < size;) {
        char word[VALUE + 16] = {(char)(*c < ' ' || *c > '~' ? *c == '\n' || *c == '\t' ? ' ' : '?' : *c)};
        size_t n = 1;
        bool starts = c == text || !of_word(c[-1]);
        size_t token = strcspn(c, " \t\n'\"`:,;()<>");
        if (*own && starts && strncmp(c, own, strlen(own)) == 0) {
            n = strlen(own);
            (void)snprintf(word, sizeof word, "<flags>");
        } else if (home && *home == '/' && home[1] && strncmp(c, home, strlen(home)) == 0 && strchr(home, ' ')) {
            n = strlen(home);
            (void)snprintf(word, sizeof word, "<path>");
        } else if (starts && length_of_id(c)) {
            n = length_of_id(c);
            (void)snprintf(word, sizeof word, "<id>");
        } else if (token > 1 &&
                   ((*c == '/' && (starts || memchr(c + 1, '/', token - 1))) || (*c == '~' && c[1] == '/'))) {
            n = token;
            tidy_path(c, n, word, sizeof word);
        } else if (starts && of_word(*c)) {
            while (of_word(c[n]))
                n++;
            for (size_t k = 0; k < sizeof secret / sizeof *secret; k++)
                if (secret[k] && strlen(secret[k]) == n && n > 2 && memcmp(secret[k], c, n) == 0 &&
                    strncmp(c, "root", n) != 0)
                    (void)snprintf(word, sizeof word, "<name>");
            if (*word != '<')
                (void)snprintf(word, sizeof word, "%.*s", (int)(n < VALUE ? n : VALUE), c);
        }
        for (char *w = word; *w; w++) /* a path may hold anything */
            *w = *w < ' ' || *w > '~' ? '?' : *w;
        used += (size_t)snprintf(to + used, size - used, "%s", word);
        if (used >= size)
            used = size - 1;
        c += n;
    }
    to[used] = '\0';
}
