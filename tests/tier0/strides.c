/* Kernels whose strides are parameters, as CuPy's are: elements that follow one another, and others, by the same
 * kernel; and products that are no index, which are extended to 64 bits all the same. */
#include <sys/mman.h>

#include "tier0/harness.h"

enum { THREADS = 64, N = 177, ROOM = 2 * 40 * N };
static uint8_t in[ROOM], out[ROOM];

struct array {
    void *data;
    int64_t stride;
};

/* How an index becomes bytes. */
static const struct {
    const char *name, *text; /* %rd2: the index; of the stride in %rd<n>, into %rd<n + 3> */
} forms[] = {
    {"cut by shifts", "mul.lo.s64 %rdD, %rdS, %rd2; shl.b64 %rdD, %rdD, 32; shr.s64 %rdD, %rdD, 32;\n"},
    {"cut by cvt", "mul.lo.s64 %rdD, %rd2, %rdS; cvt.s64.s32 %rdD, %rdD;\n"},
    {"of 64 bits", "mul.lo.s64 %rdD, %rdS, %rd2;\n"},
    {"by mul.wide", "cvt.u32.u64 %r8, %rdS; cvt.u32.u64 %r9, %rd2; mul.wide.s32 %rdD, %r9, %r8;\n"},
};
/* A register for an element, what it is loaded and stored as, which adds 3 to it. */
static const struct {
    unsigned bytes;
    const char *type, *reg;
} elements[] = {{1, "u8", "%r5"}, {2, "u16", "%r5"}, {4, "u32", "%r5"}, {8, "u64", "%rd9"}};

static size_t put_form(char *to, const char *text, unsigned stride)
{
    size_t n = 0;
    for (; *text; text++) {
        if (*text == 'D' || *text == 'S')
            to[n++] = (char)('0' + stride + (*text == 'D' ? 3 : 0));
        else
            to[n++] = *text;
    }
    return n;
}

static bool open_kernel(struct t0t *t, unsigned form, unsigned e)
{
    char text[4096], address[400];
    size_t n = put_form(address, forms[form].text, 3);
    n += put_form(address + n, forms[form].text, 4);
    address[n] = '\0';
    snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .align 8 .b8 from[16], .param "
        ".align 8 .b8 to[16], .param .u64 n)\n{\n.reg .b32 %%r<10>; .reg .b64 %%rd<12>; .reg .pred %%p<2>;\n"
        "ld.param.u64 %%rd0, [from]; ld.param.u64 %%rd3, [from+8]; ld.param.u64 %%rd1, [to]; ld.param.u64 %%rd4, "
        "[to+8]; ld.param.u64 %%rd5, [n];\nmov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x;\n"
        "mul.wide.u32 %%rd2, %%r1, %%r2; cvt.u64.u32 %%rd8, %%r3; add.s64 %%rd2, %%rd2, %%rd8; mov.u64 %%rd11, %%rd5;\n"
        "setp.ge.s64 %%p1, %%rd2, %%rd11; @%%p1 bra E;\nL:\n%s"
        "add.s64 %%rd6, %%rd0, %%rd6; add.s64 %%rd7, %%rd1, %%rd7;\n"
        "ld.global.%s %s, [%%rd6]; add.%s %s, %s, 3; st.global.%s [%%rd7], %s;\nadd.s64 %%rd2, %%rd2, 128;\n"
        "setp.lt.s64 %%p1, %%rd2, %%rd11; @%%p1 bra L;\nE:\nret;\n}\n",
        address, elements[e].type, elements[e].reg, elements[e].bytes == 8 ? "u64" : "u32", elements[e].reg,
        elements[e].reg, elements[e].type, elements[e].reg);
    return t0t_open(t, text, "k");
}

static void run_with(struct t0t *t, unsigned form, unsigned e, int from, int to)
{
    const unsigned bytes = elements[e].bytes;
    const int64_t step[2] = {from * (int64_t)bytes, to * (int64_t)bytes};
    struct {
        struct array from, to;
        uint64_t n;
    } args = {{in + ROOM / 2, step[0]}, {out + ROOM / 2, step[1]}, N};
    unsigned bad = 0;
    memset(out, 0xee, sizeof out);
    const enum t0_fault_kind fault = t0t_run(t, (const uint32_t[]){2, 1, 1}, (const uint32_t[]){THREADS, 1, 1}, 0,
                                             &args, NULL);
    for (int64_t i = 0; i < N; i++) {
        uint64_t x = 0, y = 0;
        memcpy(&x, in + ROOM / 2 + i * step[0], bytes);
        memcpy(&y, out + ROOM / 2 + i * step[1], bytes);
        bad += ((x + 3 - y) & (bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1)) != 0;
    }
    check(!fault && !bad, "strides %s, %u bytes, %d and %d elements apart (%u wrong)", forms[form].name, bytes, from,
          to, bad);
}

/* A product that no array is long enough for: each lane's is cut to 32 bits and extended by its sign. */
static void hash_lanes(const char *product)
{
    static int64_t got[THREADS];
    char text[1200];
    struct {
        void *to;
        uint64_t by;
    } args = {got, 0x3c6ef35fu};
    unsigned bad = 0;
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 to, .param .u64 by)\n{\n"
             ".reg .b32 %%r<4>; .reg .b64 %%rd<6>;\nld.param.u64 %%rd0, [to]; ld.param.u64 %%rd1, [by];\n"
             "mov.u32 %%r1, %%tid.x; %s\nmul.wide.u32 %%rd3, %%r1, 8; add.u64 %%rd0, %%rd0, %%rd3; "
             "st.global.u64 [%%rd0], %%rd2;\nret;\n}\n",
             product);
    const bool ran = t0t_once(text, "k", 1, THREADS, &args, NULL);
    for (unsigned l = 0; l < THREADS; l++)
        bad += got[l] != (int32_t)(l * 0x3c6ef35fu);
    check(ran && !bad, "%s (%u lanes wrong)", product, bad);
}

/* Lanes whose bit is set in `on` store a member of their structures, of `bytes` bytes, the last of which ends where the
 * memory does; nobody else's bytes change. */
static void store_members(unsigned bytes, unsigned member, const uint32_t on[2], unsigned threads)
{
    enum { PAGE = 4096 };
    char text[1200];
    uint8_t *const page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE)) {
        check(false, "pages");
        return;
    }
    memset(page, 0xee, PAGE);
    unsigned last = threads - 1, bad = 0;
    while (last && !(on[last / 32] >> last % 32 & 1))
        last--;
    uint8_t *const end = page + PAGE, *const to = end - (size_t)last * bytes - member - 4;
    const struct {
        void *to;
        const void *on;
    } args = {to, on};
    snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 to, .param .u64 on)\n{\n"
        ".reg .b32 %%r<6>; .reg .b64 %%rd<6>; .reg .pred %%p;\nld.param.u64 %%rd0, [to]; ld.param.u64 %%rd1, [on];\n"
        "mov.u32 %%r1, %%tid.x; shr.u32 %%r2, %%r1, 5; and.b32 %%r3, %%r1, 31; mul.wide.u32 %%rd2, %%r2, 4;\n"
        "add.u64 %%rd1, %%rd1, %%rd2; ld.global.u32 %%r4, [%%rd1]; shr.u32 %%r4, %%r4, %%r3; and.b32 %%r4, %%r4, 1;\n"
        "setp.ne.u32 %%p, %%r4, 0; mul.wide.u32 %%rd3, %%r1, %u; add.u64 %%rd0, %%rd0, %%rd3; add.u32 %%r5, %%r1, 7;\n"
        "@%%p st.global.u32 [%%rd0+%u], %%r5;\nret;\n}\n",
        bytes, member);
    const bool ran = t0t_once(text, "k", 1, threads, &args, NULL);
    for (unsigned l = 0; l <= last; l++)
        if (on[l / 32] >> l % 32 & 1) {
            uint32_t got;
            memcpy(&got, to + l * bytes + member, 4);
            bad += got != l + 7;
            memset(to + l * bytes + member, 0xee, 4);
        }
    for (unsigned k = 0; k < PAGE; k++)
        bad += page[k] != 0xee;
    check(ran && !bad, "member %u of %u bytes, lanes %08x %08x of %u (%u wrong)", member, bytes, on[1], on[0], threads,
          bad);
    munmap(page, 2 * PAGE);
}

/* By what way a vector moves besides. */
enum way { STRAIGHT, BY_SHARED, BY_LOCAL };

/* Lanes whose bit is set move a vector of n elements of `bytes` bytes from place lane ^ other of one array to the same
 * place of another, and add 1, 2, ... to its elements. The block has `wide` threads a row. */
static void move_vectors(unsigned n, unsigned bytes, unsigned apart, unsigned other, const uint32_t on[2], enum way way,
                         unsigned wide)
{
    static uint8_t from[THREADS * 64 + 64] __attribute__((aligned(64))), to[sizeof from] __attribute__((aligned(64)));
    char text[2600], regs[80], place[80];
    static const char *const names[] = {"global", "by shared memory", "by local memory"};
    const unsigned offset = 16, room = bytes < 2 ? 2 : bytes; /* registers have 16 bits at least */
    const struct {
        const void *from;
        void *to;
        const void *on;
        uint64_t other;
    } args = {from, to, on, other};
    size_t at = 0, end = 0;
    for (unsigned k = 0; k < n; k++)
        at += (size_t)snprintf(regs + at, sizeof regs - at, "%s%%x%u", k ? ", " : "", k);
    if (other == ~0u) /* the compiler sees that it is the lane */
        snprintf(place, sizeof place, "mov.u32 %%r5, %%r1;");
    else
        snprintf(place, sizeof place, "ld.param.u32 %%r5, [other]; xor.b32 %%r5, %%r5, %%r1;");
    end = (size_t)snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 from, .param .u64 to, .param .u64 "
        "on, .param .u64 other)\n{\n.reg .b32 %%r<6>; .reg .b64 %%rd<9>; .reg .b%u %%x<4>; .reg .pred %%p;\n"
        ".shared .align 16 .b8 s[4160]; .local .align 16 .b8 own[64];\n"
        "ld.param.u64 %%rd0, [to]; ld.param.u64 %%rd1, [on]; ld.param.u64 %%rd7, [from];\n"
        "mov.u32 %%r1, %%tid.y; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x; mad.lo.u32 %%r1, %%r1, %%r2, %%r3;\n"
        "shr.u32 %%r2, %%r1, 5; and.b32 %%r3, %%r1, 31; mul.wide.u32 %%rd2, %%r2, 4;\n"
        "add.u64 %%rd1, %%rd1, %%rd2; ld.global.u32 %%r4, [%%rd1]; shr.u32 %%r4, %%r4, %%r3; and.b32 %%r4, %%r4, 1;\n"
        "%s\nsetp.ne.u32 %%p, %%r4, 0; mul.wide.u32 %%rd3, %%r5, %u; add.u64 %%rd0, %%rd0, %%rd3; "
        "add.u64 %%rd7, %%rd7, %%rd3; @!%%p bra E;\n",
        8 * room, place, apart);
    end += (size_t)snprintf(text + end, sizeof text - end, "ld.global.v%u.b%u {%s}, [%%rd7+%u];\n", n, 8 * bytes, regs,
                            offset);
    if (way == BY_LOCAL)
        end += (size_t)snprintf(text + end, sizeof text - end,
                                "st.local.v%u.b%u [own+%u], {%s};\nld.local.v%u.b%u {%s}, [own+%u];\n", n, 8 * bytes,
                                offset, regs, n, 8 * bytes, regs, offset);
    if (way == BY_SHARED)
        end += (size_t)snprintf(text + end, sizeof text - end,
                                "mov.u64 %%rd8, s; add.u64 %%rd8, %%rd8, %%rd3; st.shared.v%u.b%u [%%rd8+%u], {%s};\n"
                                "ld.shared.v%u.b%u {%s}, [%%rd8+%u];\n",
                                n, 8 * bytes, offset, regs, n, 8 * bytes, regs, offset);
    for (unsigned k = 0; k < n; k++)
        end += (size_t)snprintf(text + end, sizeof text - end, "add.u%u %%x%u, %%x%u, %u;\n", 8 * room, k, k, k + 1);
    snprintf(text + end, sizeof text - end, "st.global.v%u.b%u [%%rd0+%u], {%s};\nE:\nret;\n}\n", n, 8 * bytes, offset,
             regs);
    unsigned bad = 0;
    memcpy(from, in, sizeof from);
    memset(to, 0xee, sizeof to);
    struct t0t t;
    const bool ran = t0t_open(&t, text, "k") && !t0t_run(&t, (const uint32_t[]){1, 1, 1},
                                                         (const uint32_t[]){wide, THREADS / wide, 1}, 0, &args, NULL);
    t0t_close(&t);
    for (unsigned l = 0; l < THREADS; l++)
        for (unsigned k = 0; k < n && on[l / 32] >> l % 32 & 1; k++) {
            const size_t where = (size_t)(other == ~0u ? l : l ^ other) * apart + offset + (size_t)k * bytes;
            uint64_t x = 0, y = 0;
            memcpy(&x, from + where, bytes);
            memcpy(&y, to + where, bytes);
            bad += ((x + k + 1 - y) & (bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1)) != 0;
            memset(to + where, 0xee, bytes);
        }
    for (size_t k = 0; k < sizeof to; k++)
        bad += to[k] != 0xee;
    check(ran && !bad, "%u of %u bytes, %u apart, lane ^ %d, %08x %08x, %s, rows of %u (%u wrong)", n, bytes, apart,
          (int)other, on[1], on[0], names[way], wide, bad);
}

/* Lane l adds 3 to what lies at element start + (l ^ other) of an array, by an index of 32 bits that is widened: past
 * the end of its range the next element is 16 or 32 GB away. */
static void add_at(const char *sign, unsigned bytes, uint32_t start, uint32_t other)
{
    const size_t room = (size_t)bytes << 32, page = 4096, most = 2 * page;
    uint8_t *const all = mmap(NULL, room + 2 * most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint8_t *const base = all + most + (*sign == 's' ? room / 2 : 0);
    char text[1200];
    unsigned bad = 0;
    const struct {
        void *to;
        uint32_t start, other;
    } args = {base, start, other};
    if (all == MAP_FAILED) {
        check(false, "room");
        return;
    }
    uint64_t *at[THREADS];
    for (unsigned l = 0; l < THREADS; l++) {
        const uint32_t index = start + (l ^ other);
        at[l] = (uint64_t *)(void *)(base + (*sign == 's' ? (int64_t)(int32_t)index : (int64_t)index) * (int)bytes);
        mprotect((void *)((uintptr_t)at[l] & -page), page, PROT_READ | PROT_WRITE);
        const uint64_t x = 1000 + l;
        memcpy(at[l], &x, bytes);
    }
    snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 to, .param .u32 start, .param "
        ".u32 other)\n{\n.reg .b32 %%r<6>; .reg .b64 %%rd<4>; .reg .b%u %%x;\nld.param.u64 %%rd0, [to];\n"
        "ld.param.u32 %%r0, [start]; ld.param.u32 %%r2, [other]; mov.u32 %%r1, %%tid.x; xor.b32 %%r1, %%r1, %%r2;\n"
        "add.u32 %%r1, %%r1, %%r0; mul.wide.%s32 %%rd1, %%r1, %u; add.u64 %%rd0, %%rd0, %%rd1;\n"
        "ld.global.b%u %%x, [%%rd0]; add.u%u %%x, %%x, 3; st.global.b%u [%%rd0], %%x;\nret;\n}\n",
        8 * bytes, sign, bytes, 8 * bytes, 8 * bytes, 8 * bytes);
    const bool ran = t0t_once(text, "k", 1, THREADS, &args, NULL);
    for (unsigned l = 0; l < THREADS; l++) {
        uint64_t x = 0;
        memcpy(&x, at[l], bytes);
        bad += x != 1003 + l;
    }
    check(ran && !bad, "%s32 index from %#x, lane ^ %u, %u bytes (%u wrong)", sign, start, other, bytes, bad);
    munmap(all, room + 2 * most);
}

int main(void)
{
    static const int apart[][2] = {{1, 1}, {0, 1}, {-1, 1}, {1, 3}, {2, -2}, {1, 1}};
    for (unsigned k = 0; k < ROOM; k++)
        in[k] = (uint8_t)(k * 2654435761u >> 11);
    for (unsigned k = 0; k < 4; k++) {
        struct t0t t;
        if (!open_kernel(&t, k, (k + 2) % 4)) {
            check(false, "strides %s: the kernel loads", forms[k].name);
            continue;
        }
        for (unsigned a = 0; a < sizeof apart / sizeof apart[0]; a++)
            run_with(&t, k, (k + 2) % 4, apart[a][0], apart[a][1]);
        t0t_close(&t);
    }
    static const uint32_t on[][2] = {{~0u, ~0u}, {0xfffffffe, 0x7fffffff}, {0x00a50f01, 0x80008001}, {1, 0}};
    for (unsigned k = 0; k < 16; k++)
        store_members(k & 1 ? 16 : 8, 4 * (k / 2 % (k & 1 ? 4 : 2)), on[k % 4 ^ k / 4], k < 8 ? THREADS : 45);
    static const unsigned kinds[][3] = {{2, 4, 8},  {4, 4, 16}, {2, 8, 16}, {2, 4, 16}, {2, 8, 32}, {4, 4, 32},
                                        {4, 1, 4},  {2, 2, 4},  {4, 2, 8},  {2, 1, 2},  {4, 4, 48}, {2, 4, 24},
                                        {4, 1, 12}, {4, 2, 16}, {2, 8, 48}, {2, 1, 8},  {2, 2, 16}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static const unsigned others[] = {~0u, 0, 5, 32, 48};
    for (unsigned k = 0; k < 3 * KINDS; k++)
        move_vectors(kinds[k % KINDS][0], kinds[k % KINDS][1], kinds[k % KINDS][2], others[(k / KINDS + k) % 5],
                     on[k % 3 ? 0 : k % 4], (enum way)((k / KINDS + k) % 3), k % 5 ? THREADS : 16);
    static const uint32_t starts[] = {0, 0xffffffe0, 0xfffffff0, 0x7fffffe0, 0x7ffffff0, 0x7fffffc0};
    for (unsigned k = 0; k < 24; k++)
        add_at(k % 2 ? "s" : "u", k / 2 % 2 ? 8 : 4, starts[k / 4], k % 3 ? 0 : 1);
    hash_lanes("mul.lo.s32 %r2, %r1, 0x3c6ef35f; cvt.s64.s32 %rd2, %r2;");
    hash_lanes("cvt.u64.u32 %rd4, %r1; mul.lo.s64 %rd4, %rd4, 0x3c6ef35f; cvt.s64.s32 %rd2, %rd4;");
    hash_lanes("cvt.u64.u32 %rd4, %r1; mul.lo.s64 %rd4, %rd4, %rd1; shl.b64 %rd4, %rd4, 32; shr.s64 %rd2, %rd4, 32;");
    hash_lanes(
        "cvt.u64.u32 %rd4, %r1; mul.lo.s64 %rd4, %rd4, 0x3c6ef35f; shl.b64 %rd4, %rd4, 32; shr.s64 %rd2, %rd4, 32;");
    return t0t_done();
}
