/* Zip archives (Python wheels among them): takes the ELF files out of one. */
#ifndef CUMU_CLI_ZIP_H
#define CUMU_CLI_ZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Does the file start as a zip archive does? */
bool cumu_zip_is(const char *path);

/* Writes the archive's ELF files below the existing folder `dir`, under their own names, with holes where they have
 * zeros. A member that is damaged, encrypted, packed in an unknown way, whose name would leave `dir`, or that takes
 * far more on the disk than the archive does, is left out and told to `note`. NULL, or what is wrong with the archive
 * as a whole. Format: APPNOTE 6.3, with its 64-bit records. */
const char *cumu_zip_unpack(const char *path, const char *dir,
                            void (*note)(void *ctx, const char *member, const char *why), void *ctx);

#endif
