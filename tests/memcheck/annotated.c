/* What a program says of its memory by NVTX's memory API, as the headers of NVTX 3 carry it to a tool, and kernels that
 * do not keep to it, for `cumu memcheck`. usage: annotated list | wrong NAME | right NAME, as calls.c */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/driver.h"

enum { BYTES = 4096, AT = 16, SIZE = 64 };
enum { READ = 1, WRITE = 2, ATOMIC = 4, RESET = 8 };

/* ---- NVTX's side: its headers ToolsExtMem and ExtTypes --------------------------------------------- */

static intptr_t slots[63];
struct range {
    size_t size;
    uint64_t base;
};
struct heap {
    uint16_t compatible, size;
    uint32_t reserved, usage, type;
    size_t range_size;
    const struct range *range;
    uint32_t category, message_type;
    const char *message;
};
struct regions {
    uint16_t compatible, size;
    uint32_t type;
    uint64_t heap;
    size_t count, stride;
    const struct range *range;
    uint64_t *handles;
};
struct ranges { /* resized ones, written ones, references */
    uint16_t compatible, size;
    uint32_t type;
    size_t count, stride;
    const void *elements;
};
struct name {
    uint32_t reference, type;
    uint64_t region;
    const char *text;
    uint32_t category, reserved;
};
struct right {
    uint32_t flags, reference;
    uint64_t region;
};
struct batch { /* of names */
    uint16_t compatible, size;
    uint32_t reserved;
    size_t count, stride;
    const struct name *name;
    size_t more;
};
struct rights {
    uint16_t compatible, size;
    uint32_t reserved;
    uint64_t permissions;
    size_t count, stride;
    const struct right *right;
    size_t more;
};
#define HEAD(type) .compatible = 0x0102, .size = sizeof(type)

static bool attach(void)
{
    struct {
        size_t id, count;
        intptr_t *slots;
    } segment = {1, sizeof slots / sizeof *slots, slots};
    struct {
        uint16_t version, size, module, compatible;
        size_t segments;
        void *segment;
        void *export;
        const void *more;
    } info = {3, sizeof info, 1, 0x0102, 1, &segment, NULL, NULL};
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*start)(void *) = lib ? (int (*)(void *))dlsym(lib, "InitializeInjectionNvtxExtension") : NULL;
    return start && start(&info) == 1;
}

#define CALL(number, type, ...) ((type(*)(void *, __VA_ARGS__))slots[number])

static uint64_t heap(uint64_t base, uint32_t usage)
{
    const struct range r = {BYTES / 2, base};
    const struct heap h = {HEAD(h), .usage = usage, .type = 1, .range_size = sizeof r, .range = &r};
    return CALL(0, uint64_t, const struct heap *)(NULL, &h);
}
static void heap_gone(uint64_t h) { CALL(1, void, uint64_t)(NULL, h); }
static void heap_reset(uint64_t h) { CALL(2, void, uint64_t)(NULL, h); }
static void region(uint64_t base, size_t size)
{
    uint64_t handle[2] = {0, 0};
    const struct range r[] = {{size, base}, {SIZE, base + 512}}; /* another behind it */
    const struct regions all = {HEAD(all), .type = 1, .count = 2, .stride = sizeof *r, .range = r, .handles = handle};
    CALL(3, void, const struct regions *)(NULL, &all);
    if (!handle[0] || !handle[1] || handle[0] == handle[1])
        puts("no handles");
}
static void resize(uint64_t base, size_t size)
{
    const struct range r = {size, base};
    const struct ranges all = {HEAD(all), .type = 1, .count = 1, .stride = sizeof r, .elements = &r};
    CALL(4, void, const struct ranges *)(NULL, &all);
}
static void region_gone(uint64_t base)
{
    const struct ranges all = {HEAD(all), .type = 1, .count = 1, .stride = sizeof base, .elements = &base};
    CALL(5, void, const struct ranges *)(NULL, &all);
}
static void name(uint64_t base, const char *text)
{
    const struct name n = {.reference = 1, .type = 1, .region = base, .text = text};
    const struct batch all = {HEAD(all), .count = 1, .stride = sizeof n, .name = &n};
    CALL(6, void, const struct batch *)(NULL, &all);
}
static void rights(uint64_t permissions, uint64_t base, uint32_t flags)
{
    const struct right r = {flags, 1, base};
    const struct rights all = {HEAD(all), .permissions = permissions, .count = 1, .stride = sizeof r, .right = &r};
    CALL(7, void, const struct rights *)(NULL, &all);
}
static void written(uint64_t base, size_t size)
{
    const struct range r = {size, base};
    const struct ranges all = {HEAD(all), .type = 1, .count = 1, .stride = sizeof r, .elements = &r};
    CALL(16, void, void *, uint8_t, const struct ranges *)(NULL, NULL, 0, &all);
}
static uint64_t process(void) { return CALL(13, uint64_t, int)(NULL, 0); }
static uint64_t of_device(int device) { return CALL(14, uint64_t, int)(NULL, device); }

/* ---- the device's ---------------------------------------------------------------------------------- */

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry touch(.param .u64 p, .param .u32 kind) {\n"
                           ".reg .b64 %a; .reg .b32 %k, %v; .reg .pred %q;\n"
                           "ld.param.u64 %a, [p];\nld.param.u32 %k, [kind];\n"
                           "mov.u32 %v, 0;\nsetp.eq.u32 %q, %k, 1;\n@%q ld.volatile.global.u32 %v, [%a];\n"
                           "setp.eq.u32 %q, %v, 77;\n@%q trap;\n" /* what is read is used */
                           "setp.eq.u32 %q, %k, 2;\n@%q st.global.u32 [%a], 7;\n"
                           "setp.eq.u32 %q, %k, 4;\n@%q atom.global.add.u32 %v, [%a], 1;\nret;\n}\n";
static void *touch;

static void kernel(uint64_t p, uint32_t kind)
{
    void *arguments[] = {&p, &kind};
    need(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
}

static uint64_t device(void)
{
    uint64_t p;
    need(cuMemAlloc_v2(&p, BYTES), "cuMemAlloc");
    return p;
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static void between_regions(bool wrong)
{
    const uint64_t p = device();
    heap(p, 1);
    region(p + AT, SIZE);
    kernel(p + AT, WRITE);
    kernel(p + AT + 512, WRITE);
    kernel(p + BYTES / 2, WRITE); /* behind the heap */
    kernel(wrong ? p + 256 : p + AT + SIZE - 4, WRITE);
}
static void across_the_end(bool wrong)
{
    const uint64_t p = device();
    heap(p, 1);
    region(p + AT, wrong ? SIZE - 2 : SIZE);
    kernel(p + AT + SIZE - 4, READ);
}
static void not_resized(bool wrong)
{
    const uint64_t p = device();
    heap(p, 1);
    region(p + AT, SIZE);
    if (!wrong)
        resize(p + AT, SIZE + 4);
    kernel(p + AT + SIZE, READ);
}
static void region_unregistered(bool wrong)
{
    const uint64_t p = device();
    heap(p, 1);
    region(p + AT, SIZE);
    region_gone(wrong ? p + AT : p + AT + 512);
    kernel(p + AT, READ);
}
static void heap_that_is_reset(bool wrong)
{
    const uint64_t p = device();
    const uint64_t h = heap(p, 1);
    region(p + AT, SIZE);
    heap_reset(h);
    if (!wrong)
        region(p + AT, SIZE);
    kernel(p + AT, READ);
}
static void right_of_before(bool wrong)
{
    const uint64_t p = device();
    const uint64_t h = heap(p, 1);
    region(p + AT, SIZE);
    rights(process(), p + AT, READ);
    if (!wrong) {
        heap_reset(h); /* the right goes with its region */
        region(p + AT, SIZE);
    }
    kernel(p + AT, WRITE);
}
static void heap_in_use(bool wrong)
{
    const uint64_t p = device();
    const uint64_t h = heap(p, wrong ? 1 : 2); /* a layout closes nothing */
    kernel(p + BYTES / 2, READ);
    kernel(p, READ);
    heap_gone(h);
}
static void heap_of_before(bool wrong)
{
    uint64_t p = device();
    const uint64_t h = heap(p, 1);
    if (wrong) {
        kernel(p, READ);
        return;
    }
    heap_gone(h);
    kernel(p, READ);
    heap(p, 1);
    need(cuMemFree_v2(p), "cuMemFree"); /* and what was said with it */
    p = device();
    kernel(p, READ);
}
static void read_only(bool wrong)
{
    const uint64_t p = device();
    rights(process(), p, READ);
    kernel(p, READ);
    if (!wrong)
        rights(process(), p, RESET);
    kernel(p, WRITE);
}
static void write_only(bool wrong)
{
    const uint64_t p = device();
    rights(process(), p, WRITE);
    kernel(p, wrong ? READ : WRITE);
}
static void no_atomics(bool wrong)
{
    const uint64_t p = device();
    rights(process(), p, READ | WRITE | (wrong ? 0 : ATOMIC));
    kernel(p, ATOMIC);
}
static void for_a_device(bool wrong)
{
    const uint64_t p = device();
    rights(of_device(wrong ? 0 : 1), p, READ);
    kernel(p, WRITE);
}
static void own_right_of_a_device(bool wrong)
{
    const uint64_t p = device();
    rights(process(), p, wrong ? READ | WRITE : READ);
    rights(of_device(0), p, wrong ? READ : READ | WRITE);
    kernel(p, WRITE);
}
static void of_a_region(bool wrong)
{
    const uint64_t p = device();
    rights(process(), p, READ);
    region(p + AT, SIZE);
    rights(process(), p + AT, READ | WRITE);
    kernel(wrong ? p : p + AT, WRITE);
}
static void unknown_versions(bool wrong)
{
    const uint64_t p = device();
    const struct right r = {READ, 1, p};
    const struct rights other = {.compatible = wrong ? 0x0102 : 0x0101,
                                 .size = sizeof other,
                                 .count = 1,
                                 .stride = sizeof r,
                                 .right = &r},
                        shorter = {.compatible = 0x0102, .size = 8, .count = 1, .stride = sizeof r, .right = &r},
                        smaller = {HEAD(smaller), .count = 1, .stride = 4, .right = &r},
                        none = {HEAD(none), .permissions = (uint64_t)-1, .count = 1, .stride = sizeof r, .right = &r};
    const struct rights *const all[] = {&other, &shorter, &smaller, &none, NULL};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        CALL(7, void, const struct rights *)(NULL, all[k]);
    kernel(p, WRITE);
}
static void leaked_by_name(bool wrong)
{
    const uint64_t p = device();
    name(p, "another");
    name(p, "My allocation");
    if (!wrong)
        need(cuMemFree_v2(p), "cuMemFree");
}
static void unused_by_name(bool wrong)
{
    const uint64_t p = device();
    heap(p, 1); /* half of it, of which only regions count */
    name(p, "My allocation");
    if (!wrong)
        need(cuMemsetD8_v2(p + BYTES / 2, 0, BYTES / 2), "cuMemsetD8");
    need(cuMemFree_v2(p), "cuMemFree");
}
static void region_unused(bool wrong)
{
    const uint64_t p = device();
    heap(p, 1);
    region(p + AT, SIZE);
    need(cuMemsetD8_v2(p + BYTES / 2, 0, BYTES / 2), "cuMemsetD8");
    need(cuMemsetD8_v2(p + AT + 512, 0, SIZE), "cuMemsetD8");
    if (!wrong)
        need(cuMemsetD8_v2(p + AT, 0, SIZE), "cuMemsetD8");
    need(cuMemFree_v2(p), "cuMemFree");
}
static void marked_as_written(bool wrong)
{
    const uint64_t p = device();
    written(wrong ? p + 4 : p, 4);
    kernel(p, READ);
}

#define DENIED(name, kind, why) \
    { \
#name, "^=+ +Address 0x[0-9a-f]+ is " why "$", "^=+ Invalid __global__ " kind " of size 4 bytes", "", name \
    }
static const struct {
    const char *name, *report, *place, *options;
    void (*run)(bool wrong);
} tests[] = {
    DENIED(between_regions, "write", "out of bounds"),
    DENIED(across_the_end, "read", "out of bounds"),
    DENIED(not_resized, "read", "out of bounds"),
    DENIED(region_unregistered, "read", "out of bounds"),
    DENIED(heap_that_is_reset, "read", "out of bounds"),
    DENIED(right_of_before, "write", "not writable"),
    DENIED(heap_in_use, "read", "out of bounds"),
    DENIED(heap_of_before, "read", "out of bounds"),
    DENIED(read_only, "write", "not writable"),
    DENIED(write_only, "read", "not readable"),
    DENIED(no_atomics, "atomic", "not readable/writable with atomic operations"),
    DENIED(for_a_device, "write", "not writable"),
    DENIED(own_right_of_a_device, "write", "not writable"),
    DENIED(of_a_region, "write", "not writable"),
    DENIED(unknown_versions, "write", "not writable"),
    {"leaked_by_name", "Leaked 4096 bytes at 0x[0-9a-f]+ called My allocation$", "^=+ LEAK SUMMARY: 4096 bytes",
     "--leak-check full", leaked_by_name},
    {"unused_by_name", "Unused memory in allocation 0x[0-9a-f]+ called My allocation of size 4096",
     "50% of allocation were unused", "--tool initcheck --track-unused-memory", unused_by_name},
    {"region_unused", "Not written 64 bytes at offset 0x10 ", "1\\.562% of allocation",
     "--tool initcheck --track-unused-memory", region_unused},
    {"marked_as_written", "Uninitialized __global__ memory read of size 4 bytes", "at touch", "--tool initcheck",
     marked_as_written},
};

int main(int argc, char **argv)
{
    void *module;
    const unsigned count = sizeof tests / sizeof *tests;
    for (unsigned k = 0; argc < 3 && k < count; k++)
        printf("%s\t%s\t%s\t%s\n", tests[k].name, tests[k].report, tests[k].place, tests[k].options);
    if (argc < 3)
        return 0;
    open_device();
    need(cuModuleLoadData(&module, text), "cuModuleLoadData");
    need(cuModuleGetFunction(&touch, module, "touch"), "cuModuleGetFunction");
    if (!attach()) {
        puts("nobody listens");
        return 0;
    }
    for (unsigned k = 0; k < count; k++)
        if (!strcmp(argv[2], tests[k].name))
            tests[k].run(!strcmp(argv[1], "wrong"));
    puts("done");
    return 0;
}
