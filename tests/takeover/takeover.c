/* Grids whose blocks take over others (clusterlaunchcontrol), by CUDA's driver API: each index is worked on once,
 * whoever does it. takeover KERNELS SEED COUNT|taken|fails; the last line is "right WHAT". */
#include "../check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../devrt/driver.h"

enum { MOST = 4096, ONCE = 0x10001, ILLEGAL_ADDRESS = 700 };

static const char *ptx;
static unsigned long long state;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static void *kernel(const char *name)
{
    void *module, *function;
    static char text[1 << 16];
    FILE *file = fopen(ptx, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = 0;
    if (file)
        fclose(file);
    MUST(CALL(cuModuleLoadData, &module, text));
    MUST(CALL(cuModuleGetFunction, &function, module, name));
    return function;
}

static uint64_t out;

static int launch(void *function, const unsigned grid[3], unsigned threads, unsigned seen[MOST], unsigned counts[2])
{
    uint64_t begun = out + MOST * 4;
    void *arguments[] = {&out, &begun};
    MUST(CALL(cuMemsetD8_v2, out, 0, (size_t)(MOST * 4 + 8)));
    int r = CALL(cuLaunchKernel, function, grid[0], grid[1], grid[2], threads, 1, 1, 0, (void *)0, arguments,
                 (void *)0);
    r = r ? r : CALL(cuCtxSynchronize);
    if (!r) {
        MUST(CALL(cuMemcpyDtoH_v2, seen, out, (size_t)(MOST * 4)));
        MUST(CALL(cuMemcpyDtoH_v2, counts, begun, (size_t)8));
    }
    return r;
}

/* A grid of this many blocks: every one has been worked on once, and each has begun or was taken over. */
static unsigned run(void *function, const unsigned grid[3], unsigned threads, unsigned cluster)
{
    static unsigned seen[MOST];
    unsigned counts[2] = {0, 0}, blocks = grid[0] * grid[1] * grid[2], wrong = 0;
    MUST(launch(function, grid, threads, seen, counts));
    for (unsigned i = 0; i < MOST; i++)
        wrong += seen[i] != (i < blocks ? ONCE : 0);
    EXPECT(!wrong, "grid %u %u %u of %u threads: %u indices wrong", grid[0], grid[1], grid[2], threads, wrong);
    EXPECT(counts[0] + counts[1] * cluster == blocks, "%u of %u blocks began, %u clusters of %u were taken over",
           counts[0], blocks, counts[1], cluster);
    return counts[1];
}

int main(int argc, char **argv)
{
    ptx = argv[1];
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *what = argc > 3 ? argv[3] : "100";
    MUST(start());
    MUST(CALL(cuMemAlloc_v2, &out, (size_t)(MOST * 4 + 8)));
    if (!strcmp(what, "fails")) {
        static unsigned seen[MOST];
        unsigned counts[2];
        const int r = launch(kernel("fails"), (const unsigned[3]){64, 1, 1}, 64, seen, counts);
        check(r == ILLEGAL_ADDRESS, "a fault in what was taken over is the launch's (%d)", r);
    } else if (!strcmp(what, "taken")) { /* with one thread the first blocks find all others */
        void *blocks = kernel("blocks"), *clusters = kernel("clusters");
        for (unsigned k = 0; k < 3; k++) { /* the later ones are known to be brief */
            const unsigned n = run(blocks, (const unsigned[3]){50, 3, 2}, 96, 1);
            check(n > 200, "of 300 blocks %u are taken over", n);
            const unsigned m = run(clusters, (const unsigned[3]){20, 6, 2}, 64, 4);
            check(m > 40, "of 60 clusters %u are taken over", m);
        }
    } else {
        void *blocks = kernel("blocks"), *clusters = kernel("clusters");
        unsigned taken = 0;
        for (int k = 0; k < atoi(what); k++) {
            unsigned threads = 1 + draw(160), grid[3] = {1 + draw(20), 1 + draw(8), 1 + draw(6)};
            taken += run(blocks, grid, threads, 1);
            grid[0] = 2 * (1 + draw(10));
            grid[1] = 2 * (1 + draw(4));
            taken += run(clusters, grid, threads, 4);
        }
        check(taken, "%u clusters were taken over", taken);
    }
    if (!check_failures)
        printf("right %s\n", what);
    return check_failures != 0;
}
