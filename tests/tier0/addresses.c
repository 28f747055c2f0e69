/* Addresses in registers that are narrower than those of the state space: extended by zeros, whatever the register's
 * type and the instruction. Global memory lies below 4 GiB here; its addresses, and offsets in shared memory, have the
 * highest bit of their register. */
#include "tier0/kernels.h"

#include <sys/mman.h>

enum { THREADS = 96, BYTES = 65536 };
static uint32_t *low, want[MOST];

/* copies from there, to shared memory by 16 bits and back */
static const char copies[] = KERNEL(
    ".reg .s32 %i<2>; .reg .s16 %j<2>; cvt.u32.u64 %r2, %rd1; cvt.s32.u64 %i1, %rd1;\n"
    ".shared .align 1024 .b8 s[40960]; mov.u32 %r4, s; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5;\n"
    "add.u32 %r4, %r4, 0x8400; cvt.u16.u32 %h1, %r4; mov.b16 %j1, %h1;\n"
    "cp.async.ca.shared.global [%h1], [%i1], 4; cp.async.ca.shared.global [%j1+1024], [%r2+4], 4; cp.async.wait_all;\n"
    "ld.shared.u32 %r9, [%r4]; ld.shared.u32 %r3, [%h1]; mad.lo.u32 %r9, %r9, 31, %r3;\n"
    "ld.shared.u32 %r3, [%j1+1024]; mad.lo.u32 %r9, %r9, 31, %r3; st.shared.u32 [%j1], %r9;\n"
    "atom.shared.add.u32 %r3, [%h1], 7; mad.lo.u32 %r9, %r9, 31, %r3;\n"
    "ld.shared.u32 %r3, [%r4]; mad.lo.u32 %r9, %r9, 31, %r3;\n"
    "isspacep.global %p1, %r2; selp.u32 %r3, 1, 0, %p1; mad.lo.u32 %r9, %r9, 31, %r3;\n" STORE("%r9"));

/* the first 256 bytes of shared memory by 8 bits, a barrier there by 16 */
static const char bytes[] = KERNEL(
    ".shared .align 1024 .b8 s[1024]; mov.u32 %r4, s; and.b32 %r5, %r1, 31; shl.b32 %r5, %r5, 2;\n"
    "add.u32 %r5, %r5, 128; .reg .u8 %b<2>; cvt.u8.u32 %b1, %r5; setp.gt.u32 %p1, %r1, 31; add.u32 %r4, %r4, %r5;\n"
    "mov.u32 %r9, 0; @%p1 bra E; st.shared.u32 [%r4], %r0; ld.shared.u32 %r9, [%b1];\n"
    "atom.shared.inc.u32 %r3, [%b1], 1000; mad.lo.u32 %r9, %r9, 31, %r3;\n"
    "ld.shared.u32 %r3, [%r4]; mad.lo.u32 %r9, %r9, 31, %r3; mov.b16 %h1, 512; setp.ne.u32 %p2, %r1, 0;\n"
    "@!%p2 mbarrier.init.shared::cta.b64 [%h1], 32; bar.warp.sync 0xffffffff;\n"
    "mbarrier.arrive.shared::cta.b64 %rd5, [%h1]; bar.warp.sync 0xffffffff;\n"
    "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%h1], 0; selp.u32 %r3, 1, 0, %p3;\n"
    "mad.lo.u32 %r9, %r9, 31, %r3;\nE: " STORE("%r9"));

static uint32_t sum(const uint32_t *v, unsigned n)
{
    uint32_t s = 0;
    for (unsigned k = 0; k < n; k++)
        s = s * 31 + v[k];
    return s;
}

static void compare(const char *name, const char *text)
{
    struct args a = {out, low, THREADS};
    unsigned bad = 0;
    if (!t0t_once(text, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned t = 0; t < THREADS; t++)
        bad += out[t] != want[t];
    check(!bad, "%s: %u of %u wrong", name, bad, THREADS);
}

static void all(void)
{
    for (unsigned x = 0; x < BYTES / 4; x++)
        low[x] = x * 2654435761u ^ x << 7;
    for (unsigned t = 0; t < THREADS; t++) {
        uint32_t s = sum((uint32_t[]){low[t], low[t], low[t + 1]}, 3), old = s;
        s = s * 31 + old;
        want[t] = (s * 31 + old + 7) * 31 + 1;
    }
    compare("copies between addresses of 32 and 16 bits", copies);
    for (unsigned t = 0; t < THREADS; t++)
        want[t] = t < 32 ? sum((uint32_t[]){t, t, t + 1, 1}, 4) : 0;
    compare("shared addresses of 8 bits", bytes);
    expect_fault("a global address of 16 bits", KERNEL("mov.b16 %h1, 0xfff0; st.global.u32 [%h1+8], %r1;\n"), 1, 32,
                 T0_FAULT_ADDRESS, 0, 0, 0xfff8);
    expect_fault("a generic address of 8 bits",
                 KERNEL(".reg .s8 %b<2>; cvt.s8.s32 %b1, -8; atom.add.u32 %r2, [%b1], 1;\n"), 1, 32, T0_FAULT_ADDRESS,
                 0, 0, 0xf8);
}

static uint32_t *map_at(uintptr_t at)
{
    void *p = mmap((void *)at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return p == (void *)at ? p : NULL;
}

int main(void)
{
    low = map_at(0x90000000u);
    low = low ? low : map_at(0x60000000u); /* under ASan, which keeps the other one for itself */
    if (!check(low != NULL, "memory below 4 GiB"))
        return t0t_done();
    all();
    use_portable_handlers();
    all();
    munmap(low, BYTES);
    return t0t_done();
}
