/* Address space and pages of an arena: which blocks are free, which are accessible. All under the books' lock. */
#ifndef HOST_SPACE_H
#define HOST_SPACE_H

#include "host/driver/internal.h"
#include "host/driver/machine.h"

struct host_layout {
    size_t block; /* what is made accessible at a time */
    size_t large; /* the smallest allocation that has such blocks of its own */
    size_t kept;  /* the smallest that keeps its pages for a while when it is freed */
    size_t guard; /* bytes behind such allocations that stay inaccessible: 0 but with CUMU_HOST_STRICT=1 */
};
extern struct host_layout host_layout;

/* A piece of address space. It is its allocation's own until it is given back: giving back needs no memory. */
struct host_piece {
    uintptr_t base;
    size_t size;
    size_t guard; /* bytes at its end that are never accessible */
};

enum { HOST_SPARES = 32 }; /* freed allocations that keep their pages */

struct host_arena {
    int fd;
    bool retired; /* nobody allocates here any more */
    uintptr_t base;
    size_t span;                           /* of address space */
    size_t capacity, used;                 /* bytes of memory */
    struct cumu_machine_books *books;      /* the file's last page, where other processes read these; NULL: not shown */
    void *by_address, *by_size;            /* tsearch trees of free pieces */
    struct host_piece *spare[HOST_SPARES]; /* freed, with their pages: what is asked for next is often as large;
                                            * oldest first, neither live nor free */
    unsigned spares;
    size_t spare_bytes;
    uintptr_t kept; /* a free block that has its pages still, or 0 */
    struct host_arena *next;
};

/* Address space that is eight times the capacity, or what there is; false if nothing. */
bool host_space_open(struct host_arena *a, const char *name, size_t capacity);
void host_space_close(struct host_arena *a);
/* Shows a device's memory to other processes (machine.h); without, they see none. */
void host_space_show_books(struct host_arena *a);

size_t host_space_cost(size_t size); /* of the memory that is counted */
/* A piece for an allocation of `size`, with a guard where the layout asks for one. `zero`: pages that nobody has
 * written. */
struct host_piece *host_space_take(struct host_arena *a, size_t size, size_t align, bool zero);
/* Makes it accessible; false when the kernel's limit of mappings is reached. */
bool host_space_show(struct host_arena *a, const struct host_piece *piece, size_t size);
/* Hides it and gives its pages back, or keeps them if asked to and there are not too many of that kind. */
void host_space_give(struct host_arena *a, struct host_piece *piece, bool keep);

#endif
