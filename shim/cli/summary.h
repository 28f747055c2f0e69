/* What `cumu trace --summary` prints. */
#ifndef CUMU_CLI_SUMMARY_H
#define CUMU_CLI_SUMMARY_H

/* Adds up the lines that CUMU_TRACE_FORMAT=counts wrote to `path`, and prints the tables to the file `output`
 * (NULL: stderr). 0, or an exit status after saying what is wrong. */
int cumu_summary(const char *path, const char *output);

/* Turns the file's lines `SONAME SYMBOL` into lists, one under `# SONAME` for each library, sorted, each name
 * once. 0, or an exit status as above. */
int cumu_sort_symbols(const char *path);

#endif
