/* Calls of the CPU maths libraries as device work: their failures are heard, their memory faults are error 700.
 *
 * A fault cannot simply jump out of a call, as it does out of a kernel: OpenBLAS and FFTW hold locks and buffers then,
 * and OpenBLAS's own threads work on the stack of the one that called; a later call would wait for ever or write into
 * what is gone. Nor can operands be checked beforehand: a hundred calls read parts of them by shape, triangle, band
 * and scalars, and a look-up for each would cost as much as a small call. So the fault is noted, the page gets memory
 * that nobody looks at (mend.c), and the call goes on to its own end, which its sizes bound; after it everything is
 * taken back and the stream has its error. Only a call of CUMU_TASK_OWN_CODE is left in the middle: there the loops
 * end where indices in memory say, so they must not run on with what was made up. What such a call had allocated
 * is lost; the context is done for anyway.
 *
 * Not caught: a write to memory of the host that is mapped for reading only, on the way through a library. */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "host/driver/callback.h"
#include "host/driver/internal.h"
#include "host/driver/kernel.h"
#include "host/driver/memcheck.h"
#include "host/driver/order.h"
#include "host/driver/task.h"

/* A call on the application's thread takes as little as 100 ns; looking at the signal's handler is a system call. */
#define LOOKS_EVERY 1024

#define NO_ADDRESS UINTPTR_MAX
/* Address space for what begins at an address that can have no memory; and which address that is, the latest one. */
#define NOWHERE ((uintptr_t)1 << 36)
static _Atomic uintptr_t nowhere, meant;

struct cumu_task {
    struct host_self *home; /* the thread that runs it */
    bool may_jump;
    sigjmp_buf out;
    _Atomic int error;
    _Atomic uintptr_t address; /* of a fault */
};

/* The library with threads of its own: where its code lies, how many calls may be in it, faults of its threads. */
static _Atomic uintptr_t code_low, code_high;
static _Atomic unsigned with_threads, strays;
static _Atomic uintptr_t stray_address;

struct cumu_task *cumu_task_current(void) { return host_self()->task; }
void cumu_task_join(struct cumu_task *task) { host_self()->task = task; }

static void note(struct cumu_task *t, int error, uintptr_t address)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&t->error, &none, error))
        t->address = address - nowhere < NOWHERE ? meant + (address - nowhere - NOWHERE / 2) : address;
}

void cumu_task_fail(int error)
{
    if (host_self()->task)
        note(host_self()->task, error, NO_ADDRESS);
}

bool cumu_task_knows(const void *address, size_t size)
{
    struct host_range r;
    return host_mem_find(address, &r) && r.kind != HOST_MEM_MAPPED && size <= r.base + r.size - (uintptr_t)address;
}

void *cumu_task_nowhere(const void *address)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uintptr_t within = (uintptr_t)address % CUMU_TASK_LOWEST;
    pthread_mutex_lock(&lock);
    if (!nowhere) {
        void *p = mmap(NULL, NOWHERE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        nowhere = p == MAP_FAILED ? 0 : (uintptr_t)p;
    }
    meant = (uintptr_t)address - within;
    pthread_mutex_unlock(&lock);
    return (void *)(nowhere ? nowhere + NOWHERE / 2 + within : (uintptr_t)address); /* increments may be negative */
}

/* ---- the library with threads ---------------------------------------------------------------- */

static int find_code(struct dl_phdr_info *info, size_t size, void *function)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, high = low + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)function >= low && (uintptr_t)function < high) {
            code_low = low;
            code_high = high;
            return 1;
        }
    }
    return 0;
}

void cumu_task_library(const void *function)
{
    if (!code_high)
        dl_iterate_phdr(find_code, (void *)(uintptr_t)function);
}

static bool within_library(uintptr_t place) { return place >= code_low && place < code_high; }

/* Was the library at work? Its code, or what it has called that calls nothing: the C library's memset has no frame of
 * its own, so that its return address is where the stack ends. Unless that is what could not be read: a stack that has
 * run over. */
static bool by_library(const void *context, uintptr_t address)
{
    const ucontext_t *u = context;
#if defined __x86_64__
    const uintptr_t sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP], near = 64 << 10;
    return within_library((uintptr_t)u->uc_mcontext.gregs[REG_RIP]) ||
           (address - (sp - near) > 2 * near && within_library(*(const uintptr_t *)sp));
#elif defined __aarch64__
    (void)address;
    return within_library(u->uc_mcontext.pc) || within_library(u->uc_mcontext.regs[30]);
#else
    (void)u, (void)address;
    return false;
#endif
}

/* ---- faults ---------------------------------------------------------------------------------- */

bool host_call_fault(int sig, const siginfo_t *info, const void *context)
{
    const struct host_self *thread = host_self_in_handler();
    struct cumu_task *t = thread ? thread->task : NULL;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (t && t->may_jump && t->home == thread) {
        note(t, MUSA_ERROR_ILLEGAL_ADDRESS, address);
        siglongjmp(t->out, 1);
    }
    if (sig != SIGSEGV || (!t && (!with_threads || !by_library(context, address))) || !host_mend(address))
        return false;
    if (t) {
        note(t, MUSA_ERROR_ILLEGAL_ADDRESS, address);
        return true;
    }
    stray_address = address;
    strays++;
    return true;
}

/* The exported function around a place; of a C++ one (_Z, the length of its name, its name) without the types. */
static const char *name_of(const void *place, int *length)
{
    Dl_info where;
    const char *name = dladdr(place, &where) && where.dli_sname ? where.dli_sname : "library call";
    *length = (int)strlen(name);
    if (!strncmp(name, "_Z", 2) && name[2] >= '1' && name[2] <= '9') {
        char *end;
        long n = strtol(name + 2, &end, 10);
        if (n < *length) {
            *length = (int)n;
            return end;
        }
    }
    return name;
}

/* Not in the handler, and no part of what a call that succeeds costs. */
int cumu_task_report(musaStream_t stream, const void *entry, const struct cumu_failure *failure)
{
    int error = failure->error;
    if (error == MUSA_ERROR_ILLEGAL_ADDRESS) {
        int length;
        const char *name = name_of(entry, &length);
        host_mend_end();
        if (failure->address == NO_ADDRESS)
            host_say("%.*s: an index is out of range", length, name);
        else
            host_say("%.*s: illegal address 0x%llx", length, name, (unsigned long long)failure->address);
    }
    if (host_own.in_callback) {
        cumu_host_fail(error);
    } else if (host_error_sticky(error)) {
        MUcontext ctx;
        if (!host_stream_ctx(stream, &ctx))
            host_ctx_fail(ctx, error);
    }
    return error;
}

static void run_own_code(struct cumu_task *t, void (*run)(const void *call), const void *call)
{
    if (!sigsetjmp(t->out, 0))
        run(call);
}

/* It waits for its threads with locks of its own held: the program's thread must not be cancelled there. */
static void run_with_threads(struct cumu_task *t, void (*run)(const void *call), const void *call)
{
    int cancel;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    with_threads++;
    unsigned before = strays;
    run(call);
    with_threads--;
    (void)pthread_setcancelstate(cancel, NULL);
    if (strays != before)
        note(t, MUSA_ERROR_ILLEGAL_ADDRESS, stray_address);
}

int cumu_task_run(unsigned flags, void (*run)(const void *call), const void *call, struct cumu_failure *failure)
{
    static _Thread_local unsigned looked;
    struct host_self *thread = host_self();
    struct cumu_task t, *outer = thread->task;
    host_initcheck_foreign();
    t.home = thread;
    t.may_jump = flags & CUMU_TASK_OWN_CODE;
    atomic_init(&t.error, 0);
    if (host_own.in_callback || looked++ % LOOKS_EVERY == 0)
        host_fault_arm();
    thread->task = &t;
    if (flags & CUMU_TASK_THREADS)
        run_with_threads(&t, run, call);
    else if (t.may_jump)
        run_own_code(&t, run, call);
    else
        run(call);
    thread->task = outer;
    int error = atomic_load_explicit(&t.error, memory_order_relaxed);
    if (__builtin_expect(error, 0))
        *failure = (struct cumu_failure){error, t.address};
    return error;
}

bool cumu_task_run_in(musaStream_t stream, unsigned flags, void (*run)(const void *call), const void *call,
                      struct cumu_failure *failure)
{
    MUstream s;
    failure->error = 0;
    struct host_work *held = host_stream_open(stream, &s) ? host_hold(s) : NULL;
    if (!held)
        return false;
    const struct host_running before = host_order_run((struct host_running){.order = held->order});
    cumu_task_run(flags, run, call, failure); /* its failure is the caller's to report, and none of the stream */
    host_order_run(before);
    host_release(held, NULL);
    return true;
}
