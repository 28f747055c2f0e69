/* Entry points by name and version, shared by cuGetProcAddress and cudaGetDriverEntryPoint. */
#ifndef CUMU_API_ENTRY_H
#define CUMU_API_ENTRY_H

#include <stdbool.h>

enum cumu_entry { CUMU_ENTRY_FOUND, CUMU_ENTRY_UNKNOWN, CUMU_ENTRY_TOO_NEW }; /* CUdriverProcAddressQueryResult */

/* The form of `name` that a program built for `version` (12020) means; *out is NULL unless found. */
enum cumu_entry cumu_entry_find(const char *name, unsigned version, bool per_thread, void **out);

#endif
