/* Control flow of emitted kernels: known shapes come out without a goto, and random graphs, irreducible ones
 * among them, take the way that tier 0 takes. */
#include "musa/on_musa.h"

enum { GRAPHS = 20, THREADS = 32, TEXT = 1 << 18 };
static char text[TEXT];
static size_t used;

static uint32_t test_random(void)
{
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    used += (size_t)vsnprintf(text + used, TEXT - used, format, args);
    va_end(args);
}

static void put_head(void)
{
    used = 0;
    put(".version 8.0\n.target sm_80\n.address_size 64\n");
}

/* ---- shapes ---- */

/* A: a step of its own. ?L: a jump on a condition that changes. */
static const struct {
    const char *name, *code;
    unsigned gotos;
} shapes[] = {
    {"if", "?1 A L1:", 0},
    {"if else", "?1 A !2 L1: A L2:", 0},
    {"if inside if", "?1 A ?2 A L2: A L1: A", 0},
    {"and", "?1 A ?1 A L1: A", 0},
    {"early return", "?1 A R L1: A", 0},
    {"returns inside ifs", "?1 A ?2 A R L2: A !1 L1: A", 0},
    {"do while", "L1: A ?1 A", 0},
    {"while", "L1: ?2 A !1 L2: A", 0},
    {"break", "L1: A ?2 A ?2 A !1 L2: A", 0},
    {"continue", "L1: A ?1 A ?2 A !1 L2: A", 0},
    {"return out of a loop", "L1: A ?2 A R L2: ?1 A", 0},
    {"loop in a loop", "L1: A L2: A ?2 A ?1 A", 0},
    {"while in a while", "L1: ?3 A L2: ?4 A !2 L4: A !1 L3: A", 0},
    {"two loops", "L1: A ?1 A L2: A ?2 A", 0},
    {"out of two loops", "L1: A L2: A ?3 A ?2 A ?1 A L3: A", 1},
    {"or", "?1 A ?2 L1: A L2: A", 0},
    {"cases and what is none of them", "?1 A !9 L1: ?2 A !9 L2: ?3 A !9 L3: A L9: A", 0},
    {"cases in a loop", "L0: A ?1 A !9 L1: ?2 A !9 L2: ?3 A !9 L3: A L9: A ?0 A", 0},
};

static void put_shape(const char *code)
{
    put(".visible .entry k(.param .u64 out)\n{\n.reg .pred %%p;\n.reg .b32 %%r<4>;\n.reg .b64 %%d<3>;\n"
        "ld.param.u64 %%d0, [out];\nmov.u32 %%r0, %%tid.x;\nmul.wide.u32 %%d1, %%r0, 4;\nadd.u64 %%d0, %%d0, %%d1;\n"
        "mov.u32 %%r1, 40;\n");
    for (const char *c = code, *stop; *c; c = stop + strspn(stop, " ")) {
        stop = c + strcspn(c, " ");
        switch (*c) {
        case 'A': put("mad.lo.u32 %%r0, %%r0, 1664525, 1013904223;\nst.global.u32 [%%d0], %%r0;\n"); break;
        case 'L': put("L%c:\n", c[1]); break;
        case 'R': put("ret;\n"); break;
        case '!': put("bra L%c;\n", c[1]); break;
        default:
            put("sub.u32 %%r1, %%r1, 1;\nshr.u32 %%r2, %%r0, 16;\nand.b32 %%r2, %%r2, %%r1;\n"
                "setp.eq.u32 %%p, %%r2, 0;\n@%%p bra L%c;\n",
                c[1]);
        }
    }
    put("ret;\n}\n");
}

static void test_shapes(void)
{
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        struct mu_info info = {0};
        struct ptx_diag diag;
        struct t0t t;
        char *source = NULL;
        size_t size;
        put_head();
        put_shape(shapes[k].code);
        bool open = t0t_open(&t, text, "k");
        check(open && !mu_emit(t.ptx, "k", t.image, MU_ANY, &source, &size, &info, &diag) &&
                  info.gotos == shapes[k].gotos,
              "%s: %u gotos", shapes[k].name, shapes[k].gotos);
        const char *loop = source ? strstr(source, "CM_KERNEL CM_BOUNDS") : NULL;
        if (loop && !strcmp(shapes[k].name, "do while"))
            check(strstr(loop, "do {") && strstr(loop, "} while (") && !strstr(loop, "for (;;)"), "it is one");
        if (loop && shapes[k].gotos == 0)
            check(!strstr(loop, "goto"), "%s has none", shapes[k].name);
        free(source);
        t0t_close(&t);
    }
}

/* ---- graphs ---- */

static void put_target(unsigned blocks) { put("bra L%u;\n", (unsigned)(test_random() % blocks)); }

/* A function whose blocks end in jumps to any others; fuel ends what goes round. */
static void put_graph(unsigned g, unsigned blocks)
{
    put(".func (.param .b32 result) graph%u(.param .b32 seed)\n{\n.reg .pred %%p<3>;\n.reg .b32 %%r<5>;\n"
        "ld.param.u32 %%r0, [seed];\nmov.u32 %%r1, 200;\n",
        g);
    for (unsigned b = 0; b < blocks; b++) {
        unsigned kind = (unsigned)(test_random() % 16);
        put("L%u:\nmad.lo.u32 %%r0, %%r0, 1664525, %u;\nsub.u32 %%r1, %%r1, 1;\nsetp.eq.u32 %%p0, %%r1, 0;\n"
            "@%%p0 bra END;\nshr.u32 %%r2, %%r0, 13;\n",
            b, 2 * b + 1);
        if (kind == 0) {
            put("and.b32 %%r2, %%r2, 3;\nT%u: .branchtargets L%u, L%u, L%u, L%u;\nbrx.idx %%r2, T%u;\n", b,
                (unsigned)(test_random() % blocks), (unsigned)(test_random() % blocks),
                (unsigned)(test_random() % blocks), (unsigned)(test_random() % blocks), b);
        } else if (kind == 1) {
            put("st.param.b32 [result], %%r0;\nret;\n");
        } else if (kind == 2) {
            put_target(blocks);
        } else if (kind < 8) { /* near ones: loops and conditions rather than knots */
            unsigned far = (unsigned)(test_random() % 4), to = test_random() & 1 ? b + 1 + far : b - far % (b + 1);
            put("and.b32 %%r2, %%r2, 1;\nsetp.eq.u32 %%p1, %%r2, 0;\n@%%p1 bra L%u;\n", to < blocks ? to : blocks - 1);
        } else if (kind < 14) {
            put("and.b32 %%r2, %%r2, 3;\nsetp.eq.u32 %%p1, %%r2, 0;\n@!%%p1 ");
            put_target(blocks);
        }
    }
    put("END:\nst.param.b32 [result], %%r0;\nret;\n}\n");
}

static uint32_t out[GRAPHS][THREADS], want[GRAPHS][THREADS];

/* What is in `text` fills the same rows on both. */
static void compare(const char *what, unsigned least_gotos)
{
    struct t0_grid g = {.env = &t0t_env, .nsm = 1, .grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
    struct t0_fault fault = {0};
    struct t0t t;
    memset(out, 0, sizeof out);
    memset(want, 0, sizeof want);
    if (!check(t0t_open(&t, text, "k"), "%s: PTX (%s)", what, t.why))
        return;
    const void *params[] = {out}, *wanted[] = {want};
    t0t_run(&t, g.grid, g.block, 0, params, &fault);
    struct t0_worker *w = t0_worker_new(0);
    g.kernel = t.kernel;
    g.params = wanted;
    bool ran = t0_block_run(w, &g, 0, &fault) == T0_OK;
    t0_worker_free(w);
    const struct mut_object *o = t.object;
    check(ran && o && !memcmp(out, want, sizeof out) && want[0][1], "%s: as on tier 0", what);
    const uint32_t gotos = o ? o->info.gotos : 0;
    check(o && (getenv("MUSA_FLAT") ? !gotos : gotos >= least_gotos), "%s: %u gotos", what, gotos);
    t0t_close(&t);
}

static void test_graphs(unsigned blocks)
{
    char what[40];
    put_head();
    for (unsigned k = 0; k < GRAPHS; k++)
        put_graph(k, 2 + k % blocks);
    put(".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<3>;\n.reg .b64 %%d<3>;\nld.param.u64 %%d0, [out];\n"
        "mov.u32 %%r0, %%tid.x;\nmul.wide.u32 %%d1, %%r0, 4;\nadd.u64 %%d0, %%d0, %%d1;\n");
    for (unsigned k = 0; k < GRAPHS; k++)
        put("{\n.param .b32 seed;\n.param .b32 result;\nst.param.b32 [seed], %%r0;\n"
            "call.uni (result), graph%u, (seed);\nld.param.b32 %%r1, [result];\nst.global.u32 [%%d0+%u], %%r1;\n}\n",
            k, k * THREADS * 4);
    put("ret;\n}\n");
    snprintf(what, sizeof what, "%u graphs of up to %u blocks", GRAPHS, blocks + 1);
    compare(what, 1);
}

/* More nests than braces may stand in one another, and more conditions in a row than a stack has room for. */
static void test_deep(unsigned n, bool nested)
{
    put_head();
    put(".visible .entry k(.param .u64 out)\n{\n.reg .pred %%p;\n.reg .b32 %%r<4>;\n.reg .b64 %%d<3>;\n"
        "ld.param.u64 %%d0, [out];\nmov.u32 %%r0, %%tid.x;\nmul.wide.u32 %%d1, %%r0, 4;\nadd.u64 %%d0, %%d0, %%d1;\n");
    for (unsigned k = 0; k < n; k++)
        put("mad.lo.u32 %%r0, %%r0, 1664525, %u;\nshr.u32 %%r2, %%r0, 20;\nsetp.eq.u32 %%p, %%r2, %u;\n@%%p bra L%u;\n"
            "st.global.u32 [%%d0], %%r0;\n%s",
            k, k, nested ? k : 0, nested && k % 2 ? "add.u32 %r0, %r0, 7;\n" : "");
    for (unsigned k = nested ? n : 1; k-- > 0;)
        put("L%u:\nst.global.u32 [%%d0+128], %%r0;\nadd.u32 %%r0, %%r0, %u;\n", k, k);
    put("st.global.u32 [%%d0+256], %%r0;\nret;\n}\n");
    compare(nested ? "deep nests" : "a long row", 1);
}

static int run(void)
{
    test_shapes();
    for (unsigned blocks = 4; blocks <= 64; blocks *= 2)
        test_graphs(blocks);
    test_deep(150, true);
    test_deep(700, false);
    return t0t_done();
}

int main(void)
{
    int failed = mut_main(run);
    return failed == 77 ? 77 : failed | !check(!mut_refused, "nothing is refused");
}
