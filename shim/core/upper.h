/* What the core asks of the layers above it. A layer that answers says so with CUMU_UPPER, once: the linker gathers
 * these entries, so the core refers to no symbol of theirs, and no constructor runs. Without an entry a question has
 * its neutral answer (scripts/link-layers holds that no object of a layer needs one of a layer above). */
#ifndef CUMU_CORE_UPPER_H
#define CUMU_CORE_UPPER_H

#include <stdbool.h>
#include <stdint.h>

struct cumu_prototype;
struct cumu_frame;
struct cumu_event;

/* Members that a layer does not have are NULL; each is answered by one layer only. */
struct cumu_upper {
    /* What cumu itself does for a MUSA function that the SDK lacks; NULL if the SDK has it, or nobody does. */
    void *(*stand_in)(const char *symbol);

    /* A function of the runtime that the SDK's runtime lacks, over its driver; NULL if there is none. */
    void *(*runtime_over)(const char *symbol);

    /* For kernels that ask: CUDA's name of an error of its runtime, or its description; the release of that runtime. */
    const char *(*error_text)(int error, int name);
    int (*release)(void);

    /* CUMU_CHECK=sync, as the tracer's thunks see it: which calls it wants to hear of (while it is off no slot holds a
     * thunk for it), and each such call after it was made, with its arguments and its result. */
    bool (*check_wants)(const char *library, const char *symbol);
    void (*check_call)(const struct cumu_prototype *c, const struct cumu_frame *f);

    /* Work on the device, while tracing. init: once, before the rest. begin notes the time on the stream before
     * something is put on it; NULL if that cannot be done. end: the same after it, with what it was (copied; `name`
     * too); the event is written when the device has done it. Without begin's result it is written at once, untimed;
     * `failed` drops it. poll writes what has been done by now. */
    void (*work_init)(void);
    void *(*work_begin)(const void *stream);
    void (*work_end)(void *work, const struct cumu_event *e, bool failed);
    void (*work_poll)(void);
    /* The same, and waits for who else does it: what is done by now has been told when it returns. */
    void (*work_flush)(void);

    /* CUPTI's user (api/cupti), while there is one. Which calls he wants; each before it is made and after it, `end`
     * being when it returned; what a copy is, before its event is kept; every other event; whether work is timed; and
     * the number of the call that the thread is in. */
    bool (*profile_wants)(const char *library, const char *symbol);
    void (*profile_before)(struct cumu_frame *f);
    void (*profile_after)(struct cumu_frame *f, uint64_t end);
    void (*profile_copy)(const struct cumu_prototype *c, const struct cumu_frame *f, struct cumu_event *e);
    void (*profile_event)(const struct cumu_event *e);
    bool (*profile_work)(void);
    uint32_t (*profile_call)(void);
    /* Whether the thread is in a function of his, which may hold his locks: nothing may call another one then. */
    bool (*profile_inside)(void);
};

#define CUMU_UPPER(layer) \
    static const struct cumu_upper *const layer##_entry __attribute__((section("cumu_upper"), used)) = &(layer)

extern const struct cumu_upper *const cumu_upper_first[] __asm__("__start_cumu_upper")
    __attribute__((weak, visibility("hidden")));
extern const struct cumu_upper *const cumu_upper_end[] __asm__("__stop_cumu_upper")
    __attribute__((weak, visibility("hidden")));

/* The answer of the layer that has this member, else `none`. */
#define CUMU_ASK(member, none, ...) \
    __extension__({ \
        const struct cumu_upper *const *u_ = cumu_upper_first; \
        while (u_ != cumu_upper_end && !(*u_)->member) \
            u_++; \
        u_ == cumu_upper_end ? (none) : (*u_)->member(__VA_ARGS__); \
    })

#endif
