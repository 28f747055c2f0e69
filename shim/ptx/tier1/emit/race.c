/* Tier 1 emitter: the form of a kernel for racecheck (CUMU_CHECK=race). Each access, collective and barrier tells the
 * interpreter's shadow (tier0/race.h) what it would tell of it itself, by the same instruction's number, so that the
 * reports are the same. Kernels whose threads order each other by other means stay on tier 0. */
#include "ptx/tier1/emit/emit.h"

#include "ptx/lir/image.h"

#include <string.h>

static bool is_access(unsigned op) { return op <= LIR_ST_ANY || op == LIR_ATOM; }

/* The image's instruction that does what e->in does: the only access with its text on its line. */
static uint32_t find_access(struct t1_emit *e)
{
    const struct lir_image *m = e->image;
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    const struct lir_line *lines = LIR_AT(m, lines, struct lir_line);
    const size_t size = strlen(e->in->opcode);
    uint32_t found = 0, n = 0;
    for (uint32_t k = 0; k < m->code.count; k++)
        if (lines[k].line == e->in->line && is_access(code[k].op) &&
            !strncmp(lir_text(m, &code[k]), e->in->opcode, size)) {
            found = k;
            n++;
        }
    if (n != 1)
        t1_fail(e, "accesses that racecheck could not tell from each other");
    return found;
}

/* Where the half h of the lanes begins, whose addresses are a scalar and a stride. */
static const char *first_of(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned h)
{
    return t1_str(e, "%s + 0x%llxull + 0x%llxull", a->rep == T1_G ? a->s[h] : a->s[0], (unsigned long long)imm,
                  a->rep == T1_G ? 0 : 16 * h * (unsigned long long)a->stride);
}

static void put_address(struct t1_emit *e, const struct t1_arg *a, uint64_t imm)
{
    if (a->rep == T1_V) {
        const char *w = a->kind == T1_K_64 ? "64" : "32";
        t1_put(e, "uint%s_t each[32];\n", w);
        for (unsigned k = 0; k < (a->kind == T1_K_64 ? 2 : 1) * e->np; k++)
            t1_put(e, "t1_spill_u%s(each, %u, %s);\n", w, k, t1_piece(e, a, k));
        t1_put(e, "row.%s = each;\nrow.%s = 0;\nrow.first[0] = 0x%llxull;\n", a->kind == T1_K_64 ? "wide" : "narrow",
               a->kind == T1_K_64 ? "narrow" : "wide", (unsigned long long)imm);
        return;
    }
    t1_put(e, "row.wide = 0;\nrow.narrow = 0;\nrow.stride = %lldll;\n", (long long)a->stride);
    for (unsigned h = 0; h < 2; h++)
        t1_put(e, "row.first[%u] = %s;\n", h, first_of(e, a, imm, h));
}

void t1_race(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned bytes, unsigned what,
             const struct t1_arg *value, unsigned n)
{
    if (!e->raced || what & T1_WATCH_LOCAL)
        return;
    what |= a->kind == T1_K_32 ? T1_WATCH_32 : 0;
    t1_put(e, "if (%s) {\nstatic const struct t1_watched at_ = {%u, %uu, %u, %u, %lldll};\n", e->mask, bytes, what,
           e->in->line, find_access(e), (long long)a->stride);
    if (a->rep != T1_V && (what & (T1_WATCH_SHARED | T1_WATCH_WRITES | T1_WATCH_UPDATES)) == T1_WATCH_SHARED)
        t1_put(e, "t1_upper_clean();\nif (!b->services->reads(b, warp, %s, %s, %s, &at_))\n", e->mask,
               first_of(e, a, imm, 0), first_of(e, a, imm, 1));
    t1_put(e, "{\nstruct t1_row row;\n");
    put_address(e, a, imm);
    t1_put(e, "row.elements = %u;\n", n);
    for (unsigned k = 0; k < n; k++) {
        const char *w = value[k].kind == T1_K_64 ? "64" : "32";
        t1_put(e, "uint%s_t value%u[32];\nrow.value[%u] = value%u;\n", w, k, k, k);
        for (unsigned p = 0; p < (value[k].kind == T1_K_64 ? 2 : 1) * e->np; p++)
            t1_put(e, "t1_spill_u%s(value%u, %u, %s);\n", w, k, p, t1_piece(e, &value[k], p));
    }
    t1_put(e, "t1_upper_clean();\nb->services->race(b, warp, %s, &row, &at_);\n}\n}\n", e->mask);
    e->deep = true;
}

/* The lanes of a collective meet, as far as its source k, or -1, names them. */
void t1_race_collective(struct t1_emit *e, int k)
{
    if (!e->raced)
        return;
    e->deep = true;
    if (k < 0 || (unsigned)k >= e->in->nsrc) {
        t1_put(e, "if (%s) {\nt1_upper_clean();\nb->services->gather(b, warp, %s, live, (const uint32_t *)0);\n}\n",
               e->mask, e->mask);
        return;
    }
    const struct t1_arg a = t1_src(e, (unsigned)k, T1_K_32);
    t1_put(e, "if (%s) {\nuint32_t named[32];\n", e->mask);
    for (unsigned p = 0; p < e->np; p++)
        t1_put(e, "t1_spill_u32(named, %u, %s);\n", p, t1_piece(e, &a, p));
    t1_put(e, "t1_upper_clean();\nb->services->gather(b, warp, %s, live, named);\n}\n", e->mask);
}

/* What orders threads in ways that only the interpreter follows. */
void t1_race_refuse(struct t1_emit *e, const char *what)
{
    if (e->raced)
        t1_fail(e, "%s: racecheck follows them in the interpreter", what);
}
