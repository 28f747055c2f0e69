/* cuFile's wrappers: a file of numbers to memory of the device and the host and back, at once, in batches and on
 * streams; and what is no file, no handle, no room. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_enums.h"
#include "snippet.h"

enum { BYTES = 9 << 20, MOST = 1 << 16 }; /* more than is moved at once */
struct descriptor {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *operations;
};
struct request {
    int mode;
    void *base;
    long long file_offset, offset;
    size_t size;
    void *file;
    int opcode;
    void *cookie;
};
struct event {
    void *cookie;
    int status;
    size_t result;
};

/* What files hold, by place. */
static unsigned char pattern[BYTES];
static pthread_once_t filled = PTHREAD_ONCE_INIT;
static void fill(void)
{
    for (size_t k = 0; k < BYTES; k++)
        pattern[k] = (unsigned char)(k * 2654435761u >> 13);
}

static int temporary(int flags)
{
    char path[] = "/tmp/cumu-cufile-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && flags) { /* O_DIRECT, where the file system has it */
        int other = open(path, O_RDWR | O_CLOEXEC | flags);
        if (other >= 0) {
            close(fd);
            fd = other;
        }
    }
    unlink(path);
    return fd;
}

static bool same(const unsigned char *p, size_t n, size_t from) { return !memcmp(p, pattern + from, n); }

static void driver(void)
{
    struct {
        unsigned major, minor;
        size_t poll, direct;
        unsigned status, control, features, cache, buffer, pinned, batch, timeout;
    } p;
    int version = 0;
    size_t size = 7;
    unsigned char flag = 7;
    char text[16];
    long long before = C(cuFileUseCount)();
    check(!C(cuFileGetVersion)(&version) && version >= 1000, "cuFile has a version");
    while (C(cuFileUseCount)() > 0)
        C(cuFileDriverClose_v2)();
    check(C(cuFileDriverClose)() == CU_FILE_DRIVER_NOT_INITIALIZED, "a driver that is not open cannot be closed");
    check(!C(cuFileSetParameterSizeT)(9, 64) && !C(cuFileGetParameterSizeT)(9, &size) && size == 64, "a size is kept");
    check(!C(cuFileSetParameterBool)(1, 1) && !C(cuFileGetParameterBool)(1, &flag) && flag == 1, "and a flag");
    check(!C(cuFileSetParameterString)(0, "DEBUG") && !C(cuFileGetParameterString)(0, text, sizeof text) &&
              !strcmp(text, "DEBUG"),
          "and a text");
    check(C(cuFileGetParameterString)(0, text, 3) == CU_FILE_INVALID_VALUE, "that does not fit is an error");
    check(C(cuFileSetParameterSizeT)(99, 1) == CU_FILE_INVALID_VALUE &&
              C(cuFileGetParameterBool)(-1, &flag) == CU_FILE_INVALID_VALUE,
          "there are so many parameters");
    check(!C(cuFileDriverOpen)() && !C(cuFileDriverOpen)() && C(cuFileUseCount)() == 2, "it counts who opened it");
    check(C(cuFileSetParameterSizeT)(9, 1) == CU_FILE_DRIVER_ALREADY_OPEN, "parameters come before");
    check(!C(cuFileDriverSetPollMode)(1, 8) && !C(cuFileDriverSetMaxDirectIOSize)(4096) &&
              !C(cuFileDriverSetMaxCacheSize)(8192) && !C(cuFileDriverSetMaxPinnedMemSize)(16384) &&
              !C(cuFileDriverGetProperties)(&p) && p.poll == 8 && p.direct == 4096 && p.cache == 8192 &&
              p.pinned == 16384 && (p.control & 3) == 3 && p.major == 0,
          "properties are told and set");
    check(C(cuFileDriverSetMaxCacheSize)(5) == CU_FILE_INVALID_VALUE &&
              C(cuFileDriverGetProperties)(NULL) == CU_FILE_INVALID_VALUE,
          "to what they can be");
    C(cuFileDriverSetPollMode)(0, 4);
    for (; before < 2; before++)
        C(cuFileDriverClose_v2)();
}

/* Any memory: what is read and written is what the file has; a file's end shortens a transfer. */
static void transfers(void *file, int fd, unsigned char *memory, bool device, const char *whose)
{
    unsigned char *host = malloc(BYTES);
    check(C(cuFileRead)(file, memory, BYTES, 0, 0) == BYTES &&
              !M(cudaMemcpy, musaMemcpy)(host, memory, BYTES, device ? 2 : 0) && same(host, BYTES, 0),
          "a file is read to memory of the %s", whose);
    check(C(cuFileRead)(file, memory, BYTES, BYTES - 100, 1000) == 100 &&
              !M(cudaMemcpy, musaMemcpy)(host, memory, BYTES, device ? 2 : 0) && same(host + 1000, 100, BYTES - 100) &&
              same(host, 1000, 0) && same(host + 1100, 500, 1100),
          "to its end alone");
    check(C(cuFileRead)(file, memory, 10, BYTES, 0) == 0, "and nothing behind it");
    for (int k = 0; k < 3000; k++)
        host[k] = (unsigned char)~pattern[k];
    check(!M(cudaMemcpy, musaMemcpy)(memory, host, 3000, device ? 1 : 0) &&
              C(cuFileWrite)(file, memory, 1000, 2 * BYTES, 2000) == 1000 &&
              C(cuFileRead)(file, memory, 1000, 2 * BYTES, 0) == 1000 &&
              !M(cudaMemcpy, musaMemcpy)(host, memory, 3000, device ? 2 : 0) && !memcmp(host, host + 2000, 1000),
          "and written");
    check(!ftruncate(fd, BYTES), "the file is as it was");
    free(host);
}

static void wrong(void *file, int fd, void *memory)
{
    struct descriptor d = {.type = 1, .handle = {.fd = fd}};
    void *other = file;
    int pipes[2];
    check(C(cuFileHandleRegister)(&other, &d) == CU_FILE_HANDLE_ALREADY_REGISTERED && !other, "a file registers once");
    d.handle.fd = -1;
    check(C(cuFileHandleRegister)(&other, &d) == CU_FILE_INVALID_FILE_TYPE, "a number that is no file does not");
    if (pipe(pipes) == 0) {
        d.handle.fd = pipes[0];
        check(C(cuFileHandleRegister)(&other, &d) == CU_FILE_INVALID_FILE_TYPE, "nor a pipe");
        close(pipes[0]);
        close(pipes[1]);
    }
    d.type = 3;
    check(C(cuFileHandleRegister)(&other, &d) == CU_FILE_IO_NOT_SUPPORTED &&
              C(cuFileHandleRegister)(NULL, &d) == CU_FILE_INVALID_VALUE &&
              C(cuFileHandleRegister)(&other, NULL) == CU_FILE_INVALID_VALUE,
          "nor what is none");
    check(C(cuFileRead)(&d, memory, 1, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED &&
              C(cuFileWrite)(NULL, memory, 1, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED,
          "a handle that is none is refused");
    check(C(cuFileRead)(file, NULL, 1, 0, 0) == -CU_FILE_INVALID_VALUE &&
              C(cuFileRead)(file, memory, 1, -1, 0) == -CU_FILE_INVALID_VALUE &&
              C(cuFileRead)(file, memory, 1, 0, -1) == -CU_FILE_INVALID_VALUE,
          "and offsets below zero");
    check(!C(cuFileBufRegister)(memory, MOST, 0) &&
              C(cuFileBufRegister)(memory, MOST, 0) == CU_FILE_MEMORY_ALREADY_REGISTERED &&
              !C(cuFileBufDeregister)(memory) && C(cuFileBufDeregister)(memory) == CU_FILE_MEMORY_NOT_REGISTERED &&
              C(cuFileBufRegister)(NULL, 1, 0) == CU_FILE_INVALID_VALUE,
          "a buffer registers once, too");
    int plain = open("/dev/null", O_RDONLY | O_CLOEXEC);
    d = (struct descriptor){.type = 1, .handle = {.fd = plain}};
    check(C(cuFileHandleRegister)(&other, &d) == CU_FILE_INVALID_FILE_TYPE, "a terminal or its like is no file");
    close(plain);
    char path[] = "/proc/self/exe";
    d.handle.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (check(!C(cuFileHandleRegister)(&other, &d), "a file to be read")) {
        errno = 0;
        check(C(cuFileWrite)(other, memory, 8, 0, 0) == -1 && errno == EBADF, "is not written: the system's own error");
        C(cuFileHandleDeregister)(other);
    }
    close(d.handle.fd);
    C(cuFileHandleDeregister)(&d);
}

static void batch(void *file, unsigned char *memory)
{
    struct request r[5] = {
        {1, memory, 100, 0, 200, file, 0, &r[0]},
        {1, memory, 5000, 1000, 300, file, 0, &r[1]},
        {1, memory, 3 * BYTES, 1000, 300, file, 1, &r[2]},
        {1, memory, 0, 0, 1, &r, 0, &r[3]},
        {1, memory, 0, 0, 1, file, 9, &r[4]},
    };
    struct event e[8];
    unsigned char host[2000];
    unsigned n = 8;
    void *b = NULL;
    check(!C(cuFileBatchIOSetUp)(&b, 5) && !C(cuFileBatchIOSubmit)(b, 5, r, 0), "a batch is submitted");
    check(C(cuFileBatchIOSubmit)(b, 1, r, 0) == CU_FILE_BATCH_FULL, "and then it is full");
    check(!C(cuFileBatchIOGetStatus)(b, 1, &n, e, NULL) && n == 5 && e[0].cookie == &r[0] && e[0].status == 16 &&
              e[0].result == 200 && e[1].result == 300 && e[2].status == 16 && e[2].result == 300 &&
              e[3].status == 64 && e[4].status == 4,
          "its events say what came of each");
    check(!M(cudaMemcpy, musaMemcpy)(host, memory, sizeof host, 2) && same(host, 200, 100) &&
              same(host + 1000, 300, 5000),
          "which they did");
    check(C(cuFileRead)(file, memory, 300, 3 * BYTES, 0) == 300 && !M(cudaMemcpy, musaMemcpy)(host, memory, 300, 2) &&
              same(host, 300, 5000),
          "and wrote");
    n = 8;
    check(!C(cuFileBatchIOGetStatus)(b, 0, &n, e, NULL) && n == 0 && !C(cuFileBatchIOCancel)(b),
          "no more is under way");
    C(cuFileBatchIODestroy)(b);
    n = 8;
    check(C(cuFileBatchIOSubmit)(b, 1, r, 0) == CU_FILE_INVALID_VALUE &&
              C(cuFileBatchIOGetStatus)(b, 0, &n, e, NULL) == CU_FILE_INVALID_VALUE &&
              C(cuFileBatchIOCancel)(b) == CU_FILE_INVALID_VALUE &&
              C(cuFileBatchIOSetUp)(&b, 0) == CU_FILE_INVALID_VALUE,
          "a batch that is gone is refused");
    C(cuFileBatchIODestroy)(b);
}

static void streams(void *file, unsigned char *memory)
{
    size_t size = MOST, less = 100;
    long long from = 777, end = BYTES - 50, at_memory = 64, zero = 0, got = -5, short_read = -5, put = -5;
    unsigned char *host = malloc(MOST + 64);
    cudaStream_t s = NULL, apart = NULL; /* apart: for a capture */
    check(!M(cudaStreamCreate, musaStreamCreate)((void *)&s) && !C(cuFileStreamRegister)(s, 15) &&
              C(cuFileStreamRegister)(s, 99),
          "a stream registers");
    check(!M(cudaMemset, musaMemset)(memory, 0x5a, MOST + 64), "memory that");
    check(!C(cuFileReadAsync)(file, memory, &size, &from, &at_memory, &got, s) &&
              !C(cuFileWriteAsync)(file, memory, &size, &zero, &at_memory, &put, s) &&
              !C(cuFileReadAsync)(file, memory, &less, &end, &zero, &short_read, s) &&
              !M(cudaStreamSynchronize, musaStreamSynchronize)((void *)s),
          "transfers follow one another on a stream");
    check(got == MOST && put == MOST && short_read == 50, "each says what it moved");
    check(!M(cudaMemcpy, musaMemcpy)(host, memory, MOST + 64, 2) && same(host + 64, MOST, 777) &&
              same(host, 50, BYTES - 50) && host[50] == 0x5a && host[63] == 0x5a,
          "and moves no more than there was");
    check(C(cuFileRead)(file, memory, MOST, 0, 0) == MOST && !M(cudaMemcpy, musaMemcpy)(host, memory, MOST, 2) &&
              same(host, MOST, 777),
          "in order");
    check(!C(cuFileReadAsync)(file, host, &less, &from, &zero, &got, s) &&
              !M(cudaStreamSynchronize, musaStreamSynchronize)((void *)s) && got == 100 && same(host, 100, 777 + 777),
          "to memory of the host as well");
    check(C(cuFileReadAsync)(&host, memory, &size, &from, &zero, &got, s) == CU_FILE_HANDLE_NOT_REGISTERED &&
              C(cuFileReadAsync)(file, memory, NULL, &from, &zero, &got, s) == CU_FILE_INVALID_VALUE,
          "wrong arguments are refused");
    cudaGraph_t g = NULL;
    if (snippet_alone() && !M(cudaStreamCreateWithFlags, musaStreamCreateWithFlags)((void *)&apart, 1) &&
        !C(cudaStreamBeginCapture)(apart, 1)) {
        check(C(cuFileReadAsync)(file, memory, &size, &from, &zero, &got, apart) == CU_FILE_ASYNC_NOT_SUPPORTED,
              "a graph has no transfers");
        M(cudaStreamEndCapture, musaStreamEndCapture)((void *)apart, (void *)&g);
        M(cudaGraphDestroy, musaGraphDestroy)((void *)g);
    }
    check(!C(cuFileStreamDeregister)(s), "and it deregisters");
    M(cudaStreamDestroy, musaStreamDestroy)((void *)s);
    if (apart)
        M(cudaStreamDestroy, musaStreamDestroy)((void *)apart);
    free(host);
}

void snippet_cufile(void)
{
    struct descriptor d = {.type = 1};
    unsigned char *memory = NULL, *host = malloc(BYTES);
    void *file = NULL;
    pthread_once(&filled, fill);
    if (snippet_alone())
        driver();
    for (int direct = 0; direct < 2; direct++) {
        int fd = d.handle.fd = temporary(direct ? O_DIRECT : 0);
        memcpy(host, pattern, BYTES);
        check(!C(cuFileHandleRegister)(&file, &d), "a file%s is registered", direct ? " of direct transfers" : "");
        check(C(cuFileWrite)(file, host, BYTES, 0, 0) == BYTES, "and filled");
        if (check(!M(cudaMalloc, musaMalloc)((void **)&memory, BYTES), "memory")) {
            transfers(file, fd, host, false, "host");
            transfers(file, fd, memory, true, "device");
            if (!direct) {
                batch(file, memory);
                check(!ftruncate(fd, BYTES), "the file is as it was");
                wrong(file, fd, memory);
                streams(file, memory);
            }
            M(cudaFree, musaFree)(memory);
        }
        C(cuFileHandleDeregister)(file);
        check(C(cuFileRead)(file, host, 1, 0, 0) == -CU_FILE_HANDLE_NOT_REGISTERED, "until it is deregistered");
        close(fd);
    }
    free(host);
}
