/* Modules that come and go while their kernels are being compiled: four threads load PTX, launch it a few
 * times, check the results, change an attribute and unload. Started by run.sh, with the number of rounds. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *handle;
static int (*init)(unsigned), (*retain)(handle *, int), (*set_current)(handle);
static int (*load)(handle *, const char *), (*get)(handle *, handle, const char *), (*unload)(handle);
static int (*alloc)(unsigned long long *, size_t), (*from)(void *, unsigned long long, size_t);
static int (*attribute)(handle, int, int);
static int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                     void **);
static handle ctx;
static int rounds;

static void *churn(void *arg)
{
    int n = (int)(long)arg, out[256];
    unsigned long long p;
    long bad = set_current(ctx) || alloc(&p, sizeof out);
    for (int r = 0; r < rounds && !bad; r++) {
        char text[1024];
        int plus = n * 1000 + r; /* another text every time: nothing comes from a cache */
        snprintf(text, sizeof text,
                 ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                 ".reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\nld.param.u64 %%rd1, [p];\nmov.u32 %%r1, %%tid.x;\n"
                 "mul.wide.u32 %%rd2, %%r1, 4;\nadd.s64 %%rd3, %%rd1, %%rd2;\nadd.s32 %%r2, %%r1, %d;\n"
                 "st.global.u32 [%%rd3], %%r2;\nret;\n}\n",
                 plus);
        handle m, f;
        bad |= load(&m, text) || get(&f, m, "k");
        int launches = 1 + (r * 7 + n) % 40; /* unloads hit every stage of a compilation */
        if (n == 0 && r == rounds - 1)
            launches = 600; /* and one kernel stays until it is compiled, on a busy machine too */
        for (int i = 0; i < launches && !bad; i++) {
            bad |= launch(f, 1, 1, 1, 256, 1, 1, 0, NULL, (void *[]){&p}, NULL);
            bad |= i == 1 && attribute(f, 8, 1024 * (r % 8)); /* dynamic shared memory */
            bad |= from(out, p, sizeof out);
            for (int k = 0; k < 256; k++)
                bad |= out[k] != k + plus;
            usleep((unsigned)(r * 997 + n * 331) % 4000);
        }
        bad |= unload(m);
    }
    return (void *)bad;
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
                 {"cuFuncSetAttribute", &attribute}};
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!cuda || !(*(void **)names[i].to = dlsym(cuda, names[i].name))) {
            printf("FAIL no %s\n", names[i].name);
            return 1;
        }
    if (init(0) || retain(&ctx, 0))
        return 1;
    pthread_t thread[4];
    long bad = 0;
    for (long i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, churn, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *b;
        pthread_join(thread[i], &b);
        bad |= (long)b;
    }
    int status;
    pid_t child = fork(); /* with compilations running: a child must be able to exit */
    if (child == 0)
        exit(0);
    bad |= waitpid(child, &status, 0) != child || status || waitpid(-1, NULL, WNOHANG) >= 0;
    puts(bad ? "FAIL churn" : "PASS churn");
    return bad != 0;
}
