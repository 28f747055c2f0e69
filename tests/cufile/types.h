/* Structs of cuFile's public interface that its programs fill in, as they lie in memory. */
#ifndef CUMU_TESTS_CUFILE_TYPES_H
#define CUMU_TESTS_CUFILE_TYPES_H

#include <stddef.h>

struct descriptor { /* CUfileDescr_t */
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *operations;
};
struct request { /* CUfileIOParams_t */
    int mode;
    void *base;
    long long file_offset, offset;
    size_t size;
    void *file;
    int opcode;
    void *cookie;
};
struct event { /* CUfileIOEvents_t */
    void *cookie;
    int status;
    size_t result;
};

#endif
