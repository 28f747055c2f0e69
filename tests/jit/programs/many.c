/* Launches many kernels twice, which has all of them compiled, and waits until the first objects are in the
 * cache: long enough for the progress to be seen. Started by run.sh. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *handle;

static size_t cached(void)
{
    char pattern[4096];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/*.kernel", getenv("CUMU_CACHE_DIR"));
    size_t n = glob(pattern, 0, NULL, &g) ? 0 : g.gl_pathc;
    if (n)
        globfree(&g);
    return n;
}

int main(void)
{
    enum { KERNELS = 14 };
    static char text[KERNELS * 200];
    handle cuda = dlopen("libcuda.so.1", RTLD_NOW), ctx, m, f;
    int (*init)(unsigned), (*retain)(handle *, int), (*set)(handle), (*load)(handle *, const char *);
    int (*get)(handle *, handle, const char *);
    int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
                  void **);
    *(void **)&init = dlsym(cuda, "cuInit");
    *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(cuda, "cuCtxSetCurrent");
    *(void **)&load = dlsym(cuda, "cuModuleLoadData");
    *(void **)&get = dlsym(cuda, "cuModuleGetFunction");
    *(void **)&launch = dlsym(cuda, "cuLaunchKernel");
    char *p = text + sprintf(text, ".version 7.0\n.target sm_70\n.address_size 64\n");
    for (int k = 0; k < KERNELS; k++)
        p += sprintf(p,
                     ".visible .entry k%d() { .reg .b32 %%r<3>; .reg .pred %%p; mov.u32 %%r1, %%tid.x;\n"
                     "setp.eq.u32 %%p, %%r1, %d; @%%p trap; ret; }\n",
                     k, 4096 + k);
    int bad = init(0) || retain(&ctx, 0) || set(ctx) || load(&m, text);
    for (int k = 0; k < 2 * KERNELS && !bad; k++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", k % KERNELS);
        bad = get(&f, m, name) || launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    }
    for (int i = 0; i < 3000 && cached() < 2; i++)
        usleep(10000);
    puts(bad ? "FAIL many" : "PASS many");
    return bad;
}
