/* SHA-256 (FIPS 180-4), for names and seals of cached objects. */
#ifndef CUMU_COMPILE_HASH_H
#define CUMU_COMPILE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { CUMU_HASH_BYTES = 32 };

struct cumu_hash { /* of everything added so far */
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};

void cumu_hash_start(struct cumu_hash *h);
void cumu_hash_add(struct cumu_hash *h, const void *data, size_t size);
void cumu_hash_end(struct cumu_hash *h, uint8_t out[CUMU_HASH_BYTES]);

#endif
