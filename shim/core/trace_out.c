/* Writes events: as text, JSON lines, a Chrome trace, or the counts that `cumu trace --summary` adds up. */
#include "core/append.h"
#include "core/config.h"
#include "core/file.h"
#include "core/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGH = 400, LINE = 6144, NAME = 1024, STREAMS = 64, STREAM_TRACK = 1000000 };

static const char *const kinds[] = {"call", "kernel", "copy", "graph", "compile", "range", "mark", "counter"};

/* The file stays open, for a trace has many lines: on a number that programs do not come to, and looked at
 * before each line, as a program that closes everything may have it by now. */
static struct {
    atomic_int fd; /* -1: none */
    atomic_flag opening;
    dev_t device;
    ino_t inode;
} kept = {-1, ATOMIC_FLAG_INIT, 0, 0};

static bool is_kept(int fd)
{
    struct stat s;
    return fd >= 0 && fstat(fd, &s) == 0 && s.st_dev == kept.device && s.st_ino == kept.inode;
}

static int open_kept(const char *name)
{
    char path[1024];
    struct stat s;
    int low = cumu_append_name(name, path, sizeof path)
                  ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600)
                  : -1;
    int fd = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, HIGH) : -1;
    if (low >= 0)
        (void)close(low);
    if (fd < 0 || fstat(fd, &s) != 0)
        return fd;
    kept.device = s.st_dev;
    kept.inode = s.st_ino;
    return fd;
}

static void append(const char *name, const char *line, size_t n)
{
    int fd = atomic_load_explicit(&kept.fd, memory_order_acquire);
    bool good = *name && is_kept(fd);
    if (*name && !good && !atomic_flag_test_and_set(&kept.opening)) {
        fd = open_kept(name);
        good = fd >= 0;
        atomic_store_explicit(&kept.fd, fd, memory_order_release);
        atomic_flag_clear(&kept.opening);
    }
    if (good)
        (void)cumu_write_all(fd, line, n);
    else
        cumu_append(name, line, n);
}

void cumu_trace_forked(void)
{
    int fd = atomic_exchange(&kept.fd, -1);
    if (is_kept(fd))
        (void)close(fd);
    atomic_flag_clear(&kept.opening);
}

static const char *file(void)
{
    const char *name = cumu_opt_text(CUMU_OPT_TRACE);
    return strcmp(name, "-") == 0 ? "" : name;
}

static bool on_device(const struct cumu_event *e)
{
    return e->kind == CUMU_EVENT_KERNEL || e->kind == CUMU_EVENT_COPY || e->kind == CUMU_EVENT_GRAPH;
}

static double rate(const struct cumu_event *e) { return e->duration ? (double)e->bytes / (double)e->duration : 0; }

static void put_stream(struct cumu_writer *w, const struct cumu_event *e)
{
    cumu_write(w, w->json ? ", \"stream\": " : " stream ");
    cumu_write_pointer(w, (uint64_t)(uintptr_t)e->stream);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_launch(struct cumu_writer *w, const struct cumu_event *e)
{
    cumu_write(w, "kernel %.*s {%u %u %u} {%u %u %u} shared %zu %s", NAME, e->name, e->grid[0], e->grid[1], e->grid[2],
               e->block[0], e->block[1], e->block[2], e->shared, e->note);
    put_stream(w, e);
}

static void text_event(struct cumu_writer *w, const struct cumu_event *e)
{
    switch (e->kind) {
    case CUMU_EVENT_CALL:
        cumu_write(w, "%s(", e->name);
        cumu_write_arguments(w, e->call, e->frame);
        cumu_write(w, ")%s", e->call->result.kind == CUMU_ARG_VOID ? "" : " = ");
        cumu_write_result(w, e->call, e->frame);
        break;
    case CUMU_EVENT_KERNEL: text_launch(w, e); break;
    case CUMU_EVENT_COPY:
        cumu_write(w, "copy %s %llu bytes", e->name, (unsigned long long)e->bytes);
        put_stream(w, e);
        break;
    case CUMU_EVENT_GRAPH:
        cumu_write(w, "graph %s", e->name);
        put_stream(w, e);
        break;
    case CUMU_EVENT_COMPILE: cumu_write(w, "compile %.*s %s", NAME, e->name, e->note); break;
    case CUMU_EVENT_RANGE:
    case CUMU_EVENT_COUNTER:
    case CUMU_EVENT_MARK: cumu_range_text(w, e); break;
    }
}

static void write_text(struct cumu_writer *w, const struct cumu_event *e)
{
    double at = (double)(int64_t)(e->start - cumu_trace_began()) / 1e9;
    cumu_write(w, "%10.6f %ld.%u %*s", at, e->process, e->thread, (int)(2 * e->depth), "");
    text_event(w, e);
    if (e->timed)
        cumu_write(w, " <%.1f us%s>", (double)e->duration / 1e3, on_device(e) ? " on the device" : "");
    if (e->kind == CUMU_EVENT_CALL && e->bytes)
        cumu_write(w, " %llu bytes", (unsigned long long)e->bytes);
    if (e->bytes && e->timed)
        cumu_write(w, " %.2f GB/s", rate(e));
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

static void json_times(struct cumu_writer *w, const struct cumu_event *e)
{
    cumu_write(w, ", \"process\": %ld, \"thread\": %u, \"depth\": %u, \"start\": %llu, \"duration\": ", e->process,
               e->thread, e->depth, (unsigned long long)e->start);
    if (e->timed)
        cumu_write(w, "%llu", (unsigned long long)e->duration);
    else
        cumu_write(w, "null");
}

static void json_launch(struct cumu_writer *w, const struct cumu_event *e)
{
    cumu_write(w, "\"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %zu, \"code\": \"%s\"", e->grid[0],
               e->grid[1], e->grid[2], e->block[0], e->block[1], e->block[2], e->shared, e->note);
    put_stream(w, e);
}

/* Writes an event as one JSON object a line. */
static void write_jsonl(struct cumu_writer *w, const struct cumu_event *e)
{
    size_t n = strnlen(e->name, NAME);
    cumu_write(w, "{\"kind\": \"%s\", \"library\": \"%s\", \"name\": ", kinds[e->kind], e->library);
    cumu_write_quoted(w, e->name, n);
    json_times(w, e);
    switch (e->kind) {
    case CUMU_EVENT_CALL:
        cumu_write(w, ", \"arguments\": [");
        cumu_write_arguments(w, e->call, e->frame);
        cumu_write(w, "], \"result\": ");
        if (e->call->result.kind == CUMU_ARG_VOID && !e->call->result.stars)
            cumu_write(w, "null");
        else
            cumu_write_result(w, e->call, e->frame);
        break;
    case CUMU_EVENT_KERNEL:
        cumu_write(w, ", ");
        json_launch(w, e);
        break;
    case CUMU_EVENT_COPY:
    case CUMU_EVENT_GRAPH: put_stream(w, e); break;
    case CUMU_EVENT_COMPILE:
        cumu_write(w, ", \"how\": ");
        cumu_write_quoted(w, e->note, strnlen(e->note, NAME));
        break;
    case CUMU_EVENT_RANGE:
    case CUMU_EVENT_COUNTER:
    case CUMU_EVENT_MARK: cumu_range_jsonl(w, e); break;
    }
    if (e->bytes)
        cumu_write(w, ", \"bytes\": %llu", (unsigned long long)e->bytes);
    cumu_write(w, "}");
}

/* ---- Chrome and Perfetto --------------------------------------------------------------------- */

/* Streams have tracks of their own, named when they are first seen. */
static unsigned track(const struct cumu_event *e)
{
    static _Atomic(const void *) seen[STREAMS];
    static atomic_bool named[STREAMS];
    const void *key = e->stream ? e->stream : (const void *)&seen; /* the default stream's handle is 0 */
    unsigned i = 0;
    for (; i < STREAMS - 1; i++) {
        const void *there = NULL;
        if (atomic_compare_exchange_strong(&seen[i], &there, key) || there == key)
            break;
    }
    if (!atomic_exchange(&named[i], true)) {
        char line[256];
        struct cumu_writer w = {line, line + sizeof line, true};
        cumu_write(&w,
                   "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %ld, \"tid\": %u, \"args\": "
                   "{\"name\": \"stream %p\"}},\n",
                   e->process, STREAM_TRACK + i, e->stream);
        cumu_append(file(), line, (size_t)(w.at - line));
    }
    return STREAM_TRACK + i;
}

static void write_chrome(struct cumu_writer *w, const struct cumu_event *e)
{
    if (e->annotation) {
        cumu_range_chrome(w, e);
        return;
    }
    char text[LINE / 4];
    struct cumu_writer plain = {text, text + sizeof text, false};
    text_event(&plain, e);
    cumu_write(w, "{\"name\": ");
    cumu_write_quoted(w, e->name, strnlen(e->name, NAME));
    cumu_write(w,
               ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": %ld, \"tid\": %u, "
               "\"args\": {\"%s\": ",
               e->library, (double)e->start / 1e3, (double)e->duration / 1e3, e->process,
               on_device(e) ? track(e) : e->thread, kinds[e->kind]);
    cumu_write_quoted(w, text, (size_t)(plain.at - text) - (plain.at == plain.end));
    if (e->bytes)
        cumu_write(w, ", \"bytes\": %llu, \"GB/s\": %.3f", (unsigned long long)e->bytes, rate(e));
    cumu_write(w, "}},");
}

/* ---- for --summary --------------------------------------------------------------------------- */

static void write_counts(struct cumu_writer *w, const struct cumu_event *e)
{
    bool failed = e->kind == CUMU_EVENT_CALL && e->call->status && (int)e->frame->result[0] != 0;
    cumu_write(w, "%s %s ", kinds[e->kind], e->library);
    if (e->annotation) /* a program's own words */
        cumu_write_quoted(w, e->name, strnlen(e->name, NAME));
    else
        cumu_write(w, "%.*s", NAME, e->name);
    cumu_write(w, " %llu %d %llu %d", (unsigned long long)e->duration, e->timed, (unsigned long long)e->bytes, failed);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*write)(struct cumu_writer *w, const struct cumu_event *e);
} formats[] = {{"text", write_text}, {"jsonl", write_jsonl}, {"chrome", write_chrome}, {"counts", write_counts}};

static void begin_chrome(void)
{
    static atomic_bool begun;
    if (atomic_exchange(&begun, true) || !*file())
        return;
    int fd = open(file(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    if (fd >= 0)
        cumu_append(file(), "[\n", 2);
}

void cumu_trace_write(const struct cumu_event *e)
{
    char line[LINE];
    struct cumu_writer w = {line, line + sizeof line - 1, false};
    unsigned i = 0;
    while (i + 1 < sizeof formats / sizeof *formats &&
           strcmp(formats[i].name, cumu_opt_text(CUMU_OPT_TRACE_FORMAT)) != 0)
        i++;
    w.json = formats[i].write == write_jsonl || formats[i].write == write_chrome;
    if (formats[i].write == write_chrome)
        begin_chrome();
    formats[i].write(&w, e);
    if (w.at == w.end && w.json) /* half an object is none; no signature comes near */
        return;
    *w.at++ = '\n';
    append(file(), line, (size_t)(w.at - line));
}
