/* cuFile with drawn transfers, at once, in batches and on streams, between files, memory of the host and the device:
 * most are right, the others have handles that are none, gone or another kind's, sizes beyond the memory, negative and
 * huge offsets, no memory. Files and memories are compared with a model of them: what is wrong has an error and changes
 * nothing, and nothing is written behind any memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "../xorshift.h"
#include "cuda_enums.h"
#include "cuda_functions.h"
#include "types.h"

enum { FILES = 2, LONGEST = 40000, ROOM = 30000, GUARD = 64, BATCH = 8, DEVICE = 0, HOST = 1 };
static uint64_t seed = 18;
static unsigned upto(unsigned n) { return (unsigned)(xorshift(&seed) % n); }

static struct {
    int fd;
    void *handle;
    long long size;
    unsigned char data[LONGEST];
} file[FILES];
static struct {
    unsigned char *at, data[ROOM + GUARD];
} memory[2];
static void *gone;

static int temporary(void)
{
    char path[] = "/tmp/cumu-cufile-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    unlink(path);
    return fd;
}

/* ---- the model --------------------------------------------------------------------------------- */

struct transfer {
    void *handle;
    int of, memory; /* of: the file's number, or -1 */
    bool write;
    void *base;
    long long file_offset, offset;
    size_t size;
    bool wrong;
};
static struct transfer draw(void)
{
    static const long long huge[] = {-1, INT64_MIN, INT64_MAX, (long long)1 << 62};
    struct transfer t = {.of = (int)upto(FILES), .memory = (int)upto(2), .write = upto(2)};
    t.handle = file[t.of].handle;
    t.base = memory[t.memory].at;
    t.offset = upto(ROOM);
    t.size = upto(ROOM - (unsigned)t.offset + 1);
    t.file_offset = upto(LONGEST - (unsigned)t.size);
    if (upto(4))
        return t;
    t.wrong = true;
    switch (upto(5)) {
    case 0: {
        void *const none[] = {NULL, (void *)"noise that is no handle", gone, (void *)(uintptr_t)0x1234, t.base};
        t.handle = none[upto(5)];
        t.of = -1;
        break;
    }
    case 1: t.base = NULL; break;
    case 2: t.file_offset = upto(2) ? -1 : INT64_MIN; break;
    case 3: t.offset = huge[upto(2)]; break;
    default: /* beyond the memory of the device; what the host's is nobody knows */
        t.memory = DEVICE, t.base = memory[DEVICE].at, t.write = true;
        t.size = (size_t)ROOM * (1000 + upto(1000)), t.file_offset = upto(100);
    }
    t.wrong &= t.size > 0 || t.of < 0 || !t.base || t.file_offset < 0 || t.offset < 0;
    return t;
}
static long long model(const struct transfer *t)
{
    unsigned char *in_memory = memory[t->memory].data + t->offset, *in_file = file[t->of].data + t->file_offset;
    long long left = file[t->of].size - t->file_offset;
    size_t n = t->write ? t->size : left <= 0 ? 0 : (size_t)left < t->size ? (size_t)left : t->size;
    if (!t->write) {
        memcpy(in_memory, in_file, n);
    } else if (n) {
        memcpy(in_file, in_memory, n);
        if (file[t->of].size < t->file_offset + (long long)n)
            file[t->of].size = t->file_offset + (long long)n;
    }
    return (long long)n;
}
static void compare(const char *what)
{
    static unsigned char now[LONGEST + ROOM + GUARD];
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < FILES; i++) {
        long long n = pread(file[i].fd, now, sizeof now, 0);
        EXPECT(n == file[i].size && !memcmp(now, file[i].data, (size_t)n), "%s: file %d is another", what, i);
    }
    for (int i = 0; i < 2; i++) {
        OK(cudaMemcpy(now, memory[i].at, ROOM + GUARD, 2 * (i == DEVICE)));
        EXPECT(!memcmp(now, memory[i].data, ROOM + GUARD), "%s: memory %d is another", what, i);
    }
}

/* ---- the ways of transfers --------------------------------------------------------------------- */

static void at_once(void)
{
    const struct transfer t = draw();
    long long n = t.write ? cuFileWrite(t.handle, t.base, t.size, t.file_offset, t.offset)
                          : cuFileRead(t.handle, t.base, t.size, t.file_offset, t.offset);
    if (t.wrong)
        EXPECT(n < 0, "a wrong transfer: %lld", n);
    else
        EXPECT(n == model(&t), "status %lld of %zu bytes", n, t.size);
}
static void in_batch(void)
{
    struct request r[BATCH];
    struct transfer t[BATCH];
    struct event e[BATCH + 1];
    const unsigned n = 1 + upto(BATCH);
    unsigned count = BATCH;
    void *batch = NULL, *const none[] = {NULL, (void *)"noise", gone, file[0].handle};
    unsigned long status = cuFileBatchIOSetUp(&batch, n);
    EXPECT(!status, "status %lu of a batch", status);
    if (status)
        return;
    for (unsigned i = 0; i < n; i++) {
        t[i] = draw();
        r[i] = (struct request){1, t[i].base, t[i].file_offset, t[i].offset, t[i].size, t[i].handle, t[i].write, &t[i]};
        if (!upto(12)) {
            *(upto(2) ? &r[i].mode : &r[i].opcode) = 7;
            t[i].wrong = true;
        }
    }
    EXPECT(cuFileBatchIOSubmit(none[upto(4)], n, r, 0) != 0, "no batch");
    EXPECT(cuFileBatchIOSubmit(batch, upto(2) ? 0 : UINT32_MAX, r, 0) != 0, "so many requests");
    EXPECT(cuFileBatchIOSubmit(batch, n, NULL, 0) != 0, "no requests");
    EXPECT(cuFileBatchIOSubmit(batch, n, r, 1 + upto(99)) != 0, "flags");
    status = cuFileBatchIOSubmit(batch, n, r, 0);
    EXPECT(!status, "status %lu of %u requests", status, n);
    if (status) {
        cuFileBatchIODestroy(batch);
        return;
    }
    EXPECT(cuFileBatchIOSubmit(batch, 1, r, 0) != 0, "it is full");
    EXPECT(cuFileBatchIOGetStatus(batch, BATCH + 1, &count, e, NULL) != 0, "more than there is place for");
    EXPECT(cuFileBatchIOGetStatus(batch, 0, NULL, e, NULL) != 0 &&
               cuFileBatchIOGetStatus(batch, 0, &count, NULL, NULL) != 0,
           "no place");
    memset(e, 0x5a, sizeof e);
    OK(cuFileBatchIOGetStatus(batch, n, &count, e, NULL));
    IS(count, n);
    for (unsigned i = 0; i < count; i++) {
        const struct transfer *of = e[i].cookie;
        EXPECT(of == &t[i], "event %u", i);
        if (of->wrong)
            EXPECT(e[i].status != 16 && (long long)e[i].result < 0, "a wrong transfer: %d, %lld", e[i].status,
                   (long long)e[i].result);
        else
            EXPECT(e[i].status == 16 && (long long)e[i].result == model(of), "status %lld of %zu bytes",
                   (long long)e[i].result, of->size);
    }
    EXPECT(e[count].status == 0x5a5a5a5a, "an event too many");
    cuFileBatchIODestroy(batch);
    EXPECT(cuFileBatchIOSubmit(batch, 1, r, 0) != 0 && cuFileBatchIOCancel(batch) != 0, "a batch that is gone");
    cuFileBatchIODestroy(batch);
}
static void on_stream(void *stream)
{
    struct transfer t = draw();
    long long moved = 77;
    size_t size = t.size, *sizes = &size;
    long long *results = &moved;
    if (!upto(10)) {
        *(upto(2) ? (void **)&sizes : (void **)&results) = NULL;
        t.wrong = true;
    }
    unsigned long r =
        t.write ? cuFileWriteAsync(t.handle, t.base, (void *)sizes, &t.file_offset, &t.offset, (void *)results, stream)
                : cuFileReadAsync(t.handle, t.base, (void *)sizes, &t.file_offset, &t.offset, (void *)results, stream);
    (void)cudaStreamSynchronize(stream);
    if (t.wrong)
        EXPECT(r || moved < 0, "a wrong transfer: %lu, %lld", r, moved);
    else
        EXPECT(!r && moved == model(&t), "status %lu, %lld of %zu bytes", r, moved, t.size);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? 30 : 3000;
    struct descriptor d = {.type = 1};
    void *stream;
    (void)argv;
    MUST(cuFileDriverOpen());
    for (int i = 0; i < FILES; i++) {
        d.handle.fd = file[i].fd = temporary();
        MUST(file[i].fd < 0);
        MUST(cuFileHandleRegister(&file[i].handle, &d));
    }
    d.handle.fd = temporary();
    MUST(cuFileHandleRegister(&gone, &d));
    cuFileHandleDeregister(gone);
    cuFileHandleDeregister(gone);
    close(d.handle.fd);
    MUST(cudaMalloc((void **)&memory[DEVICE].at, ROOM + GUARD));
    memory[HOST].at = malloc(ROOM + GUARD);
    MUST(memory[HOST].at == NULL);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < ROOM + GUARD; k++)
            memory[i].data[k] = (unsigned char)upto(256);
        OK(cudaMemcpy(memory[i].at, memory[i].data, ROOM + GUARD, i == DEVICE));
    }
    MUST(cudaStreamCreate((void *)&stream));
    for (int i = 0; i < rounds; i++) {
        const int way = (int)upto(3);
        way == 0 ? at_once() : way == 1 ? in_batch() : on_stream(stream);
        compare(way == 0 ? "at once" : way == 1 ? "in a batch" : "on a stream");
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory[DEVICE].at));
    free(memory[HOST].at);
    for (int i = 0; i < FILES; i++) {
        cuFileHandleDeregister(file[i].handle);
        close(file[i].fd);
    }
    OK(cuFileDriverClose());
    return check_end("transfers");
}
