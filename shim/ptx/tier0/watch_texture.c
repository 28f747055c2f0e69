/* Memcheck: textures and surfaces. A fetch never leaves its texture, whatever the coordinates; what may be wrong is the
 * object, and memory that was freed under it. A surface's access says what happens outside: .clamp and .zero
 * are no errors, .trap (CUDA's default) is one, as is a first coordinate, which counts bytes, that is misaligned. */
#include <inttypes.h>
#include <stdio.h>

#include "ptx/tier0/texture_spot.h"
#include "ptx/tier0/tools.h"

static void report(struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct t0_finding *f)
{
    const struct t0_watch *watch = w->block->grid->watch;
    f->tool = T0_MEMCHECK;
    f->fatal = true;
    f->places = 1;
    t0_place_of(w, i, lane, &f->at[0].place);
    watch->report(watch->ctx, f);
}

static bool report_object(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const char *title)
{
    char what[80];
    struct t0_finding f = {.title = title, .note = {what}, .notes = 1};
    snprintf(what, sizeof what, "0x%" PRIx64 " is no object of this kind, or none any more", T0_U64(w, i->a)[lane]);
    report(w, i, lane, &f);
    return false;
}

/* Whether the memory of a lane's texture or surface, or its array's, has been freed, or is not for this device. */
static bool is_gone(const struct t0_watch *watch, const struct t0_texture *t)
{
    return !watch->allowed(watch->ctx, (uintptr_t)t->level[0].data, 1, T0_READS);
}

static bool report_gone(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const char *title,
                        const struct t0_texture *t)
{
    const uint64_t data = (uintptr_t)t->level[0].data;
    char what[80];
    struct t0_finding f = {.title = title, .note = {what}, .notes = 1, .has_address = true, .address = data};
    snprintf(what, sizeof what, "The %s's memory at 0x%" PRIx64 " is out of bounds", t->surface ? "surface" : "texture",
             data);
    report(w, i, lane, &f);
    return false;
}

uint32_t t0_watch_texture_gone(struct t0_warp *w, const struct lir_insn *i)
{
    const struct t0_watch *watch = w->block->grid->watch;
    const bool surface = i->op == LIR_SULD || i->op == LIR_SUST || i->op == LIR_SURED;
    uint32_t gone = 0;
    if (!watch || !(watch->tools & T0_MEMCHECK) || (i->op != LIR_TEX && !surface))
        return 0;
    T0_FOR_LANES(l, w->l.mask)
    {
        const struct t0_texture *t = t0_texture_object(T0_U64(w, i->a)[l], surface);
        gone |= (uint32_t)(t && is_gone(watch, t)) << l;
    }
    return gone;
}

static bool may_fetch(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    static const char title[] = "Invalid __texture__ read";
    const struct t0_watch *watch = w->block->grid->watch;
    const struct t0_texture *t = t0_texture_object(T0_U64(w, i->a)[lane], false);
    if (!t)
        return report_object(w, i, lane, title);
    return is_gone(watch, t) ? report_gone(w, i, lane, title, t) : true;
}

static bool may_access(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    const char *kind = i->op == LIR_SULD ? "read" : i->op == LIR_SUST ? "write" : "atomic";
    const struct t0_texture *t = t0_texture_object(T0_U64(w, i->a)[lane], true);
    char title[80], where[100], limit[100];
    struct t0_spot s;
    if (!t || is_gone(w->block->grid->watch, t)) {
        snprintf(title, sizeof title, "Invalid __surface__ %s", kind);
        return t ? report_gone(w, i, lane, title, t) : report_object(w, i, lane, title);
    }
    t0_surface_locate(w, i, lane, t, &s);
    if (!s.misaligned && !s.traps)
        return true;
    const struct t0_texture_level *l = &t->level[0];
    struct t0_finding f = {.title = title, .note = {where, limit}, .notes = 2};
    snprintf(title, sizeof title, "Invalid __surface__ %s of size %u bytes", kind, s.unit);
    snprintf(where, sizeof where, "Coordinates (%" PRId64 ",%" PRId64 ",%" PRId64 ") are %s", s.at[0], s.at[1], s.at[2],
             s.misaligned ? "misaligned" : "out of bounds");
    snprintf(limit, sizeof limit, "of a surface of %" PRIu64 " %s by %u by %u",
             i->imm & LIR_SURF_TYPED ? s.width / s.unit : s.width, i->imm & LIR_SURF_TYPED ? "elements" : "bytes",
             l->height, l->depth);
    report(w, i, lane, &f);
    return false;
}

/* Lanes whose access is wrong do not make it, and end behind it. */
static void watched(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t all = w->l.mask;
    uint32_t bad = 0;
    w->at = i;
    if (w->block->grid->watch->tools & T0_MEMCHECK)
        T0_FOR_LANES(l, all)
    bad |= (uint32_t) !(i->op == LIR_TEX ? may_fetch(w, i, l) : may_access(w, i, l)) << l;
    w->ended |= bad;
    w->l.mask = all & ~bad;
    if (w->l.mask)
        lir_table[i->op](w, i);
    w->l.mask = all;
}

void t0_watch_texture_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_TEX] = table[LIR_SULD] = table[LIR_SUST] = table[LIR_SURED] = watched;
}
