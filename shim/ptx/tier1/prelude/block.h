/* Tier 1's prelude: what a kernel sees of its block (the same structs as ptx/tier1/tier1.h, which a
 * test compares) and arithmetic through tier 0's handlers. */
struct t1_fibre;
struct t1_services;
struct t1_range;
struct t1_cluster {
    uint32_t live, arrived, generation;
    uint32_t waiting, waiting_here;
};
struct t1_block {
    uint8_t *shared;
    const uint8_t *params;
    const uint64_t *externs;
    uint8_t *local;
    uint64_t local_stride;
    uint32_t ctaid[3], nctaid[3], ntid[3];
    uint32_t nthreads, nwarps;
    uint32_t dynamic_shared, shared_size;
    uint32_t smid, nsm;
    uint64_t grid_id, envreg12, graph_exec;
    uint8_t *stacks;
    uint64_t stack_size;
    struct t1_fibre *current;
    const struct t1_services *services;
    void *worker;
    uint8_t *cluster_shared;
    struct t1_cluster *cluster_barrier;
    uint32_t cluster[3], cluster_size;
    uint32_t rank, explicit_cluster;
    uint32_t patience;
    uint64_t left;
    uint64_t shared_used;
    struct t1_range *ranges;
    uint32_t others_run;
};
struct t1_range {
    uint64_t base, size;
};
struct t1_watched {
    uint32_t bytes, what, line, pc;
    int64_t stride;
};
struct t1_row {
    const uint64_t *wide;
    const uint32_t *narrow;
    uint64_t first[2];
    int64_t stride;
    uint32_t elements;
    const void *value[8];
};
struct t1_rows {
    uint64_t row[5][32] __attribute__((aligned(64)));
    uint32_t carry;
};
struct t1_services {
    void (*fault)(struct t1_block *b, uint32_t kind, uint32_t warp, uint32_t lane, const char *text);
    int32_t (*print)(struct t1_block *b, const char *format, const uint8_t *args);
    void *(*dev_malloc)(struct t1_block *b, uint64_t size);
    void (*dev_free)(struct t1_block *b, void *p);
    void (*assert_fail)(struct t1_block *b, const char *message, const char *file, uint32_t line, const char *function,
                        uint32_t warp, uint32_t lane);
    _Bool (*stopped)(struct t1_block *b);
    uint64_t (*clock)(void);
    uint64_t (*globaltimer)(void);
    _Bool (*constant)(uint64_t address);
    _Bool (*parameter)(struct t1_block *b, uint64_t address);
    void (*alu)(struct t1_block *b, struct t1_rows *rows, uint32_t op, uint32_t aux, int32_t imm, uint32_t mask);
    void (*exec)(struct t1_block *b, const void *image, uint8_t *regs, uint32_t warp, uint32_t mask);
    void (*watch)(struct t1_block *b, uint32_t warp, uint32_t mask, const uint64_t address[32],
                  const struct t1_watched *at, struct t1_range *range);
    uint64_t (*device)(struct t1_block *b, uint32_t thread, uint32_t call, const uint64_t *args);
    _Bool (*reads)(struct t1_block *b, uint32_t warp, uint32_t mask, uint64_t first, uint64_t second,
                   const struct t1_watched *at);
    void (*race)(struct t1_block *b, uint32_t warp, uint32_t mask, const struct t1_row *row,
                 const struct t1_watched *at);
    void (*gather)(struct t1_block *b, uint32_t warp, uint32_t mask, uint32_t live, const uint32_t named[32]);
    void (*met)(struct t1_block *b);
};
struct t1_info {
    uint32_t version, isa, shape, barriers;
    uint64_t stack_size;
    uint32_t watched;
};

enum {
    T1_TRAPPED = 1,
    T1_MISALIGNED_ADDRESS = 4,
    T1_INVALID_PC = 6,
    T1_DEADLOCK = 8,
    T1_GAVE_UP = 10
}; /* enum t0_fault_kind */
/* Not inlined: kernels have hundreds of places that lead here, and nothing lives on behind them. */
static __attribute__((noinline, cold, noreturn, unused)) void t1_fault(struct t1_block *b, uint32_t kind, uint32_t warp,
                                                                       uint32_t m)
{
    b->services->fault(b, kind, warp, (uint32_t)__builtin_ctz(m), "");
    __builtin_unreachable();
}
#define T1_TRAP(b, warp, m) t1_fault(b, T1_TRAPPED, warp, m)
#define T1_NO_TARGET(b, warp, m) t1_fault(b, T1_INVALID_PC, warp, m)
#define T1_MISALIGNED(b, warp, m) t1_fault(b, T1_MISALIGNED_ADDRESS, warp, m)
/* lanes of a piece that have one of the low bits set */
#define t1_low_u32(p, low) ((uint32_t)t1_v_cmp_u32(NEU, (p)&t1_splat_u32(low), (pu32){0}))
#define t1_low_u64(p, low) ((uint32_t)t1_v_cmp_u64(NEU, (p)&t1_splat_u64(low), (pu64){0}))

/* Arithmetic that has no expression: operands go to rows, tier 0's handler runs, results come from
 * rows. Sources 0 to 2 in rows 1 to 3, a fourth source or a second destination in row 4, the first
 * in row 0. A uniform operand is put into every lane, and a uniform result read from lane 0 with
 * mask ~0. */
#define T1_DST_ROW(n) ((n) ? 4 : 0)
#define T1_SRC_ROW(n) ((n) + 1)
T1_INLINE void t1_put_u32(struct t1_rows *r, int n, int k, pu32 v)
{
    *(pu32_m *)((uint32_t *)r->row[n] + k * T1_N) = v;
}
T1_INLINE void t1_put_u64(struct t1_rows *r, int n, int q, pu64 v) { *(pu64_m *)(r->row[n] + q * T1_H) = v; }
T1_INLINE void t1_put_pred(struct t1_rows *r, int n, uint32_t m) { *(t1_u32 *)r->row[n] = m; }
T1_INLINE void t1_put_all_u32(struct t1_rows *r, int n, uint32_t v)
{
    for (int k = 0; k < T1_P; k++)
        t1_put_u32(r, n, k, t1_splat_u32(v));
}
T1_INLINE void t1_put_all_u64(struct t1_rows *r, int n, uint64_t v)
{
    for (int q = 0; q < 2 * T1_P; q++)
        t1_put_u64(r, n, q, t1_splat_u64(v));
}
T1_INLINE pu32 t1_get_u32(struct t1_rows *r, int n, int k) { return *(pu32_m *)((uint32_t *)r->row[n] + k * T1_N); }
T1_INLINE pu64 t1_get_u64(struct t1_rows *r, int n, int q) { return *(pu64_m *)(r->row[n] + q * T1_H); }
T1_INLINE uint32_t t1_get_pred(struct t1_rows *r, int n) { return *(t1_u32 *)r->row[n]; }
T1_INLINE void t1_alu(struct t1_block *b, struct t1_rows *r, uint32_t op, uint32_t aux, int32_t imm, uint32_t mask)
{
    t1_upper_clean();
    b->services->alu(b, r, op, aux, imm, mask);
}
