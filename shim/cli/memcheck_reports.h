/* Reports of a checked program (host/driver/memcheck_report.c writes them): counted, passed on up to a limit, left out
 * where a file says so, and kept as records. */
#ifndef CUMU_CLI_MEMCHECK_REPORTS_H
#define CUMU_CLI_MEMCHECK_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define MEMCHECK_PREFIX "========= " /* of what the processes write */

/* memcheck_print.c: how lines of reports are shown. */
struct memcheck_print {
    const char *prefix;      /* of each, in place of MEMCHECK_PREFIX, without the space */
    bool no_host, no_device; /* frames */
    bool no_folders;         /* before the names of source files */
    unsigned level;          /* least severe report: 0 info, 1 warn, 2 error, 3 fatal */
    unsigned hosts, devices; /* frames of a stack at most, 0: all */
};
bool cumu_memcheck_print_level(struct memcheck_print *p, const char *name);      /* false: no such level */
bool cumu_memcheck_print_backtrace(struct memcheck_print *p, const char *which); /* false: no such word */
bool cumu_memcheck_prints(const struct memcheck_print *p, const char *report);   /* it is severe enough */
void cumu_memcheck_print(FILE *to, const struct memcheck_print *p, const char *text, size_t n); /* at once */

/* memcheck_fixed.c: an option that has one value here; 0: it was that, -1: it is none of them, else the status after
 * saying why. */
int cumu_memcheck_fixed(int argc, char **argv, int *i);

struct memcheck_suppression;
struct memcheck_text { /* grows; what does not fit into memory is left out */
    char *s;
    size_t n, room;
};

struct memcheck_reports {
    int fd;           /* of the file that the processes append to */
    off_t given_back; /* of it, from its begin on */
    FILE *to;
    struct memcheck_print print;
    unsigned long long limit, printed; /* limit 0: none */
    unsigned long long errors, suppressed, race_errors, race_warnings;
    struct memcheck_suppression *suppressions;
    FILE *save; /* NULL: no records are kept */
    bool xml, saved_one;
    /* What is being read. */
    struct memcheck_text line, report;
    char tool[24];
    long process;
    bool left_out; /* the last report was */
};

/* Reads suppressions: records as --save --xml writes them, of which kind, text, func, file, line, module count. Each is
 * the very text, a pattern of the shell's or a regular expression for all of it. False after saying why. */
bool cumu_memcheck_suppress(struct memcheck_reports *r, const char *path);
bool cumu_memcheck_save(struct memcheck_reports *r, const char *path,
                        bool xml);                                       /* opens the file; false after saying why */
void cumu_memcheck_read(struct memcheck_reports *r);                     /* what has been appended since */
bool cumu_memcheck_close(FILE *f, const char *path);                     /* says if not all that was written is in it */
bool cumu_memcheck_finish(struct memcheck_reports *r, const char *path); /* closes the saved file */
void cumu_memcheck_free(struct memcheck_reports *r);

/* memcheck_record.c: a report as a record, in one of two formats; and what suppressions ask of it. */
struct memcheck_frame {
    char *name, *module, *file;
    unsigned long line;
};
enum { MEMCHECK_PLACES = 2, MEMCHECK_FRAMES = 64, MEMCHECK_NOTES = 12 };
struct memcheck_record { /* all texts lie in the copy that was parsed */
    const char *tool, *title;
    long process;
    struct {
        char *what, *thread, *block;
        struct memcheck_frame at;
    } place[MEMCHECK_PLACES];
    unsigned places;
    char *note[MEMCHECK_NOTES];
    unsigned notes;
    struct {
        char *stack; /* its title */
        struct memcheck_frame at;
    } frame[MEMCHECK_FRAMES]; /* device frames: stack is NULL */
    unsigned frames;
};
/* Takes the text apart, which is changed. */
void cumu_memcheck_parse(struct memcheck_record *r, char *text);
void cumu_memcheck_write(FILE *f, const struct memcheck_record *r, bool xml);

#endif
