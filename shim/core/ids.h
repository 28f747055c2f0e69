/* Numbers for handles that the libraries below give none: unique while the process lives. */
#ifndef CUMU_CORE_IDS_H
#define CUMU_CORE_IDS_H

#include <stdint.h>

/* The handle's number, made at the first question; 0: no memory. */
uint64_t cumu_id_of(const void *handle);
/* The handle is gone; its address may come back as another one. */
void cumu_id_drop(const void *handle);
uint64_t cumu_id_new(void); /* one that belongs to nothing yet */

#endif
