/* Programs that install handlers for memory faults between launches, in every way that the C library has: a kernel's
 * fault is the launch's error all the same, and the program's own fault goes to its handler. Random rounds, each in a
 * process of its own, as a fault ends a context: `signals SEED ROUNDS`. */
#define _GNU_SOURCE
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void handler(int);
handler *bsd_signal(int, handler *);
handler *ssignal(int, handler *);
handler *sysv_signal(int, handler *);
handler *__sysv_signal(int, handler *);
handler *sigset(int, handler *);
int __sigaction(int, const struct sigaction *, struct sigaction *);

enum { ILLEGAL_ADDRESS = 700, LOOKS_EVERY = 32 };
static const char *const way_name[] = {"sigaction", "__sigaction", "sigaction by dlsym", "signal", "bsd_signal",
                                       "ssignal",   "sysv_signal", "__sysv_signal",      "sigset", "the system call"};
enum { WAYS = sizeof way_name / sizeof *way_name };
static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
                          ".reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 7; ret; }\n";
static uint64_t state;
static int taken;
static sigjmp_buf out;

static unsigned rnd(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static void take(int sig)
{
    taken = sig;
    siglongjmp(out, 1);
}

static void by_system_call(int sig)
{
    struct { /* the kernel's form: flags, the restorer's address, a mask */
        handler *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } raw;
    struct sigaction now = {.sa_handler = take}; /* the C library knows a restorer: taken from what it installs */
    memset(&raw, 0, sizeof raw);
    sigaction(SIGUSR2, &now, NULL);
    syscall(SYS_rt_sigaction, SIGUSR2, NULL, &raw, 8);
    syscall(SYS_rt_sigaction, sig, &raw, NULL, 8);
}

static void install(unsigned way, int sig)
{
    struct sigaction now = {.sa_handler = take, .sa_flags = SA_NODEFER};
    int (*found)(int, const struct sigaction *, struct sigaction *);
    *(void **)&found = dlsym(RTLD_DEFAULT, "sigaction");
    switch (way) {
    case 0: sigaction(sig, &now, NULL); break;
    case 1: __sigaction(sig, &now, NULL); break;
    case 2: found(sig, &now, NULL); break;
    case 3: signal(sig, take); break;
    case 4: bsd_signal(sig, take); break;
    case 5: ssignal(sig, take); break;
    case 6: sysv_signal(sig, take); break;
    case 7: __sysv_signal(sig, take); break;
    case 8: sigset(sig, take); break;
    default: by_system_call(sig);
    }
}

#define NEED(name, args) \
    int(*name) args; \
    if (!(*(void **)&name = dlsym(cuda, #name))) \
        return 10;

/* One process's round; 0, or what was wrong. */
static int one_round(unsigned way)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel, *stream = NULL;
    uint64_t good, bad = 8;
    NEED(cuInit, (unsigned))
    NEED(cuDevicePrimaryCtxRetain, (void **, int))
    NEED(cuCtxSetCurrent, (void *))
    NEED(cuModuleLoadData, (void **, const void *))
    NEED(cuModuleGetFunction, (void **, void *, const char *))
    NEED(cuMemAlloc_v2, (uint64_t *, size_t))
    NEED(cuStreamCreate, (void **, unsigned))
    NEED(cuStreamSynchronize, (void *))
    NEED(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&kernel, module, "k") || cuMemAlloc_v2(&good, 64))
        return 11;
    if (rnd(2) && cuStreamCreate(&stream, rnd(2)))
        return 12;
    /* Whoever is told of the fault, and how many launches were before, must not matter. */
    unsigned blocks = rnd(2) ? 1 : 1 + rnd(300), before = rnd(3 * LOOKS_EVERY), after = rnd(3) ? 0 : rnd(8);
    if (way == WAYS - 1)
        after = LOOKS_EVERY;
    int sig = rnd(4) ? SIGSEGV : SIGBUS;
    for (unsigned i = 0; i < before + after; i++) {
        if (i == before)
            install(way, sig);
        if (cuLaunchKernel(kernel, blocks, 1, 1, 32, 1, 1, 0, stream, (void *[]){&good}, NULL) ||
            (rnd(4) == 0 && cuStreamSynchronize(stream)))
            return 13;
    }
    if (cuStreamSynchronize(stream))
        return 14;
    if (!after)
        install(way, sig);
    if (sigsetjmp(out, 1))
        return 15; /* the kernel's fault came to the program */
    int err = cuLaunchKernel(kernel, blocks, 1, 1, 32, 1, 1, 0, stream, (void *[]){&bad}, NULL);
    if (!err)
        err = cuStreamSynchronize(stream);
    if (err != ILLEGAL_ADDRESS)
        return 16;
    if (sig == SIGBUS)
        return 0;
    if (!sigsetjmp(out, 1)) {
        *(volatile int *)(uintptr_t)8 = 1;
        return 17;
    }
    return taken == sig ? 0 : 18;
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1, rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 4 * WAYS;
    int wrong = 0;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned way = r % WAYS;
        state = seed * 1000003u + r;
        pid_t child = fork();
        if (child == 0)
            _exit(one_round(way));
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            printf("not ok round %u of seed %u, %s: status %x\n", r, seed, way_name[way], (unsigned)status);
            wrong = 1;
        }
    }
    if (!wrong)
        printf("ok %u rounds of seed %u\n", rounds, seed);
    return wrong;
}
