/* Names that compilers make of a file: nvcc puts a hash of the compilation into the names of what only one file sees,
 * so that two builds of the same sources name their kernels differently.
 *
 *     ID = _<8 hex digits>_<length of FILE>_<FILE>_<tail>        FILE: name_cu
 *     <number>_GLOBAL__N_ID, <number>_INTERNAL ID (without the blank): number = characters that follow it
 *     __nv_static_<number>_ID_<name>                             number = characters of ID
 */
#ifndef CUMU_CLI_PACK_NAMES_H
#define CUMU_CLI_PACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The name with every ID cut down to its FILE, malloc'ed: equal for equal sources. NULL: out of memory. */
char *pack_plain_name(const char *name);

/* The IDs of a module by their FILE. A FILE with several IDs stands for none. */
struct pack_ids {
    struct pack_id {
        char *file, *id; /* owned; id NULL: there are several */
    } * id;
    size_t count;
};
bool pack_ids_add(struct pack_ids *ids, const char *name); /* those in the name; false: out of memory */
void pack_ids_free(struct pack_ids *ids);
/* The text with the IDs of files that `ids` knows exchanged for those, malloc'ed, NUL-terminated. NULL: no memory. */
char *pack_rename(const char *text, size_t len, const struct pack_ids *ids, size_t *new_len);

#endif
