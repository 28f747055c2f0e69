/* Lines of pictures, spread over the CPUs, and calls on their streams. */
#include "host/mupp/mupp.h"

#include <string.h>

#include "host/maths/parallel.h"
#include "host/maths/submit.h"
#include "musa_enums.h"

enum { PARTS = 64, MANY = 1000000 }; /* operations from which on several CPUs are worth it */
struct job {
    pp_line_of *line;
    int height;
    double work;
    union {
        struct mupp_bayer bayer;
        struct mupp_twist twist;
        struct mupp_remap remap;
    } call;
};

static void do_part(void *job, unsigned i)
{
    const struct job *j = job;
    int end = (int)((int64_t)j->height * (i + 1) / PARTS);
    for (int y = (int)((int64_t)j->height * i / PARTS); y < end; y++)
        j->line(&j->call, y);
}

static void run(const void *call)
{
    const struct job *j = call;
    if (j->work > MANY)
        maths_parallel(PARTS, do_part, (void *)(uintptr_t)j);
    else
        for (int y = 0; y < j->height; y++)
            j->line(&j->call, y);
}

muppStatus_t pp_submit(musaStream_t stream, const struct mupp_target *to, double each, pp_line_of *line,
                       const void *call, size_t size)
{
    struct job j = {.line = line, .height = to->height, .work = each * to->width * to->height};
    memcpy(&j.call, call, size);
    switch (maths_submit(stream, (struct maths_work){MATHS_OWN_CODE, run, NULL}, &j, sizeof j, j.work)) {
    case musaSuccess: return MUPP_SUCCESS;
    case musaErrorMemoryAllocation: return MUPP_NO_MEMORY;
    default: return MUPP_KERNEL_FAILED;
    }
}
