/* Tier 1's arithmetic against tier 0's handlers: every instruction variant of the census, as pieces
 * and as scalars, compiled by the system's compiler for each instruction set this machine has.
 * Skipped without a compiler. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/front/front.h"
#include "ptx/lir/lir.h"
#include "ptx/tier1/emit/alu.h"
#include "ptx/tier1/tier1.h"

static const char *const variants[] = {
#define V(text) text,
#include "ptx/census.def"
#include "tier1/more.def"
#undef V
};
enum { NVARIANTS = sizeof variants / sizeof variants[0], ROUNDS = 40 };

static unsigned failed, passed;

/* ---- the ops under test ---- */

struct test {
    const char *name;
    struct t1_op op;
    uint8_t type[2]; /* of the results and of what is compared, for NaNs */
} tests[NVARIANTS];
static unsigned ntests;

/* The instruction with operands of the kinds its pattern asks for: enough for selection. */
static bool decode(const char *text, struct ptx_instr *in)
{
    struct ptx_diag diag = {0};
    struct ptx_ctx ctx = {.diag = &diag};
    struct ptx_opcode out;
    if (setjmp(ctx.out))
        return false;
    ptx_decode(&ctx, text, strlen(text), 1, &out);
    if (out.loose) {
        out.in.ndst = 1;
        out.in.nsrc = 3;
    }
    for (const char *s = out.sig; *s && *s != '?'; s++) {
        if (strchr("DPSQJIKWCMEV", *s))
            out.in.dst[out.in.ndst++].kind = PTX_O_REG;
        else if (*s != '~')
            out.in.src[out.in.nsrc++].kind = PTX_O_REG;
    }
    *in = out.in;
    if (in->op == PTX_OP_LOP3)
        in->src[3] = (struct ptx_opnd){.kind = PTX_O_IMM, .imm = 0xd8};
    if (in->op == PTX_OP_CVT && in->type[2])
        in->nsrc = 3;
    if ((in->op == PTX_OP_SETP || in->op == PTX_OP_SET) && in->sub)
        in->nsrc = 3;
    return in->op != PTX_OP_MOV;
}

static void choose(void)
{
    for (unsigned v = 0; v < NVARIANTS; v++) {
        struct ptx_instr in = {0};
        struct test *t = &tests[ntests];
        if (!decode(variants[v], &in))
            continue;
        t->name = variants[v];
        t->type[0] = in.type[0];
        if (t1_alu(&in, &t->op)) {
            ntests++;
        } else {
            printf("not ok %s: tier 1 has no such form\n", t->name);
            failed++;
        }
    }
}

/* ---- their C text ---- */

static void write_source(FILE *f, const char *pattern, const struct t1_op *op, const char *const arg[4],
                         const char *name)
{
    char text[8 * T1_EXPR];
    t1_alu_expand(text, sizeof text, pattern, arg);
    fprintf(f, "%s(%s)", name, text);
    (void)op;
}

static void write_vector(FILE *f, const struct test *t, unsigned n, unsigned d)
{
    const struct t1_op *op = &t->op;
    const char *const arg[4] = {"x0", "x1", "x2", "x3"};
    const char *type = op->wide ? "pu64" : "pu32";
    fprintf(f, "void v%u_%u(struct t1_block *b, struct t1_rows *r)\n{\n(void)b;\n", n, d);
    if (op->dst[d].kind == T1_K_PRED)
        fprintf(f, "uint32_t m = 0;\n");
    fprintf(f, "for (int k = 0; k < %s; k++) {\n", op->wide ? "2 * T1_P" : "T1_P");
    for (unsigned s = 0; s < op->nsrc; s++) {
        if (op->src[s] == T1_K_PRED)
            fprintf(f, "uint32_t x%u = %s(t1_get_pred(r, T1_SRC_ROW(%u)), k);\n", s,
                    op->wide ? "T1_MASK64" : "T1_MASK32", s);
        else if (op->src[s] == T1_K_64)
            fprintf(f, "pu64 x%u = t1_get_u64(r, T1_SRC_ROW(%u), k);\n", s, s);
        else if (op->wide)
            fprintf(f, "ph32 x%u = t1_half_u32(t1_get_u32(r, T1_SRC_ROW(%u), k / 2), k & 1);\n", s, s);
        else
            fprintf(f, "pu32 x%u = t1_get_u32(r, T1_SRC_ROW(%u), k);\n", s, s);
    }
    if (op->dst[d].kind == T1_K_PRED) {
        write_source(f, op->dst[d].vector, op, arg, "m |= (uint32_t)");
        fprintf(f, " << (k * %s);\n}\nt1_put_pred(r, T1_DST_ROW(%u), m);\n}\n", op->wide ? "T1_H" : "T1_N", d);
    } else if (op->wide && op->dst[d].kind == T1_K_32) {
        write_source(f, op->dst[d].vector, op, arg, "*(ph32_m *)((uint32_t *)r->row[0] + k * T1_H) = ");
        fprintf(f, ";\n}\n}\n");
    } else {
        fprintf(f, "%s x =", type);
        write_source(f, op->dst[d].vector, op, arg, "");
        fprintf(f, ";\nt1_put_%s(r, 0, k, x);\n}\n}\n", op->wide ? "u64" : "u32");
    }
}

static void write_scalar(FILE *f, const struct test *t, unsigned n, unsigned d)
{
    const struct t1_op *op = &t->op;
    const char *const arg[4] = {"x0", "x1", "x2", "x3"};
    fprintf(f,
            "void s%u_%u(struct t1_block *b, struct t1_rows *r)\n{\n(void)b;\n"
            "uint32_t m = 0;\nfor (int l = 0; l < 32; l++) {\n",
            n, d);
    for (unsigned s = 0; s < op->nsrc; s++)
        if (op->src[s] == T1_K_PRED)
            fprintf(f, "uint32_t x%u = t1_get_pred(r, T1_SRC_ROW(%u)) >> l & 1;\n", s, s);
        else
            fprintf(f, "uint%s_t x%u = ((t1_u%s *)r->row[T1_SRC_ROW(%u)])[l];\n", op->src[s] == T1_K_64 ? "64" : "32",
                    s, op->src[s] == T1_K_64 ? "64" : "32", s);
    if (op->dst[d].kind == T1_K_PRED)
        write_source(f, op->dst[d].scalar, op, arg, "m |= (uint32_t)");
    else
        write_source(f, op->dst[d].scalar, op, arg,
                     op->dst[d].kind == T1_K_64 ? "((t1_u64 *)r->row[0])[l] = " : "((t1_u32 *)r->row[0])[l] = ");
    fprintf(f,
            op->dst[d].kind == T1_K_PRED ? " << l;\n}\nt1_put_pred(r, T1_DST_ROW(%u), m);\n}\n" : ";\n}\n(void)m;\n}\n",
            d);
}

static bool write_all(const char *path)
{
    size_t size;
    const char *text = t1_prelude(&size);
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fwrite(text, 1, size, f);
    fprintf(f, "#pragma GCC visibility push(default)\n");
    for (unsigned n = 0; n < ntests; n++)
        for (unsigned d = 0; d < 2; d++) {
            if (tests[n].op.dst[d].vector[0])
                write_vector(f, &tests[n], n, d);
            if (tests[n].op.dst[d].scalar[0])
                write_scalar(f, &tests[n], n, d);
        }
    return fclose(f) == 0;
}

/* ---- comparing ---- */

static uint64_t random64(void)
{
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return s * 0x2545f4914f6cdd1dull;
}

static const uint32_t edge32[] = {
    0,          1,          2,          3,          31,         32,         33,         0x7f,       0x80,
    0xff,       0x7fff,     0x8000,     0xffff,     0x10000,    0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
    0xfffffffe, 0x00800000, 0x007fffff, 0x80000001, 0x3f800000, 0xbf800000, 0x3f000000, 0x40200000, 0x7f800000,
    0xff800000, 0x7fc00000, 0x7f800001, 0x4f000000, 0xcf000000, 0x4effffff, 0x4f800000, 0x3effffff, 0x4b000001,
    0x00000400, 0x3c003c00, 0x7c00fc00, 0x7e000001, 0x33800000, 0x38800000, 0x477ff000};
static const uint64_t edge64[] = {
    0,
    1,
    2,
    63,
    64,
    0x7fffffffull,
    0x80000000ull,
    0xffffffffull,
    0x100000000ull,
    ~0ull,
    1ull << 63,
    (1ull << 63) - 1,
    0x3ff0000000000000ull,
    0xbff0000000000000ull,
    0x3fe0000000000000ull,
    0x7ff0000000000000ull,
    0xfff0000000000000ull,
    0x7ff8000000000000ull,
    0x7ff0000000000001ull,
    0x41dfffffffc00000ull,
    0x41e0000000000000ull,
    0xc1e0000000000000ull,
    0xc1e0000000200000ull,
    0x43e0000000000000ull,
    0xc3e0000000000000ull,
    0x43f0000000000000ull,
    0x0010000000000000ull,
    0x000fffffffffffffull,
    0x4330000000000001ull,
    0x3fdfffffffffffffull,
    0xbfe0000000000000ull,
    0x36a0000000000000ull,
    0x380fffffe0000000ull,
    0xb80ffffff0000000ull,
};
/* Products, quotients and sums of these are about 2^-126. */
static const uint32_t tiny32[] = {0x3f7fffff, 0x3f7ffffe, 0x3f7ff4ae, 0x00800000, 0x00800001, 0x008005a9,
                                  0x00ffffff, 0x40000000, 0x1a000000, 0x9a000000, 0};
static uint64_t value(uint8_t kind)
{
    uint64_t r = random64();
    unsigned how = (unsigned)(random64() % 8);
    if (kind == T1_K_64) {
        if (how < 3)
            return edge64[r % (sizeof edge64 / sizeof *edge64)];
        return how == 3   ? r & 0xff
               : how == 4 ? (uint64_t)(int64_t)(int32_t)r
               : how == 5 ? (r & 0x800fffffffffffffull) | (1023 - 40 + (r >> 52 & 127)) << 52
                          : r;
    }
    if (how == 7)
        return tiny32[r % (sizeof tiny32 / sizeof *tiny32)];
    if (how < 3)
        return edge32[r % (sizeof edge32 / sizeof *edge32)];
    return (uint32_t)(how == 3 ? r & 0x3f : how == 4 ? (r & 0x807fffff) | (127 - 20 + (r >> 32 & 63)) << 23 : r);
}

static bool nan_of(unsigned type, uint64_t x)
{
    switch (type) {
    case PTX_F16: return (x & 0x7fff) > 0x7c00;
    case PTX_BF16: return (x & 0x7fff) > 0x7f80;
    case PTX_F32: return (x & 0x7fffffff) > 0x7f800000;
    case PTX_F64: return (x & ~(1ull << 63)) > 0x7ffull << 52;
    default: return false;
    }
}
static bool same(unsigned type, uint64_t x, uint64_t y)
{
    unsigned half = type == PTX_F16X2 ? PTX_F16 : type == PTX_BF16X2 ? PTX_BF16 : 0;
    if (half)
        return same(half, x & 0xffff, y & 0xffff) && same(half, x >> 16, y >> 16);
    return x == y || (nan_of(type, x) && nan_of(type, y));
}

static uint64_t lane(const struct t1_rows *r, unsigned row, uint8_t kind, unsigned l)
{
    uint32_t w;
    memcpy(&w, (const uint8_t *)r->row[row] + (kind == T1_K_PRED ? 0 : 4 * l), 4);
    return kind == T1_K_64 ? r->row[row][l] : kind == T1_K_PRED ? w >> l & 1 : w;
}

typedef void expression(struct t1_block *b, struct t1_rows *r);

static bool compare(const struct test *t, const char *isa, const char *what, unsigned d, expression *run,
                    struct t1_block *b, const struct t1_rows *in, const struct t1_rows *want)
{
    struct t1_rows got = *in;
    run(b, &got);
    for (unsigned l = 0; l < 32; l++) {
        uint8_t kind = t->op.dst[d].kind;
        uint64_t g = lane(&got, d ? 4 : 0, kind, l), w = lane(want, d ? 4 : 0, kind, l);
        if (same(t->type[0], g, w))
            continue;
        printf("not ok %s: %s, %s: lane %u, result %u = %#llx, not %#llx; sources", t->name, isa, what, l, d,
               (unsigned long long)g, (unsigned long long)w);
        for (unsigned s = 0; s < t->op.nsrc; s++)
            printf(" %#llx", (unsigned long long)lane(in, s + 1, t->op.src[s], l));
        printf("\n");
        return false;
    }
    return true;
}

static void check(const struct test *t, unsigned n, const char *isa, void *dl)
{
    struct t1_services services = {.alu = t1_service_alu};
    struct t1_block b = {.services = &services};
    bool good = true;
    unsigned forms = 0;
    for (unsigned d = 0; d < 2; d++)
        for (unsigned s = 0; s < 2; s++) {
            char name[32];
            snprintf(name, sizeof name, "%c%u_%u", s ? 's' : 'v', n, d);
            expression *run;
            *(void **)&run = dlsym(dl, name);
            forms += run != NULL;
            for (unsigned k = 0; run && good && k < ROUNDS; k++) {
                struct t1_rows in = {.carry = 0};
                for (unsigned o = 0; o < t->op.nsrc; o++)
                    for (unsigned l = 0; l < 32; l++) {
                        uint64_t v = value(t->op.src[o]);
                        if (t->op.src[o] == T1_K_64)
                            in.row[o + 1][l] = v;
                        else
                            memcpy((uint8_t *)in.row[o + 1] + 4 * l, &v, 4);
                    }
                struct t1_rows want = in;
                t1_service_alu(&b, &want, t->op.op, t->op.aux, t->op.imm, ~0u);
                good = compare(t, isa, s ? "scalar" : "pieces", d, run, &b, &in, &want);
            }
        }
    passed += good && forms;
    failed += !good;
}

static void run_isa(const char *cc, enum t1_isa isa)
{
    static const char *const names[] = {"plain", "avx2", "avx512"};
    char dir[] = "/tmp/cumu-alu-XXXXXX", source[64], object[64], command[2048];
    if (!mkdtemp(dir))
        return;
    snprintf(source, sizeof source, "%s/alu.c", dir);
    snprintf(object, sizeof object, "%s/alu.so", dir);
    snprintf(command, sizeof command, "%s %s -o %s %s", cc, t1_isa_flags(isa), object, source);
    bool built = write_all(source) && system(command) == 0;
    void *dl = built ? dlopen(object, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (dl) {
        for (unsigned n = 0; n < ntests; n++)
            check(&tests[n], n, names[isa], dl);
        printf("# %s %s: %u right, %u wrong so far\n", cc, names[isa], passed, failed);
    } else {
        printf("not ok %s: %s\n", names[isa], built ? dlerror() : "does not compile");
        failed++;
    }
    if (getenv("KEEP"))
        return;
    unlink(source);
    unlink(object);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    const char *cc = argc > 1 ? argv[1] : "cc";
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null", cc);
    if (system(command)) {
        printf("skip: no compiler\n");
        return 77;
    }
    choose();
    unsigned expressions = 0;
    for (unsigned n = 0; n < ntests; n++)
        expressions += tests[n].op.dst[0].vector[0] != 0;
    printf("# %u instruction forms, %u with expressions\n", ntests, expressions);
    for (int isa = t1_isa_here(); isa >= T1_PLAIN; isa--)
        run_isa(cc, (enum t1_isa)isa);
    if (!failed && passed)
        printf("ok tier 1 computes what tier 0 does\n");
    return failed || !passed;
}
