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
    check(together && aligned, "small allocations share a block");
    check(large % BLOCK == 0 && p[0] / BLOCK != large / BLOCK + 1 && next % BLOCK == 0, "large ones have their own");
    MUdeviceptr first = p[0] / BLOCK * BLOCK, last = first + BLOCK - 1;
    check(!faults(first) && !faults(p[3] + 1300) && !faults(last), "a block is accessible throughout");
    check(!faults(large + 4 * 1024 * 1024 - 1), "and so is a large one's last");
    check(next == large + 4 * 1024 * 1024 && !faults(next - 1) && !faults(next), "large ones lie side by side");
    check(faults(last + 1), "what lies behind is not");
    IS(muMemcpyDtoD(p[0], large, 1025), MUSA_ERROR_INVALID_VALUE); /* calls know each allocation */
    OK(muMemGetAddressRange(&base, &size, p[5] + 7));
    check(base == p[5] && size == 1500, "its own range");
    IS(muMemGetAddressRange(&base, &size, last), MUSA_ERROR_NOT_FOUND);
    for (int i = 1; i < 64; i++)
        MUST(muMemFree(p[i]));
    check(!faults(p[7]), "freed memory of a block in use is accessible");
    MUST(muMemFree(p[0]));
    check(faults(p[7]) && faults(p[0]), "of one that is free it is not");
    MUST(muMemFree(large));
    check(faults(large) && !faults(next), "nor of a large allocation");
    MUST(muMemFree(next));
    MUdeviceptr many[24];
    for (int i = 0; i < 24; i++)
        MUST(muMemAlloc(&many[i], (1 << 20) + 1));
    for (int i = 0; i < 24; i++)
        MUST(muMemFree(many[i]));
    size_t left, total;
    MUST(muMemGetInfo(&left, &total));
    check(left == total, "all of it comes back");
}

static void strict(void)
{
    MUdeviceptr p, large;
    setenv("CUMU_HOST_STRICT", "1", 1);
    start_device();
    MUST(muMemAlloc(&p, 5000));
    check(!faults(p + 4999) && faults(p + 8192), "an access two pages away faults");
    MUST(muMemAlloc(&large, 3 << 20));
    check(!faults(large + (3 << 20) - 1) && faults(large + (3 << 20)), "and behind a large one");
    MUST(muMemFree(p));
    check(faults(p), "and one to freed pages");
}

/* The environment is read once in a process. */
static bool in_child(void (*body)(void))
{
    int status = 1;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        body();
        _exit(check_end("host layout"));
    }
    waitpid(pid, &status, 0);
    return pid > 0 && !status;
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "64M", 1);
    setenv("CUMU_HOST_DEVICES", "1", 1);
    check(in_child(blocks), "CUDA's blocks");
    check(in_child(strict), "strict");
    return check_end("host layout");
}
