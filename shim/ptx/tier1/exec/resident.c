/* Tier 1 execution: blocks of a cooperative launch, all resident. Each has a stack and a room of its own; a
 * spin loop that has waited a little asks whether to stop, and that is where the next block of the
 * thread goes on. */
#undef _FORTIFY_SOURCE /* its longjmp takes a jump from a block's stack for an error */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ptx/tier1/exec/object.h"

enum {
    PAGE = 4096,
    PATIENCE = 3, /* turns of a spin loop, less one: what it waits for is most likely in another block */
    ROUNDS = 8    /* times that all blocks have spun until another thread may have the CPU */
};

struct t1_resident {
    struct t1_room room;
    void *sp;                 /* where it was left */
    uint8_t *stack;           /* its lowest page is closed */
    size_t stack_size;
    uint64_t index;           /* of the block */
    struct t1_resident *next; /* of those that are not done: a ring */
    struct t1_resident *prev;
    struct launch *launch;
};

struct launch {
    struct t1_worker *t;
    const struct t1_object *o;
    uint64_t first, count;
    uint32_t rounds;
    void *home; /* the worker's own stack */
};

#if defined __x86_64__
/* Leaves the callee-saved registers on the old stack, its pointer in *from, and takes those of the new. */
void t1_stack_switch(void **from, void *to) __attribute__((visibility("hidden")));
void t1_stack_start(void) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        ".hidden t1_stack_switch\n.globl t1_stack_switch\n.type t1_stack_switch, @function\n"
        "t1_stack_switch:\n"
        "\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
        "\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"
        "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"
        ".size t1_stack_switch, . - t1_stack_switch\n"
        ".hidden t1_stack_start\n.globl t1_stack_start\n.type t1_stack_start, @function\n"
        "t1_stack_start:\n\tmov %r12, %rdi\n\tcall t1_resident_main\n\tud2\n"
        ".size t1_stack_start, . - t1_stack_start\n"
        ".popsection\n");

static void set_out(struct t1_resident *r)
{
    void **top = (void **)(void *)(r->stack + r->stack_size - 64);
    void **sp = top - 7; /* six registers and where to go */
    memset(sp, 0, 7 * sizeof *sp);
    sp[3] = r; /* r12 */
    *(void (**)(void))&sp[6] = t1_stack_start;
    r->sp = sp;
}
#else
static void t1_stack_switch(void **from, void *to) { (void)from, (void)to; }
static void set_out(struct t1_resident *r) { r->sp = NULL; }
#endif

/* A block's first frame. */
_Noreturn void t1_resident_main(struct t1_resident *r) __attribute__((visibility("hidden")));
_Noreturn void t1_resident_main(struct t1_resident *r)
{
    struct launch *l = r->launch;
    l->o->run(&r->room.block, 1);
    if (r->next == r) {
        t1_stack_switch(&r->sp, l->home);
    } else {
        r->next->prev = r->prev;
        r->prev->next = r->next;
        l->t->now = &r->next->room;
        t1_stack_switch(&r->sp, r->next->sp);
    }
    __builtin_unreachable();
}

bool t1_resident_stopped(struct t1_block *b)
{
    struct t1_resident *r = (struct t1_resident *)(void *)b; /* the first member of its first member */
    struct t1_resident *next = r->next;
    struct launch *l = r->launch;
    if (next->index <= r->index && ++l->rounds % ROUNDS == 0)
        sched_yield(); /* what they wait for may run on another thread */
    if (next != r) {
        l->t->now = &next->room;
        t1_stack_switch(&r->sp, next->sp);
    }
    return t1_stopped(l->t);
}

static void run_all(void *arg)
{
    struct launch *l = arg;
    struct t1_resident *all = l->t->resident;
    l->t->now = &all->room;
    t1_stack_switch(&l->home, all->sp);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static bool grow(struct t1_worker *t, uint64_t count)
{
    if (count <= t->nresident)
        return true;
    struct t1_resident *more = realloc(t->resident, count * sizeof *more);
    if (!more)
        return false;
    memset(more + t->nresident, 0, (count - t->nresident) * sizeof *more);
    t->resident = more;
    t->nresident = count;
    return true;
}

static bool stack_of(struct t1_resident *r, size_t want)
{
    want = (want < T1_STACK_LEAST ? T1_STACK_LEAST : (want + PAGE - 1) & ~(size_t)(PAGE - 1)) + PAGE;
    if (want <= r->stack_size)
        return true;
    if (r->stack)
        munmap(r->stack, r->stack_size);
    r->stack_size = 0;
    void *p = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    r->stack = p == MAP_FAILED ? NULL : p;
    if (!r->stack)
        return false;
    r->stack_size = want;
    return mprotect(r->stack, PAGE, PROT_NONE) == 0;
}

static bool prepare(struct launch *l, const struct t0_grid *g)
{
    struct t1_worker *t = l->t;
    if (l->count > UINT32_MAX || !grow(t, l->count))
        return false;
    for (uint64_t k = 0; k < l->count; k++) {
        struct t1_resident *r = &t->resident[k];
        r->room.few_stacks = true;
        if (!t1_room_prepare(&r->room, l->o, g, t->owner->smid) ||
            !stack_of(r, (size_t)l->o->info->stack_size))
            return false;
        t1_room_start(&r->room, l->first + k);
        r->room.block.worker = t;
        r->room.block.services = &t1_resident_services;
        r->room.block.patience = PATIENCE;
        r->launch = l;
        r->index = l->first + k;
        r->next = &t->resident[k + 1 < l->count ? k + 1 : 0];
        r->prev = &t->resident[k ? k - 1 : l->count - 1];
        set_out(r);
    }
    return true;
}

enum t0_fault_kind t1_blocks_run_resident(struct t0_worker *w, const struct t1_object *o,
                                          const struct t0_grid *g, uint64_t first, uint64_t count,
                                          struct t0_fault *fault)
{
    struct t1_worker *t = t1_worker_of(w);
    struct launch l = {t, o, first, count, 0, NULL};
    if (!count)
        return T0_OK;
    if (!t || !prepare(&l, g)) /* no memory: tier 0 needs less */
        return t0_blocks_run_resident(w, g, first, count, fault);
    t->grid = g;
    return t1_guarded(t, run_all, &l) ? T0_OK : t1_fault_tell(t, g, fault);
}

void t1_resident_free(struct t1_worker *t)
{
    for (uint64_t k = 0; k < t->nresident; k++) {
        t1_room_free(&t->resident[k].room);
        if (t->resident[k].stack)
            munmap(t->resident[k].stack, t->resident[k].stack_size);
    }
    free(t->resident);
}
