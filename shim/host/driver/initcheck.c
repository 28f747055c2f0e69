/* CUMU_CHECK=init: which bytes of device memory somebody has written, a bit each. Kernels, copies and fills of the
 * driver say what they write; what they cannot say counts as written: pinned, managed, imported and mapped memory, and
 * all that lives when a host function or one of our libraries has run, as those write where they like. */
#include <string.h>
#include <sys/mman.h>

#include "host/driver/copy.h"
#include "host/driver/memcheck.h"

/* Bits of 2^30 bytes of address space; mapped when something is allocated there, and for ever. */
enum { REGION_LOG2 = 30, REGIONS = 1 << 17 };
#define REGION_BYTES ((uint64_t)1 << REGION_LOG2)
#define BITS_BYTES (REGION_BYTES / 8)
static _Atomic(unsigned char *) regions[REGIONS];

static bool checking(void) { return host_config()->check_tools & T0_INITCHECK; }

/* The byte of an address's bit; NULL: nothing was allocated there. */
static unsigned char *bits_of(uint64_t address)
{
    unsigned char *bits = address >> REGION_LOG2 < REGIONS ? regions[address >> REGION_LOG2] : NULL;
    return bits ? bits + (address & (REGION_BYTES - 1)) / 8 : NULL;
}

static void open_region(uint64_t number)
{
    unsigned char *none = NULL;
    if (number >= REGIONS || regions[number])
        return;
    void *p = mmap(NULL, BITS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED && !atomic_compare_exchange_strong(&regions[number], &none, p))
        munmap(p, BITS_BYTES);
}

/* Of bits in a byte from bit `from` on, n of them. */
static unsigned char mask_of(unsigned from, uint64_t n)
{
    return (unsigned char)((n < 8 ? (1u << n) - 1 : 0xff) << from);
}

static void set_bits(uint64_t address, uint64_t size, bool written)
{
    for (uint64_t n; size; address += n, size -= n) {
        unsigned char *p = bits_of(address);
        const uint64_t left = REGION_BYTES - (address & (REGION_BYTES - 1)), whole = (size < left ? size : left) / 8;
        const unsigned from = address & 7;
        n = size < left ? size : left;
        if (!p)
            continue;
        if (!from && whole) {
            memset(p, written ? 0xff : 0, whole);
            n = 8 * whole;
            continue;
        }
        n = n < 8 - from ? n : 8 - from;
        const unsigned char mask = mask_of(from, n);
        if (!written)
            __atomic_fetch_and(p, (unsigned char)~mask, __ATOMIC_RELAXED);
        else if ((*p & mask) != mask)
            __atomic_fetch_or(p, mask, __ATOMIC_RELAXED);
    }
}

/* The first byte that somebody has written, or nobody has; false: there is none. */
static bool find(uint64_t address, uint64_t size, bool written, uint64_t *at)
{
    for (uint64_t n; size; address += n, size -= n) {
        const unsigned char *p = bits_of(address);
        const unsigned from = address & 7;
        n = size < 8 - from ? size : 8 - from;
        const unsigned char bits = p ? *p : 0xff, found = mask_of(from, n) & (unsigned char)(written ? bits : ~bits);
        if (found) {
            *at = (address & ~(uint64_t)7) + (unsigned)__builtin_ctz(found);
            return true;
        }
    }
    return false;
}

/* The first bytes that nobody has written and lie together; false: there are none. */
static bool find_gap(uint64_t address, uint64_t size, uint64_t *at, uint64_t *end)
{
    if (!find(address, size, false, at))
        return false;
    if (!find(*at, address + size - *at, true, end))
        *end = address + size;
    return true;
}

void host_initcheck_made(const struct host_range *r)
{
    if (!checking() || r->kind != HOST_MEM_DEVICE)
        return;
    for (uint64_t k = r->base >> REGION_LOG2; k <= (r->base + r->size - 1) >> REGION_LOG2; k++)
        open_region(k);
    set_bits(r->base, r->size, false);
    if (r->base % T0_UNDEFINED_PIECE == 0) /* what is left of its last piece is nobody's: not written either */
        set_bits(r->base + r->size, -r->size % T0_UNDEFINED_PIECE, false);
}

bool host_initcheck_written(void *unused, uint64_t address, uint32_t size, enum t0_access_kind kind)
{
    uint64_t at;
    bool good = true;
    (void)unused;
    if (kind != T0_WRITES && find(address, size, false, &at))
        good = !host_memcheck_is_private(at);
    if (kind != T0_READS)
        set_bits(address, size, true);
    return good;
}

uint32_t host_initcheck_undefined(void *unused, uint64_t address, uint32_t size, uint32_t piece, bool *alone)
{
    uint32_t undefined = 0;
    (void)unused;
    for (uint32_t k = 0; k < size && k < 32; k++) {
        const unsigned char *p = bits_of(address + k);
        if (p && !(*p >> ((address + k) & 7) & 1))
            undefined |= 1u << k;
    }
    *alone = false;
    for (uint64_t at = address & ~(uint64_t)(piece - 1); at < address + size && !*alone; at += piece) {
        unsigned char any = 0;
        for (uint32_t k = 0; k < piece; k += 8)
            any |= bits_of(at + k) ? *bits_of(at + k) : 0xff;
        *alone = !any;
    }
    return undefined;
}

/* What a copy takes of what nobody wrote. */
struct unwritten {
    uint64_t first, bytes;
};

static void copied(uint64_t to, uint64_t from, uint64_t size, bool from_device, struct unwritten *u)
{
    const uint64_t end = from + size;
    for (uint64_t at, next; from_device && find_gap(from, end - from, &at, &next); from = next) {
        set_bits(to, at - from, true);
        u->first = u->bytes ? u->first : at;
        u->bytes += next - at;
        to += next - from;
    }
    set_bits(to, end - from, true);
}

void host_initcheck_copied(const struct copy *c)
{
    if (!checking())
        return;
    const bool from_device = host_memcheck_is_private((uintptr_t)c->src);
    struct unwritten u = {0, 0};
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            copied((uintptr_t)c->dst + z * c->dst_slice + y * c->dst_pitch,
                   (uintptr_t)c->src + z * c->src_slice + y * c->src_pitch, c->width, from_device, &u);
    const uint64_t size = (uint64_t)c->width * c->height * c->depth;
    if (host_config()->check_copies && u.bytes && !host_memcheck_is_private((uintptr_t)c->dst))
        host_memcheck_say_unwritten((uintptr_t)c->src, size, u.first);
}

void host_initcheck_filled(const void *p, size_t size)
{
    if (checking())
        set_bits((uintptr_t)p, size, true);
}

void host_initcheck_foreign(void)
{
    if (checking())
        host_memcheck_foreign();
}

uint64_t host_initcheck_first(uint64_t base, uint64_t size)
{
    uint64_t at = base + size;
    return find(base, size, false, &at) ? at : base + size;
}

uint64_t host_initcheck_unwritten(uint64_t base, uint64_t size, uint64_t *first)
{
    uint64_t n = 0, at, next;
    for (uint64_t from = base, end = base + size; find_gap(from, end - from, &at, &next); from = next) {
        *first = n ? *first : at;
        n += next - at;
    }
    return n;
}
