/* Where allocations lie and what is accessible around them: CUDA's blocks of 2 MiB, and CUMU_HOST_STRICT. */
#include "faults.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 2 << 20 };

static void blocks(void)
{
    MUdeviceptr p[64], large, next, base;
    size_t size;
    start_device();
    MUST(muMemAlloc(&large, 3 << 20));
    MUST(muMemAlloc(&next, 4 << 20));
    for (int i = 0; i < 64; i++)
        MUST(muMemAlloc(&p[i], 1000 + 100 * (size_t)i));
    bool together = true, aligned = true;
    for (int i = 0; i < 64; i++) {
        together = together && p[i] / BLOCK == p[0] / BLOCK;
        aligned = aligned && p[i] % 512 == 0;
    }
    CHECK("small allocations share a block", together && aligned);
    CHECK("large ones have their own", large % BLOCK == 0 && p[0] / BLOCK != large / BLOCK + 1 && next % BLOCK == 0);
    MUdeviceptr first = p[0] / BLOCK * BLOCK, last = first + BLOCK - 1;
    CHECK("a block is accessible throughout", !faults(first) && !faults(p[3] + 1300) && !faults(last));
    CHECK("and so is a large one's last", !faults(large + 4 * 1024 * 1024 - 1));
    CHECK("large ones lie side by side", next == large + 4 * 1024 * 1024 && !faults(next - 1) && !faults(next));
    CHECK("what lies behind is not", faults(last + 1));
    IS(MUSA_ERROR_INVALID_VALUE, muMemcpyDtoD(p[0], large, 1025)); /* calls know each allocation */
    IS(MUSA_SUCCESS, muMemGetAddressRange(&base, &size, p[5] + 7));
    CHECK("its own range", base == p[5] && size == 1500);
    IS(MUSA_ERROR_NOT_FOUND, muMemGetAddressRange(&base, &size, last));
    for (int i = 1; i < 64; i++)
        MUST(muMemFree(p[i]));
    CHECK("freed memory of a block in use is accessible", !faults(p[7]));
    MUST(muMemFree(p[0]));
    CHECK("of one that is free it is not", faults(p[7]) && faults(p[0]));
    MUST(muMemFree(large));
    CHECK("nor of a large allocation", faults(large) && !faults(next));
    MUST(muMemFree(next));
    MUdeviceptr many[24];
    for (int i = 0; i < 24; i++)
        MUST(muMemAlloc(&many[i], (1 << 20) + 1));
    for (int i = 0; i < 24; i++)
        MUST(muMemFree(many[i]));
    size_t left, total;
    MUST(muMemGetInfo(&left, &total));
    CHECK("all of it comes back", left == total);
}

static void strict(void)
{
    MUdeviceptr p, large;
    setenv("CUMU_HOST_STRICT", "1", 1);
    start_device();
    MUST(muMemAlloc(&p, 5000));
    CHECK("an access two pages away faults", !faults(p + 4999) && faults(p + 8192));
    MUST(muMemAlloc(&large, 3 << 20));
    CHECK("and behind a large one", !faults(large + (3 << 20) - 1) && faults(large + (3 << 20)));
    MUST(muMemFree(p));
    CHECK("and one to freed pages", faults(p));
}

/* The environment is read once in a process. */
static bool in_child(void (*body)(void))
{
    int status = 1;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        body();
        _exit(result());
    }
    waitpid(pid, &status, 0);
    return pid > 0 && !status;
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "64M", 1);
    setenv("CUMU_HOST_DEVICES", "1", 1);
    CHECK("CUDA's blocks", in_child(blocks));
    CHECK("strict", in_child(strict));
    return result();
}
