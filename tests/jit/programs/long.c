/* A first launch of many long blocks, which begins in the interpreter: how many of its blocks took less than two thirds
 * of what the quickest of the first three took, which end before a compiler does, and whether all results are right.
 * Then further modules whose launch runs while they are unloaded; every second of them is not in the cache. Started by
 * run.sh with the numbers of blocks, of each thread's turns and of the further modules. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *handle;
static int (*init)(unsigned), (*retain)(handle *, int), (*set_current)(handle), (*synchronize)(void);
static int (*load)(handle *, const char *), (*get)(handle *, handle, const char *), (*unload)(handle);
static int (*alloc)(unsigned long long *, size_t), (*from)(void *, unsigned long long, size_t);
static int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                     void **);

/* Every thread's value after so many steps of a generator, and what its block took. */
static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry steps(.param .u64 out, .param .u64 times, .param .u32 turns)\n{\n"
    ".reg .b32 %%r<9>;\n.reg .b64 %%rd<12>;\n.reg .pred %%p<2>;\n"
    "mov.u64 %%rd6, %%globaltimer;\n"
    "ld.param.u64 %%rd1, [out];\nld.param.u64 %%rd2, [times];\nld.param.u32 %%r1, [turns];\n"
    "mov.u32 %%r2, %%ctaid.x;\nmov.u32 %%r3, %%ntid.x;\nmov.u32 %%r4, %%tid.x;\n"
    "mad.lo.u32 %%r5, %%r2, %%r3, %%r4;\nmov.u32 %%r6, %%r5;\n"
    "L:\nmad.lo.u32 %%r6, %%r6, 1664525, %u;\nsub.u32 %%r1, %%r1, 1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra L;\n"
    "mul.wide.u32 %%rd3, %%r5, 4;\nadd.u64 %%rd4, %%rd1, %%rd3;\nst.global.u32 [%%rd4], %%r6;\n"
    "mov.u64 %%rd7, %%globaltimer;\nsub.u64 %%rd8, %%rd7, %%rd6;\n"
    "mul.wide.u32 %%rd9, %%r2, 8;\nadd.u64 %%rd10, %%rd2, %%rd9;\nst.global.u64 [%%rd10], %%rd8;\nret;\n}\n";

enum { THREADS = 32, MOST = 4096 };
static unsigned blocks, turns;
static unsigned long long out_at, times_at;

static unsigned value(unsigned thread, unsigned plus)
{
    for (unsigned i = 0; i < turns; i++)
        thread = thread * 1664525u + plus;
    return thread;
}

/* One module and launch; unloaded after so many microseconds, or when it has ended. The number of quick blocks, or -1
 * for wrong values and errors. */
static int run(unsigned plus, long unload_us)
{
    static char ptx[sizeof text + 16];
    static unsigned out[THREADS * MOST];
    static unsigned long long times[MOST];
    handle m, f;
    snprintf(ptx, sizeof ptx, text, plus);
    int bad = load(&m, ptx) || get(&f, m, "steps") ||
              launch(f, blocks, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){&out_at, &times_at, &turns}, NULL);
    if (unload_us)
        usleep((unsigned)unload_us);
    bad = bad || (!unload_us && synchronize()) || unload(m) || synchronize() || from(out, out_at, sizeof out) ||
          from(times, times_at, sizeof times);
    int quick = 0;
    unsigned long long first = times[0];
    for (unsigned b = 1; b < 3; b++)
        first = times[b] < first ? times[b] : first;
    for (unsigned b = 0; b < blocks && !bad; b++) {
        unsigned thread = b * THREADS + b % THREADS;
        quick += times[b] < first / 3 * 2;
        bad = (b % 16 == 0 || b == blocks - 1) && out[thread] != value(thread, plus);
    }
    return bad ? -1 : quick;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void *to;
    } names[] = {{"cuInit", &init},
                 {"cuDevicePrimaryCtxRetain", &retain},
                 {"cuCtxSetCurrent", &set_current},
                 {"cuModuleLoadData", &load},
                 {"cuModuleGetFunction", &get},
                 {"cuModuleUnload", &unload},
                 {"cuMemAlloc_v2", &alloc},
                 {"cuMemcpyDtoH_v2", &from},
                 {"cuLaunchKernel", &launch},
                 {"cuCtxSynchronize", &synchronize}};
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    handle ctx;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!cuda || !(*(void **)names[i].to = dlsym(cuda, names[i].name)))
            return 1;
    if (argc < 4 || (blocks = (unsigned)atoi(argv[1])) > MOST || init(0) || retain(&ctx, 0) || set_current(ctx) ||
        alloc(&out_at, THREADS * MOST * 4) || alloc(&times_at, MOST * 8))
        return 1;
    turns = (unsigned)atoi(argv[2]);
    int quick = run(1013904223, 0), bad = quick < 0;
    printf("%d of %u blocks were quick\n", quick, blocks);
    for (int i = 0; i < atoi(argv[3]) && !bad; i++)
        bad = run(1013904223 + (unsigned)(i % 2 ? 2 * i : 0), 1 + i * 93000 % 500000) < 0;
    puts(bad ? "FAIL long" : "PASS long");
    return bad;
}
