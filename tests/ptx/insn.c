/* The instruction checker of insn.h. */
#include "insn.h"
#include "ptx/ir.h"
#include "ptx/tier0/handler.h"
#include "tier0/harness.h"

enum { ROW_BYTES = 512, NSLOT = 9, MAXSRC = 5 };
/* Slots of the register file: 0 is the sink, then the fields of an instruction. */
enum { SLOT_D = 1, SLOT_A, SLOT_B, SLOT_C, SLOT_E, SLOT_D1, SLOT_D2, SLOT_D3 };

static _Alignas(64) uint8_t regs[NSLOT * ROW_BYTES], before[NSLOT * ROW_BYTES];
static struct {
    struct t0_lanes lanes;
    uint8_t rest[4096];
} warp = {.lanes = {.regs = regs}};
static t0_handler *tables[3][LIR_NOPS];
static int levels[3], nlevel;
static unsigned passed;

u64 test_random(void)
{
    static u64 state = 0x9e3779b97f4a7c15ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}
float bits_f32(u64 u)
{
    u32 v = (u32)u;
    float x;
    memcpy(&x, &v, 4);
    return x;
}
double bits_f64(u64 u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}
u32 f32_u(float x)
{
    u32 u;
    memcpy(&u, &x, 4);
    return u;
}
u64 f64_u(double x)
{
    u64 u;
    memcpy(&u, &x, 8);
    return u;
}

/* ---- inputs ---- */

// clang-format off
static const u64 edge_int[] = {
    0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff,
    0x10000, 0x7fffff, 0x800000, 0xffffff, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
    0x100000000ull, 0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull - 1, ~0ull
};
// clang-format on
static const u32 edge_f32[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001,
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0xc0200000,
    0x40600000, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000,
    0x5f000000, 0xdf000000, 0x5f7fffff, 0x5f800000, 0x477fe000, 0x7e800000, 0x7e800001, 0xfe800001, 0x3f7ffffe,
    0x3f7ff4ae, 0x008005a9, 0x1a000000, 0x9a000000, 0x99b504f4, 0x477ff000, 0x477fefff, 0x33000000, 0x33000001,
    0x38800000, 0x387fffff, 0x43e00000, 0x43e80000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
    0xffc00001, 0x7f800001, 0x7fffffff};
static const u64 edge_f64[] = {0,
                               1ull << 63,
                               1,
                               0x800fffffffffffffull,
                               0x0010000000000000ull,
                               0x8010000000000001ull,
                               0x3ff0000000000000ull,
                               0xbff0000000000000ull,
                               0x3fefffffffffffffull,
                               0x3fe0000000000000ull,
                               0xbfe0000000000000ull,
                               0x3ff8000000000000ull,
                               0x4004000000000000ull,
                               0xc004000000000000ull,
                               0x41dfffffffc00000ull,
                               0x41e0000000000000ull,
                               0xc1e0000000000000ull,
                               0xc1e0000000200000ull,
                               0x41efffffffe00000ull,
                               0x41f0000000000000ull,
                               0x43dfffffffffffffull,
                               0x43e0000000000000ull,
                               0xc3e0000000000000ull,
                               0x43efffffffffffffull,
                               0x43f0000000000000ull,
                               0x380fffffc0000000ull,
                               0x3690000000000000ull,
                               0x36a0000000000000ull,
                               0x47efffffe0000000ull,
                               0x47effffff0000000ull,
                               0x40effc0000000000ull,
                               0x40effe0000000000ull,
                               0x7fefffffffffffffull,
                               0xffefffffffffffffull,
                               0x7ff0000000000000ull,
                               0xfff0000000000000ull,
                               0x7ff8000000000000ull,
                               0xfff0000000000001ull,
                               0x380fffffe0000000ull,
                               0xb80fffffe0000001ull,
                               0x380fffffefffffffull,
                               0x380ffffff0000000ull,
                               0x380fffffffffffffull};
static const u32 edge_f16[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x8400, 0x0401, 0x3c00,
                               0xbc00, 0x3bff, 0x3c01, 0x3800, 0x3e00, 0x4100, 0x6400, 0x7bff, 0xfbff,
                               0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x7fff, 0x5bff, 0x2400, 0xd800};
static const u32 edge_bf16[] = {0,      0x8000, 1,      0x8001, 0x007f, 0x0080, 0x8080, 0x3f80, 0xbf80,
                                0x3f7f, 0x3f81, 0x3f00, 0x3fc0, 0x4020, 0x4300, 0x4f00, 0xcf00, 0x5f00,
                                0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0x7fff};
#define COUNT(t) (sizeof(t) / sizeof(t)[0])

/* Number of edge cases of an operand class; `n` below it gives one, above it a random value. */
static unsigned edges(char c)
{
    switch (c) {
    case 'P':
    case 'f': return COUNT(edge_f32);
    case 'F': return COUNT(edge_f64);
    case 'e':
    case 'E': return COUNT(edge_f16);
    case 'g':
    case 'G': return COUNT(edge_bf16);
    case 'p': return 2;
    case 's': return 72;
    case 'k': return 40;
    default: return COUNT(edge_int);
    }
}
static u64 random_value(char c)
{
    u64 u = test_random(), kind = test_random() % 4;
    switch (c) {
    case 'f': /* any bits, or near 1, or a number with a few fraction bits */
        if (kind == 0)
            return (u32)u;
        if (kind == 1)
            return f32_u((float)(s32)(u >> 32) * 0x1p-3f / (float)(1u << (u & 31)));
        return (u32)(u & 0x80ffffff) + ((u32)(u >> 40) % 40 + 107) * 0x800000u;
    case 'F':
        if (kind == 0)
            return u;
        if (kind == 1)
            return f64_u((double)(s64)u * 0x1p-3 / (double)(1ull << (test_random() & 63)));
        return (u & 0x801fffffffffffffull) + ((u >> 33) % 80 + 983) * (1ull << 52);
    case 'P': return random_value('f') | random_value('f') << 32;
    case 's': return u % 80;
    case 'k': return kind ? u % 40 : u;
    case 'e':
    case 'g':
    case 'E':
    case 'G': return u;
    default: /* integers of every magnitude */
        return kind == 0 ? u : kind == 1 ? u >> (u & 63) : (u64)((s64)u >> (u & 63));
    }
}
static u64 value(char c, unsigned n)
{
    if (n >= edges(c))
        return random_value(c);
    switch (c) {
    case 'f': return edge_f32[n];
    case 'P': return edge_f32[n] | (u64)edge_f32[test_random() % COUNT(edge_f32)] << 32;
    case 'F': return edge_f64[n];
    case 'e': return edge_f16[n];
    case 'g': return edge_bf16[n];
    case 'E': return edge_f16[n] | (u32)edge_f16[test_random() % COUNT(edge_f16)] << 16;
    case 'G': return edge_bf16[n] | (u32)edge_bf16[test_random() % COUNT(edge_bf16)] << 16;
    case 'p':
    case 's':
    case 'k': return n;
    default: return edge_int[n];
    }
}
static u64 width_mask(char c)
{
    switch (c) {
    case 'p': return 1;
    case 'b': return 0xff;
    case 'h':
    case 'e':
    case 'g': return 0xffff;
    case 'd':
    case 'P':
    case 'F': return ~0ull;
    default: return 0xffffffff;
    }
}
static bool is_wide(char c) { return c == 'd' || c == 'F' || c == 'P'; }
static bool is_narrow(char c) { return width_mask(c) <= 0xffff; }

/* ---- text to instruction ---- */

static const char *reg_class(char c)
{
    return c == 'p' ? "p" : c == 'b' ? "c" : is_wide(c) ? "rd" : is_narrow(c) ? "rs" : "r";
}

/* The instruction's PTX text: `text` with $x replaced, or an opcode with its operands appended. */
static void compose(char *out, size_t size, const char *text, const char *dst, const char *src)
{
    static const char dname[] = "defg", sname[] = "abchi";
    size_t n = 0;
    if (!strchr(text, '$')) {
        n = (size_t)snprintf(out, size, "%s ", text);
        for (unsigned k = 0; dst[k]; k++)
            n += (size_t)snprintf(out + n, size - n, "%s%%%s%u", k ? "|" : "", reg_class(dst[k]), k);
        for (unsigned k = 0; src[k]; k++)
            n += (size_t)snprintf(out + n, size - n, ", %%%s%u", reg_class(src[k]), 10 + k);
        return;
    }
    for (; *text && n + 16 < size; text++) {
        const char *d = text[0] == '$' ? strchr(dname, text[1]) : NULL;
        const char *s = text[0] == '$' ? strchr(sname, text[1]) : NULL;
        if (d)
            n += (size_t)snprintf(out + n, size - n, "%%%s%u", reg_class(dst[d - dname]), (unsigned)(d - dname));
        else if (s)
            n += (size_t)snprintf(out + n, size - n, "%%%s%u", reg_class(src[s - sname]), 10 + (unsigned)(s - sname));
        else
            out[n++] = *text;
        text += d || s;
    }
    out[n] = 0;
}

/* Parses the one instruction; *why says what failed. *made: it is put together of several. */
static bool select_text(const char *text, struct lir_insn *insn, bool *made, char *why, size_t size)
{
    char module[1024];
    struct ptx_diag diag = {0};
    snprintf(module, sizeof module,
             ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
             ".reg .pred %%p<20>;\n.reg .b8 %%c<20>;\n.reg .b16 %%rs<20>;\n.reg .b32 %%r<20>;\n.reg .b64 %%rd<20>;\n"
             "%s;\nret;\n}\n",
             text);
    struct ptx_module *m = ptx_module_open(module, strlen(module), &diag);
    bool ok = m && ptx_func_parse(&m->func[0], &diag) == 0;
    if (!ok) {
        snprintf(why, size, "front end: %s: %s", diag.what, diag.msg);
    } else {
        const struct ptx_instr *i = &m->func[0].instr[0]; /* or it has a source that the text does not name */
        *made = m->func[0].ninstr > 2 || (i->op == PTX_OP_CVT && i->nsrc == 2 && i->src[1].kind == PTX_O_IMM);
        ok = *made || lir_select_alu(&m->func[0].instr[0], insn);
        if (!ok)
            snprintf(why, size, "lir_select_alu has no such form");
    }
    if (m)
        ptx_module_close(m);
    return ok;
}

/* ---- running ---- */

static u64 row_get(unsigned slot, char c, unsigned l)
{
    uint8_t *row = regs + slot * ROW_BYTES;
    if (c == 'p')
        return T0_PRED(&warp, slot * ROW_BYTES) >> l & 1;
    if (is_wide(c)) {
        u64 v;
        memcpy(&v, row + 8 * l, 8);
        return v;
    }
    u32 v;
    memcpy(&v, row + 4 * l, 4);
    return v & width_mask(c);
}
static void row_put(unsigned slot, char c, unsigned l, u64 v)
{
    uint8_t *row = regs + slot * ROW_BYTES;
    if (c == 'p') {
        u32 *p = &T0_PRED(&warp, slot * ROW_BYTES);
        *p = (*p & ~(1u << l)) | (u32)(v & 1) << l;
    } else if (is_wide(c)) {
        memcpy(row + 8 * l, &v, 8);
    } else {
        /* what is above a narrow value is not part of it */
        u32 w = is_narrow(c) ? (u32)(v & width_mask(c)) | (u32)(test_random() & ~width_mask(c)) : (u32)v;
        memcpy(row + 4 * l, &w, 4);
    }
}
/* Compiled code leaves a NaN's payload as the machine makes it. */
#ifndef INSN_ANY_NAN
#define INSN_ANY_NAN false
#endif
static bool same_f32(u64 want, u64 got)
{
    return (u32)want == (u32)got || ((want & 0x7fffffff) > 0x7f800000 && (got & 0x7fffffff) > 0x7f800000);
}
static bool same(char c, u64 want, u64 got)
{
    if (INSN_ANY_NAN && (c == 'f' || c == 'P'))
        return same_f32(want, got) && (c == 'f' || same_f32(want >> 32, got >> 32));
    want &= width_mask(c);
    if (c == 'F' && bits_f64(want) != bits_f64(want)) /* f64 NaNs are a class */
        return bits_f64(got) != bits_f64(got);
    return want == got;
}

struct run {
    const char *text, *dst, *src;
    insn_ref *ref;
    long p, q;
    struct lir_insn insn;
    unsigned first; /* lanes take edge-case numbers from here on */
};
static const uint8_t dst_slot[] = {SLOT_D, SLOT_D1, SLOT_D2, SLOT_D3};
static const uint8_t src_slot[] = {SLOT_A, SLOT_B, SLOT_C, SLOT_E};

/* One warp instruction on every level. alias: which source shares the first result's row, or -1. */
static bool run_once(struct run *r, u32 mask, int alias)
{
    const unsigned ndst = (unsigned)strlen(r->dst), nsrc = (unsigned)strlen(r->src);
    struct lane want[LIR_LANES];
    u32 carry_in = (u32)test_random(), carry_want = carry_in;
    for (unsigned k = 0; k < sizeof regs / 8; k++)
        ((u64 *)(void *)regs)[k] = test_random();
    for (unsigned l = 0; l < LIR_LANES; l++) {
        struct lane *x = &want[l];
        *x = (struct lane){.p = r->p, .q = r->q, .carry = carry_in >> l & 1};
        unsigned n = r->first + l;
        for (unsigned k = 0; k < nsrc; k++) { /* all pairs of the first two sources' edge cases */
            unsigned e = edges(r->src[k]);
            unsigned pick = k == 0   ? n
                            : k == 1 ? (n < edges(r->src[0]) * e ? n / edges(r->src[0]) : n)
                                     : (unsigned)(test_random() % (e + e / 2));
            if (k == 0 && nsrc > 1)
                pick = n < edges(r->src[0]) * edges(r->src[1]) ? n % edges(r->src[0]) : n;
            x->s[k] = value(r->src[k], pick) & width_mask(r->src[k]);
            row_put(src_slot[k], r->src[k], l, x->s[k]);
        }
        r->ref(x);
        if (mask >> l & 1)
            carry_want = (carry_want & ~(1u << l)) | (u32)x->carry << l;
    }
    memcpy(before, regs, sizeof regs);
    struct lir_insn insn = r->insn;
    uint32_t *const src_field[] = {&insn.a, &insn.b, &insn.c, &insn.e};
    uint32_t *const dst_field[] = {&insn.d, &insn.e, &insn.b, &insn.c};
    for (unsigned k = 0; k < nsrc; k++)
        *src_field[k] = src_slot[k] * ROW_BYTES;
    unsigned out[4];
    for (unsigned k = 0; k < ndst; k++) {
        out[k] = k == 0 && alias >= 0 ? src_slot[alias] : dst_slot[k];
        *dst_field[k] = out[k] * ROW_BYTES;
    }
    for (int v = 0; v < nlevel; v++) {
        memcpy(regs, before, sizeof regs);
        warp.lanes.mask = mask;
        warp.lanes.carry = carry_in;
        tables[v][insn.op]((struct t0_warp *)(void *)&warp, &insn);
        for (unsigned l = 0; l < LIR_LANES; l++) {
            for (unsigned k = 0; k < ndst; k++) {
                u64 got = row_get(out[k], r->dst[k], l), w = want[l].d[k];
                bool active = mask >> l & 1;
                if (!active) { /* untouched, whatever the row holds */
                    uint8_t keep[sizeof regs];
                    memcpy(keep, regs, sizeof regs);
                    memcpy(regs, before, sizeof regs);
                    w = row_get(out[k], r->dst[k], l);
                    memcpy(regs, keep, sizeof regs);
                }
                if (active ? same(r->dst[k], w, got) : w == got)
                    continue;
                check(false,
                      "%s: level %d lane %u%s: result %u = %#llx, not %#llx; "
                      "sources %#llx %#llx %#llx %#llx",
                      r->text, levels[v], l, active ? "" : " (inactive)", k, (unsigned long long)got,
                      (unsigned long long)w, (unsigned long long)want[l].s[0], (unsigned long long)want[l].s[1],
                      (unsigned long long)want[l].s[2], (unsigned long long)want[l].s[3]);
                return false;
            }
        }
        if (warp.lanes.carry != carry_want) {
            check(false, "%s: level %d: carry %#x, not %#x", r->text, levels[v], warp.lanes.carry, carry_want);
            return false;
        }
    }
    return true;
}

/* ---- as a kernel: loads, the instruction, half the time under a guard, stores ---- */

enum { KERNELS = 24 /* runs of what is put together, by twos */ };
enum { THREADS = 64, RECORD = 64, AT_CARRY = 40, AT_GUARD = 44 };

static size_t load_text(char *out, size_t size, char c, unsigned k)
{
    const char *r = reg_class(c);
    if (c == 'p')
        return (size_t)snprintf(out, size,
                                "ld.global.u32 %%r25, [%%rd30+%u];\n"
                                "setp.ne.u32 %%p%u, %%r25, 0;\n",
                                8 * k, 10 + k);
    return (size_t)snprintf(out, size, "ld.global.b%u %%%s%u, [%%rd30+%u];\n",
                            is_wide(c)     ? 64
                            : c == 'b'     ? 8
                            : is_narrow(c) ? 16
                                           : 32,
                            r, 10 + k, 8 * k);
}
static size_t store_text(char *out, size_t size, char c, unsigned k)
{
    if (c == 'p')
        return (size_t)snprintf(out, size,
                                "selp.u32 %%r25, 1, 0, %%p%u;\n"
                                "st.global.u32 [%%rd31+%u], %%r25;\n",
                                k, 8 * k);
    return (size_t)snprintf(out, size, "st.global.b%u [%%rd31+%u], %%%s%u;\n",
                            is_wide(c)     ? 64
                            : c == 'b'     ? 8
                            : is_narrow(c) ? 16
                                           : 32,
                            8 * k, reg_class(c), k);
}
static void kernel_text(char *out, size_t size, const struct run *r, bool guard)
{
    size_t n = (size_t)snprintf(
        out, size,
        ".version 8.5\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %%p<40>;\n.reg .b8 %%c<40>;\n.reg .b16 %%rs<40>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<40>;\n"
        "mov.u32 %%r30, %%tid.x;\nmul.wide.u32 %%rd32, %%r30, %u;\n"
        "ld.param.u64 %%rd30, [in];\nld.param.u64 %%rd31, [out];\n"
        "add.u64 %%rd30, %%rd30, %%rd32;\nadd.u64 %%rd31, %%rd31, %%rd32;\n"
        "ld.global.u32 %%r31, [%%rd30+%u];\nsetp.ne.u32 %%p30, %%r31, 0;\n",
        RECORD, AT_GUARD);
    for (unsigned k = 0; r->src[k]; k++)
        n += load_text(out + n, size - n, r->src[k], k);
    for (unsigned k = 0; r->dst[k]; k++) /* what lanes without the guard keep */
        if (r->dst[k] == 'p')
            n += (size_t)snprintf(out + n, size - n, "setp.ne.u32 %%p%u, 0, 0;\n", k);
        else if (r->dst[k] == 'b')
            n += (size_t)snprintf(out + n, size - n, "mov.b16 %%rs38, 0x5a;\ncvt.u8.u16 %%c%u, %%rs38;\n", k);
        else
            n += (size_t)snprintf(out + n, size - n, "mov.b%u %%%s%u, 0x5a5a;\n",
                                  is_wide(r->dst[k])     ? 64
                                  : is_narrow(r->dst[k]) ? 16
                                                         : 32,
                                  reg_class(r->dst[k]), k);
    n += (size_t)snprintf(out + n, size - n,
                          "ld.global.u32 %%r31, [%%rd30+%u];\n"
                          "add.cc.u32 %%r31, %%r31, 0xffffffff;\n"
                          "%s%s;\naddc.u32 %%r31, 0, 0;\nst.global.u32 [%%rd31+%u], %%r31;\n",
                          AT_CARRY, guard ? "@%p30 " : "", r->text, AT_CARRY);
    for (unsigned k = 0; r->dst[k]; k++)
        n += store_text(out + n, size - n, r->dst[k], k);
    snprintf(out + n, size - n, "ret;\n}\n");
}
static void record_put(uint8_t *at, u64 v) { memcpy(at, &v, 8); }
static u64 record_get(const uint8_t *at)
{
    u64 v;
    memcpy(&v, at, 8);
    return v;
}

static bool run_kernel(struct run *r)
{
    static uint8_t in[THREADS * RECORD], out[THREADS * RECORD];
    static unsigned turn;
    char text[4096];
    const bool guard = turn++ & 1;
    struct lane want[THREADS];
    const struct {
        uint8_t *in, *out;
    } params = {in, out};
    memset(out, 0, sizeof out);
    for (unsigned t = 0; t < THREADS; t++) {
        struct lane *x = &want[t];
        *x = (struct lane){.p = r->p, .q = r->q, .carry = test_random() & 1};
        bool runs = !guard || (test_random() & 1), carry = x->carry;
        for (unsigned k = 0; r->src[k]; k++) {
            unsigned e = edges(r->src[k]), pick = (unsigned)(test_random() % (e + e / 2));
            x->s[k] = value(r->src[k], pick) & width_mask(r->src[k]);
            record_put(in + t * RECORD + 8 * k, x->s[k]);
        }
        record_put(in + t * RECORD + AT_CARRY, (u64)carry | (u64)runs << 32);
        r->ref(x);
        if (!runs) {
            x->carry = carry;
            for (unsigned k = 0; r->dst[k]; k++)
                x->d[k] = r->dst[k] == 'p' ? 0 : 0x5a5a & width_mask(r->dst[k]);
        }
    }
    kernel_text(text, sizeof text, r, guard);
    const uint32_t grid[3] = {1, 1, 1}, block[3] = {THREADS, 1, 1};
    struct t0_fault fault = {0};
    struct t0t kernel;
    const char *why = NULL;
    if (!t0t_open(&kernel, text, "k"))
        why = kernel.why;
    else if (t0t_run(&kernel, grid, block, 0, &params, &fault))
        why = fault.text;
    if (why)
        check(false, "%s: as a kernel: %s", r->text, why);
    t0t_close(&kernel);
    for (unsigned t = 0; !why && t < THREADS; t++) {
        const uint8_t *at = out + t * RECORD;
        for (unsigned k = 0; r->dst[k]; k++) {
            u64 got = record_get(at + 8 * k);
            if (same(r->dst[k], want[t].d[k], got))
                continue;
            check(false,
                  "%s%s: thread %u of a kernel: result %u = %#llx, not %#llx; "
                  "sources %#llx %#llx",
                  guard ? "@%p30 " : "", r->text, t, k, (unsigned long long)got, (unsigned long long)want[t].d[k],
                  (unsigned long long)want[t].s[0], (unsigned long long)want[t].s[1]);
            return false;
        }
        if ((record_get(at + AT_CARRY) & 1) != want[t].carry) {
            check(false, "%s: carry of thread %u of a kernel", r->text, t);
            return false;
        }
    }
    return !why;
}

static void init(void)
{
    int best = t0_alu_level();
    for (int level = 1; level <= best; level++) {
        if (level == 2)
            continue;
        t0_alu_handlers_level(tables[nlevel], level);
        levels[nlevel++] = level;
    }
}

void insn_check(const char *sig, insn_ref *ref, long p, long q, const char *text, ...)
{
    char opcode[160], full[256], why[320], dst[5] = "", src[6] = "";
    bool made = false;
    va_list ap;
    va_start(ap, text);
    vsnprintf(opcode, sizeof opcode, text, ap);
    va_end(ap);
    if (!nlevel)
        init();
    const char *colon = strchr(sig, ':');
    memcpy(dst, sig, (size_t)(colon - sig));
    memcpy(src, colon + 1, strlen(colon + 1));
    compose(full, sizeof full, opcode, dst, src);
    struct run r = {.text = full, .dst = dst, .src = src, .ref = ref, .p = p, .q = q};
    bool ok = select_text(full, &r.insn, &made, why, sizeof why);
    if (!ok)
        check(false, "%s: %s", full, why);
    /* edge cases (pairs), then as many random lanes */
    unsigned pairs = edges(src[0]) * (src[0] && src[1] ? edges(src[1]) : 1);
    for (; ok && !made && r.first < pairs + 512; r.first += LIR_LANES)
        ok = run_once(&r, ~0u, -1);
    for (unsigned k = 0; ok && !made && k < 8; k++) {
        u32 mask = (u32)test_random() & (u32)(k & 1 ? test_random() : ~0ull);
        r.first = (unsigned)(test_random() % (pairs + 512));
        ok = run_once(&r, mask ? mask : 1, -1);
    }
    for (int k = 0; ok && !made && src[k]; k++) /* d in a source's row, where the widths agree */
        if (dst[0] != 'p' && src[k] != 'p' && is_wide(dst[0]) == is_wide(src[k]) && !dst[1])
            ok = run_once(&r, (u32)test_random() | 1u, k) && run_once(&r, ~0u, k);
        else if (dst[0] == 'p' && src[k] == 'p')
            ok = run_once(&r, (u32)test_random() | 1u, k);
    for (unsigned k = 0; ok && k < (made ? KERNELS : 1u); k++)
        ok = run_kernel(&r);
    if (ok)
        check(true, "%s", full);
    passed += ok;
}

int insn_done(void)
{
    printf("# %u instruction forms right, CPU level %d\n", passed, t0_alu_level());
    return check_end("instructions") || !passed;
}
