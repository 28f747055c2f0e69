/* Sorts what CUMU_RECORD_SYMBOLS wrote, for `cumu trace --record-symbols`. */
#include "cli/cli.h"
#include "cli/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void print(FILE *f, char **lines, size_t n)
{
    const char *last = "", *soname = "";
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        char *space = strchr(lines[i], ' ');
        if (!space || strcmp(lines[i], last) == 0)
            continue;
        last = lines[i];
        if (strncmp(soname, lines[i], length) != 0 || (size_t)(space - lines[i]) != length)
            fprintf(f, "# %.*s\n", (int)(space - lines[i]), lines[i]);
        soname = lines[i];
        length = (size_t)(space - lines[i]);
        fprintf(f, "%s", space + 1);
    }
}

int cumu_sort_symbols(const char *path)
{
    char **lines = NULL, *line = NULL;
    size_t n = 0, room = 0, size = 0;
    int status = 0;
    FILE *f = fopen(path, "r");
    while (f && !status && getline(&line, &size, f) > 0) {
        if (n == room) {
            size_t more = room ? 2 * room : 256;
            char **grown = realloc(lines, more * sizeof *lines);
            lines = grown ? grown : lines;
            room = grown ? more : room;
        }
        if (n < room && (lines[n] = strdup(line)) != NULL)
            n++;
        else
            status = cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    }
    if (f)
        (void)fclose(f);
    f = f && !status ? fopen(path, "w") : NULL;
    if (n)
        qsort(lines, n, sizeof *lines, by_text);
    if (f)
        print(f, lines, n);
    if (!status && (!f || fclose(f) != 0))
        status = cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
    while (n)
        free(lines[--n]);
    free(lines);
    free(line);
    return status;
}
