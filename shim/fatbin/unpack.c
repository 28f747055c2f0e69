/* Decompression: zstd frames, LZ4 blocks and raw payloads, whatever sizes the headers claim. */
#include "fatbin/fatbin.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Growth of a buffer whose final size is not known: doubled, never past the limit. */
static size_t grown(size_t cap) { return cap >= FATBIN_MAX_IMAGE / 2 ? FATBIN_MAX_IMAGE : cap * 2; }

/* A first guess the payload can justify: a header that claims 1 GiB for 20 bytes gets less. */
static size_t first_guess(size_t recorded, size_t stored, size_t ratio)
{
    size_t most = stored > FATBIN_MAX_IMAGE / ratio ? FATBIN_MAX_IMAGE : stored * ratio + 64;
    if (recorded == 0)
        recorded = stored * 4;
    return recorded < most ? recorded + 1 : most;
}

/* Decompresses a zstd image. The recorded size is a first guess only, since it is wrong in some files; the buffer
 * grows to a limit that no honest image reaches. */
static int unpack_zstd(const struct fatbin_entry *e, char **out, size_t *len)
{
    ZSTD_DStream *ds = ZSTD_createDStream();
    size_t cap = first_guess(e->unpacked, e->stored, 256);
    char *buf = malloc(cap + 1);
    ZSTD_inBuffer in = {e->payload, e->stored, 0};
    ZSTD_outBuffer ob = {buf, cap, 0};
    int err = FATBIN_NOMEM;
    if (!ds || !buf)
        goto out;
    for (;;) {
        size_t in_before = in.pos, out_before = ob.pos;
        size_t r = ZSTD_decompressStream(ds, &ob, &in);
        err = FATBIN_CORRUPT;
        if (ZSTD_isError(r))
            goto out;
        if (r == 0) /* the frame is complete; what follows is padding */
            break;
        if (ob.pos < ob.size) {
            if (in.pos == in.size || (in.pos == in_before && ob.pos == out_before))
                goto out; /* the frame ends before it is complete */
            continue;
        }
        err = FATBIN_TOO_BIG;
        if (cap >= FATBIN_MAX_IMAGE)
            goto out;
        cap = grown(cap);
        err = FATBIN_NOMEM;
        char *more = realloc(buf, cap + 1);
        if (!more)
            goto out;
        buf = more;
        ob.dst = buf;
        ob.size = cap;
    }
    err = FATBIN_OK;
    *out = buf;
    *len = ob.pos;
    buf = NULL;
out:
    free(buf);
    ZSTD_freeDStream(ds);
    return err;
}

static int unpack_lz4(const struct fatbin_entry *e, char **out, size_t *len)
{
    /* An LZ4 block does not say how large it gets and cannot exceed 255 times its size; the decoder
     * reports a full buffer and damage alike, so the recorded size is tried first, then larger ones. */
    size_t most = e->stored > FATBIN_MAX_IMAGE / 255 ? FATBIN_MAX_IMAGE : e->stored * 255 + 64;
    if (e->stored > LZ4_MAX_INPUT_SIZE)
        return FATBIN_TOO_BIG;
    for (size_t cap = first_guess(e->unpacked, e->stored, 255);; cap = grown(cap)) {
        if (cap > most)
            cap = most;
        char *buf = malloc(cap + 1);
        if (!buf)
            return FATBIN_NOMEM;
        int n = LZ4_decompress_safe((const char *)e->payload, buf, (int)e->stored, (int)cap);
        if (n >= 0) {
            *out = buf;
            *len = (size_t)n;
            return FATBIN_OK;
        }
        free(buf);
        if (cap >= most)
            return FATBIN_CORRUPT;
    }
}

static int copy_raw(const struct fatbin_entry *e, char **out, size_t *len)
{
    if (e->stored > FATBIN_MAX_IMAGE)
        return FATBIN_TOO_BIG;
    char *buf = malloc(e->stored + 1);
    if (!buf)
        return FATBIN_NOMEM;
    memcpy(buf, e->payload, e->stored);
    *out = buf;
    *len = e->stored;
    return FATBIN_OK;
}

int fatbin_unpack(const struct fatbin_entry *e, char **out, size_t *len)
{
    static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    char *buf = NULL;
    size_t n = 0;
    int err;
    if (!e->compressed)
        err = copy_raw(e, &buf, &n);
    else if (e->flags & FATBIN_F_ZSTD || (e->stored >= 4 && !memcmp(e->payload, zstd_magic, 4)))
        err = unpack_zstd(e, &buf, &n);
    else if (e->flags & FATBIN_F_LZ4)
        err = unpack_lz4(e, &buf, &n);
    else
        err = FATBIN_UNKNOWN_COMPRESSION;
    if (err)
        return err;
    buf[n] = '\0';
    if (e->kind == FATBIN_PTX)
        n = strnlen(buf, n);
    *out = buf;
    *len = n;
    return FATBIN_OK;
}
