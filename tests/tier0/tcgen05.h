/* Kernels over tensor memory for tests: a frame that fills shared memory, allocates all columns and gives them back. */
#ifndef CUMU_TESTS_TIER0_TCGEN05_H
#define CUMU_TESTS_TIER0_TCGEN05_H

#include "tier0/kernels.h"

#include <math.h>

enum { THREADS = 128, A_AT = 0, B_AT = 16384, S_AT = 32768, E_AT = S_AT + 2048, SMEM = 40960 };
static uint32_t words[2 * 128 * 128 + 2 * SMEM / 4]; /* in: sums before, then shared memory, of up to two blocks */
static uint32_t result[2 * THREADS * 128];

static uint64_t seed = 987654321u;
static uint32_t any(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

#define BEGIN \
    "%s.reg .b32 %%z<128>; .shared .align 1024 .b8 s[40960]; .shared .align 8 .b64 bar;\n" \
    ".shared .align 4 .b32 at; mov.u32 %%r2, s; shl.b32 %%r3, %%r1, 2; add.u32 %%r4, %%r2, %%r3; mov.u32 %%r5, 0;\n" \
    "cvt.u64.u32 %%rd2, %%r3; add.u64 %%rd2, %%rd31, %%rd2; add.u64 %%rd2, %%rd2, 65536;\n" \
    "F: ld.global.u32 %%r6, [%%rd2]; st.shared.u32 [%%r4], %%r6; add.u64 %%rd2, %%rd2, 512;\n" \
    "add.u32 %%r4, %%r4, 512; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, 80; @%%p1 bra F;\n" \
    "shr.u32 %%r10, %%r1, 5; setp.ne.u32 %%p3, %%r10, 0; setp.ne.u32 %%p4, %%r1, 0;\n" \
    "@%%p4 bra N; mbarrier.init.shared::cta.b64 [bar], 1; N: @%%p3 bra G;\n" \
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 512;\n" \
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nG: bar.sync 0; ld.shared.u32 %%r11, [at];\n" \
    "shl.b32 %%r12, %%r10, 21; add.u32 %%r13, %%r11, %%r12; fence.proxy.async;\n" \
    "shl.b32 %%r8, %%r1, 9; cvt.u64.u32 %%rd4, %%r8; add.u64 %%rd3, %%rd4, %%rd31; add.u64 %%rd4, %%rd4, %%rd30;\n"
#define HEAD_100 ".version 8.7\n.target sm_100a\n.address_size 64\n"
#define FINISH "bar.sync 0; @%%p3 bra Z; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r11, 512;\nZ: ret;\n}\n"

static char text_of[32768];
static size_t length;
#define PUT(...) length += (size_t)snprintf(text_of + length, sizeof text_of - length, __VA_ARGS__)

static void registers(unsigned n)
{
    PUT("{");
    for (unsigned k = 0; k < n; k++)
        PUT("%s%%z%u", k ? ", " : "", k);
    PUT("}");
}

#endif
