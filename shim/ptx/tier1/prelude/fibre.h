/* Tier 1's prelude: the warps of a block. Without barriers they run one after the other; with them
 * each is a fibre on its own stack, switched in place of waiting. */
#ifndef T1_FIBRES
#define T1_FIBRES 0
#endif
#ifndef T1_CLUSTERS
#define T1_CLUSTERS 0
#endif
#ifndef T1_PARTS
#define T1_PARTS 0
#endif
#ifndef T1_SHAPE
#define T1_SHAPE 0
#endif
#ifndef T1_WATCHED
#define T1_WATCHED 0
#endif
#define T1_RACED 16 /* T1_EMIT_RACED */
#ifndef T1_STACK
#define T1_STACK 65536
#endif
#define T1_BARRIERS 25 /* as T0_BARRIERS */
/* A barrier of a kernel that has some of part of a block (T1_PARTS), as struct t0_barrier. */
struct t1_part {
    uint32_t here[32]; /* by warp: its lanes that have arrived in this phase */
    uint32_t in_use, count, again;
    uint32_t popc, some, none; /* of bar.red: lanes with the predicate, warps with some and some without */
};
struct t1_ring {
    uint32_t live, arrived, generation;
    uint32_t sum[2]; /* of bar.red, by generation's parity: late readers still see the last one */
    uint32_t yields;
    uint32_t waiting;      /* of T1_PARTS: warps that wait at a barrier of the block */
    struct t1_fibre *home; /* where the block was started from */
    struct t1_fibre *fibre;
    struct t1_part part[T1_PARTS ? T1_BARRIERS : 1];
};
struct t1_fibre {
    void *sp; /* first: the switch relies on it */
    struct t1_fibre *next, *prev;
    struct t1_ring *ring;
    struct t1_block *block;
    uint32_t warp;
    uint32_t arrived; /* at the barrier of the cluster, in the generation before this one */
    uint32_t dead;    /* of T1_PARTS: lanes that had exited when it last arrived */
    uint32_t waits;   /* one more than the barrier of the block where it does; 0: nowhere */
    uint32_t red[3];  /* popc, some, none of the phase that has let it go */
};

#if T1_FIBRES
#if !defined(__x86_64__)
#error "tier 1 has no warp switch for this machine"
#endif
#if T1_ISA == 2
#define T1_CLOBBERS \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#else
#define T1_CLOBBERS
#endif
/* Jumps rather than calls, which return prediction would get wrong, and lets the compiler save only
 * what lives across. The top of a suspended stack is where to resume. Builds need -mno-red-zone. */
T1_INLINE void t1_switch(struct t1_fibre *from, struct t1_fibre *to)
{
    __asm__ volatile("push %%rbp\n\tpush %%rbx\n\tlea 1f(%%rip), %%rcx\n\tpush %%rcx\n\t"
                     "mov %%rsp, (%%rdi)\n\tmov (%%rsi), %%rsp\n\tpop %%rcx\n\tjmp *%%rcx\n"
                     "1:\n\tpop %%rbx\n\tpop %%rbp"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15", T1_CLOBBERS "cc", "memory");
}
T1_INLINE void t1_next(struct t1_block *b)
{
    struct t1_fibre *self = b->current, *next = self->next;
    b->current = next;
    t1_switch(self, next);
}
/* Waits until every live warp has come; the sum of all v is the result. */
T1_INLINE uint32_t t1_meet(struct t1_block *b, uint32_t v)
{
    struct t1_ring *r = b->current->ring;
    uint32_t turn = r->generation;
    r->sum[turn & 1] += v;
    if (T1_CLUSTERS)
        b->cluster_barrier->waiting++;
    if (++r->arrived == r->live) {
        if (T1_CLUSTERS)
            b->cluster_barrier->waiting -= r->live;
        if (T1_WATCHED & T1_RACED) {
            t1_upper_clean();
            b->services->met(b);
        }
        r->arrived = 0;
        r->generation = turn + 1;
        r->sum[(turn + 1) & 1] = 0;
        if (b->current->next != b->current) /* whoever comes last does not go first */
            t1_next(b);
    } else {
        do
            t1_next(b);
        while (((volatile struct t1_ring *)r)->generation == turn);
    }
    return r->sum[turn & 1];
}
static __attribute__((noinline, unused)) void t1_deadlock(struct t1_block *b)
{
    b->services->fault(b, T1_DEADLOCK, b->current->warp, 0, "a barrier that the others never reach");
}
#if T1_PARTS
/* As tier 0's complete(): one without a count waits for all live lanes, one with a count for so many threads of the
 * warps that take part; lanes that have exited are there. */
static __attribute__((unused)) uint32_t t1_part_complete(const struct t1_block *b, const struct t1_part *p)
{
    const struct t1_fibre *f = b->current->ring->fibre;
    uint32_t threads = p->again;
    for (uint32_t k = 0; k < b->nwarps; k++) {
        const uint32_t here = p->here[k] | f[k].dead;
        if (!p->count && ~here)
            return 0;
        if (p->here[k])
            threads += t1_s_popc32(here);
    }
    return threads >= p->count;
}
static __attribute__((unused)) void t1_part_release(struct t1_block *b, uint32_t id)
{
    struct t1_ring *r = b->current->ring;
    struct t1_part *p = &r->part[id];
    for (uint32_t k = 0; k < b->nwarps; k++) {
        struct t1_fibre *f = &r->fibre[k];
        p->here[k] = 0;
        if (f->waits != id + 1)
            continue;
        f->waits = 0;
        f->red[0] = p->popc, f->red[1] = p->some, f->red[2] = p->none;
        r->waiting--;
        if (T1_CLUSTERS)
            b->cluster_barrier->waiting--;
    }
    p->in_use = 0;
}
/* The lanes m of a warp arrive, some `with` bar.red's predicate, some `without`, and wait unless the barrier is
 * complete. One that has arrived before, without waiting, has the others run first: see t0_bar_early. */
static __attribute__((noinline, unused)) void t1_part(struct t1_block *b, uint32_t id, uint32_t count, uint32_t m,
                                                      uint32_t live, uint32_t waits, uint32_t with, uint32_t without)
{
    struct t1_fibre *self = b->current;
    struct t1_ring *r = self->ring;
    struct t1_part *p = &r->part[id %= T1_BARRIERS];
    T1_COMPILER_FENCE();
    if (T1_UNLIKELY(p->in_use && p->here[self->warp] & m) && self->next != self)
        t1_next(b);
    if (!p->in_use) {
        p->in_use = 1;
        p->count = count;
        p->again = p->popc = p->some = p->none = 0;
    }
    self->dead = ~live;
    p->popc += t1_s_popc32(with);
    p->some |= with != 0;
    p->none |= without != 0;
    const uint32_t twice = p->here[self->warp] & m;
    p->again += t1_s_popc32(~(twice | ~live) ? twice : ~0u);
    p->here[self->warp] |= m;
    if (t1_part_complete(b, p)) {
        self->red[0] = p->popc, self->red[1] = p->some, self->red[2] = p->none;
        t1_part_release(b, id);
    } else if (waits) {
        self->waits = id + 1;
        if (T1_CLUSTERS)
            b->cluster_barrier->waiting++;
        if (++r->waiting == r->live)
            t1_deadlock(b);
        do
            t1_next(b);
        while (((volatile struct t1_fibre *)self)->waits);
    }
    T1_COMPILER_FENCE();
}
/* A warp has ended, and is missed nowhere. */
static __attribute__((noinline, unused)) void t1_part_leave(struct t1_block *b, struct t1_fibre *self)
{
    struct t1_ring *r = self->ring;
    self->dead = ~0u;
    for (uint32_t id = 0; id < T1_BARRIERS; id++)
        if (r->part[id].in_use && t1_part_complete(b, &r->part[id]))
            t1_part_release(b, id);
    if (r->live && r->waiting == r->live)
        t1_deadlock(b);
}
#define T1_PART_LEAVE(b, self) t1_part_leave(b, self)
T1_INLINE void t1_bar(struct t1_block *b, uint32_t id, uint32_t live) { t1_part(b, id, 0, ~0u, live, 1, 0, 0); }
/* The four warps of a group, or what the block has of them. */
T1_INLINE void t1_bar_group(struct t1_block *b, uint32_t warp, uint32_t live)
{
    const uint32_t left = b->nwarps - (warp & ~3u);
    t1_part(b, 16 + (warp / 4 & 7), 32 * (left < 4 ? left : 4), ~0u, live, 1, 0, 0);
}
/* Of bar.red: m are lanes of the warp, `with` those that have its predicate. */
#define T1_BAR_RED(name, result) \
    T1_INLINE uint32_t t1_bar_##name(struct t1_block *b, uint32_t id, uint32_t count, uint32_t m, uint32_t live, \
                                     uint32_t with) \
    { \
        t1_part(b, id, count, ~0u, live, 1, with, m & ~with); \
        return result; \
    }
T1_BAR_RED(popc, b->current->red[0])
T1_BAR_RED(or, b->current->red[1] != 0)
T1_BAR_RED(and, b->current->red[2] == 0)
#else
#define T1_PART_LEAVE(b, self) (void)0
T1_INLINE void t1_bar(struct t1_block *b, uint32_t id, uint32_t live)
{
    (void)id, (void)live;
    T1_COMPILER_FENCE();
    t1_meet(b, 0);
    T1_COMPILER_FENCE();
}
#define T1_BAR_RED(name, value, result) \
    T1_INLINE uint32_t t1_bar_##name(struct t1_block *b, uint32_t id, uint32_t count, uint32_t m, uint32_t live, \
                                     uint32_t with) \
    { \
        (void)id, (void)count, (void)m, (void)live; \
        const uint32_t met = t1_meet(b, value); \
        return result; \
    }
T1_BAR_RED(popc, t1_s_popc32(with), met)
T1_BAR_RED(or, with != 0, met != 0)
T1_BAR_RED(and, with != m, met == 0)
#endif
/* In a loop that waits for others: other warps of the block run, and now and then it is asked
 * whether there is anything left to wait for. */
static __attribute__((noinline, unused)) void t1_give_up(struct t1_block *b)
{
    if (b->services->stopped(b))
        b->services->fault(b, T1_GAVE_UP, 0, 0, "stopped");
}
/* Says whether another warp does not wait at a barrier, for instructions that wait for what others do. */
T1_INLINE void t1_look_for_others(struct t1_block *b)
{
    const struct t1_ring *r = b->current->ring;
    b->others_run = r->arrived + r->waiting + 1 < r->live;
}
/* Each other warp of the block runs until it has its turn as well, or waits. */
T1_INLINE void t1_turn(struct t1_block *b)
{
    if (b->current->next != b->current)
        t1_next(b);
}
/* The same where a wait at an mbarrier has ended, whose next phases another block of the cluster may bring about. */
T1_INLINE void t1_turn_of_cluster(struct t1_block *b)
{
    t1_turn(b);
    if (T1_CLUSTERS && b->cluster_size > 1)
        t1_give_up(b);
}
T1_INLINE void t1_yield(struct t1_block *b)
{
    if (b->current->next != b->current)
        t1_next(b);
    else
        __builtin_ia32_pause();
    if ((++b->current->ring->yields & b->patience) == 0)
        t1_give_up(b);
}
/* The barrier of a cluster's blocks: of a warp at once. Other blocks of the thread run where t1_yield asks
 * whether there is anything left to wait for. */
T1_INLINE void t1_cluster_done(struct t1_cluster *c)
{
    if (c->arrived == c->live) {
        c->arrived = 0;
        c->generation++;
        c->waiting -= c->waiting_here;
        c->waiting_here = 0;
    }
}
T1_INLINE void t1_cluster_arrive(struct t1_block *b)
{
    struct t1_cluster *c = b->cluster_barrier;
    T1_COMPILER_FENCE();
    b->current->arrived = c->generation + 1;
    c->arrived++;
    t1_cluster_done(c);
}
T1_INLINE void t1_cluster_wait(struct t1_block *b)
{
    volatile struct t1_cluster *c = b->cluster_barrier;
    const uint32_t turn = b->current->arrived;
    if (c->generation + 1 == turn) {
        c->waiting++;
        c->waiting_here++;
    }
    while (c->generation + 1 == turn) {
        if (c->waiting == c->live) /* and this barrier is not complete: some wait at one of their block */
            t1_deadlock(b);
        t1_yield(b);
    }
    T1_COMPILER_FENCE();
}
/* A warp has ended: nobody waits for it, and what it has arrived for does not count it any more. */
T1_INLINE void t1_cluster_leave(struct t1_block *b, const struct t1_fibre *self)
{
    struct t1_cluster *c = b->cluster_barrier;
    c->live--;
    if (self->arrived == c->generation + 1)
        c->arrived--;
    if (c->live)
        t1_cluster_done(c);
}
/* Every few rounds of a loop that reads memory the other warps get as far: their rows lie beside this one's.
 * A call, so that only this path saves registers. With it, and what the warp reads when its turn comes again
 * prefetched, the sum of 64 MB takes half the time; what fits the cache takes some percent more. */
static __attribute__((noinline, unused)) void t1_rest(struct t1_block *b)
{
    if (b->current->next != b->current)
        t1_next(b);
}
#define T1_REST(b, rounds, turn) \
    do { \
        if (!(T1_WATCHED & T1_RACED) && T1_UNLIKELY((++rounds & ((turn)-1)) == 0)) \
            t1_rest(b); \
    } while (0)
/* last: the address of the round before, 0 in the first, which takes the block's warps to read side by side: where
 * they make but two rounds (ggml's rows), half of what is read would else be asked for by nobody. */
#define T1_AHEAD_IN_LOOP(p, bytes, last, turn) \
    do { \
        const uint64_t at_ = (uint64_t)(p); \
        const uint64_t by_ = last ? at_ - last : (uint64_t)(bytes)*g->nwarps; \
        t1_ahead((const void *)(at_ - (bytes) + (turn)*by_), bytes); \
        last = at_; \
    } while (0)
#else
T1_INLINE void t1_turn(struct t1_block *b) { (void)b; }
T1_INLINE void t1_turn_of_cluster(struct t1_block *b) { (void)b; }
#define T1_REST(b, rounds, turn) (void)rounds
/* Warps and blocks follow one another: beyond the next row, which is asked for too late (saxpy by CuPy's kernel, from
 * memory: 1.5 ms, with this 1.2). */
#define T1_AHEAD_IN_LOOP(p, bytes, last, turn) t1_prefetch((const char *)(p) + 512, bytes)
T1_INLINE void t1_yield(struct t1_block *b) { (void)b; }
T1_INLINE void t1_look_for_others(struct t1_block *b) { (void)b; }
#endif

T1_INLINE uint32_t t1_lanes_of(const struct t1_block *b, uint32_t warp)
{
    uint32_t n = b->nthreads - 32 * warp;
    return n >= 32 ? ~0u : (1u << n) - 1;
}

/* b->ctaid always names the block in work: a fault is reported by it. */
T1_INLINE void t1_next_block(struct t1_block *b)
{
    if (T1_UNLIKELY(++b->ctaid[0] == b->nctaid[0])) {
        b->ctaid[0] = 0;
        if (++b->ctaid[1] == b->nctaid[1]) {
            b->ctaid[1] = 0;
            b->ctaid[2]++;
        }
    }
}

#define T1_EXPORT __attribute__((visibility("default")))
/* T1_NAME, defined behind the prelude: what debuggers are to show for the kernel. */
#if T1_FIBRES
#define t1_kernel T1_NAME
/* A fibre's first frame: entered by the switch with its two arguments. The last to finish goes back
 * to where the block was started from. */
#define T1_MAIN(kernel) \
    static __attribute__((noreturn, used)) void t1_first(struct t1_fibre *from, struct t1_fibre *self) \
    { \
        struct t1_block *b = self->block; \
        (void)from; \
        struct t1_args args; \
        t1_args_of(&args, b->params); \
        kernel(b, b, &args, self->warp, t1_lanes_of(b, self->warp)); \
        struct t1_ring *r = self->ring; \
        if (T1_CLUSTERS) \
            t1_cluster_leave(b, self); \
        self->next->prev = self->prev; \
        self->prev->next = self->next; \
        struct t1_fibre *to = --r->live ? self->next : r->home; \
        T1_PART_LEAVE(b, self); \
        if (r->live && r->arrived == r->live) { \
            if (T1_CLUSTERS) \
                b->cluster_barrier->waiting -= r->live; \
            if (T1_WATCHED & T1_RACED) { \
                t1_upper_clean(); \
                b->services->met(b); \
            } \
            r->arrived = 0; \
            r->generation++; \
            r->sum[r->generation & 1] = 0; \
        } \
        b->current = to; \
        t1_switch(self, to); \
        __builtin_unreachable(); \
    } \
    static __attribute__((noinline)) void t1_run_block(struct t1_block *b) \
    { \
        struct t1_fibre home, fibre[32]; \
        struct t1_ring ring = {.live = b->nwarps, .home = &home, .fibre = fibre}; \
        const uint32_t n = b->nwarps; \
        struct t1_cluster alone = {.live = n}; \
        if (T1_CLUSTERS && b->cluster_size == 1) \
            b->cluster_barrier = &alone; \
        b->current = &fibre[0]; \
        if (n == 1) { /* on the caller's stack */ \
            fibre[0] = (struct t1_fibre){.next = fibre, .prev = fibre, .ring = &ring, .block = b}; \
            struct t1_args args; \
            t1_args_of(&args, b->params); \
            kernel(b, b, &args, 0, t1_lanes_of(b, 0)); \
            if (T1_CLUSTERS) \
                t1_cluster_leave(b, &fibre[0]); \
            return; \
        } \
        for (uint32_t w = 0; w < n; w++) { \
            /* staggered, so that the frames of all warps do not share cache sets */ \
            uint64_t top = (uint64_t)(b->stacks + (w + 1) * b->stack_size) - 64 - 640 * (w % 16); \
            void **sp = (void **)((top & ~63ul) - 16); \
            sp[0] = (void *)t1_first; \
            sp[1] = (void *)0; \
            fibre[w] = (struct t1_fibre){.sp = sp, \
                                         .next = &fibre[w + 1 < n ? w + 1 : 0], \
                                         .prev = &fibre[w ? w - 1 : n - 1], \
                                         .ring = &ring, \
                                         .block = b, \
                                         .warp = w}; \
        } \
        t1_switch(&home, &fibre[0]); \
    } \
    T1_EXPORT void cumu_t1_run(struct t1_block *b, uint64_t count) \
    { \
        b->left = count - 1; /* a block that waits may have to leave those behind it to others */ \
        for (t1_run_block(b); b->left; t1_run_block(b)) { \
            b->left--; \
            t1_next_block(b); \
        } \
        t1_upper_clean(); \
    } \
    T1_EXPORT const struct t1_info cumu_t1_info = {T1_VERSION, T1_ISA, T1_SHAPE, 1, T1_STACK, T1_WATCHED};
#else
/* The copies of the block and of its parameters are out of reach of the kernel's pointers, so that the compiler
 * may keep them, and what it makes of them, in registers from warp to warp and block to block. */
#define T1_MAIN(kernel) \
    static __attribute__((noinline)) void T1_NAME(struct t1_block *b, uint64_t count) \
    { \
        b->current = (struct t1_fibre *)0; \
        struct t1_block g = *b; \
        struct t1_args args; \
        t1_args_of(&args, b->params); \
        for (;;) { \
            for (uint32_t w = 0; w < g.nwarps; w++) \
                kernel(b, &g, &args, w, t1_lanes_of(&g, w)); \
            if (!--count) \
                break; \
            t1_next_block(&g); \
            for (int k = 0; k < 3; k++) \
                b->ctaid[k] = g.ctaid[k]; \
        } \
        t1_upper_clean(); \
    } \
    T1_EXPORT void cumu_t1_run(struct t1_block *b, uint64_t count) { T1_NAME(b, count); } \
    T1_EXPORT const struct t1_info cumu_t1_info = {T1_VERSION, T1_ISA, T1_SHAPE, 0, 0, T1_WATCHED};
#endif
