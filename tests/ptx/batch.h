/* The instruction checker of tests/ptx by batches: what a test checks is gathered, some dozens of instructions become
 * one kernel, and its threads are compared with the test's own references. Included behind what says how kernels run
 * (musa/on_musa.h, tier1/on_tier1.h). */
#ifndef CUMU_TESTS_PTX_BATCH_H
#define CUMU_TESTS_PTX_BATCH_H

#define insn_check unused_check
#define insn_done unused_done
#include "ptx/insn.c"
#undef insn_check
#undef insn_done

enum { BATCH = 96, ROUNDS = 12, TEXT = 256 };
static struct run batch[BATCH];
static struct {
    char text[TEXT], dst[5], src[6];
} batch_text[BATCH];
/* What goes in and what must come out, at once: references look at variables of their test. */
static uint8_t in[ROUNDS][THREADS][BATCH][RECORD];
static struct lane want[ROUNDS][THREADS][BATCH];
static unsigned nbatch;

static void record_fill(const struct run *r, struct lane *x, uint8_t *at, unsigned turn)
{
    *x = (struct lane){.p = r->p, .q = r->q, .carry = test_random() & 1};
    for (unsigned k = 0; r->src[k]; k++) {
        unsigned e = edges(r->src[k]), pick = turn < 4 ? (unsigned)(test_random() % e) : e;
        x->s[k] = value(r->src[k], pick) & width_mask(r->src[k]);
        record_put(at + 8 * k, x->s[k]);
    }
    record_put(at + AT_CARRY, x->carry);
    r->ref(x);
}

/* One instruction on record n of each thread, in a scope of its own. */
static size_t one_text(char *out, size_t size, const struct run *r, unsigned n)
{
    size_t at = (size_t)snprintf(out, size, "{\nadd.u64 %%rd30, %%rd20, %u;\nadd.u64 %%rd31, %%rd21, %u;\n", n * RECORD,
                                 n * RECORD);
    for (unsigned k = 0; r->src[k]; k++)
        at += load_text(out + at, size - at, r->src[k], k);
    at += (size_t)snprintf(out + at, size - at,
                           "ld.global.u32 %%r31, [%%rd30+%u];\nadd.cc.u32 %%r31, %%r31, 0xffffffff;\n%s;\n"
                           "addc.u32 %%r31, 0, 0;\nst.global.u32 [%%rd31+%u], %%r31;\n",
                           AT_CARRY, r->text, AT_CARRY);
    for (unsigned k = 0; r->dst[k]; k++)
        at += store_text(out + at, size - at, r->dst[k], k);
    return at + (size_t)snprintf(out + at, size - at, "}\n");
}

static void flush(void)
{
    static uint8_t out[THREADS][BATCH][RECORD];
    static char text[1 << 18];
    bool good[BATCH];
    const uint32_t grid[3] = {1, 1, 1}, block[3] = {THREADS, 1, 1};
    struct t0t kernel;
    struct t0_fault fault = {0};
    if (!nbatch)
        return;
    size_t n = (size_t)snprintf(
        text, sizeof text,
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %%p<40>;\n.reg .b8 %%c<40>;\n.reg .b16 %%rs<40>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<40>;\n"
        "mov.u32 %%r30, %%tid.x;\nmul.wide.u32 %%rd32, %%r30, %u;\nld.param.u64 %%rd20, [in];\nld.param.u64 %%rd21, [out];\n"
        "add.u64 %%rd20, %%rd20, %%rd32;\nadd.u64 %%rd21, %%rd21, %%rd32;\n",
        RECORD * BATCH);
    for (unsigned k = 0; k < nbatch; k++)
        n += one_text(text + n, sizeof text - n, &batch[k], k);
    snprintf(text + n, sizeof text - n, "ret;\n}\n");
    bool open = t0t_open(&kernel, text, "k");
    check(open, "%u instructions become a kernel (%s)", nbatch, kernel.why);
    memset(good, open, sizeof good);
    for (unsigned turn = 0; open && turn < ROUNDS; turn++) {
        const struct {
            void *in, *out;
        } params = {in[turn], out};
        memset(out, 0, sizeof out);
        open = t0t_run(&kernel, grid, block, 0, &params, &fault) == T0_OK && kernel.object;
        for (unsigned t = 0; open && t < THREADS; t++)
            for (unsigned k = 0; k < nbatch; k++) {
                const uint8_t *at = out[t][k];
                const struct lane *x = &want[turn][t][k];
                bool same_all = (record_get(at + AT_CARRY) & 1) == x->carry;
                for (unsigned d = 0; batch[k].dst[d]; d++)
                    same_all &= same(batch[k].dst[d], x->d[d], record_get(at + 8 * d));
                if (!same_all && good[k])
                    printf("# %s: %#llx, not %#llx; sources %#llx %#llx %#llx\n", batch[k].text,
                           (unsigned long long)record_get(at), (unsigned long long)x->d[0], (unsigned long long)x->s[0],
                           (unsigned long long)x->s[1], (unsigned long long)x->s[2]);
                good[k] &= same_all;
            }
    }
    for (unsigned k = 0; k < nbatch; k++)
        check(open && good[k], "%s", batch[k].text);
    t0t_close(&kernel);
    nbatch = 0;
}

void insn_check(const char *sig, insn_ref *ref, long p, long q, const char *text, ...)
{
    char opcode[160];
    const char *colon = strchr(sig, ':');
    struct run *r = &batch[nbatch];
    va_list ap;
    va_start(ap, text);
    vsnprintf(opcode, sizeof opcode, text, ap);
    va_end(ap);
    memset(&batch_text[nbatch], 0, sizeof batch_text[nbatch]);
    memcpy(batch_text[nbatch].dst, sig, (size_t)(colon - sig));
    strcpy(batch_text[nbatch].src, colon + 1);
    compose(batch_text[nbatch].text, TEXT, opcode, batch_text[nbatch].dst, batch_text[nbatch].src);
    *r = (struct run){.text = batch_text[nbatch].text,
                      .dst = batch_text[nbatch].dst,
                      .src = batch_text[nbatch].src,
                      .ref = ref,
                      .p = p,
                      .q = q};
    for (unsigned turn = 0; turn < ROUNDS; turn++)
        for (unsigned t = 0; t < THREADS; t++)
            record_fill(r, &want[turn][t][nbatch], in[turn][t][nbatch], turn);
    if (++nbatch == BATCH)
        flush();
}

int insn_done(void)
{
    flush();
    return t0t_done();
}

#endif
