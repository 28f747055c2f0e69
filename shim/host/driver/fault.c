/* Faults of kernels and of the maths libraries' calls (task.c): memory faults of our own threads are caught and turned
 * into the launch's error; everybody else's go to the handler that the process had. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver/kernel.h"
#include "host/driver/memcheck.h"

#define LOOKS_EVERY 32            /* launches, where the program's handlers are counted */
#define KERNEL_STACK (256u << 10) /* what an object may take of the stack it is called on */

/* The handler calls that chain now, by their siginfo. Left set when the application's handler jumps out, so a new
 * call is told from one nested in it by its place: nested is the same siginfo, deeper on the stack. Two threads that
 * share an entry may send one of them round once more. */
enum { CHAINS = 64 };
static struct chained {
    const siginfo_t *_Atomic info;
    const char *_Atomic frame;
} chains[CHAINS];

static struct chained *chain_of(const siginfo_t *info)
{
    return &chains[((uintptr_t)info * 0x9e3779b97f4a7c15u) >> 58];
}

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE};
#define NSIGNALS (sizeof signals / sizeof *signals)

/* first: what the process had before us. latest: what was installed over us since, which may itself
 * call us as its predecessor: then the answer is `first`. */
static struct sigaction first[NSIGNALS], latest[NSIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void chain(const struct sigaction *to, int sig, siginfo_t *info, void *context)
{
    if (to->sa_flags & SA_SIGINFO) {
        to->sa_sigaction(sig, info, context);
    } else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
        to->sa_handler(sig);
    } else if (info->si_code <= 0 && to->sa_handler == SIG_IGN) {
        return; /* sent by kill() and ignored */
    } else {    /* the kernel's own action: the instruction faults again, or the signal is sent again
              */
        struct sigaction fall = {.sa_handler = SIG_DFL};
        sigaction(sig, &fall, NULL);
        if (info->si_code <= 0)
            raise(sig);
    }
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const struct host_self *thread = host_self_in_handler();
    struct t0_worker *w = thread ? thread->served : NULL;
    if (w && info->si_code > 0) {
        bool misaligned = sig == SIGBUS && info->si_code == BUS_ADRALN;
        t0_worker_memory_fault(w, info->si_addr, misaligned); /* comes back if not a kernel's access */
    }
    if (info->si_code > 0 && host_call_fault(sig, info, context))
        return;
    const char *frame = __builtin_frame_address(0);
    struct chained *chained = chain_of(info);
    bool nested = info == chained->info && frame < chained->frame;
    if (!nested) {
        chained->frame = frame;
        chained->info = info;
    }
    for (size_t i = 0; i < NSIGNALS; i++)
        if (signals[i] == sig)
            chain(nested ? &first[i] : &latest[i], sig, info, context);
    if (!nested && chained->info == info)
        chained->info = NULL;
}

static bool armed(int sig)
{
    struct sigaction now;
    return !sigaction(sig, NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault;
}

/* libcumu-nodes's number of handlers that the program has installed (nodes/signals.c); NULL where nobody counts. */
static const _Atomic unsigned *changes;
static pthread_once_t changes_once = PTHREAD_ONCE_INIT;
static void find_changes(void) { changes = dlsym(RTLD_DEFAULT, "cumu_signal_changes"); }

/* The application may install its own handlers at any time, so every launch looks: at SIGSEGV, as a
 * look is a system call, a third of a small launch. Who handles SIGBUS handles that too, and it is nearly
 * all that a kernel raises. Where handlers are counted, one look is good until there is another: but for programs
 * that do without the C library for it, whose handler is found by one of the next launches. */
void host_fault_arm(void)
{
    static _Atomic unsigned seen, launches;
    (void)pthread_once(&changes_once, find_changes);
    unsigned now = changes ? atomic_load_explicit(changes, memory_order_acquire) : 0;
    unsigned launch = atomic_load_explicit(&launches, memory_order_relaxed);
    atomic_store_explicit(&launches, launch + 1, memory_order_relaxed); /* a launch that is not counted does no harm */
    if (changes && launch % LOOKS_EVERY && now == atomic_load_explicit(&seen, memory_order_acquire))
        return;
    if (armed(SIGSEGV)) {
        atomic_store_explicit(&seen, now, memory_order_release);
        return;
    }
    for (size_t i = 0; i < NSIGNALS; i++) {
        if (armed(signals[i]))
            continue;
        /* NODEFER: a caught fault leaves by a jump, and the signal must not stay blocked. */
        struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
        sigemptyset(&ours.sa_mask);
        pthread_mutex_lock(&lock);
        struct sigaction before;
        sigaction(signals[i], NULL, &before);
        if (!(before.sa_flags & SA_SIGINFO) || before.sa_sigaction != on_fault) {
            if (!first[i].sa_flags && !first[i].sa_handler)
                first[i] = before;
            latest[i] = before;
            sigaction(signals[i], &ours, NULL);
        }
        pthread_mutex_unlock(&lock);
    }
}

bool host_thread_fit(void)
{
    static _Thread_local struct {
        bool known, fit;
        uintptr_t low, high; /* its stack */
    } t;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!t.known) { /* asked once a thread: both are system calls */
        sigset_t set;
        pthread_attr_t attr;
        void *low;
        size_t size;
        t.known = true;
        t.fit = !pthread_sigmask(SIG_SETMASK, NULL, &set) && !sigismember(&set, SIGSEGV);
        if (t.fit && (t.fit = !pthread_getattr_np(pthread_self(), &attr))) {
            t.fit = !pthread_attr_getstack(&attr, &low, &size);
            t.low = (uintptr_t)low;
            t.high = t.low + size;
            pthread_attr_destroy(&attr);
        }
    }
    /* elsewhere: a coroutine of the application, whose stack may be any size */
    return t.fit && here > t.low && here < t.high && here - t.low >= KERNEL_STACK;
}

void host_fault_stack(void)
{
    stack_t now, ours = {.ss_size = 65536};
    if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE))
        return;
    ours.ss_sp = malloc(ours.ss_size); /* our threads live as long as the process */
    if (ours.ss_sp)
        sigaltstack(&ours, NULL);
}

void host_fault_serve(struct t0_worker *w) { host_self()->served = w; }

/* ---- what a fault is called ------------------------------------------------------------------ */

static const struct {
    MUresult error;
    bool address;
    const char *what;
} kinds[] = {
    [T0_OK] = {MUSA_SUCCESS, false, ""},
    [T0_FAULT_TRAP] = {MUSA_ERROR_LAUNCH_FAILED, false, "trap"},
    [T0_FAULT_ASSERT] = {MUSA_ERROR_ASSERT, false, "assertion"},
    [T0_FAULT_ADDRESS] = {MUSA_ERROR_ILLEGAL_ADDRESS, true, "illegal address"},
    [T0_FAULT_MISALIGNED] = {MUSA_ERROR_MISALIGNED_ADDRESS, true, "misaligned address"},
    [T0_FAULT_STACK] = {MUSA_ERROR_HARDWARE_STACK_ERROR, false, "stack overflow"},
    [T0_FAULT_INVALID_PC] = {MUSA_ERROR_INVALID_PC, true, "call of no function"},
    [T0_FAULT_SHARED] = {MUSA_ERROR_ILLEGAL_ADDRESS, true, "shared address out of range"},
    [T0_FAULT_DEADLOCK] = {MUSA_ERROR_LAUNCH_TIMEOUT, false, "threads wait for each other"},
    [T0_FAULT_INSTRUCTION] = {MUSA_ERROR_ILLEGAL_INSTRUCTION, false, "illegal instruction"},
    [T0_FAULT_NOMEM] = {MUSA_ERROR_OUT_OF_MEMORY, false, "out of memory"},
};

/* The text holds it without block and thread. */
int host_fault_assertion(char *line, size_t size, const struct t0_fault *f)
{
    const char *claim = strstr(f->text, "Assertion ");
    int head = claim ? (int)(claim - f->text) : 0;
    int n = snprintf(line, size, "%.*sblock: [%u,%u,%u], thread: [%u,%u,%u] %s\n", head, f->text, f->block[0],
                     f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2], f->text + head);
    return n < (int)size ? n : (int)size - 1;
}

MUresult host_fault_report(const struct t0_fault *f, const struct host_memcheck_run *check)
{
    if ((unsigned)f->kind >= sizeof kinds / sizeof *kinds)
        return MUSA_ERROR_UNKNOWN;
    char address[40] = "";
    if (kinds[f->kind].address)
        snprintf(address, sizeof address, " 0x%llx", (unsigned long long)f->address);
    char line[T0_FAULT_TEXT] = ""; /* an assertion has its own */
    if (f->source.file)
        snprintf(line, sizeof line, ", %.400s:%u, PTX line %u", f->source.file, f->source.line, f->line);
    else if (f->line)
        snprintf(line, sizeof line, ", PTX line %u", f->line);
    host_say("kernel %.1000s: %s%s: block [%u,%u,%u], thread [%u,%u,%u]%s: %s", f->kernel ? f->kernel : "?",
             kinds[f->kind].what, address, f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1],
             f->thread[2], line, f->text);
    if (check)
        host_memcheck_fault(check, kinds[f->kind].what, f);
    return kinds[f->kind].error;
}
