/* Are the analysis's claims true? Random kernels with branches, loops, breaks and guards run thread
 * by thread; then every value's class, stride, alignment and range is held against what the threads
 * of a warp really had, round by round of the loops around it. */
#include "../check.h"
#include "simulate.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { REGS = 12, WIDE = 5, PREDS = 4, THREADS = 128, PROGRAMS = 150 };

/* ---- random kernels -------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static char text[1 << 18];
static size_t at;
static int labels, counters;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + at, sizeof text - at, fmt, ap);
    va_end(ap);
    if (n > 0 && at + (size_t)n < sizeof text)
        at += (size_t)n;
}

static uint32_t reg(void) { return rnd(REGS); }

static void arithmetic(void)
{
    static const char *const plain[] = {"add.s32",    "sub.s32", "and.b32", "or.b32",  "xor.b32",
                                        "mul.lo.s32", "min.s32", "max.u32", "add.u32", "min.u32"};
    static const uint32_t masks[] = {31, 15, 0xffffffe0, 0xfffffff0, 1, 63, 127, 0x3e0, 7, 48};
    uint32_t d = reg(), a = reg(), b = reg();
    if (rnd(8) == 0)
        say("@%s%%p%u ", rnd(2) ? "!" : "", rnd(PREDS));
    switch (rnd(18)) {
    case 0:
    case 1:
    case 2: say("%s %%r%u, %%r%u, %%r%u;\n", plain[rnd(10)], d, a, b); break;
    case 3: say("add.s32 %%r%u, %%r%u, %d;\n", d, a, (int)rnd(100) - 50); break;
    case 4: say("mul.lo.s32 %%r%u, %%r%u, %d;\n", d, a, (int)rnd(20) - 8); break;
    case 5: say("shl.b32 %%r%u, %%r%u, %u;\n", d, a, rnd(8)); break;
    case 6: say("shr.%c32 %%r%u, %%r%u, %u;\n", "us"[rnd(2)], d, a, rnd(34)); break;
    case 7:
    case 8: say("%s.b32 %%r%u, %%r%u, %u;\n", rnd(3) ? "and" : "xor", d, a, masks[rnd(10)]); break;
    case 9: say("mad.lo.s32 %%r%u, %%r%u, %u, %%r%u;\n", d, a, 1 + rnd(40), b); break;
    case 10: say("mul.wide.%c32 %%d%u, %%r%u, %u;\n", "us"[rnd(2)], rnd(WIDE), a, 1 + rnd(16)); break;
    case 11: say("cvt.%s %%d%u, %%r%u;\n", rnd(2) ? "u64.u32" : "s64.s32", rnd(WIDE), a); break;
    case 12: say("add.s64 %%d%u, %%d%u, %%d%u;\n", rnd(WIDE), rnd(WIDE), rnd(WIDE)); break;
    case 13: say("cvt.u32.u64 %%r%u, %%d%u;\n", d, rnd(WIDE)); break;
    case 14: say("selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", d, a, b, rnd(PREDS)); break;
    case 15: say("%s.%c32 %%r%u, %%r%u, %u;\n", rnd(2) ? "rem" : "div", "us"[rnd(2)], d, a, 1 + rnd(40)); break;
    case 16:
        say(rnd(2) ? "cvt.%s %%r%u, %%r%u;\n" : "cvt.%s %%r%u, %%r%u;\n",
            (const char *[]){"u16.u32", "s8.s32", "u8.u32", "s16.s32"}[rnd(4)], d, a);
        break;
    default:
        say("ld.global.%s %%r%u, [%%d%u+%u];\n", (const char *[]){"u32", "u8", "s16"}[rnd(3)], d, rnd(WIDE),
            4 * rnd(5));
    }
}

static void predicate(void)
{
    static const char *const cmp[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    if (rnd(2))
        say("setp.%s.%c32 %%p%u, %%r%u, %u;\n", cmp[rnd(6)], "us"[rnd(2)], rnd(PREDS), reg(), rnd(70));
    else
        say("setp.%s.s32 %%p%u, %%r%u, %%r%u;\n", cmp[rnd(6)], rnd(PREDS), reg(), reg());
}

static void statements(int depth, int exit_label);

/* A loop of at most four rounds; how many may differ from lane to lane. */
static void loop(int depth)
{
    int top = labels++, out = labels++, count = counters++;
    say("mov.u32 %%c%d, 0;\nL%d:\n", count, top);
    statements(depth - 1, out);
    say("add.u32 %%c%d, %%c%d, 1;\n", count, count);
    say("and.b32 %%t, %%r%u, 3;\n", reg());
    say("setp.lt.u32 %%q, %%c%d, %%t;\n@%%q bra L%d;\n", count, top);
    if (rnd(3) == 0) /* the counter is a value like others from here on */
        say("add.u32 %%r%u, %%c%d, %%r%u;\n", reg(), count, reg());
    say("L%d:\n", out);
}

static void branch(int depth, int exit_label)
{
    int other = labels++, end = labels++;
    say("@%s%%p%u bra L%d;\n", rnd(2) ? "!" : "", rnd(PREDS), other);
    statements(depth - 1, exit_label);
    say("bra L%d;\nL%d:\n", end, other);
    if (rnd(2))
        statements(depth - 1, exit_label);
    say("L%d:\n", end);
}

static void statements(int depth, int exit_label)
{
    for (int n = 1 + (int)rnd(6); n--;) {
        uint32_t what = rnd(12);
        if (what == 0 && depth > 0)
            loop(depth);
        else if (what <= 2 && depth > 0)
            branch(depth, exit_label);
        else if (what == 3)
            predicate();
        else if (what == 4 && exit_label >= 0 && rnd(2))
            say("@%%p%u bra L%d;\n", rnd(PREDS), exit_label);
        else if (what == 5 && rnd(8) == 0)
            say("@%%p%u ret;\n", rnd(PREDS));
        else
            arithmetic();
    }
}

static void generate(void)
{
    static char body[sizeof text];
    at = 0;
    labels = counters = 0;
    say("mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%tid.y;\nmov.u32 %%r2, %%ctaid.x;\n"
        "ld.param.u32 %%r3, [n];\nmov.u32 %%r4, %%laneid;\nmov.u32 %%r5, %%ntid.x;\n"
        "mad.lo.s32 %%r6, %%r2, %%r5, %%r0;\n");
    for (int i = 7; i < REGS; i++)
        say("mov.u32 %%r%d, %u;\n", i, rnd(200));
    for (int i = 0; i < WIDE; i++)
        say("cvt.u64.u32 %%d%d, %%r%u;\n", i, reg());
    for (int i = 0; i < PREDS; i++)
        say("setp.lt.s32 %%p%d, %%r%u, %u;\n", i, reg(), rnd(40));
    for (int i = 0; i < 4; i++)
        statements(3, -1);
    for (int i = 0; i < REGS; i++) /* everything is used once more at the end */
        say("add.u32 %%r%d, %%r%d, %%r%d;\n", i, i, (i + 1) % REGS);
    memcpy(body, text, at + 1);
    at = 0;
    say(".version 8.0\n.target sm_75\n.address_size 64\n.entry k(.param .u32 n)\n{\n"
        ".reg .b32 %%r<%d>, %%c<%d>, %%t;\n.reg .b64 %%d<%d>;\n.reg .pred %%p<%d>, "
        "%%q;\n%sret;\n}\n",
        REGS, counters + 1, WIDE, PREDS, body);
}

/* ---- what threads had, against what was claimed -----------------------------------------------
 */

struct sample {
    int32_t value, block; /* block of the use; of the definition, for definitions */
    uint32_t thread;
    uint64_t rounds, bits; /* rounds: of all loops around the block, packed */
};

struct run {
    struct ptx_func *f;
    struct sample *s;
    size_t n, cap;
};

static void collect(void *ctx, const struct thread *t, int32_t value, bool def)
{
    struct run *r = ctx;
    int32_t reg_no = r->f->value[value].reg;
    uint64_t rounds = def;
    for (int32_t h = r->f->block[t->block].loop_header; h >= 0; h = r->f->block[h].loop_parent)
        rounds = rounds << 8 | (t->round[h] & 255);
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 4096;
        r->s = realloc(r->s, r->cap * sizeof *r->s);
    }
    uint32_t linear = t->tid[0] + t->ntid[0] * (t->tid[1] + t->ntid[1] * t->tid[2]);
    r->s[r->n++] = (struct sample){value, t->block, linear, rounds, cut(r->f, reg_no, t->reg[reg_no])};
}

static int order(const void *pa, const void *pb)
{
    const struct sample *a = pa, *b = pb;
#define BY(field) \
    if (a->field != b->field) \
        return a->field < b->field ? -1 : 1;
    BY(value)
    BY(block)
    BY(rounds)
    BY(thread)
#undef BY
    return 0;
}

static const char *claim_broken(const struct ptx_func *f, const struct sample *a, const struct sample *first)
{
    const struct ptx_value *v = &f->value[a->value];
    unsigned kind = ptx_class_at(f, a->value, (uint32_t)a->block);
    unsigned size = ptx_type_size(f->reg[v->reg].type);
    int64_t s = size == 4 ? (int32_t)a->bits : (int64_t)a->bits;
    if (v->has_range && (s < v->lo || s > v->hi) && (a->bits > (uint64_t)v->hi || v->hi < 0))
        return "range";
    bool grouped = kind == PTX_C_UNIFORM_G || kind == PTX_C_AFFINE_G;
    unsigned part = grouped ? 16 : 32;
    if (kind == PTX_C_VARYING)
        return NULL;
    bool affine = kind == PTX_C_AFFINE || kind == PTX_C_AFFINE_G;
    uint64_t k = affine ? (uint64_t)v->stride : 0;
    uint64_t base = cut(f, v->reg, a->bits - k * (a->thread % part));
    uint64_t align = v->align_log2 >= 8 * size ? 8 * size - (size > 0) : v->align_log2;
    if (size && base & (((uint64_t)1 << align) - 1))
        return "alignment";
    if (first->thread / part != a->thread / part)
        return NULL;
    return base == cut(f, v->reg, first->bits - k * (first->thread % part)) ? NULL : "class";
}

static uint64_t counted[PTX_C_VARYING + 1];

static bool check_claims(struct run *r, char *why, size_t size)
{
    qsort(r->s, r->n, sizeof *r->s, order);
    const struct sample *warp = r->s, *group = r->s;
    for (size_t i = 0; i < r->n; i++) {
        const struct sample *a = &r->s[i];
        bool same = a->value == warp->value && a->block == warp->block && a->rounds == warp->rounds;
        if (!same || a->thread / 32 != warp->thread / 32)
            warp = a;
        if (!same || a->thread / 16 != group->thread / 16)
            group = a;
        const char *bad = claim_broken(r->f, a, warp);
        if (!bad)
            bad = claim_broken(r->f, a, group);
        counted[ptx_class_at(r->f, a->value, (uint32_t)a->block)]++;
        if (bad) {
            snprintf(why, size, "%s of v%d in B%d, thread %u: %llx", bad, (int)a->value, (int)a->block, a->thread,
                     (unsigned long long)a->bits);
            return false;
        }
    }
    return true;
}

static bool run_program(const struct ptx_shape *shape, char *why, size_t size)
{
    struct ptx_diag d;
    struct run r = {0};
    struct ptx_module *m = ptx_module_open(text, at, &d);
    r.f = m ? ptx_module_func(m, "k") : NULL;
    if (!r.f || ptx_analyse(r.f, shape, &d)) {
        snprintf(why, size, "%u: %s: %s", d.line, d.what, d.msg);
        ptx_module_close(m);
        return false;
    }
    uint64_t *regs = malloc(r.f->nreg * sizeof *regs);
    uint32_t *round = malloc(r.f->nblock * sizeof *round);
    bool ok = true;
    for (uint32_t i = 0; i < shape->block[0] * shape->block[1] * shape->block[2] && ok; i++) {
        struct thread t = {.ctaid = 5, .n = (uint32_t)(seed >> 40) % 50, .lane = i % 32, .reg = regs, .round = round};
        memset(regs, 0, r.f->nreg * sizeof *regs);
        memset(round, 0, r.f->nblock * sizeof *round);
        memcpy(t.ntid, shape->block, sizeof t.ntid);
        t.tid[0] = i % t.ntid[0];
        t.tid[1] = i / t.ntid[0] % t.ntid[1];
        t.tid[2] = i / t.ntid[0] / t.ntid[1];
        ok = simulate(r.f, &t, collect, &r);
        if (!ok)
            snprintf(why, size, "thread %u: unknown instruction or endless", i);
    }
    ok = ok && check_claims(&r, why, size);
    if (!ok && getenv("CLASSES_DUMP"))
        ptx_dump_func(r.f, stderr);
    free(regs);
    free(round);
    free(r.s);
    ptx_module_close(m);
    return ok;
}

int main(int argc, char **argv)
{
#define SHAPE(x, y, z) \
    { \
        .block = {x, y, z}, .exact = true \
    }
    static const struct ptx_shape shapes[] = {SHAPE(THREADS, 1, 1), SHAPE(16, 8, 1), SHAPE(32, 4, 1), SHAPE(10, 10, 1),
                                              SHAPE(48, 2, 1),      SHAPE(8, 4, 4),  SHAPE(64, 1, 2), SHAPE(100, 1, 1)};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    unsigned from = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
    unsigned count = argc > 1 ? 1 : PROGRAMS;
    for (unsigned s = 0; s < SHAPES; s++) {
        char why[320] = "";
        bool ok = true;
        for (unsigned i = from; i < from + count && ok; i++) {
            seed = i * 2654435761u + 12345;
            generate();
            ok = run_program(&shapes[s], why, sizeof why);
            if (!ok)
                printf("# program %u\n", i);
        }
        check(ok, "claims hold in blocks of %u x %u x %u%s%s", shapes[s].block[0], shapes[s].block[1],
              shapes[s].block[2], ok ? "" : ": ", why);
    }
    /* a test of claims is worth nothing when none are made */
    bool enough = argc > 1 || (counted[PTX_C_AFFINE] > 100000 && counted[PTX_C_UNIFORM] > 100000 &&
                               counted[PTX_C_AFFINE_G] > 10000 && counted[PTX_C_UNIFORM_G] > 10000);
    check(enough, "enough claims were made (U %llu Ug %llu A %llu Ag %llu V %llu)",
          (unsigned long long)counted[PTX_C_UNIFORM], (unsigned long long)counted[PTX_C_UNIFORM_G],
          (unsigned long long)counted[PTX_C_AFFINE], (unsigned long long)counted[PTX_C_AFFINE_G],
          (unsigned long long)counted[PTX_C_VARYING]);
    return check_end("classes");
}
