/* Handles of the CPU maths libraries: places of one array. */
#include <stdint.h>

#include "abi/musa.h"
#include "host/maths/places.h"

bool maths_live(const struct maths_places *p, const void *handle)
{
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)p->array;
    return offset < p->count * p->each && offset % p->each == 0 && ((const struct maths_place *)handle)->live;
}

void *maths_take(struct maths_places *p)
{
    unsigned first = p->next++;
    for (size_t i = 0; i < p->count; i++) {
        void *place = (char *)p->array + (first + i) % p->count * p->each;
        if (!atomic_exchange(&((struct maths_place *)place)->taken, true))
            return place;
    }
    return NULL;
}

bool maths_end(const struct maths_places *p, void *handle)
{
    bool live = true;
    return maths_live(p, handle) && atomic_compare_exchange_strong(&((struct maths_place *)handle)->live, &live, false);
}

void maths_free(void *handle) { ((struct maths_place *)handle)->taken = false; }

bool maths_context(void) { return !musaFree(NULL); }
