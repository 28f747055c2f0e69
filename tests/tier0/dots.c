/* Dot products of four bytes whose bits were cut off before, as weights of four bits are: a compiler may multiply
 * them as what cannot overflow. All types, masks in either factor, bytes at the ends of their ranges. */
#include "tier0/kernels.h"

static const uint32_t masks[] = {0x0f0f0f0f, 0x7f7f7f7f, 0x7f0f3f01, 0x8f0f0f0f, 0x7f80f7f7, 0xffffffff};
enum { MASKS = sizeof masks / sizeof *masks, KINDS = MASKS * MASKS * 4 };

static int32_t byte_of(uint32_t x, unsigned k, bool sign)
{
    return sign ? (int8_t)(x >> 8 * k) : (int32_t)(x >> 8 * k & 255);
}

static uint32_t dot(uint32_t a, uint32_t b, uint32_t c, unsigned signs)
{
    for (unsigned k = 0; k < 4; k++)
        c += (uint32_t)(byte_of(a, k, signs & 1) * byte_of(b, k, signs & 2));
    return c;
}

/* The product of kind n, of masks and types; one factor is a constant's where the masks are the same. */
static size_t put(char *to, size_t room, unsigned n)
{
    const unsigned i = n % MASKS, j = n / MASKS % MASKS, signs = n / MASKS / MASKS;
    return (size_t)snprintf(to, room,
                            "mov.b32 %%r5, %%r2; %sand.b32 %%r5, %%r2, %u; and.b32 %%r6, %%r3, %u;\n"
                            "%sdp4a.%c32.%c32 %%r4, %s, %s, %%r4;\nmul.lo.u32 %%r4, %%r4, 31;\n",
                            n % 11 == 3 ? "@%p1 " : "", masks[i], masks[j], n % 5 ? "" : "@%p1 ", signs & 1 ? 's' : 'u',
                            signs & 2 ? 's' : 'u', n % 7 == 1 ? "%r2" : "%r5",
                            n % 7 == 2   ? "0x7f7f7f7f"
                            : n % 7 == 3 ? "%r3"
                                         : "%r6");
}

static uint32_t want_of(uint32_t a, uint32_t b, bool on)
{
    uint32_t c = a ^ b;
    for (unsigned n = 0; n < KINDS; n++) {
        const unsigned i = n % MASKS, j = n / MASKS % MASKS;
        if (n % 5 || on)
            c = dot(n % 7 == 1 || (n % 11 == 3 && !on) ? a : a & masks[i],
                    n % 7 == 2   ? 0x7f7f7f7f
                    : n % 7 == 3 ? b
                                 : b & masks[j],
                    c, n / MASKS / MASKS);
        c *= 31;
    }
    return c;
}

int main(void)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff, 0x0f, 0x01};
    static char text[40000];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "%sld.global.u32 %%r2, [%%rd1]; ld.global.u32 %%r3, [%%rd1+4];\n"
                                "xor.b32 %%r4, %%r2, %%r3; and.b32 %%r7, %%r1, 2;\n"
                                "setp.ne.u32 %%p1, %%r7, 0;\n",
                                HEAD ENTRY("k"));
    for (unsigned k = 0; k < KINDS; k++)
        n += put(text + n, sizeof text - n, k);
    snprintf(text + n, sizeof text - n, "%s", STORE("%r4") END);
    uint32_t x = 1, wrong = 0;
    for (unsigned i = 0; i < MOST; i++) {
        in[i] = 0;
        for (unsigned k = 0; k < 4; k++) {
            x = x * 1664525 + 1013904223;
            in[i] |= (uint32_t)(x >> 31 ? ends[(x >> 16) % 6] : x >> 16 & 255) << 8 * k;
        }
    }
    memset(out, 0xee, sizeof out);
    if (run(text, 8, 96, NULL))
        for (uint32_t i = 0; i < 8 * 96; i++)
            wrong += out[i] != want_of(in[i], in[i + 1], i % 96 & 2);
    check(!wrong, "dot products of %d kinds, %u threads wrong", KINDS, wrong);
    return t0t_done();
}
