/* Makes a program that fails smaller. */
#ifndef CUMU_TESTS_FLOW_SHRINK_H
#define CUMU_TESTS_FLOW_SHRINK_H

#include "flow/flow.h"

/* As long as `fails` says that what is left of the program still does, and for some seconds. */
void shrink(struct program *p, bool (*fails)(const struct program *p, void *arg), void *arg, int seconds);

bool shrink_is_sound(void); /* shrink_check.c; says so */

#endif
