/* The text around a program's items: registers and memory set up before, all stored after. */
#include <stdlib.h>
#include <string.h>

#include "random/random.h"

void program_free(struct program *p)
{
    for (unsigned i = 0; i < p->nitem; i++)
        free(p->item[i]);
    p->nitem = 0;
}

/* What places.c needs. The registers that it sets are read by nothing else of the kernel's begin. */
static void places_head(FILE *f, const struct program *p)
{
    const struct layout *shared = &p->layout[1];
    fprintf(f,
            ".local .align 16 .b8 far[%u];\n.reg .b32 %%g2, %%n2, %%blsh;\n"
            ".reg .b64 %%blay, %%border, %%bpointers, %%bfar, %%bparam;\n"
            "mov.u32 %%t3, %%nctaid.x; mul.lo.u32 %%n2, %%nlin, %%t3; mad.lo.u32 %%g2, %%r5, %%nlin, %%lin;\n"
            "ld.param.u64 %%blay, [play]; ld.param.u64 %%border, [porder]; ld.param.u64 %%bpointers, [ppointers];\n"
            "mov.u64 %%bfar, far; mov.u64 %%bparam, pbig; mov.u32 %%blsh, sh; add.u32 %%blsh, %%blsh, %u;\n",
            FAR_BYTES, MAX_THREADS * SLOT);
    for (unsigned k = 0; k < FAR_BYTES; k += 16)
        fprintf(f, "st.local.v4.u32 [%%bfar+%u], {%%lane, %%lin, %%r5, %%t2};\n", k);
    fprintf(f, shared->order == ORDER_FORWARD ? "mov.u32 %%t3, %%lin;\n"
                                              : "not.b32 %%t3, %%lin; add.s32 %%t3, %%t3, %%nlin;\n");
    fprintf(f, "mad.lo.u32 %%t4, %%t3, %u, %%blsh;\n", shared->stride);
    for (unsigned k = 0; k < shared->room; k += 4)
        fprintf(f, "st.shared.u32 [%%t4+%u], %s;\n", k, k % 8 ? "%lin" : "%lane");
    if (p->flags & GEN_CROSS) /* with a product in the text, tier 1 looks for its factors; none is computed */
        fprintf(f,
                ".reg .b32 %%bfactors;\nadd.u32 %%bfactors, %%blsh, %u; mov.u32 %%t3, %%lin;\n"
                "F0: shl.b32 %%t4, %%t3, 2; add.u32 %%t4, %%t4, %%bfactors; mul.lo.u32 %%t5, %%t3, 0x%x;\n"
                "st.shared.u32 [%%t4], %%t5; add.u32 %%t3, %%t3, %%nlin; setp.lt.u32 %%q0, %%t3, %u; @%%q0 bra F0;\n"
                "bar.sync 0; @!%%q2 bra F1;\n"
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%%f0, %%f1, %%f2, %%f3}, "
                "{%%r0, %%r1, %%r2, %%r3}, {%%r4, %%r5}, {%%f0, %%f1, %%f2, %%f3};\nF1:\n",
                MAX_THREADS * PLACE_STRIDE, 0x9e3779b1u, FACTOR_BYTES / 4);
}

static void places_tail(FILE *f, const struct layout *shared)
{
    fprintf(f, shared->order == ORDER_FORWARD ? "mov.u32 %%t3, %%lin;\n"
                                              : "not.b32 %%t3, %%lin; add.s32 %%t3, %%t3, %%nlin;\n");
    fprintf(f, "mad.lo.u32 %%t4, %%t3, %u, %%blsh;\n", shared->stride);
    for (unsigned k = 0; k < shared->room; k += 4)
        fprintf(f,
                "ld.shared.u32 %%t5, [%%t4+%u];\nmul.wide.u32 %%w1, %%t5, 0x%x;\nadd.s64 %%d0, %%d0, %%w1;\n"
                "shl.b64 %%w1, %%d0, 7;\nxor.b64 %%d0, %%d0, %%w1;\n",
                k, 0x9e3779b1u);
    for (unsigned k = 0; k < FAR_BYTES; k += 8)
        fprintf(f,
                "ld.local.u64 %%w1, [%%bfar+%u];\nadd.s64 %%d0, %%d0, %%w1;\n"
                "shl.b64 %%w1, %%d0, 5;\nxor.b64 %%d0, %%d0, %%w1;\n",
                k);
}

static void head(FILE *f, const struct program *p)
{
    fprintf(f, ".version 8.8\n.target sm_100\n.address_size 64\n%s", p->flags & GEN_CALLS ? p->functions : "");
    fprintf(f, ".const .align 16 .b32 tab[64] = {");
    for (unsigned i = 0; i < 64; i++)
        fprintf(f, "%s%u", i ? ", " : "", (i * 2654435761u) >> (i % 29));
    fprintf(f,
            "};\n.visible .entry k(.param .u64 pout, .param .u64 pin, .param .u64 pacc, .param "
            ".u64 pown, "
            ".param .u32 pn, .param .u64 play, .param .u64 porder, .param .u64 ppointers, "
            ".param .u64 pwords, .param .u32 pstride, .param .align 16 .b8 pbig[%u])\n"
            "{\n.shared .align 16 .b8 sh[%u];\n.local .align 16 .b8 loc[%u];\n",
            PARAM_BYTES,
            p->flags & GEN_PLACES ? MAX_THREADS * (SLOT + PLACE_STRIDE) + FACTOR_BYTES : MAX_THREADS * SLOT, SLOT);
    for (unsigned k = 0; k < NPOOLS; k++)
        fprintf(f, ".reg .%s %%%s<%u>;\n", pools[k].type, pools[k].name, pools[k].n);
    fprintf(f,
            ".reg .b32 %%t<6>, %%m<%u>, %%c<%u>, %%lin, %%nlin, %%lane, %%gid, %%bsh;\n.reg .pred "
            "%%q<3>;\n"
            ".reg .b64 %%w<4>, %%bout2, %%bout4, %%bout8, %%bin, %%bacc, %%bown, %%bloc, %%btab;\n",
            p->nmask + 1, p->ncount + 1);
    fprintf(f,
            "mov.u32 %%t0, %%tid.x; mov.u32 %%t1, %%tid.y; mov.u32 %%t2, %%ntid.x; mov.u32 %%t3, "
            "%%ntid.y;\n"
            "mov.u32 %%lin, %%tid.z; mad.lo.u32 %%lin, %%lin, %%t3, %%t1; mad.lo.u32 %%lin, %%lin, "
            "%%t2, %%t0;\n"
            "mul.lo.u32 %%nlin, %%t2, %%t3; mov.u32 %%t3, %%ntid.z; mul.lo.u32 %%nlin, %%nlin, %%t3;\n"
            "mov.u32 %%lane, %%laneid; mov.u32 %%r5, %%ctaid.x; mad.lo.u32 %%gid, %%r5, %u, %%lin;\n"
            "ld.param.u64 %%w0, [pout]; mul.wide.s32 %%w1, %%gid, 2; add.s64 %%bout2, %%w0, %%w1;\n"
            "mul.wide.s32 %%w1, %%gid, 4; add.s64 %%bout4, %%w0, %%w1; mul.wide.s32 %%w1, %%gid, 8;\n"
            "add.s64 %%bout8, %%w0, %%w1; ld.param.u64 %%bin, [pin]; ld.param.u64 %%bacc, [pacc];\n"
            "ld.param.u64 %%bown, [pown];\n"
            "mul.wide.s32 %%w0, %%gid, %u; add.s64 %%bown, %%bown, %%w0; mov.u64 %%bloc, loc;\n"
            "mov.u64 %%btab, tab; mov.u32 %%bsh, sh; mad.lo.u32 %%bsh, %%lin, %u, %%bsh;\n"
            "mov.u32 %%m0, -1; setp.ne.u32 %%q0, %%lin, %%lin; mov.pred %%q2, %%q0; mov.pred %%q1, "
            "%%q0;\n",
            MAX_THREADS, SLOT, SLOT);
    for (unsigned i = 1; i < p->nmask; i++)
        fprintf(f, "mov.u32 %%m%u, -1;\n", i);
    for (unsigned i = 0; i < p->ncount; i++)
        fprintf(f, "mov.u32 %%c%u, 0;\n", i);
    for (unsigned k = 0; k < SLOT; k += 16)
        fprintf(f,
                "st.local.v4.u32 [%%bloc+%u], {%%lin, %%lane, %%t2, %%r5};\n"
                "st.shared.v4.u32 [%%bsh+%u], {%%lane, %%t2, %%lin, %%t0};\n",
                k, k);
    if (p->flags & GEN_PLACES)
        places_head(f, p);
    /* registers start as thread numbers, parameters, inputs and constants of every class */
    fprintf(f,
            "mov.u32 %%u0, %%r5; ld.param.u32 %%u1, [pn]; mov.u32 %%u2, %%t2; mov.u32 %%u3, 0x%x;\n"
            "mov.u32 %%r0, %%t0; mov.u32 %%r1, %%t1; mov.u32 %%r2, %%lin; mov.u32 %%r3, %%lane; "
            "mov.u32 %%r4, %%u1;\n"
            "mul.wide.s32 %%w0, %%gid, 4; add.s64 %%w0, %%w0, %%bin;\n",
            (unsigned)(p->seed * 40503u));
    for (unsigned i = 6; i < pools[POOL_INT].n; i++)
        fprintf(f, "ld.global.u32 %%r%u, [%%w0+%u];\n", i, (i - 6) * 2048);
    for (unsigned i = 0; i < pools[POOL_WIDE].n; i++)
        fprintf(f, "mov.b64 %%d%u, {%%r%u, %%r%u};\n", i, (2 * i + 6) % 10, (i * 3 + 7) % 10);
    for (unsigned i = 0; i < pools[POOL_SHORT].n; i++)
        fprintf(f,
                "cvt.u16.u32 %%h%u, %%r%u;\nmov.b16 %%s%u, %%h%u;\nmov.b16 %%b%u, %%h%u;\n"
                "mov.b32 %%x%u, %%r%u;\nmov.b32 %%y%u, %%r%u;\ncvt.rn.f64.s32 %%e%u, %%r%u;\n",
                i, i + 4, i, i, i, i, i, i + 6, i, i + 6, i, i + 5);
    for (unsigned i = 0; i < pools[POOL_F32].n; i++)
        fprintf(f, i < 3 ? "cvt.rn.f32.s32 %%f%u, %%r%u;\n" : "mov.b32 %%f%u, %%r%u;\n", i, i + 3);
    for (unsigned i = 0; i < pools[POOL_PRED].n; i++)
        fprintf(f, "and.b32 %%t0, %%r%u, %u;\nsetp.ne.u32 %%p%u, %%t0, 0;\n", i ? i + 4 : 2, i ? 1u : 8u, i);
}

/* Values of one register stand side by side; after them what the thread's own places hold. */
static void tail(FILE *f, const struct program *p)
{
    unsigned place = 0;
    for (unsigned k = 0; k < NPOOLS; k++) {
        const char *type = pools[k].type, *bits = strpbrk(type, "0123456789");
        unsigned size = bits ? (unsigned)strtoul(bits, NULL, 10) / 8 : 0;
        for (unsigned i = 0; i < pools[k].n; i++, place += COLUMN)
            if (k == POOL_PRED)
                fprintf(f, "selp.u32 %%t0, 1, 0, %%p%u;\nst.global.u32 [%%bout4+%u], %%t0;\n", i, place);
            else
                fprintf(f, "st.global.%s [%%bout%u+%u], %%%s%u;\n", type, size, place, pools[k].name, i);
    }
    for (unsigned k = 0; k < SLOT; k += 8)
        fprintf(f,
                "ld.local.u64 %%w0, [%%bloc+%u];\nld.shared.u64 %%w1, [%%bsh+%u];\n"
                "add.s64 %%d0, %%d0, %%w0;\nxor.b64 %%d0, %%d0, %%w1;\n",
                k, k);
    if (p->flags & GEN_PLACES)
        places_tail(f, &p->layout[1]);
    fprintf(f, "st.global.u64 [%%bout8+%u], %%d0;\nret;\n}\n", place);
}

char *program_text(const struct program *p, const bool *drop)
{
    char *s = NULL;
    size_t size;
    FILE *f = open_memstream(&s, &size);
    head(f, p);
    for (unsigned i = 0; i < p->nitem; i++)
        if (!drop || !drop[i])
            fputs(p->item[i], f);
    tail(f, p);
    fclose(f);
    return s;
}

/* A construct goes with all its own items. Its body may stay only where no construct around it
 * does: the masks of the body then name the lanes that are there, which are all. */
void program_close(const struct program *p, bool *drop)
{
    static bool gone[MAX_ITEMS], empty[MAX_ITEMS];
    memset(gone, 0, sizeof gone);
    for (unsigned i = 0; i < p->nitem; i++)
        if (drop[i] && p->own[i])
            gone[p->owner[i]] = true;
    for (unsigned c = 0; c < p->nconstruct; c++) { /* outer ones come first */
        int up = p->parent[c];
        empty[c] = up >= 0 && empty[up];
        for (; gone[c] && up >= 0 && p->flags & GEN_CROSS; up = p->parent[up])
            empty[c] |= !gone[up];
    }
    for (unsigned i = 0; i < p->nitem; i++)
        if (p->owner[i] >= 0)
            drop[i] |= empty[p->owner[i]] || (p->own[i] && gone[p->owner[i]]);
}
