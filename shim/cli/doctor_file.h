/* The file that `cumu doctor` writes and reads again: sections of lines, each a name and, behind a tab, a value. It
 * may come from anywhere, so what is read of it is printable ASCII only, whole, and of a bounded size. */
#ifndef CUMU_CLI_DOCTOR_FILE_H
#define CUMU_CLI_DOCTOR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct doctor_line {
    const char *name, *value; /* value: "" if the line has none */
};
struct doctor_section {
    const char *title;
    const struct doctor_line *line;
    size_t count;
};
struct doctor_file {
    char *text; /* what the rest points into */
    struct doctor_line *lines;
    struct doctor_section *section;
    size_t nsection;
};

/* Takes a copy of the text apart. False with why set: it is no report, damaged, or not whole. Free it either way. */
bool doctor_file_parse(struct doctor_file *f, const char *text, size_t size, char why[160]);
/* The same of a file. */
bool doctor_file_read(struct doctor_file *f, const char *path, char why[160]);
void doctor_file_free(struct doctor_file *f);
/* The section of that title; one without lines if there is none. */
struct doctor_section doctor_file_section(const struct doctor_file *f, const char *title);
/* The value of the first line of that name, NULL if there is none. */
const char *doctor_file_value(const struct doctor_file *f, const char *title, const char *name);

/* Is it an identifier of C, with these characters behind its first as well? */
bool doctor_is_name(const char *text, const char *more);

/* Writing. All go to one file, which children of the process write to as well; a line is written at once, so that
 * what a child had found stays when it dies. Begin empties the file. End adds the mark that nothing is missing. */
bool doctor_write_begin(FILE *to);
bool doctor_write_end(void);
void doctor_section(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The value goes through doctor_tidy. */
void doctor_line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A copy without what tells of the person or the machine: paths but those of the system, its name, the user's. */
void doctor_tidy(char *out, size_t size, const char *text);

#endif
