/* cuFile: files to and from the device's memory. MUSA has no such library: bytes go through the host, by pread, pwrite
 * and copies, as NVIDIA's own library does where its kernel module is missing (its compatibility mode). */
#ifndef CUMU_API_CUFILE_CUFILE_H
#define CUMU_API_CUFILE_CUFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "api/api.h"
#include "cuda_enums.h"
#include "wraps.h"

/* CUfileError_t: cuFile's code in the lower half, the driver's in the upper. */
static inline unsigned long cufile_error(unsigned code) { return code; }
static inline unsigned long cufile_driver_error(int musa)
{
    return CU_FILE_CUDA_DRIVER_ERROR | (unsigned long)(unsigned)cumu_cuda_error(musa) << 32;
}

/* What cuFileHandleRegister gives out. It stays in a list until it is deregistered, so that a handle that is none is
 * refused. */
struct cufile {
    struct cufile *next;
    int fd;         /* the program's */
    int own;        /* the same file without O_DIRECT, which wants aligned memory; -1: it has none */
    unsigned users; /* calls that are at it */
    bool gone;      /* deregistered meanwhile: the last user frees it */
};
struct cufile *cufile_take(void *handle); /* NULL: no such handle */
void cufile_give(struct cufile *f);

/* Opens the driver if nobody has: all calls that need it do so. */
void cufile_ensure_open(void);

/* Memory that only the device is sure to reach. */
bool cufile_on_device(const void *p);
/* Bytes moved between the file and memory at once, less at the file's end; -1 with errno. */
ssize_t cufile_transfer(const struct cufile *f, bool write, void *memory, size_t size, off_t at);
/* The same of any memory: -1 with errno, or a code of cuFile's negated. */
long long cufile_move(void *handle, bool write, void *memory, size_t size, long long file_offset,
                      long long memory_offset);

#endif
