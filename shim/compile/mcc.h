/* The MUSA SDK's compiler as a program. */
#ifndef CUMU_COMPILE_MCC_H
#define CUMU_COMPILE_MCC_H

#include "compile/tool.h"

/* The recipe's tool is mcc; its flags are filled in here. Without `compile` only the cache is asked. */
enum cumu_made cumu_mcc_make(struct cumu_compiled *o, struct cumu_recipe *r, const struct cumu_musa_source *s,
                             bool compile);

/* By the usual command alone, of a text that needs no ladder since there is another way to what is in it. flags: the
 * command's, which the object is kept under. */
enum { CUMU_MCC_FLAGS_MAX = 1024 };
enum cumu_made cumu_mcc_make_once(struct cumu_compiled *o, struct cumu_recipe *r, const struct cumu_musa_source *s,
                                  char flags[CUMU_MCC_FLAGS_MAX]);
/* CUMU_MUSA_FLAT names it. */
bool cumu_mcc_listed(const char *kernel);

/* The ladder, for cumu doctor: how a rung is called, whether its text is flattened, and its options in one of two
 * spellings of "device code only". */
enum { CUMU_MCC_RUNGS = 5, CUMU_MCC_SPELLINGS = 2 };
const char *cumu_mcc_rung(unsigned rung, bool *flat);
void cumu_mcc_words(char *to, size_t room, unsigned spelling, unsigned arch, unsigned rung);

#endif
