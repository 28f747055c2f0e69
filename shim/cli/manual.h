/* Texts that `cumu help` makes from the tables of verbs and options. */
#ifndef CUMU_CLI_MANUAL_H
#define CUMU_CLI_MANUAL_H

/* The one place of the version is the Makefile. */
#ifndef CUMU_VERSION
#define CUMU_VERSION "0"
#endif

/* Print to stdout; the exit status. */
int cumu_manual_page(void);       /* roff, section 1 */
int cumu_manual_completion(void); /* for bash */

#endif
