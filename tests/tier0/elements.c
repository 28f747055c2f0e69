/* Vectors whose registers are wider than their elements, plain and volatile, with a number among what is stored, by
 * lanes that are all on or not: each element is extended by its type's sign, its low bits are stored, nothing else. */
#include "tier0/harness.h"

enum { THREADS = 64, MOST = 4 };
static uint8_t in[THREADS * 16] __attribute__((aligned(16))), out[sizeof in] __attribute__((aligned(16)));
static uint64_t got[THREADS][MOST];

static const char *const spaces[] = {".global", "", ".shared", ".local"};

/* n elements of `bytes` bytes, by registers of `wide` bits, if bit `lane % 32` of `on` is set. */
static void copy(unsigned n, unsigned bytes, char sign, unsigned wide, bool is_volatile, unsigned space,
                 unsigned number, uint32_t on)
{
    char text[3000], regs[80], last[80], type[8];
    const char *const how = is_volatile ? ".volatile" : "";
    size_t at = 0, end = 0;
    const struct {
        const void *from;
        void *to, *got;
    } args = {in, out, got};
    snprintf(type, sizeof type, "%c%u", sign, 8 * bytes);
    for (unsigned k = 0; k < n; k++) {
        at += (size_t)snprintf(regs + at, sizeof regs - at, "%s%%x%u", k ? ", " : "", k);
        end += k == number ? (size_t)snprintf(last + end, sizeof last - end, "%s%u", k ? ", " : "", 77 + k)
                           : (size_t)snprintf(last + end, sizeof last - end, "%s%%x%u", k ? ", " : "", k);
    }
    end = (size_t)snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 from, .param .u64 to, .param .u64 "
        "got)\n{\n.reg .b32 %%r<4>; .reg .b64 %%rd<9>; .reg .b%u %%x<4>; .reg .pred %%p;\n"
        ".shared .align 16 .b8 s[%u]; .local .align 16 .b8 own[16];\n"
        "ld.param.u64 %%rd0, [from]; ld.param.u64 %%rd1, [to]; ld.param.u64 %%rd2, [got]; mov.u32 %%r0, %%tid.x;\n"
        "and.b32 %%r1, %%r0, 31; shr.u32 %%r2, %u, %%r1; and.b32 %%r2, %%r2, 1; setp.ne.u32 %%p, %%r2, 0;\n"
        "mul.wide.u32 %%rd3, %%r0, 16; add.u64 %%rd0, %%rd0, %%rd3; add.u64 %%rd1, %%rd1, %%rd3;\n"
        "mul.wide.u32 %%rd4, %%r0, 32; add.u64 %%rd2, %%rd2, %%rd4; @!%%p bra E;\n"
        "ld%s%s.v%u.%s {%s}, [%%rd0];\n",
        wide, (unsigned)sizeof in, on, how, space ? "" : ".global", n, type, regs);
    if (space == 2)
        end += (size_t)snprintf(text + end, sizeof text - end,
                                "mov.u64 %%rd5, s; add.u64 %%rd5, %%rd5, %%rd3; st%s.shared.v%u.%s [%%rd5], {%s}; "
                                "ld%s.shared.v%u.%s {%s}, [%%rd5];\n",
                                how, n, type, last, how, n, type, regs);
    if (space == 3)
        end += (size_t)snprintf(text + end, sizeof text - end,
                                "st.local.v%u.%s [own], {%s}; ld.local.v%u.%s {%s}, [own];\n", n, type, last, n, type,
                                regs);
    for (unsigned k = 0; k < n; k++)
        end += wide == 64
                   ? (size_t)snprintf(text + end, sizeof text - end, "st.global.u64 [%%rd2+%u], %%x%u;\n", 8 * k, k)
                   : (size_t)snprintf(text + end, sizeof text - end,
                                      "cvt.u64.u%u %%rd6, %%x%u; st.global.u64 [%%rd2+%u], %%rd6;\n", wide, k, 8 * k);
    snprintf(text + end, sizeof text - end, "st%s%s.v%u.%s [%%rd1], {%s};\nE:\nret;\n}\n", how, spaces[space % 2], n,
             type, last);
    memset(out, 0xee, sizeof out);
    memset(got, 0xee, sizeof got);
    const bool ran = t0t_once(text, "k", 1, THREADS, &args, NULL);
    unsigned bad = 0;
    for (unsigned l = 0; l < THREADS; l++) {
        const bool moves = on >> l % 32 & 1;
        uint8_t want[16];
        memset(want, 0xee, sizeof want);
        for (unsigned k = 0; k < MOST; k++) {
            uint64_t x = 0, read = 0xeeeeeeeeeeeeeeee, low = 77 + k;
            if (moves && k < n) {
                memcpy(&x, in + 16 * l + k * bytes, bytes);
                x = k == number && space > 1 ? low : x;
                const unsigned over = 64 - 8 * bytes;
                read = sign == 's' ? (uint64_t)((int64_t)(x << over) >> over) : x;
                read &= ~0ull >> (64 - wide);
                memcpy(want + k * bytes, k == number ? &low : &x, bytes);
            }
            bad += got[l][k] != read;
        }
        bad += memcmp(want, out + 16 * l, sizeof want) != 0;
    }
    check(ran && !bad, "v%u.%s by %u bits%s%s, number %u, lanes %08x (%u wrong)", n, type, wide, how, spaces[space],
          number, on, bad);
}

int main(void)
{
    static const uint32_t on[] = {~0u, 0xffff0000, 0x7fffffff, 0x00a50f01};
    unsigned count = 0;
    for (unsigned k = 0; k < sizeof in; k++)
        in[k] = (uint8_t)(k * 2654435761u >> 13);
    for (unsigned n = 2; n <= 4; n += 2)
        for (unsigned bytes = 1; bytes <= 4; bytes *= 2)
            for (unsigned wide = bytes < 4 ? 16 : 32; wide <= 64; wide *= 2)
                for (unsigned way = 0; way < 4; way++, count++) {
                    const unsigned space = (count + count / 4) % 4;
                    copy(n, bytes, "us"[way % 2], wide, way / 2 && space < 3, space, count % (n + 1),
                         on[count / 2 % 4]);
                }
    return t0t_done();
}
