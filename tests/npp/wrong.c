/* NPP with one thing wrong, made of right calls: that has NPP's error and writes nothing. Addresses where nothing
 * is are errors of the context; a captured call runs with its graph, on what lies there then. */
#include "npp.h"

#include <stdatomic.h>
#include <unistd.h>

static NppStreamContext context;

/* ---- calls, by their arguments ------------------------------------------------------------------------ */

enum { W = 8, H = 6 };
struct call {
    const char *name;
    int (*run)(void);
    bool maps, part, size_of_source;
    int number, map; /* bytes of a number, of a map's */
};
static struct {
    char *from, *x, *y, *to;
    int from_step, x_step, y_step, to_step, mode, grid;
    NppiSize size, to_size;
    NppiRect part;
    const void *matrix;
} a, right;

#define REMAP(name) \
    static int run_##name(void) \
    { \
        return nppiRemap_##name##_Ctx(a.from, a.size, a.from_step, a.part, a.x, a.x_step, a.y, a.y_step, a.to, \
                                      a.to_step, a.to_size, a.mode, context); \
    }
REMAP(8u_C1R)
REMAP(8u_C3R)
REMAP(16u_C1R)
REMAP(16u_C3R)
REMAP(16s_C1R)
REMAP(16s_C3R)
REMAP(32f_C1R)
REMAP(32f_C3R)
REMAP(64f_C1R)
REMAP(64f_C3R)
#define BAYER(name) \
    static int run_bayer_##name(void) \
    { \
        return nppiCFAToRGB_##name##_C1C3R_Ctx(a.from, a.from_step, a.size, a.part, a.to, a.to_step, a.grid, \
                                               a.mode == 2 ? 0 : a.mode, context); \
    }
BAYER(8u)
BAYER(16u)
#define TWIST(name) \
    static int run_twist_##name(void) \
    { \
        return nppiColorTwist32f_8u_##name(a.from, a.from_step, a.to, a.to_step, a.to_size, a.matrix); \
    }
TWIST(C1R)
TWIST(C3R)

#define ROW(name, ...) \
    { \
#name, run_##name, __VA_ARGS__ \
    }
static const struct call calls[] = {
    ROW(8u_C1R, 1, 1, 1, 1, 4),    ROW(8u_C3R, 1, 1, 1, 1, 4),    ROW(16u_C1R, 1, 1, 1, 2, 4),
    ROW(16u_C3R, 1, 1, 1, 2, 4),   ROW(16s_C1R, 1, 1, 1, 2, 4),   ROW(16s_C3R, 1, 1, 1, 2, 4),
    ROW(32f_C1R, 1, 1, 1, 4, 4),   ROW(32f_C3R, 1, 1, 1, 4, 4),   ROW(64f_C1R, 1, 1, 1, 8, 8),
    ROW(64f_C3R, 1, 1, 1, 8, 8),   ROW(bayer_8u, 0, 1, 1, 1, 0),  ROW(bayer_16u, 0, 1, 1, 2, 0),
    ROW(twist_C1R, 0, 0, 0, 1, 0), ROW(twist_C3R, 0, 0, 0, 1, 0),
};
enum { CALLS = sizeof calls / sizeof *calls, ROOM = 4096 };

static void refused(const struct call *k, int want, const char *what)
{
    static char now[ROOM];
    OK(cudaMemset(right.to, 0x5a, ROOM));
    int r = k->run();
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(now, right.to, ROOM, 2));
    EXPECT(r == want, "%s, %s: %d, not %d", k->name, what, r, want);
    for (int i = 0; i < ROOM; i++)
        if (now[i] != 0x5a) {
            EXPECT(false, "%s, %s: written", k->name, what);
            break;
        }
    a = right;
}
#define WRONG(error, ...) \
    do { \
        __VA_ARGS__; \
        refused(k, error, #__VA_ARGS__); \
    } while (0)

static void one_wrong(const struct call *k)
{
    a = right;
    IS(k->run(), 0);
    OK(cudaDeviceSynchronize());
    WRONG(NULL_POINTER, a.from = NULL);
    WRONG(NULL_POINTER, a.to = NULL);
    WRONG(STEP, a.from_step = 0);
    WRONG(STEP, a.from_step = -8);
    WRONG(STEP, a.to_step = 0);
    WRONG(STEP, a.to_step = -64);
    WRONG(STEP, a.to_step = W * k->number - k->number); /* shorter than a line */
    WRONG(STEP, a.from_step = W * k->number - k->number);
    WRONG(SIZE, a.to_size.width = -1; a.part.width = -1);
    WRONG(SIZE, a.to_size.height = -1; a.part.height = -1);
    WRONG(0, a.to_size.width = 0; a.part.width = k->maps ? W : 0);
    WRONG(0, a.to_size.height = 0; a.part.height = k->maps ? H : 0);
    if (k->number > 1) {
        WRONG(UNEVEN, a.to_step++);
        WRONG(UNEVEN, a.from_step++);
        WRONG(ALIGNMENT, a.to++);
        WRONG(ALIGNMENT, a.from++);
    }
    if (k->size_of_source) {
        WRONG(SIZE, a.size.width = -1);
        WRONG(SIZE, a.size.height = -1);
        WRONG(MODE, a.mode = 8);
        WRONG(MODE, a.mode = 3);
        WRONG(MODE, a.mode = -1);
        WRONG(NO_ROI, a.part.x = W);
        WRONG(NO_ROI, a.part.y = H);
        WRONG(NO_ROI, a.part.x = INT32_MAX);
        WRONG(NO_ROI, a.part.y = INT32_MIN);
    }
    if (k->maps) {
        WRONG(MODE, a.mode = 0);
        WRONG(NULL_POINTER, a.x = NULL);
        WRONG(NULL_POINTER, a.y = NULL);
        WRONG(STEP, a.x_step = 0);
        WRONG(STEP, a.y_step = W * k->map - k->map);
        WRONG(UNEVEN, a.x_step++);
        WRONG(UNEVEN, a.y_step++);
        WRONG(ALIGNMENT, a.x++);
        WRONG(ALIGNMENT, a.y++);
        WRONG(RECTANGLE, a.part.x = W - 1);
        WRONG(RECTANGLE, a.part.y = H - 1);
        WRONG(RECTANGLE, a.size.height = 1);
        WRONG(NO_ROI, a.size.width = 0);
    } else if (k->part) {
        WRONG(MODE, a.mode = 1);
        WRONG(ARGUMENT, a.grid = -1);
        WRONG(ARGUMENT, a.grid = 4);
        WRONG(SIZE, a.size.width--);
        WRONG(SIZE, a.size.height--);
        WRONG(SIZE, a.part.width--);
        WRONG(SIZE, a.part.height--);
        WRONG(NO_ROI, a.part.x = 1);
        WRONG(NO_ROI, a.part.y = -1);
    } else {
        WRONG(NULL_POINTER, a.matrix = NULL);
    }
}

/* ---- order, graphs, faults ---------------------------------------------------------------------------- */

static void captured(const struct call *k)
{
    void *stream, *graph = NULL, *exec = NULL;
    unsigned char got;
    OK(cudaStreamCreateWithFlags(&stream, 1));
    OK(cudaMemset(right.from, 3, ROOM));
    OK(cudaMemset(right.to, 0x5a, ROOM));
    OK(nppSetStream(stream));
    IS((long long)nppGetStream(), (long long)stream);
    context.stream = stream;
    OK(cudaStreamBeginCapture(stream, 2));
    IS(k->run(), 0);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaMemcpy(&got, right.to, 1, 2));
    EXPECT(got == 0x5a, "%s ran while it was captured", k->name);
    for (int v = 1; v < 3; v++) {
        OK(cudaMemset(right.from, v, ROOM));
        if (v == 1)
            OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaMemcpy(&got, right.to, 1, 2));
        EXPECT(got == v, "%s from a graph: %d, not %d", k->name, got, v);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    context.stream = NULL;
    OK(nppSetStream(NULL));
    OK(cudaStreamDestroy(stream));
}

/* Setting another stream waits for the one before, and the same one again does not. */
static atomic_int may_end, done;
static void end_later(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000 && !atomic_load(&may_end); i++)
        (void)usleep(1000);
    (void)usleep(50000);
    atomic_store(&done, 1);
}
static void waits(void)
{
    void *stream;
    OK(cudaStreamCreateWithFlags(&stream, 1));
    OK(nppSetStream(stream));
    OK(cudaLaunchHostFunc(stream, end_later, NULL));
    OK(nppSetStream(stream));
    EXPECT(!atomic_load(&done), "the same stream was waited for");
    atomic_store(&may_end, 1);
    OK(nppSetStream(NULL));
    EXPECT(atomic_load(&done), "the stream before was not waited for");
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

static void begin(void)
{
    static const float same[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
    char *memory;
    MUST(cudaMalloc(&memory, 4 * ROOM));
    MUST(cudaMemset(memory, 0, 4 * ROOM)); /* maps of (0, 0) */
    right.from = memory, right.x = memory + ROOM, right.y = memory + 2 * ROOM, right.to = memory + 3 * ROOM;
    right.from_step = right.x_step = right.y_step = right.to_step = 256;
    right.size = right.to_size = (NppiSize){W, H};
    right.part = (NppiRect){0, 0, W, H};
    right.mode = 2;
    right.matrix = same;
    a = right;
}

/* Address that is nobody's: the context's error, and the process lives on. */
static void faults(const struct call *k, int which)
{
    char *const nowhere = (char *)((uintptr_t)1 << 45);
    begin();
    *(which == 0 ? &a.from : which == 1 ? &a.to : which == 2 ? &a.x : &a.y) = nowhere;
    int r = k->run(), later = cudaDeviceSynchronize();
    EXPECT((!r || r == KERNEL) && later == 700, "%s, memory %d: %d, then %d", k->name, which, r, later);
    OK(cudaDeviceReset());
}

int main(int argc, char **argv)
{
    (void)argv;
    begin();
    for (int i = 0; i < CALLS; i++)
        one_wrong(&calls[i]);
    for (int i = 0; i < CALLS; i++)
        if (calls[i].number == 1)
            captured(&calls[i]);
    waits();
    const int *version = nppGetLibVersion();
    EXPECT(version && version[0] == 12 && version[1] >= 0);
    OK(cudaFree(right.from));
    for (int i = 0; i < CALLS && argc == 1; i++)
        for (int which = 0; which < (calls[i].maps ? 4 : 2); which++)
            faults(&calls[i], which);
    return check_end("NPP with one thing wrong");
}
