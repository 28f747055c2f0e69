/* Lines of pictures, spread over the CPUs, and calls on their streams. */
#include "host/mupp/mupp.h"

#include "host/maths/parallel.h"
#include "host/maths/submit.h"
#include "musa_enums.h"

enum { PARTS = 64 };
struct lines {
    void (*line)(const void *call, int y);
    const void *call;
    int height;
};

static void do_part(void *job, unsigned i)
{
    const struct lines *l = job;
    int end = (int)((int64_t)l->height * (i + 1) / PARTS);
    for (int y = (int)((int64_t)l->height * i / PARTS); y < end; y++)
        l->line(l->call, y);
}

void pp_lines(const struct mupp_target *to, double each, void (*line)(const void *call, int y), const void *call)
{
    if (each * to->width * to->height > 1e6) {
        struct lines l = {line, call, to->height};
        maths_parallel(PARTS, do_part, &l);
        return;
    }
    for (int y = 0; y < to->height; y++)
        line(call, y);
}

muppStatus_t pp_submit(musaStream_t stream, const struct mupp_target *to, double each, void (*run)(const void *call),
                       const void *call, size_t size)
{
    switch (maths_submit(stream, (struct maths_work){MATHS_OWN_CODE, run, NULL}, call, size,
                         each * to->width * to->height)) {
    case musaSuccess: return MUPP_SUCCESS;
    case musaErrorMemoryAllocation: return MUPP_NO_MEMORY;
    default: return MUPP_KERNEL_FAILED;
    }
}
