/* Memory in place of pages that a call of the CPU maths libraries must not touch, until the call is over.
 *
 * All of it is one piece of 16 MB, mapped as often as needed: a call that was given absurd sizes takes no memory. What
 * is written there is never read by anybody. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/driver/task.h"
#include "host/driver/internal.h"
#include "host/driver/limits.h"

#define PAGE ((uintptr_t)4096)
/* Bytes that are put where a call is at fault: each next piece is twice as large. */
#define LEAST ((size_t)64 << 10)
#define MOST ((size_t)16 << 20)
#define HIGHEST (CUMU_TASK_HIGHEST - PAGE)
#define PIECES 4096 /* mappings, of the 65530 that Linux allows a process */

enum kind { OF_ARENA, UNMAPPED, HIDDEN };
struct piece {
    uintptr_t at;
    size_t size;
    enum kind kind;
    int fd; /* of an arena, and the place of the piece in it */
    off_t offset;
};

/* All below: the books' lock (arena.c). No code that runs into a fault of a call holds it, so that the handler may. */
static struct piece piece[PIECES];
static unsigned pieces;
static int scratch = -1;

_Atomic bool host_mended;

static bool put_scratch(uintptr_t at, size_t size, int flags)
{
    if (scratch < 0) {
        scratch = memfd_create("cumu-scratch", MFD_CLOEXEC);
        if (scratch < 0 || cumu_host_grow(scratch, MOST))
            return false;
    }
    void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, scratch, 0);
    if (p == (void *)at)
        return true;
    if (p != MAP_FAILED) /* a kernel that does not know MAP_FIXED_NOREPLACE */
        munmap(p, size);
    return false;
}

/* By the system itself: a sanitizer's pwrite would look at the page first. */
static bool readable(uintptr_t page) { return syscall(SYS_pwrite64, scratch, page, 1, 0) == 1; }

/* Pages that are mapped and cannot even be read: reserved addresses, guards of stacks. What is live has memory behind
 * it, which is left alone. */
static bool hidden(uintptr_t from, size_t size)
{
    unsigned char in;
    for (uintptr_t at = from; at < from + size; at += PAGE)
        if (mincore((void *)at, PAGE, &in) || readable(at))
            return false;
    return scratch >= 0 && !host_range_in(from, size);
}

/* One piece, if all of it is of one kind. */
static bool mend(struct piece *p)
{
    if (host_arena_at(p->at, p->size, &p->fd, &p->offset)) {
        p->kind = OF_ARENA;
        return !host_range_in(p->at, p->size) && put_scratch(p->at, p->size, MAP_FIXED);
    }
    p->kind = UNMAPPED;
    if (put_scratch(p->at, p->size, MAP_FIXED_NOREPLACE))
        return true;
    p->kind = HIDDEN;
    return hidden(p->at, p->size) && put_scratch(p->at, p->size, MAP_FIXED);
}

/* Whether another thread has been here since the fault, to mend the page or to allocate it. */
static bool meanwhile(uintptr_t page)
{
    int fd;
    off_t offset;
    if (!readable(page))
        return false;
    for (unsigned i = 0; i < pieces; i++)
        if (page - piece[i].at < piece[i].size)
            return true;
    return host_arena_at(page, PAGE, &fd, &offset) && host_range_in(page, PAGE);
}

/* Aligned pieces around the address, smaller and smaller ones until one holds nothing that is somebody's. The more
 * there have been, the larger the next is tried: a call goes through its operands page by page, in either direction
 * and on several threads. */
bool host_mend(uintptr_t address)
{
    int kept = errno;
    bool ok = false;
    if (address < CUMU_TASK_LOWEST || address > HIGHEST)
        return false;
    host_books_lock();
    unsigned doubled = pieces / 8;
    size_t size = doubled < 8 ? LEAST << doubled : MOST;
    ok = meanwhile(address & ~(PAGE - 1));
    for (; size >= PAGE && pieces < PIECES && !ok; size /= 2) {
        struct piece p = {.at = address & ~(size - 1), .size = size};
        ok = mend(&p);
        if (ok)
            piece[pieces++] = p;
    }
    host_mended = pieces;
    host_books_unlock();
    errno = kept;
    return ok;
}

static void restore_mapping(const struct piece *p)
{
    if (p->kind == UNMAPPED) {
        munmap((void *)p->at, p->size);
    } else if (p->kind == HIDDEN) {
        mmap((void *)p->at, p->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else {
        mmap((void *)p->at, p->size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, p->fd, p->offset);
        madvise((void *)p->at, p->size, MADV_DONTFORK); /* as all of the arena */
    }
}

void host_mend_undo(uintptr_t from, uintptr_t end)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < pieces; i++)
        if (piece[i].at < end && from < piece[i].at + piece[i].size)
            restore_mapping(&piece[i]);
        else
            piece[kept++] = piece[i];
    pieces = kept;
    host_mended = kept;
}

void host_mend_end(void)
{
    host_books_lock();
    host_mend_undo(0, UINTPTR_MAX);
    host_books_unlock();
}
