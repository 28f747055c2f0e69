/* How well public sources know the MUSA functions that CUDA calls become, counted for `cumu check` and doctor. */
#ifndef CUMU_CLI_EVIDENCE_H
#define CUMU_CLI_EVIDENCE_H

#include "core/symbols.h"

#include <stdbool.h>
#include <stddef.h>

struct cumu_evidence {
    unsigned calls[CUMU_GUESSED + 1]; /* by enum cumu_grade */
    unsigned own;                     /* of wrappers, which call what is there */
};

/* "seen in SDKs", "by name only", "guessed": how a MUSA function is known; NULL if the map does not name it. */
const char *cumu_evidence_word(const char *function);
/* Counts a CUDA function; stubs and what the program's own libraries do count nowhere. */
void cumu_evidence_add(struct cumu_evidence *e, const struct cumu_symbol *s);
/* Counts all functions of cumu_libraries[library] that the map names. */
void cumu_evidence_library(struct cumu_evidence *e, unsigned library);
/* "3 seen in SDKs, 1 by name only, 2 guessed; 4 cumu's own"; false, and an empty text, if nothing was counted. */
bool cumu_evidence_text(const struct cumu_evidence *e, char *to, size_t size);

#endif
