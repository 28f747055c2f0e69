/* Strings that stay: one copy of each text, for what hands out names that must live as long as the process. */
#ifndef CUMU_CORE_INTERN_H
#define CUMU_CORE_INTERN_H

/* The copy of s, the same pointer for the same text; NULL if s is, or out of memory. Any thread. */
const char *cumu_intern(const char *s);

#endif
