/* Text for the generator: an arena that owns every string of a run, lines and words with their
 * place, and errors that are all reported before the run fails. */
#ifndef CUMU_GEN_TEXT_H
#define CUMU_GEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct arena {
    struct arena_block *blocks;
};
/* Zeroed memory that lives until arena_free. Ends the process when there is none (the generator is
 * a tool, not a guest). */
void *arena_alloc(struct arena *a, size_t size);
char *arena_print(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_copy(struct arena *a, const char *text, size_t length);
void arena_free(struct arena *a);

/* Grows *array (of elements of `size` bytes) by one zeroed element and returns it. The array moves.
 */
void *arena_push(struct arena *a, void *array, unsigned *count, unsigned *room, size_t size);
#define ARENA_PUSH(a, list) \
    ((list)->at = arena_push(a, (list)->at, &(list)->count, &(list)->room, sizeof *(list)->at), \
     &(list)->at[(list)->count - 1])

struct place {
    const char *file;
    int line;
};

/* Where errors go and how many there were. One per run. */
struct errors {
    FILE *out;
    unsigned count;
};
/* Prints `file:line: symbol: message`. The message reads `what is wrong; what was expected`. */
void error_at(struct errors *e, struct place at, const char *symbol, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Words of a line. A word is text without blanks, a "quoted text", or text with balanced
 * parentheses (which may hold blanks). `#` outside quotes ends the line. */
struct word {
    const char *text;
    bool quoted;
};
struct words {
    struct word *at;
    unsigned count, room;
};

struct lines {
    const char *text, *end;
    struct place at;
};
/* The whole file as a string, or NULL with an error reported. */
char *read_file(struct arena *a, struct errors *e, const char *path, size_t *length);
/* The next line that has words; false at the end. */
bool next_line(struct lines *l, struct arena *a, struct errors *e, struct words *words);

/* A decimal or hexadecimal number that fills the whole word. */
bool parse_number(const char *word, long long *value);
bool is_identifier(const char *word);
int compare_text(const void *a, const void *b); /* qsort over const char * */

#endif
