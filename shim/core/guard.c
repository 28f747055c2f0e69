/* A frame that takes every C++ exception, without the C++ library: the unwinder asks the frame's personality whether it
 * handles one, and when all frames below have been cleaned up, the personality jumps back into it. */
#include "core/guard.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <unwind.h>

static _Thread_local struct guard {
    jmp_buf back;
    struct guard *outer;
    int result;
} * innermost;

/* By the C++ library where it can be found, since it counts the exceptions that nobody has caught. */
static void end_exception(struct _Unwind_Exception *e)
{
    union {
        void *address;
        void *(*begin)(void *);
        void (*end)(void);
    } begin = {dlsym(RTLD_DEFAULT, "__cxa_begin_catch")}, end = {dlsym(RTLD_DEFAULT, "__cxa_end_catch")};
    if (begin.address && end.address) {
        begin.begin(e);
        end.end();
    } else if (e->exception_cleanup) {
        e->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, e);
    }
}

_Unwind_Reason_Code cumu_guard_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *e, struct _Unwind_Context *context)
{
    (void)class, (void)context;
    if (version != 1 || actions & _UA_FORCE_UNWIND) /* a thread that ends is none of ours */
        return _URC_CONTINUE_UNWIND;
    if (actions & _UA_SEARCH_PHASE)
        return _URC_HANDLER_FOUND;
    if (!(actions & _UA_HANDLER_FRAME))
        return _URC_CONTINUE_UNWIND;
    end_exception(e);
    longjmp(innermost->back, 1);
}

__attribute__((noinline)) int cumu_guarded(int (*fn)(void *arg), void *arg, int thrown)
{
    struct guard g = {.outer = innermost, .result = thrown};
    __asm__ volatile(".cfi_personality 0x1b, cumu_guard_personality");
    if (!_setjmp(g.back)) {
        innermost = &g;
        g.result = fn(arg);
    }
    innermost = g.outer;
    return g.result;
}
