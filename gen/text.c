/* Arena, lines and words, and the error list of the generator. */
#include "gen/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    max_align_t data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
    struct arena_block *b = calloc(1, sizeof *b + size + 1);
    if (!b) {
        fprintf(stderr, "gen: out of memory\n");
        exit(2);
    }
    b->next = a->blocks;
    a->blocks = b;
    return b->data;
}

char *arena_copy(struct arena *a, const char *text, size_t length)
{
    char *copy = arena_alloc(a, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_print(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(a, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void arena_free(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
}

void *arena_push(struct arena *a, void *array, unsigned *count, unsigned *room, size_t size)
{
    if (*count == *room) {
        unsigned more = *room ? *room * 2 : 16;
        void *grown = arena_alloc(a, more * size);
        if (*count)
            memcpy(grown, array, *count * size);
        array = grown;
        *room = more;
    }
    ++*count;
    return array;
}

void error_at(struct errors *e, struct place at, const char *symbol, const char *format, ...)
{
    e->count++;
    if (!e->out)
        return;
    fprintf(e->out, "%s:%d: %s: ", at.file, at.line, symbol);
    va_list args;
    va_start(args, format);
    vfprintf(e->out, format, args);
    va_end(args);
    fputc('\n', e->out);
}

char *read_file(struct arena *a, struct errors *e, const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        error_at(e, (struct place){path, 0}, "-", "%s; expected a readable file", strerror(errno));
        return NULL;
    }
    size_t have = 0, room = 1 << 16;
    char *text = arena_alloc(a, room);
    for (size_t n; (n = fread(text + have, 1, room - have, f)) > 0;) {
        have += n;
        if (have == room) {
            char *grown = arena_alloc(a, room * 2);
            memcpy(grown, text, have);
            text = grown;
            room *= 2;
        }
    }
    fclose(f);
    text[have] = 0;
    *length = have;
    return text;
}

/* One word from *at; parentheses and quotes may hold blanks. Returns false when the line has no
 * more. */
static bool next_word(const char **at, const char *end, struct lines *l, struct arena *a, struct errors *e,
                      struct words *words)
{
    const char *p = *at;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p == end || *p == '#')
        return false;
    struct word *w = ARENA_PUSH(a, words);
    if (*p == '"') {
        const char *close = memchr(p + 1, '"', (size_t)(end - p - 1));
        if (!close) {
            error_at(e, l->at, "-", "quote is not closed; expected \" before the end of the line");
            close = end;
        }
        *w = (struct word){arena_copy(a, p + 1, (size_t)(close - p - 1)), true};
        *at = close < end ? close + 1 : end;
        return true;
    }
    const char *start = p;
    int depth = 0;
    for (; p < end && (depth > 0 || !isspace((unsigned char)*p)); p++)
        depth += (*p == '(') - (*p == ')' && depth > 0);
    if (depth)
        error_at(e, l->at, "-", "parenthesis is not closed; expected ) before the end of the line");
    *w = (struct word){arena_copy(a, start, (size_t)(p - start)), false};
    *at = p;
    return true;
}

bool next_line(struct lines *l, struct arena *a, struct errors *e, struct words *words)
{
    while (l->text < l->end) {
        const char *stop = memchr(l->text, '\n', (size_t)(l->end - l->text));
        const char *end = stop ? stop : l->end, *p = l->text;
        l->text = stop ? stop + 1 : l->end;
        l->at.line++;
        *words = (struct words){0};
        while (next_word(&p, end, l, a, e, words)) {
        }
        if (words->count)
            return true;
    }
    return false;
}

bool parse_number(const char *word, long long *value)
{
    char *end;
    errno = 0;
    *value = strtoll(word, &end, 0);
    return end != word && !*end && !errno;
}

bool is_identifier(const char *word)
{
    if (!isalpha((unsigned char)*word) && *word != '_')
        return false;
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && *word != '_')
            return false;
    return true;
}

int compare_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
