/* Command lines as NVIDIA's programs read them: long and short names with one dash or two, values behind '=' or in the
 * next word, options files. */
#include "core/file.h"
#include "tools/tools.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const struct tool *t, const char *kind, const char *format, va_list args)
{
    (void)fflush(stdout);
    fprintf(stderr, "%s %s: ", t->name, kind);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int tool_fatal(const struct tool *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(t, "fatal   ", format, args);
    va_end(args);
    return TOOL_FAILED;
}

void tool_warning(const struct tool *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(t, "warning ", format, args);
    va_end(args);
}

/* ---- words ---------------------------------------------------------------------------------- */

struct words {
    char **word; /* NULL-terminated; those of files are owned by `kept` of the line */
    unsigned n;
};

static bool add_word(struct words *w, char *word)
{
    char **more = realloc(w->word, (w->n + 2) * sizeof *more);
    if (!more)
        return false;
    w->word = more;
    w->word[w->n++] = word;
    w->word[w->n] = NULL;
    return true;
}

/* The words of an options file's text, cut in place: blanks part them, quotes hold them together. */
static bool add_text(struct words *w, char *s)
{
    for (;;) {
        while (isspace((unsigned char)*s))
            s++;
        if (!*s)
            return true;
        char *to = s, *from = s, quote = 0;
        for (; *from && (quote || !isspace((unsigned char)*from)); from++) {
            if (quote ? *from == quote : *from == '"' || *from == '\'')
                quote = quote ? 0 : *from;
            else
                *to++ = *from;
        }
        bool last = !*from;
        *to = 0;
        if (!add_word(w, s))
            return false;
        if (last)
            return true;
        s = from + 1;
    }
}

/* All words of the command line, those of options files in their place. */
static int read_words(const struct tool *t, int argc, char **argv, struct words *all, struct words *files)
{
    static const char *const names[] = {"--options-file", "-optf", "--optf", "-options-file"};
    for (int i = 1; i < argc; i++) {
        const char *path = NULL;
        for (unsigned k = 0; k < sizeof names / sizeof *names && !path; k++) {
            size_t n = strlen(names[k]);
            if (strncmp(argv[i], names[k], n) == 0 && (argv[i][n] == '=' || !argv[i][n]))
                path = argv[i][n] ? argv[i] + n + 1 : i + 1 < argc ? argv[++i] : "";
        }
        if (!path) {
            if (!add_word(all, argv[i]))
                return tool_fatal(t, "Memory allocation failure");
            continue;
        }
        size_t size;
        char *text = cumu_file_read(path, PTRDIFF_MAX, &size);
        if (!text)
            return tool_fatal(t, "Input file '%s' could not be opened", path);
        if (!add_word(files, text) || !add_text(all, text))
            return tool_fatal(t, "Memory allocation failure");
    }
    return 0;
}

/* ---- options -------------------------------------------------------------------------------- */

static bool named(const char *name, const char *s, size_t n)
{
    return name && strlen(name) == n && !memcmp(name, s, n);
}

/* The option of a word without its dashes, up to '='; *value is what is joined to its name. */
static const struct tool_option *find(const struct tool_option *table, unsigned n, const char *s, const char **value)
{
    size_t len = strcspn(s, "=");
    *value = s[len] ? s + len + 1 : NULL;
    for (unsigned i = 0; i < n; i++)
        if (named(table[i].name, s, len) || named(table[i].brief, s, len))
            return &table[i];
    for (unsigned i = 0; i < n; i++)
        if (table[i].kind >= TOOL_JOINED && strncmp(s, table[i].brief, strlen(table[i].brief)) == 0) {
            *value = table[i].kind == TOOL_WORDS ? s : s + strlen(table[i].brief);
            return &table[i];
        }
    return NULL;
}

static bool asks(const char *s)
{
    static const char *const words[] = {"version", "V", "help", "h", "list-version", "version-ls"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(s, words[i]) == 0)
            return true;
    return false;
}

static bool is_number(const char *s)
{
    char *end;
    (void)strtol(s, &end, 0);
    return (*s && !*end) || strcmp(s, "archmax") == 0 || strcmp(s, "archmin") == 0;
}

/* Checks the value of an option and keeps it. */
static int keep(const struct tool *t, const struct tool_option *o, const char *value, struct tool_line *l)
{
    if (o->kind == TOOL_BOOL && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return tool_fatal(t, "'%s': expected true or false", value);
    if (o->kind == TOOL_NUMBER && !is_number(value))
        return tool_fatal(t, "Invalid value '%s' for option '%s'", value, o->name);
    if (o->kind == TOOL_LIST || o->kind == TOOL_WORDS)
        l->list[l->nlist++] = value;
    if (o->id && o->kind == TOOL_TEXT && l->value[o->id] && strcmp(l->value[o->id], value) != 0)
        tool_warning(t, "incompatible redefinition for option '%s', the last value of this option was used", o->name);
    if (o->id)
        l->value[o->id] = value;
    return 0;
}

/* One word of the line, and the next one if that is its value. What the table lacks goes to *unknown. */
static int read_word(const struct tool *t, const struct tool_option *table, unsigned n, const struct words *w,
                     unsigned *i, struct tool_line *l, const char **unknown)
{
    const char *word = w->word[*i], *value, *next = w->word[*i + 1];
    if (word[0] != '-' || !word[1]) {
        l->input[l->ninput++] = word;
        return 0;
    }
    const char *name = word + 1 + (word[1] == '-');
    if (asks(name)) {
        l->asks_real = true;
        return 0;
    }
    const struct tool_option *o = find(table, n, name, &value);
    if (!o) { /* what follows is its value, unless it looks like an option or a file */
        if (!*unknown)
            *unknown = word + 1;
        *i += !value && strcspn(name, "=") == strlen(name) && next && next[0] != '-' && access(next, F_OK) != 0;
        return 0;
    }
    if (o->kind == TOOL_FLAG && value)
        return tool_fatal(t, "no argument expected after '%.*s'", (int)strcspn(word, "="), word);
    if (o->kind == TOOL_FLAG || (o->kind == TOOL_JOINED && !value && named(o->brief, name, strlen(name))))
        value = "";
    if (!value && !next)
        return tool_fatal(t, "argument expected after '%s'", word);
    if (!value) {
        value = next;
        ++*i;
    }
    return keep(t, o, value, l);
}

int tool_line_read(const struct tool *t, const struct tool_option *table, unsigned n, int argc, char **argv,
                   struct tool_line *l)
{
    struct words all = {0}, files = {0};
    const char *unknown = NULL;
    *l = (struct tool_line){0};
    int bad = read_words(t, argc, argv, &all, &files);
    l->kept = files.word;
    l->input = calloc(all.n + 1, sizeof *l->input);
    l->list = calloc(all.n + 1, sizeof *l->list);
    if (!bad && (!l->input || !l->list))
        bad = tool_fatal(t, "Memory allocation failure");
    for (unsigned i = 0; !bad && i < all.n; i++)
        bad = read_word(t, table, n, &all, &i, l, &unknown);
    bool none = false;
    if (!bad && unknown && !l->asks_real && !tool_real_takes(t, argv, &none))
        bad = none ? tool_fatal(t, "Unknown option '%.*s'", (int)strcspn(unknown, "="), unknown) : TOOL_FAILED;
    free(all.word);
    return bad;
}

void tool_line_free(struct tool_line *l)
{
    for (unsigned i = 0; l->kept && l->kept[i]; i++)
        free(l->kept[i]);
    free(l->kept);
    free(l->input);
    free(l->list);
    *l = (struct tool_line){0};
}
