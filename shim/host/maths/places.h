/* Handles of the CPU maths libraries: places of one array that is never freed, so that any value a program gives, one
 * that was destroyed included, can be told from a live handle. Compiled into each of them. */
#ifndef CUMU_HOST_MATHS_PLACES_H
#define CUMU_HOST_MATHS_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Each place begins with this. It is taken from maths_take to maths_free, live in between. */
struct maths_place {
    atomic_bool taken, live;
};
struct maths_places {
    void *array;
    size_t count, each;
    atomic_uint next; /* round the array, so that a place is not taken again soon */
};
#define MATHS_PLACES(array) \
    { \
        array, sizeof(array) / sizeof *(array), sizeof *(array), 0 \
    }

bool maths_live(const struct maths_places *p, const void *handle);
/* One that nobody has, to be filled and then made live (->live = true); NULL when all are taken. */
void *maths_take(struct maths_places *p);
/* Live no more: true for the one of several callers that ends it, who calls maths_free when nothing of it is used. */
bool maths_end(const struct maths_places *p, void *handle);
void maths_free(void *handle);

/* Makes the context of the thread's device where none is current, as creating a handle does; one that the program has
 * made stays. False if it cannot be made. */
bool maths_context(void);

#endif
