/* Pages that show a trace or a report in a browser, without a network: HTML that ends in an element which takes
 * whatever follows as text, to be followed by JSON. */
#ifndef CUMU_CLI_VIEW_H
#define CUMU_CLI_VIEW_H

#include <stdio.h>

extern const char cumu_view_trace[], cumu_view_trace_end[]; /* then JSON lines, as of `cumu trace --format jsonl` */
extern const char cumu_view_check[], cumu_view_check_end[]; /* then the JSON of `cumu check` */

#endif
