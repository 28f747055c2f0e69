/* Kernels drawn at random: loads and stores of shared and global memory, with barriers of blocks and of warps between,
 * and what races there are among them, found by looking at each pair of accesses.
 * usage: drawn SEED KERNELS WANT    writes to WANT what races there are, by lines: "race KERNEL LINE LINE", all of
 *                                   them; "some KERNEL LINE-LINE...", one of which must be told; prints "done"
 * Kernels with atomics, which order what uses the same word, have a name that begins with "a", and nothing is said of
 * them. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/driver.h"

enum { OPS = 24, BLOCKS = 2, MOST_THREADS = 160, SHARED = 1024, GLOBAL = 2048 };
enum kind { LOAD, STORE, ATOMIC, BARRIER, WARP, SHUFFLE };

struct op {
    enum kind kind;
    int global, guarded;
    unsigned bytes, vector, limit;             /* of an element, elements; threads below `limit` do it */
    unsigned shift, scale, add, flip, rotated; /* (((thread + rotated) >> shift) ^ flip) * scale + add */
    unsigned mask;                             /* of WARP and SHUFFLE: lanes that meet */
};
static struct op op[OPS];
static unsigned ops, threads;
static uint64_t state;

static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static unsigned room(const struct op *o) { return o->global ? GLOBAL : SHARED; }

static unsigned address(const struct op *o, unsigned block, unsigned thread)
{
    const unsigned size = o->bytes * o->vector;
    unsigned a = ((((thread + o->rotated) >> o->shift) ^ o->flip) * o->scale + o->add) * size;
    if (o->global && (o->add & 3))
        a += block * MOST_THREADS * size; /* most often the block's own */
    return a % room(o) & ~(size - 1);
}

static void draw_op(struct op *o, int atomics)
{
    const unsigned what = draw(atomics ? 16 : 14);
    *o = (struct op){.kind = what < 6    ? LOAD
                             : what < 10 ? STORE
                             : what < 12 ? BARRIER
                             : what < 13 ? WARP
                             : what < 14 ? SHUFFLE
                                         : ATOMIC};
    o->global = draw(3) == 0;
    o->bytes = draw(3) ? 4 : 1u << draw(4);
    o->vector = draw(4) ? 1 : o->bytes < 4 ? 4 : 16 / o->bytes;
    if (o->kind == ATOMIC)
        o->bytes = 4, o->vector = 1;
    o->limit = draw(3) ? MOST_THREADS : 1 + draw(threads);
    o->shift = draw(3) ? 0 : draw(6);
    o->scale = draw(3) ? 1 : draw(4);
    o->add = draw(2) ? 0 : draw(64);
    o->flip = draw(3) ? 0 : 1u << draw(7);
    o->rotated = draw(3) ? 0 : draw(40);
    o->mask = ~0u;
}

/* Some lanes of each warp meet, in place of all, and at two thirds of the block's barriers; what is drawn next is the
 * same as without. */
static void draw_masks(void)
{
    const uint64_t before = state;
    for (unsigned k = 0; k < ops; k++) {
        if (op[k].kind == BARRIER && draw(3))
            op[k].kind = WARP;
        if (op[k].kind == WARP)
            op[k].mask = draw(2) ? 0xffffu << draw(17) : draw(65536) | draw(65536) << 16;
    }
    state = before;
}

/* ---- what races there are ---------------------------------------------------------------------- */

/* Whether what stands between the two ops orders them: a barrier of the block, or lanes of their warp that meet, from
 * one to the other. */
static int is_ordered(unsigned a, unsigned thread_a, unsigned b, unsigned thread_b)
{
    unsigned known = 1u << thread_a % 32;
    for (unsigned k = a; k < b; k++) {
        if (op[k].kind == BARRIER)
            return 1;
        if ((op[k].kind == WARP || op[k].kind == SHUFFLE) && op[k].mask & known)
            known |= op[k].mask;
    }
    return thread_a / 32 == thread_b / 32 && known >> thread_b % 32 & 1;
}

static int is_access(const struct op *o) { return o->kind <= ATOMIC; }

/* The pairs that race at one byte; false: none. */
static int find_races(int global, unsigned byte, unsigned char pair[OPS][OPS])
{
    static struct {
        unsigned op, block, thread;
    } use[OPS * BLOCKS * MOST_THREADS];
    unsigned n = 0;
    int any = 0;
    for (unsigned k = 0; k < ops; k++)
        for (unsigned b = 0; b < (global ? BLOCKS : 1) && is_access(&op[k]) && op[k].global == global; b++)
            for (unsigned t = 0; t < threads && t < op[k].limit; t++)
                if (byte - address(&op[k], b, t) < op[k].bytes * op[k].vector)
                    use[n].op = k, use[n].block = b, use[n++].thread = t;
    memset(pair, 0, OPS * OPS);
    for (unsigned y = 0; y < n; y++)
        for (unsigned x = 0; x < y; x++) {
            if ((op[use[x].op].kind == LOAD && op[use[y].op].kind == LOAD) ||
                (use[x].block == use[y].block && use[x].thread == use[y].thread) ||
                (use[x].block == use[y].block && is_ordered(use[x].op, use[x].thread, use[y].op, use[y].thread)))
                continue;
            pair[use[x].op][use[y].op] = 1;
            any = 1;
        }
    return any;
}

static void write_races(FILE *out, const char *name)
{
    static unsigned char all[OPS][OPS], here[OPS][OPS];
    memset(all, 0, sizeof all);
    for (int global = 0; global < 2; global++)
        for (unsigned byte = 0; byte < (global ? GLOBAL : SHARED); byte++) {
            if (!find_races(global, byte, here))
                continue;
            fprintf(out, "some %s", name);
            for (unsigned a = 0; a < ops; a++)
                for (unsigned b = a; b < ops; b++)
                    if (here[a][b]) {
                        all[a][b] = 1;
                        fprintf(out, " %u-%u", a + 1, b + 1);
                    }
            fputc('\n', out);
        }
    for (unsigned a = 0; a < ops; a++)
        for (unsigned b = a; b < ops; b++)
            if (all[a][b])
                fprintf(out, "race %s %u %u\n", name, a + 1, b + 1);
}

/* ---- the kernels --------------------------------------------------------------------------------- */

static char text[1 << 16];
static size_t length;

static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list a;
    va_start(a, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, a);
    va_end(a);
}

static void put_op(const struct op *o, unsigned k)
{
    const char *type = o->bytes == 8 ? "u64" : o->bytes == 4 ? "u32" : o->bytes == 2 ? "u16" : "u8";
    const char *reg = o->bytes == 8 ? "%d" : o->bytes == 4 ? "%x" : "%h";
    const unsigned size = o->bytes * o->vector;
    put(".loc 1 %u 3\n", k + 1);
    if (o->kind == BARRIER) {
        put("bar.sync 0;\n");
        return;
    }
    if (o->kind == WARP) {
        put("mov.u32 %%r3, 0x%x; shr.u32 %%r3, %%r3, %%r8; and.b32 %%r3, %%r3, 1; setp.ne.u32 %%p1, %%r3, 0;\n"
            "@%%p1 bar.warp.sync 0x%x;\n",
            o->mask, o->mask);
        return;
    }
    if (o->kind == SHUFFLE) {
        put("shfl.sync.bfly.b32 %%x1, %%r1, 1, 31, 0xffffffff;\n");
        return;
    }
    put("add.u32 %%r3, %%r1, %u; shr.u32 %%r3, %%r3, %u; xor.b32 %%r3, %%r3, %u; mad.lo.u32 %%r3, %%r3, %u, %u;\n"
        "mul.lo.u32 %%r3, %%r3, %u;\n",
        o->rotated, o->shift, o->flip, o->scale, o->add, size);
    if (o->global && (o->add & 3))
        put("mad.lo.u32 %%r3, %%r2, %u, %%r3;\n", MOST_THREADS * size);
    put("and.b32 %%r3, %%r3, %u;\n", (room(o) - 1) & ~(size - 1));
    if (o->global)
        put("cvt.u64.u32 %%a1, %%r3; add.u64 %%a1, %%a1, %%a0;\n");
    else
        put("add.u32 %%r3, %%r3, %%r4;\n");
    const char *to = o->global ? "[%a1]" : "[%r3]", *space = o->global ? "global" : "shared";
    const int guarded = o->limit < threads;
    if (guarded && !o->guarded)
        put("setp.lt.u32 %%p1, %%r1, %u;\n@%%p1 ", o->limit);
    else if (guarded) /* by a branch */
        put("setp.ge.u32 %%p1, %%r1, %u;\n@%%p1 bra L%u;\n", o->limit, k);
    const char *list = o->vector == 1 ? "%1$s0" : o->vector == 2 ? "{%1$s0, %1$s1}" : "{%1$s0, %1$s1, %1$s2, %1$s3}";
    char data[64];
    snprintf(data, sizeof data, list, reg);
    const char *v = o->vector == 1 ? "" : o->vector == 2 ? ".v2" : ".v4";
    if (o->kind == LOAD)
        put("ld.%s%s.%s %s, %s;\n", space, v, type, data, to);
    else if (o->kind == STORE)
        put("st.%s%s.%s %s, %s;\n", space, v, type, to, data);
    else
        put("red.%s.add.u32 %s, %%x0;\n", space, to);
    if (guarded && o->guarded)
        put("L%u:\n", k);
}

static void run_kernel(const char *name, uint64_t memory)
{
    void *module, *f, *args[] = {&memory};
    length = 0;
    put(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s(.param .u64 p)\n{\n"
        ".reg .u32 %%r<9>; .reg .u32 %%x<4>; .reg .u64 %%d<4>; .reg .u64 %%a<2>; .reg .u16 %%h<4>; .reg .pred %%p<2>;\n"
        ".shared .align 16 .b8 s[%u];\nld.param.u64 %%a0, [p]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x;\n"
        "mov.u32 %%r4, s; and.b32 %%r8, %%r1, 31;\nmov.u32 %%x0, %%r1; mov.u32 %%x1, 1; mov.u32 %%x2, %%r2; mov.u32 %%x3, 3;\n"
        "mov.u64 %%d0, 0; mov.u64 %%d1, 1; mov.u64 %%d2, 2; mov.u64 %%d3, 3;\n"
        "mov.u16 %%h0, 1; mov.u16 %%h1, 1; mov.u16 %%h2, 1; mov.u16 %%h3, 1;\n",
        name, SHARED);
    put("mov.u32 %%r5, %%ntid.x; mov.u32 %%r6, %%r1;\nCLEAR:\n"
        "mad.lo.u32 %%r7, %%r6, 4, %%r4; st.shared.u32 [%%r7], 0;\n"
        "add.u32 %%r6, %%r6, %%r5; setp.lt.u32 %%p1, %%r6, %u;\n@%%p1 bra CLEAR;\nbar.sync 0;\n",
        SHARED / 4);
    for (unsigned k = 0; k < ops; k++)
        put_op(&op[k], k);
    put("ret;\n}\n.file 1 \"drawn.cu\"\n");
    need(cuMemsetD8_v2(memory, 0, GLOBAL), "fill");
    need(cuModuleLoadData(&module, text), name);
    need(cuModuleGetFunction(&f, module, name), name);
    need(cuLaunchKernel(f, BLOCKS, 1, 1, threads, 1, 1, 0, NULL, args, NULL), name);
    need(cuCtxSynchronize(), name);
    need(cuModuleUnload(module), name);
}

int main(int argc, char **argv)
{
    uint64_t memory;
    if (argc != 4)
        return 2;
    state = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
    FILE *out = fopen(argv[3], "w");
    need(!out, argv[3]);
    open_device();
    need(cuMemAlloc_v2(&memory, GLOBAL), "allocation");
    for (int k = 0; k < atoi(argv[2]); k++) {
        const int atomics = k % 4 == 3;
        char name[32];
        snprintf(name, sizeof name, "%s%d", atomics ? "a" : "k", k);
        threads = 32 * (1 + draw(5)) - (draw(4) ? 0 : draw(31));
        ops = 4 + draw(OPS - 4);
        for (unsigned n = 0; n < ops; n++) {
            draw_op(&op[n], atomics);
            op[n].guarded = (int)draw(2);
        }
        if (k % 3 == 1)
            draw_masks();
        if (!atomics)
            write_races(out, name);
        run_kernel(name, memory);
    }
    fclose(out);
    puts("done");
    return 0;
}
