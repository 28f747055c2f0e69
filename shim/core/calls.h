/* What a call looks like: made by gen/ from the signatures of mapping/, read by the tracer. */
#ifndef CUMU_CORE_CALLS_H
#define CUMU_CORE_CALLS_H

#include <stdint.h>

enum cumu_kind { /* of an argument, or of what it points to */
                 CUMU_ARG_VOID,
                 CUMU_ARG_POINTER, /* to memory; opaque handles of the maths libraries, too */
                 CUMU_ARG_HANDLE,  /* of the driver's objects */
                 CUMU_ARG_STREAM,
                 CUMU_ARG_ADDRESS,   /* of device memory: an integer shown as a pointer */
                 CUMU_ARG_ARRAY,     /* handle of an array */
                 CUMU_ARG_SYMBOL,    /* a device variable by its shadow on the host */
                 CUMU_ARG_COPY3D,    /* cudaMemcpy3DParms; musa.h has the layouts of these four */
                 CUMU_ARG_PEER3D,    /* cudaMemcpy3DPeerParms */
                 CUMU_ARG_CU_COPY2D, /* CUDA_MEMCPY2D */
                 CUMU_ARG_CU_COPY3D, /* CUDA_MEMCPY3D and its form for peers */
                 CUMU_ARG_STRING,
                 CUMU_ARG_CHAR,
                 CUMU_ARG_SIGNED,
                 CUMU_ARG_UNSIGNED,
                 CUMU_ARG_LENGTH,  /* bytes that the call moves; several of them: their product */
                 CUMU_ARG_LENGTH2, /* the same in elements of two bytes */
                 CUMU_ARG_LENGTH4, /* and of four */
                 CUMU_ARG_FLOAT,   /* one, or a struct of them */
                 CUMU_ARG_DOUBLE,
                 CUMU_ARG_MIXED, /* an integer and a double */
                 CUMU_ARG_ENUM,
                 CUMU_ARG_DIM3,
                 CUMU_ARG_BYTES /* a struct that nothing more is known of */
};

/* Where the System V ABI of x86-64 puts a value's first two eight-byte parts: 0 to 5 the integer registers
 * in order of arguments (of a result: rax, rdx), CUMU_AT_FLOAT + n xmm n, CUMU_AT_STACK + n the nth eight
 * bytes of stack arguments. Of a longer struct the first part, the others follow. */
enum { CUMU_AT_FLOAT = 8, CUMU_AT_STACK = 16, CUMU_AT_MEMORY = 255 /* of a result: *rax */ };

struct cumu_argument {
    uint8_t kind, stars; /* stars: levels of pointer on top of the kind */
    uint8_t size;        /* of the kind, in bytes */
    uint8_t output;      /* points to one value that the call writes */
    uint8_t at[2];
    uint16_t values; /* enums: index into cumu_enums[] plus 1 */
};

struct cumu_prototype {   /* one distinct signature */
    uint16_t first;       /* of its arguments in cumu_arguments[] */
    uint8_t count, stack; /* stack: eight-byte parts on it */
    uint8_t status;       /* the result is an error code, 0 is success */
    struct cumu_argument result;
};

struct cumu_enum_row {
    int32_t value;
    uint32_t name; /* offset into names */
};
struct cumu_enum {
    const struct cumu_enum_row *rows; /* several names of one value: the first counts */
    const char *names;
    uint32_t count;
};

extern const struct cumu_argument cumu_arguments[];
extern const struct cumu_prototype cumu_prototypes[];
extern const uint32_t cumu_prototype_count;
extern const struct cumu_enum cumu_enums[];

#endif
