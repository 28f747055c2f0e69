/* What cumu's own driver on the CPU has for the rest of cumu alone, where it checks kernels: vendors' libraries do not
 * have it. */
#ifndef CUMU_ABI_REPORT_H
#define CUMU_ABI_REPORT_H

#include <stdint.h>

/* The report of a call that returned an error (CUMU_CHECK=memory). */
#define CUMU_HOST_REPORT_CALL "cumu_host_report_call"
typedef void cumu_host_report_call_t(const char *function, const char *name, int error, const char *text);

/* What a program says of its memory (NVTX's memory API) to the tools that look at its kernels. */
enum cumu_memory_note_kind {
    CUMU_NOTE_HEAP,        /* the range is divided by an allocator of the program: only regions may be touched */
    CUMU_NOTE_HEAP_GONE,   /* of the heap at base, with its regions */
    CUMU_NOTE_HEAP_RESET,  /* its regions are gone; base 0: those that are in no heap */
    CUMU_NOTE_REGION,      /* the range is allocated, or has another size from now on */
    CUMU_NOTE_REGION_GONE, /* of the region at base */
    CUMU_NOTE_NAME,        /* of the region or allocation at base */
    CUMU_NOTE_RIGHTS,      /* what kernels of the device may do with the region or allocation at base */
    CUMU_NOTE_RIGHTS_GONE, /* base 0: all that were given for the device */
    CUMU_NOTE_WRITTEN      /* the range counts as written */
};
enum { CUMU_MAY_READ = 1, CUMU_MAY_WRITE = 2, CUMU_MAY_UPDATE = 4 }; /* NVTX's numbers; the last: by atomics */
struct cumu_memory_note {
    enum cumu_memory_note_kind kind;
    uint64_t base, size;
    const char *name; /* is copied */
    unsigned rights;
    int device; /* an ordinal; -1: all */
};
#define CUMU_HOST_ANNOTATE "cumu_host_annotate"
typedef void cumu_host_annotate_t(const struct cumu_memory_note *a);

/* Mode of the file of reports that cumu memcheck reads, once it did not take one of them whole. */
#define CUMU_HOST_REPORTS_LOST 0700

#endif
