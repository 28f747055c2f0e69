/* Programs whose kernels are right and whose calls are not: lifetimes, rights, lengths, what is never freed or written.
 * usage: calls list          name, what is reported, where, options of `cumu memcheck`, by tabs, a line each
 *        calls wrong NAME    one of them; prints "done"
 *        calls right NAME    its twin without the defect */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_functions.h"

enum { BYTES = 400, PITCH = 64, MAPPED = 2 << 20 };

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 8 .b8 var[64];\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
    ".visible .entry read(.param .u64 p)\n{\n.reg .u32 %r<4>; .reg .u64 %rd<4>;\nld.param.u64 %rd1, [p];\n"
    ".loc 1 77 3\nld.global.u32 %r1, [%rd1];\nadd.u32 %r2, %r1, 1;\nret;\n}\n"
    ".visible .entry write(.param .u64 p)\n{\n.reg .u64 %rd<4>;\nld.param.u64 %rd1, [p];\n"
    ".loc 1 77 3\nst.global.u32 [%rd1], 1;\nret;\n}\n"
    /* Takes 40 bytes of the device heap; writes and reads them, and gives them back where p says so: 1, 2, 4. */
    ".visible .entry heap(.param .u64 p)\n{\n.reg .u32 %r<4>; .reg .u64 %rd<6>; .reg .pred %p<2>;\n"
    "ld.param.u64 %rd1, [p];\n{\n.param .b64 a; .param .b64 r;\nst.param.b64 [a], 40;\ncall (r), malloc, (a);\n"
    "ld.param.b64 %rd4, [r];\n}\nand.b64 %rd2, %rd1, 1; setp.eq.u64 %p1, %rd2, 0;\n@%p1 bra READ;\n"
    "st.u32 [%rd4], 1;\nREAD:\nand.b64 %rd2, %rd1, 2; setp.eq.u64 %p1, %rd2, 0;\n@%p1 bra FREE;\n"
    ".loc 1 77 3\nld.u32 %r1, [%rd4];\nadd.u32 %r2, %r1, 1;\nFREE:\n"
    "and.b64 %rd2, %rd1, 4; setp.eq.u64 %p1, %rd2, 0;\n@%p1 bra END;\n"
    "{\n.param .b64 a;\nst.param.b64 [a], %rd4;\ncall free, (a);\n}\nEND:\nret;\n}\n"
    ".file 1 \"calls.cu\"\n";

static void *module;
static bool may_fail; /* calls behind the defect */

static void need(int r, const char *what)
{
    if (!r || may_fail)
        return;
    printf("%s: status %d\n", what, r);
    exit(3);
}

/* What may fail since it is wrong. */
static void hope(int r) { printf("status %d\n", r); }

static void launch(const char *name, uint64_t p, void *stream)
{
    void *f, *args[] = {&p};
    need(cuModuleGetFunction(&f, module, name), name);
    hope(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}
static void run(const char *name, uint64_t p)
{
    launch(name, p, NULL);
    hope(cuCtxSynchronize());
}

static uint64_t device(size_t bytes)
{
    uint64_t p;
    need(cuMemAlloc_v2(&p, bytes), "cuMemAlloc");
    return p;
}

static void *stream(void)
{
    void *s;
    need(cuStreamCreate(&s, 1), "cuStreamCreate"); /* non-blocking */
    return s;
}

/* What comes into b later waits for what is in a. */
static void order(void *a, void *b)
{
    void *event;
    need(cuEventCreate(&event, 2), "cuEventCreate");
    need(cuEventRecord(event, a), "cuEventRecord");
    need(cuStreamWaitEvent(b, event, 0), "cuStreamWaitEvent");
    need(cuEventDestroy_v2(event), "cuEventDestroy");
}

/* --- lifetimes */

static void used_before_it_is_allocated(bool wrong)
{
    void *a = stream(), *b = stream();
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, a), "cuMemAllocAsync");
    if (!wrong)
        order(a, b);
    launch("write", p, b);
    order(b, a);
    need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}

static void freed_on_another_stream(bool wrong)
{
    void *a = stream(), *b = stream();
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, a), "cuMemAllocAsync");
    order(a, b);
    launch("write", p, b);
    if (!wrong)
        order(b, a);
    need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}

/* One memory, taken again and again, each time used in order. */
static void use_in_order(void *a, void *b)
{
    enum { AGAIN, STREAM_OVER, POLLED, CONTEXT_OVER, BY_HOST, BY_DEFAULT, WAYS };
    for (int k = 0; k < 4 * WAYS; k++) {
        void *of = k % WAYS == BY_DEFAULT ? NULL : a, *by = k % WAYS == AGAIN ? a : b;
        uint64_t p;
        need(cuMemAllocAsync(&p, BYTES, of), "cuMemAllocAsync");
        if (k % WAYS == CONTEXT_OVER || k % WAYS == BY_DEFAULT)
            need(cuCtxSynchronize(), "cuCtxSynchronize");
        else if (k % WAYS != AGAIN)
            need(cuStreamSynchronize(a), "cuStreamSynchronize");
        launch("write", p, by);
        while (k % WAYS == POLLED && cuStreamQuery(b))
            continue;
        if (k % WAYS != AGAIN && k % WAYS != POLLED)
            need(k % WAYS == STREAM_OVER ? cuStreamSynchronize(b) : cuCtxSynchronize(), "cuCtxSynchronize");
        need(k % WAYS == BY_HOST ? cuMemFree_v2(p) : cuMemFreeAsync(p, of), "cuMemFree");
    }
}

static void freed_then_used(bool wrong)
{
    void *a = stream(), *b = stream();
    uint64_t p;
    if (!wrong)
        use_in_order(a, b);
    need(cuMemAllocAsync(&p, BYTES, a), "cuMemAllocAsync");
    order(a, b);
    if (wrong)
        need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    launch("write", p, b);
    order(b, a);
    if (!wrong)
        need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}

/* A graph that allocates memory and gives it back, and p in it; `late`: a kernel of it behind the free. */
static void *graph_with_memory(void *s, uint64_t *p, bool frees, bool late)
{
    void *graph, *exec;
    need(cuStreamBeginCapture_v2(s, 0), "cuStreamBeginCapture");
    need(cuMemAllocAsync(p, BYTES, s), "cuMemAllocAsync");
    launch("write", *p, s);
    if (frees)
        need(cuMemFreeAsync(*p, s), "cuMemFreeAsync");
    if (late)
        launch("write", *p, s);
    need(cuStreamEndCapture(s, &graph), "cuStreamEndCapture");
    need(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
    return exec;
}

static void graph_uses_what_it_has_freed(bool wrong)
{
    void *s = stream();
    uint64_t p;
    void *exec = graph_with_memory(s, &p, true, wrong);
    for (int k = 0; k < 3; k++)
        need(cuGraphLaunch(exec, s), "cuGraphLaunch");
    hope(cuCtxSynchronize());
}

static void used_behind_its_graph(bool wrong)
{
    void *s = stream(), *other = stream();
    uint64_t p;
    void *exec = graph_with_memory(s, &p, wrong, false);
    for (int k = 0; k < 3; k++) {
        need(cuGraphLaunch(exec, s), "cuGraphLaunch");
        order(s, other);
        launch("write", p, other);
        order(other, s);
        if (!wrong)
            need(k ? cuMemFreeAsync(p, s) : cuMemFree_v2(p), "cuMemFree");
    }
    hope(cuCtxSynchronize());
}

static void used_beside_its_graph(bool wrong)
{
    void *s = stream(), *other = stream();
    uint64_t p;
    void *exec = graph_with_memory(s, &p, false, false);
    need(cuGraphLaunch(exec, s), "cuGraphLaunch");
    if (!wrong)
        order(s, other);
    launch("write", p, other);
    order(other, s);
    need(cuMemFreeAsync(p, s), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}

/* Nobody could have had the memory before; the launch is enqueued when the kernel runs, or not. */
static void used_before_its_graph(bool wrong)
{
    void *s = stream();
    uint64_t p;
    void *exec = graph_with_memory(s, &p, false, false);
    if (wrong)
        launch("write", p, s);
    need(cuGraphLaunch(exec, s), "cuGraphLaunch");
    if (!wrong)
        launch("write", p, s);
    need(cuMemFreeAsync(p, s), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}

static void used_without_its_graph(bool wrong)
{
    void *s = stream();
    uint64_t p;
    void *exec = graph_with_memory(s, &p, false, false);
    if (!wrong)
        need(cuGraphLaunch(exec, s), "cuGraphLaunch");
    launch("write", p, s);
    hope(cuCtxSynchronize());
}

static char room[4096];

/* A copy or fill on one stream of memory that another one has; `in`: within its life. */
static void touch(int how, bool in)
{
    void *a = stream(), *b = stream();
    uint64_t p, q = device(BYTES);
    need(cuMemAllocAsync(&p, BYTES, a), "cuMemAllocAsync");
    if (in)
        order(a, b);
    hope(how == 0   ? cuMemcpyHtoDAsync_v2(p, room, BYTES, b)
         : how == 1 ? cuMemcpyDtoHAsync_v2(room, p, BYTES, b)
         : how == 2 ? cuMemcpyDtoDAsync_v2(q, p, BYTES, b)
                    : cuMemsetD32Async(p, 0, BYTES / 4, b));
    order(b, a);
    need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
    need(cuMemFree_v2(q), "cuMemFree");
}
static void copied_to_beside(bool wrong) { touch(0, !wrong); }
static void copied_from_beside(bool wrong) { touch(1, !wrong); }
static void copied_between_beside(bool wrong) { touch(2, !wrong); }
static void filled_beside(bool wrong) { touch(3, !wrong); }

static void hold(void *unused)
{
    (void)unused;
    usleep(100000);
}

/* The free has not come to pass when the copy is called, which would refuse the address. */
static void copied_after_the_free(bool wrong)
{
    void *a = stream(), *b = stream();
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, a), "cuMemAllocAsync");
    need(cuMemsetD8Async(p, 0, BYTES, a), "cuMemsetD8Async");
    need(cuLaunchHostFunc(a, hold, NULL), "cuLaunchHostFunc");
    if (wrong)
        need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    order(a, b);
    hope(cuMemcpyDtoHAsync_v2(room, p, BYTES, b));
    order(b, a);
    if (!wrong)
        need(cuMemFreeAsync(p, a), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}

static void module_unloaded(bool wrong)
{
    uint64_t p;
    size_t n;
    void *other;
    need(cuModuleLoadData(&other, text), "cuModuleLoadData");
    need(cuModuleGetGlobal_v2(&p, &n, other, "var"), "cuModuleGetGlobal");
    if (wrong)
        need(cuModuleUnload(other), "cuModuleUnload");
    run("write", p);
}

static void unregistered(bool wrong)
{
    void *host = aligned_alloc(4096, 4096);
    uint64_t p;
    need(cuMemHostRegister_v2(host, 4096, 2), "cuMemHostRegister");
    need(cuMemHostGetDevicePointer_v2(&p, host, 0), "cuMemHostGetDevicePointer");
    if (wrong)
        need(cuMemHostUnregister(host), "cuMemHostUnregister");
    run("write", p);
}

static void registered_too_short(bool wrong)
{
    char *host = aligned_alloc(4096, 3 * 4096);
    uint64_t p;
    need(cuMemHostRegister_v2(host, 4096, 2), "cuMemHostRegister");
    need(cuMemHostGetDevicePointer_v2(&p, host, 0), "cuMemHostGetDevicePointer");
    run("write", p + (wrong ? 4096 : 4092));
}

static void mapped_host(bool wrong)
{
    void *host;
    uint64_t p;
    need(cuMemHostAlloc(&host, BYTES, 2), "cuMemHostAlloc");
    need(cuMemHostGetDevicePointer_v2(&p, host, 0), "cuMemHostGetDevicePointer");
    run("write", p + (wrong ? BYTES : BYTES - 4));
}

/* --- rights of mappings */

static const struct {
    int type, handles, place, device;
    void *unused;
    uint64_t flags[2];
} wanted = {.type = 1, .place = 1}; /* CUmemAllocationProp: pinned, on device 0 */
static const struct {
    int place, device, flags;
} all = {1, 0, 3}; /* CUmemAccessDesc: on device 0, read and write */

static uint64_t reserve(size_t mapped, size_t accessible)
{
    uint64_t handle, p = 0;
    need(cuMemAddressReserve(&p, 2 * MAPPED, 0, 0, 0), "cuMemAddressReserve");
    if (mapped) {
        need(cuMemCreate(&handle, mapped, (void *)&wanted, 0), "cuMemCreate");
        need(cuMemMap(p, mapped, 0, handle, 0), "cuMemMap");
        need(cuMemRelease(handle), "cuMemRelease");
    }
    if (accessible)
        need(cuMemSetAccess(p, accessible, (void *)&all, 1), "cuMemSetAccess");
    return p;
}

static void mapped_without_access(bool wrong) { run("read", reserve(MAPPED, wrong ? 0 : MAPPED)); }
static void reserved_only(bool wrong) { run("read", reserve(wrong ? 0 : MAPPED, wrong ? 0 : MAPPED)); }
static void behind_the_mapping(bool wrong) { run("read", reserve(MAPPED, MAPPED) + (wrong ? MAPPED : MAPPED - 4)); }
static void unmapped(bool wrong)
{
    const uint64_t p = reserve(MAPPED, MAPPED);
    if (wrong)
        need(cuMemUnmap(p, MAPPED), "cuMemUnmap");
    run("read", p);
}

/* --- lengths of copies and fills */

static void copy_too_long(bool wrong) { hope(cuMemcpyDtoH_v2(room, device(BYTES), wrong ? BYTES + 200000 : BYTES)); }
static void copy_a_byte_too_long(bool wrong) { hope(cuMemcpyHtoD_v2(device(BYTES), room, BYTES + wrong)); }
static void copy_beside(bool wrong) { hope(cuMemcpyDtoD_v2(device(BYTES) + (wrong ? 4 : 0), device(BYTES), BYTES)); }
static void fill_too_long(bool wrong) { hope(cuMemsetD32_v2(device(BYTES), 0, BYTES / 4 + wrong)); }
static void fill_in_stream_too_long(bool wrong)
{
    hope(cuMemsetD8Async(device(BYTES), 0, BYTES + wrong, NULL));
    hope(cuCtxSynchronize());
}
static void fill_freed(bool wrong)
{
    const uint64_t p = device(BYTES);
    if (wrong)
        need(cuMemFree_v2(p), "cuMemFree");
    hope(cuMemsetD8_v2(p, 0, BYTES));
}
static void copy_from_freed(bool wrong)
{
    const uint64_t p = device(BYTES);
    if (wrong)
        need(cuMemFree_v2(p), "cuMemFree");
    hope(cuMemcpyDtoH_v2(room, p, BYTES));
}

/* CUDA_MEMCPY2D */
struct copy {
    uint64_t x, y;
    unsigned kind;
    const void *host;
    uint64_t p;
    void *array;
    size_t pitch;
    uint64_t to_x, to_y;
    unsigned to_kind;
    void *to_host;
    uint64_t to;
    void *to_array;
    size_t to_pitch, width, height;
};
static int copy_rows(uint64_t p, size_t width, size_t height)
{
    struct copy c = {.kind = 1, .host = room, .pitch = PITCH, .to_kind = 2, .to = p, .to_pitch = PITCH};
    c.width = width;
    c.height = height;
    return cuMemcpy2D_v2((void *)&c);
}
static void a_row_too_many(bool wrong) { hope(copy_rows(device(4 * PITCH), PITCH, 4 + wrong)); }

static void freed_twice(bool wrong)
{
    const uint64_t p = device(BYTES);
    need(cuMemFree_v2(p), "cuMemFree");
    if (wrong)
        hope(cuMemFree_v2(p));
}
static void freed_in_its_middle(bool wrong) { hope(cuMemFree_v2(device(BYTES) + (wrong ? 16 : 0))); }
static void freed_async_twice(bool wrong)
{
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, NULL), "cuMemAllocAsync");
    need(cuMemFreeAsync(p, NULL), "cuMemFreeAsync");
    if (wrong)
        hope(cuMemFreeAsync(p, NULL));
}
static void freed_as_host_memory(bool wrong)
{
    const uint64_t p = device(BYTES);
    hope(wrong ? cuMemFreeHost((void *)(uintptr_t)p) : cuMemFree_v2(p));
}

/* --- leaks */

static void leak_async(bool wrong)
{
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, NULL), "cuMemAllocAsync");
    if (!wrong)
        need(cuMemFreeAsync(p, NULL), "cuMemFreeAsync");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
}
static void leak_managed(bool wrong)
{
    uint64_t p;
    need(cuMemAllocManaged(&p, BYTES, 1), "cuMemAllocManaged");
    if (!wrong)
        need(cuMemFree_v2(p), "cuMemFree");
}
static void leak_host(bool wrong)
{
    void *p;
    need(cuMemHostAlloc(&p, BYTES, 2), "cuMemHostAlloc");
    if (!wrong)
        need(cuMemFreeHost(p), "cuMemFreeHost");
}
/* CUDA_ARRAY3D_DESCRIPTOR: of 32 bits, unsigned */
static const struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} plane = {64, 8, 0, 3, 1, 0};
static void leak_array(bool wrong)
{
    void *array;
    need(cuArray3DCreate_v2(&array, (void *)&plane), "cuArray3DCreate");
    if (!wrong)
        need(cuArrayDestroy(array), "cuArrayDestroy");
}
static void leak_mipmap(bool wrong)
{
    void *array;
    need(cuMipmappedArrayCreate(&array, (void *)&plane, 3), "cuMipmappedArrayCreate");
    if (!wrong)
        need(cuMipmappedArrayDestroy(array), "cuMipmappedArrayDestroy");
}
static void leak_mapping(bool wrong)
{
    const uint64_t p = reserve(MAPPED, MAPPED);
    if (!wrong)
        need(cuMemUnmap(p, MAPPED), "cuMemUnmap");
    if (!wrong)
        need(cuMemAddressFree(p, 2 * MAPPED), "cuMemAddressFree");
}
static void leak_heap(bool wrong) { run("heap", wrong ? 1 : 5); }

/* --- what nobody wrote */

static void gap_of_rows_filled(bool wrong)
{
    const uint64_t p = device(4 * PITCH);
    need(cuMemsetD2D8_v2(p, PITCH, 0, 40, 4), "cuMemsetD2D8");
    run("read", p + PITCH + (wrong ? 40 : 36));
}
static void gap_of_rows_copied(bool wrong)
{
    const uint64_t p = device(4 * PITCH);
    need(copy_rows(p, 40, 4), "cuMemcpy2D");
    run("read", p + PITCH + (wrong ? 40 : 36));
}
static void row_not_copied(bool wrong)
{
    const uint64_t p = device(4 * PITCH);
    need(copy_rows(p, PITCH, 3), "cuMemcpy2D");
    run("read", p + (wrong ? 3 : 2) * PITCH);
}
static void pool_unwritten(bool wrong)
{
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, NULL), "cuMemAllocAsync");
    need(cuMemsetD8Async(p, 0, wrong ? 100 : BYTES, NULL), "cuMemsetD8Async");
    launch("read", p + 200, NULL);
    need(cuMemFreeAsync(p, NULL), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}
static void to_host(uint64_t written, uint64_t copied)
{
    static char host[BYTES];
    const uint64_t p = device(BYTES);
    if (written)
        need(cuMemsetD8_v2(p, 0, written), "cuMemsetD8");
    need(cuMemcpyDtoH_v2(host, p, copied), "cuMemcpyDtoH");
}
static void copy_never_written(bool wrong) { to_host(wrong ? 0 : 4, 4); }
static void copy_end_not_written(bool wrong) { to_host(wrong ? BYTES - 1 : BYTES, BYTES); }
static void copy_word_not_written(bool wrong)
{
    static char host[BYTES];
    const uint64_t p = device(BYTES);
    need(cuMemsetD8_v2(p, 0, wrong ? 100 : 104), "cuMemsetD8");
    need(cuMemsetD8_v2(p + 104, 0, BYTES - 104), "cuMemsetD8");
    need(cuMemcpyDtoH_v2(host, p, BYTES), "cuMemcpyDtoH");
}
static void copy_async_not_written(bool wrong)
{
    static char host[BYTES];
    uint64_t p;
    need(cuMemAllocAsync(&p, BYTES, NULL), "cuMemAllocAsync");
    need(cuMemsetD8Async(p, 0, wrong ? 100 : BYTES, NULL), "cuMemsetD8Async");
    need(cuMemcpyDtoHAsync_v2(host, p, BYTES, NULL), "cuMemcpyDtoHAsync");
    need(cuMemFreeAsync(p, NULL), "cuMemFreeAsync");
    hope(cuCtxSynchronize());
}
static void copy_rows_not_written(bool wrong)
{
    static char host[4 * PITCH];
    const uint64_t p = device(4 * PITCH);
    need(cuMemsetD2D8_v2(p, PITCH, 0, PITCH, wrong ? 3 : 4), "cuMemsetD2D8");
    need(cuMemcpyDtoH_v2(host, p, 4 * PITCH), "cuMemcpyDtoH");
}
static void half_used(bool wrong)
{
    const uint64_t p = device(BYTES);
    need(cuMemsetD8_v2(p, 0, wrong ? BYTES / 2 : BYTES / 2 + 1), "cuMemsetD8");
    need(cuMemFree_v2(p), "cuMemFree");
}
static void never_used(bool wrong)
{
    const uint64_t p = device(BYTES);
    if (!wrong)
        need(cuMemsetD8_v2(p, 0, BYTES), "cuMemsetD8");
    need(cuMemFree_v2(p), "cuMemFree");
}

#define IN_KERNEL "^=+ +at [a-z]+ in calls.cu:77"
#define IN_MAIN "Host Frame: main .* in calls"
#define WRONG(name, report) \
    { \
#name, report, IN_KERNEL, "", name \
    }
/* By the free or by the launch, whichever comes later. */
#define STREAMS(name) \
    { \
#name, \
            "inside the nearest .* of size 400 bytes, or outside of its life|Invalid free of memory that another|" \
            "inside an allocation .* of size 400 bytes that was freed", \
            IN_MAIN, "", name \
    }
#define FAILS(name, call) \
    { \
#name, "Program hit CUDA_ERROR_INVALID_VALUE .* on CUDA API call to " call, IN_MAIN, "", name \
    }
#define TOUCHES(name, by) \
    { \
#name, "Invalid use of stream-ordered memory by a " by, IN_MAIN, "", name \
    }
#define LEAKS(name, size) \
    { \
#name, "Leaked " #size " bytes at 0x[0-9a-f]+$", IN_MAIN, "--leak-check full", name \
    }
#define READS(name) \
    { \
#name, "Uninitialized __global__ memory read of size 4 bytes", IN_KERNEL, "--tool initcheck", name \
    }
#define COPIES(name, size) \
    { \
#name, "Host API memory access error at host access to 0x[0-9a-f]+ of size " #size " bytes", IN_MAIN, \
            "--tool initcheck", name \
    }

static const struct {
    const char *name, *report, *place, *options;
    void (*run)(bool wrong);
} tests[] = {
    STREAMS(used_before_it_is_allocated),
    STREAMS(freed_on_another_stream),
    STREAMS(freed_then_used),
    STREAMS(graph_uses_what_it_has_freed),
    STREAMS(used_behind_its_graph),
    STREAMS(used_beside_its_graph),
    STREAMS(used_before_its_graph),
    STREAMS(used_without_its_graph),
    TOUCHES(copied_to_beside, "copy"),
    TOUCHES(copied_from_beside, "copy"),
    TOUCHES(copied_between_beside, "copy"),
    TOUCHES(filled_beside, "fill"),
    TOUCHES(copied_after_the_free, "copy"),
    WRONG(module_unloaded, "0 bytes inside an allocation at 0x[0-9a-f]+ of size [0-9]+ bytes that was freed"),
    WRONG(unregistered, "0 bytes inside an allocation at 0x[0-9a-f]+ of size 4096 bytes that was freed"),
    WRONG(registered_too_short, "1 bytes after the nearest allocation at 0x[0-9a-f]+ of size 4096 bytes"),
    WRONG(mapped_host, "1 bytes after the nearest allocation at 0x[0-9a-f]+ of size 400 bytes"),
    WRONG(mapped_without_access, "of size 2097152 bytes, or mapped without the right to do so"),
    WRONG(reserved_only, "Address 0x[0-9a-f]+ is out of bounds"),
    WRONG(behind_the_mapping, "1 bytes after the nearest allocation at 0x[0-9a-f]+ of size 2097152 bytes"),
    WRONG(unmapped, "0 bytes inside an allocation at 0x[0-9a-f]+ of size 2097152 bytes that was freed"),
    FAILS(copy_too_long, "cuMemcpyDtoH_v2"),
    FAILS(copy_a_byte_too_long, "cuMemcpyHtoD_v2"),
    FAILS(copy_beside, "cuMemcpyDtoD_v2"),
    FAILS(fill_too_long, "cuMemsetD32_v2"),
    FAILS(fill_in_stream_too_long, "cuMemsetD8Async"),
    FAILS(fill_freed, "cuMemsetD8_v2"),
    FAILS(copy_from_freed, "cuMemcpyDtoH_v2"),
    FAILS(a_row_too_many, "cuMemcpy2D_v2"),
    FAILS(freed_twice, "cuMemFree_v2"),
    FAILS(freed_in_its_middle, "cuMemFree_v2"),
    FAILS(freed_async_twice, "cuMemFreeAsync"),
    FAILS(freed_as_host_memory, "cuMemFreeHost"),
    LEAKS(leak_async, 400),
    LEAKS(leak_managed, 400),
    LEAKS(leak_host, 400),
    LEAKS(leak_mapping, 2097152),
    {"leak_array", "Leaked 2048 bytes at 0x[0-9a-f]+ of an array", "LEAK SUMMARY: 2048 bytes leaked in 1 allocations",
     "--leak-check full", leak_array},
    {"leak_mipmap", "Leaked 2688 bytes at 0x[0-9a-f]+ of an array", "LEAK SUMMARY: 2688 bytes leaked in 1 allocations",
     "--leak-check full", leak_mipmap},
    {"leak_heap", "Leaked 40 bytes at 0x[0-9a-f]+ on the device heap", "LEAK SUMMARY: 40 bytes leaked in 1 allocations",
     "--leak-check full", leak_heap},
    READS(gap_of_rows_filled),
    READS(gap_of_rows_copied),
    READS(row_not_copied),
    READS(pool_unwritten),
    COPIES(copy_never_written, 4),
    COPIES(copy_end_not_written, 400),
    COPIES(copy_word_not_written, 400),
    COPIES(copy_async_not_written, 400),
    COPIES(copy_rows_not_written, 256),
    {"never_used", "Unused memory in allocation 0x[0-9a-f]+ of size 400 bytes", IN_MAIN,
     "--tool initcheck --track-unused-memory", never_used},
    {"half_used", "50% of allocation were unused", IN_MAIN,
     "--tool initcheck --track-unused-memory --unused-memory-threshold 50", half_used},
};

int main(int argc, char **argv)
{
    int ordinal;
    void *context;
    const unsigned count = sizeof tests / sizeof *tests;
    for (unsigned k = 0; argc < 3 && k < count; k++)
        printf("%s\t%s\t%s\t%s\n", tests[k].name, tests[k].report, tests[k].place, tests[k].options);
    if (argc < 3)
        return 0;
    need(cuInit(0), "cuInit");
    need(cuDeviceGet(&ordinal, 0), "cuDeviceGet");
    need(cuDevicePrimaryCtxRetain(&context, ordinal), "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    need(cuModuleLoadData(&module, text), "cuModuleLoadData");
    const uint64_t p = device(4);
    void *none = &none;
    need(cuGetProcAddress_v2("cuIsNoFunction", &none, 12000, 0, NULL) || none, "cuGetProcAddress");
    run("write", p); /* the module's own memory is there from now on, and takes nothing that is freed */
    need(cuMemFree_v2(p), "cuMemFree");
    may_fail = !strcmp(argv[1], "wrong");
    for (unsigned k = 0; k < count; k++)
        if (!strcmp(argv[2], tests[k].name))
            tests[k].run(may_fail);
    puts("done");
    return 0;
}
