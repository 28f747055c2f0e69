/* What cuLibrary*, cuModule* and cudaLibrary* share: one set of functions with CUresult numbers. */
#ifndef CUMU_API_LIBRARY_H
#define CUMU_API_LIBRARY_H

#include "kernel/kernel.h"

int cumu_library_load(struct cumu_module **out, const void *code, unsigned n, const int *options, void **values);
int cumu_library_load_file(struct cumu_module **out, const char *path, unsigned n, const int *options, void **values);
int cumu_library_unload(struct cumu_module *m);
int cumu_library_func(struct cumu_func **out, struct cumu_module *m, const char *name);
int cumu_library_count(unsigned *count, struct cumu_module *m);
int cumu_library_list(struct cumu_func **out, unsigned n, struct cumu_module *m);
/* managed_only: the variable must be a managed one. address and size may be NULL. */
int cumu_library_global(uint64_t *address, size_t *size, struct cumu_module *m, const char *name, bool managed_only);

#endif
