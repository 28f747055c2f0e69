/* CUMU_DISABLE and CUMU_FORCE: single functions switched off, or led past their wrappers, to find out which of
 * them a fault is in. Asked when a slot is filled, so that nothing is asked in calls. */
#ifndef CUMU_CORE_FORCE_H
#define CUMU_CORE_FORCE_H

enum cumu_forced { CUMU_FORCED_NOT, CUMU_FORCED_STUB, CUMU_FORCED_REAL };

/* What the user wants of this CUDA function. The first call says which words mean nothing. */
enum cumu_forced cumu_forced_to(const char *symbol);

#endif
