/* Adds up the events of a trace: a row for each function, kernel and copy, the longest first. */
#include "cli/summary.h"
#include "cli/cli.h"
#include "core/hmap.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    uint64_t count, timed, total, longest, bytes, failed; /* times in ns */
    UT_hash_handle hh;
    char key[]; /* "kind library name" */
};

struct event {
    uint64_t duration, bytes;
    int timed, failed;
};

/* The key's length, 0 when the line is none of ours. */
static size_t parse(const char *line, struct event *e)
{
    const char *p = line + strlen(line);
    unsigned long long duration, bytes;
    for (unsigned words = 0; words < 4; words++) { /* from the end: a name may have blanks */
        do
            p--;
        while (p > line && *p != ' ');
        if (p <= line)
            return 0;
    }
    p++;
    if (sscanf(p, "%llu %d %llu %d", &duration, &e->timed, &bytes, &e->failed) != 4)
        return 0;
    e->duration = duration;
    e->bytes = bytes;
    return (size_t)(p - line) - 1;
}

static bool add(struct row **rows, const char *key, size_t n, const struct event *e)
{
    struct row *r = NULL;
    HASH_FIND(hh, *rows, key, n, r);
    if (!r) {
        r = calloc(1, sizeof *r + n + 1);
        if (!r)
            return false;
        memcpy(r->key, key, n);
        HASH_ADD_KEYPTR(hh, *rows, r->key, n, r);
        if (!hmap_added(r)) {
            free(r);
            return false;
        }
    }
    r->count++;
    r->failed += e->failed != 0;
    r->timed += e->timed != 0;
    r->bytes += e->bytes;
    r->total += e->timed ? e->duration : 0;
    if (e->timed && e->duration > r->longest)
        r->longest = e->duration;
    return true;
}

static int by_total(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->total != y->total ? (x->total < y->total) - (x->total > y->total) : strcmp(x->key, y->key);
}

/* What each kind's times are, said above its table. */
static const struct {
    const char *kind, *title;
} sections[] = {
    {"call", "calls, time on the calling thread"},
    {"kernel", "kernels, time on the device"},
    {"copy", "copies put on a stream, time on the device"},
    {"graph", "graphs launched, time on the device"},
    {"compile", "kernels compiled for the CPU, time of the compiler"},
    {"range", "ranges of NVTX, from their begin to their end"},
    {"mark", "marks of NVTX"},
    {"counter", "counters of NVTX"},
};

static void print(FILE *f, const struct row *rows, unsigned section)
{
    size_t n = strlen(sections[section].kind);
    bool any = false;
    for (const struct row *r = rows; r; r = r->hh.next) {
        if (strncmp(r->key, sections[section].kind, n) != 0 || r->key[n] != ' ')
            continue;
        if (!any)
            fprintf(f, "%s\n  %9s %12s %10s %10s %7s %12s %8s\n", sections[section].title, "count", "total us",
                    "mean us", "longest", "failed", "bytes", "GB/s");
        any = true;
        fprintf(f, "  %9llu %12.1f %10.1f %10.1f %7llu", (unsigned long long)r->count, (double)r->total / 1e3,
                r->timed ? (double)r->total / (double)r->timed / 1e3 : 0, (double)r->longest / 1e3,
                (unsigned long long)r->failed);
        if (r->bytes && r->total)
            fprintf(f, " %12llu %8.2f", (unsigned long long)r->bytes, (double)r->bytes / (double)r->total);
        else
            fprintf(f, " %12s %8s", "", "");
        fprintf(f, "  %s\n", r->key + n + 1);
    }
}

int cumu_summary(const char *path, const char *output)
{
    struct row *rows = NULL, *r, *next;
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    FILE *in = fopen(path, "r"), *out = output ? fopen(output, "w") : stderr;
    if (!in || !out)
        status = cumu_fail(CUMU_EXIT_USAGE, "%s: %s", in ? output : path, strerror(errno));
    while (!status && getline(&line, &room, in) > 0) {
        struct event e;
        size_t n = parse(line, &e);
        if (n && !add(&rows, line, n, &e))
            status = cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    }
    if (!status && !rows)
        fprintf(out, "no CUDA calls\n");
    HASH_SORT(rows, by_total);
    for (unsigned i = 0; !status && i < sizeof sections / sizeof *sections; i++)
        print(out, rows, i);
    HASH_ITER(hh, rows, r, next)
    {
        HASH_DEL(rows, r);
        free(r);
    }
    free(line);
    if (in)
        (void)fclose(in);
    if (out && out != stderr && fclose(out) != 0 && !status)
        status = cumu_fail(CUMU_EXIT_USAGE, "%s: %s", output, strerror(errno));
    return status;
}
