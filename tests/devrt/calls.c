/* What calls of the device runtime answer, and what launches by kernels do at their limits: `calls PTX WHICH`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { WORDS = 4096 };
static unsigned got[WORDS];
static unsigned long long data, more;
static void *module;

static int launch(const char *name, unsigned blocks, unsigned threads, void **args)
{
    void *kernel;
    int error = CALL(cuModuleGetFunction, &kernel, module, name);
    if (!error)
        error = CALL(cuMemsetD8_v2, data, 0, sizeof got);
    if (!error)
        error = CALL(cuLaunchKernel, kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
    return error ? error : CALL(cuMemcpyDtoH_v2, got, data, sizeof got);
}

static int same(const char *what, unsigned have, unsigned want)
{
    if (have != want)
        printf("%s: %u, expected %u\n", what, have, want);
    return have == want;
}

/* As kernels.cu says them, in its order. */
static int check_calls(void)
{
    static const unsigned want[] = {98,  98,  0, 9, 9,  9, 701, 1,    400, 1, 400, 1, 400,  400,
                                    400, 400, 0, 0, 0,  1, 0,   1024, 0,   8, 101, 0, 2048, 0,
                                    64,  98,  0, 1, 21, 1, 1,   0,    1,   0, 2,   0, 1,    0};
    const unsigned count = sizeof want / sizeof *want;
    unsigned long long unknown = 12345;
    void *args[] = {&more, &data, &unknown};
    char text[32];
    int ok = same("launch", (unsigned)launch("calls", 1, 1, args), 0);
    static unsigned out[64];
    ok &= same("copy", (unsigned)CALL(cuMemcpyDtoH_v2, out, more, sizeof out), 0) && same("answers", out[63], count);
    for (unsigned k = 0; k < count; k++) {
        snprintf(text, sizeof text, "answer %u", k);
        ok &= same(text, out[k], want[k]);
    }
    ok &= same("arguments and additions", got[0], 32 + 1000 + 'A' + 1 + 4 + 5 + 2 * 32 * 7);
    ok &= same("a copy", got[1], got[0]) & same("a memset", got[2], 0x11111111);
    ok &= same("from a table", got[3], 9) & same("tail launches", got[4], 10) & same("nested", got[5], 10);
    ok &= same("a memset of rows", got[48], 0x22222222) & same("between them", got[49], 0) &
          same("the second row", got[50], 0x22222222);
    return ok;
}

static int check_own(void)
{
    void *args[] = {&data};
    int ok = same("launch", (unsigned)launch("own", 3, 70, args), 0);
    for (unsigned k = 0; k < 3 * 70; k++) {
        const unsigned i = k % 70;
        ok &= same("a thread's error", got[k], i % 5 == 0 ? 400 : i % 3 == 0 ? 9 : 0);
    }
    return ok;
}

static int check_counts(const char *kernel, unsigned n, unsigned first, unsigned second, unsigned third, size_t limit)
{
    void *args[] = {&data, &n};
    int ok = same("limit", (unsigned)CALL(cuCtxSetLimit, 4, limit), 0);
    ok &= same("launch", (unsigned)launch(kernel, 1, 1, args), 0);
    return ok & same("launches", got[0], first) & same("refused", got[1], second) & same("error", got[2], third);
}

static int check_bad(unsigned where)
{
    void *args[] = {&data, &where};
    int ok = same("launch", (unsigned)launch("parent_of_bad", 1, 1, args), 700);
    return ok & same("which stays", (unsigned)CALL(cuCtxSynchronize), 700);
}

int main(int argc, char **argv)
{
    const char *which = argc > 2 ? argv[2] : "";
    if (argc < 2 || start() || CALL(cuModuleLoad, &module, argv[1]) || CALL(cuMemAlloc_v2, &data, sizeof got) ||
        CALL(cuMemAlloc_v2, &more, sizeof got))
        return 2;
    int ok = !strcmp(which, "calls")     ? check_calls()
             : !strcmp(which, "own")     ? check_own()
             : !strcmp(which, "chain")   ? check_counts("chain", 20000, 20001, 0, 0, 2048)
             : !strcmp(which, "fall")    ? check_counts("fall", 3000, 3001, 0, 0, 2048)
             : !strcmp(which, "pending") ? check_counts("pending", 50, 20, 30, 69, 20)
             : !strcmp(which, "many")    ? check_counts("many", 500, 500, 0, 0, 20)
             : !strcmp(which, "waits")   ? check_counts("waits", 5, 960, 960, 0, 2048)
             : !strcmp(which, "child")   ? check_bad(0)
             : !strcmp(which, "tail")    ? check_bad(1)
                                         : 0;
    if (ok)
        printf("right %s\n", which);
    return !ok;
}
