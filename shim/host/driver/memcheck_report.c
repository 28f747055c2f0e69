/* CUMU_CHECK: what its tools find, in compute-sanitizer's form, so that people and scripts know it. Each report is
 * written at once, to stderr or to the file that was asked for. */
#include "abi/report.h"
#include "host/driver/order.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE "========= "
#define MORE "=========     "

/* A report while it is put together: what does not fit is left out. */
struct text {
    char s[12000];
    size_t n;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, format, list);
    va_end(list);
    if (n > 0)
        t->n += (size_t)n < sizeof t->s - t->n ? (size_t)n : sizeof t->s - t->n - 1;
}

static size_t write_all(int fd, const char *s, size_t n)
{
    size_t at = 0;
    while (at < n) {
        const ssize_t done = write(fd, s + at, n - at);
        if (done > 0)
            at += (size_t)done;
        else if (done == 0 || errno != EINTR)
            break;
    }
    return at;
}

/* Opened anew each time: a program that closes descriptors it does not know keeps its reports. What a full disk does
 * not take goes to stderr, and cumu memcheck, which counts what is in the file, sees by its mode that some is not. */
static void put(const struct text *t)
{
    const char *file = host_config()->check_file;
    size_t at = 0;
    int fd = *file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600) : -1;
    if (fd >= 0) {
        at = write_all(fd, t->s, t->n);
        if (at < t->n && host_config()->check_marks)
            (void)fchmod(fd, CUMU_HOST_REPORTS_LOST);
        close(fd);
    }
    (void)write_all(STDERR_FILENO, t->s + at, t->n - at);
}

/* Reports printed so far; false beyond the limit. */
static bool may_print(void)
{
    static _Atomic int printed;
    const int limit = host_config()->check_limit;
    return !limit || printed++ < limit;
}

/* ---- names and stacks ------------------------------------------------------------------------ */

/* A name as it was written, where the program has a C++ library; the caller frees it. */
char *host_memcheck_demangle(const char *name)
{
    char *(*to)(const char *, char *, size_t *, int *) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    memcpy(&to, &symbol, sizeof to);
    int status = -1;
    char *s = to && !strncmp(name, "_Z", 2) ? to(name, NULL, NULL, &status) : NULL;
    return s && !status ? s : strdup(name);
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

/* Ours: the libraries below the program's call. */
static bool is_ours(const Dl_info *d)
{
    static const char *const names[] = {"libmusa.so",   "libmusart.so", "libcumu-core.so",
                                        "libcudart.so", "libcuda.so",   "libcumu-audit.so"};
    const char *name = base_name(d->dli_fname);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!strncmp(name, names[k], strlen(names[k])))
            return true;
    return false;
}

void host_memcheck_frames(struct host_frames *f)
{
    void *all[HOST_FRAMES + 16];
    f->count = 0;
    if (!host_memcheck_on())
        return;
    int n = backtrace(all, sizeof all / sizeof *all);
    for (int k = 0; k < n && f->count < HOST_FRAMES; k++) {
        Dl_info d;
        if (f->count || !dladdr(all[k], &d) || !is_ours(&d))
            f->at[f->count++] = all[k];
    }
}

static void add_frames(struct text *t, const char *title, const struct host_frames *f)
{
    if (!f || !f->count)
        return;
    add(t, MORE "%s\n", title);
    for (int k = 0; k < f->count; k++) {
        Dl_info d = {0};
        struct link_map *map = NULL;
        char own[512];
        if (!dladdr1((char *)f->at[k] - 1, &d, (void **)&map, RTLD_DL_LINKMAP) || !d.dli_fname || !map) {
            add(t, MORE "    Host Frame: [%p]\n", f->at[k]);
            continue;
        }
        const uint64_t address = (uint64_t)(uintptr_t)f->at[k] - map->l_addr;
        const char *path = *map->l_name ? map->l_name : "/proc/self/exe", *symbol = d.dli_sname;
        if (!symbol && host_memcheck_symbol(path, address - 1, own, sizeof own))
            symbol = own;
        char *name = symbol ? host_memcheck_demangle(symbol) : NULL;
        add(t, MORE "    Host Frame: %.300s%s[0x%llx] in %s\n", name ? name : "", name ? " " : "",
            (unsigned long long)address, base_name(d.dli_fname));
        free(name);
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

static void add_function(struct text *t, const char *function, const struct t0_source *source, uint32_t line)
{
    char *name = host_memcheck_demangle(function ? function : "?");
    add(t, "%.1000s", name ? name : "?");
    if (source->file)
        add(t, " in %.400s:%u", source->file, source->line);
    add(t, " (PTX line %u)", line);
    free(name);
}

static void add_source(struct text *t, const char *function, const struct t0_source *source, uint32_t line)
{
    add_function(t, function, source, line);
    add(t, "\n");
    if (source->call_file)
        add(t, MORE "inlined at %.400s:%u\n", source->call_file, source->call_line);
}

static void add_place(struct text *t, const char *what, const struct t0_place *p)
{
    add(t, MORE "%s%sat ", what ? what : "", what ? " " : "");
    add_source(t, p->function ? p->function : p->kernel, &p->source, p->line);
    add(t, MORE "by thread (%u,%u,%u) in block (%u,%u,%u)\n", p->thread[0], p->thread[1], p->thread[2], p->block[0],
        p->block[1], p->block[2]);
}

static void add_callers(struct text *t, const struct t0_place *p)
{
    for (unsigned k = 0; k < p->callers; k++) {
        add(t, MORE "Device Frame: ");
        add_source(t, p->caller[k].function, &p->caller[k].source, p->caller[k].line);
    }
}

/* Why kernels may not touch a place that lies inside of an allocation. */
static const char *why_forbidden(const struct host_block *b)
{
    if (b->constant)
        return ", which is constant: kernels may only read it";
    if (b->life || b->unborn)
        return ", or outside of its life in the order of streams";
    if (b->one_device && host_config()->devices > 1)
        return ", or on a device without peer access";
    return b->kind == HOST_MEM_MAPPED ? ", or mapped without the right to do so" : "";
}

/* What there is at the finding's address of global memory, and around it. */
static void add_where(struct text *t, const struct t0_finding *f)
{
    const uint64_t address = f->address;
    const struct host_where w = host_memcheck_find(address);
    const struct host_block *b = &w.block;
    const unsigned long long base = b->base, size = b->size;
    switch (w.what) {
    case HOST_UNREACHABLE:
        add(t, MORE "and is the program's own memory, which no device can reach (malloc, a variable or the stack; is "
                    "a copy missing?)\n");
        return;
    case HOST_FREED:
        add(t, MORE "and is %llu bytes inside an allocation at 0x%llx of size %llu bytes that was freed\n",
            (unsigned long long)address - base, base, size);
        add_frames(t, "Saved host backtrace of the free", &b->freed);
        break;
    case HOST_INSIDE:
        add(t, MORE "and is inside the nearest allocation at 0x%llx of size %llu bytes%s\n", base, size,
            f->tool == T0_MEMCHECK && address - base + f->size <= size ? why_forbidden(b) : "");
        break;
    case HOST_NEAR:
        if (address < b->base)
            add(t, MORE "and is %llu bytes before the nearest allocation at 0x%llx of size %llu bytes\n",
                base - (unsigned long long)address, base, size);
        else
            add(t, MORE "and is %llu bytes after the nearest allocation at 0x%llx of size %llu bytes\n",
                (unsigned long long)address - (base + size) + 1, base, size);
        break;
    default: return;
    }
    add_frames(t, "Saved host backtrace of the allocation", &b->made);
}

static void add_side(struct text *t, const struct t0_finding *f, unsigned side)
{
    const struct t0_place *p = &f->at[side].place;
    if (f->at[side].copy)
        add(t, "a %s", f->at[side].copy);
    else
        add_function(t, p->kernel, &p->source, p->line);
}

static void add_thread(struct text *t, const struct t0_finding *f, unsigned side)
{
    const struct t0_place *p = &f->at[side].place;
    if (f->at[side].copy)
        add(t, "a %s", f->at[side].copy);
    else
        add(t, "thread (%u,%u,%u) in block (%u,%u,%u)", p->thread[0], p->thread[1], p->thread[2], p->block[0],
            p->block[1], p->block[2]);
}

/* Racecheck has a form of its own: two places, and how many bytes met there. */
static void add_race(struct text *t, const struct t0_finding *f)
{
    add(t, LINE "%s: %.200s %s at ",
        f->severity == T0_ERROR     ? "Error"
        : f->severity == T0_WARNING ? "Warning"
                                    : "Info",
        f->title, f->at[0].what);
    add_side(t, f, 0);
    add(t, "\n" MORE "and %s at ", f->at[1].what);
    add_side(t, f, 1);
    add(t, " [%llu hazards]\n" MORE "by ", (unsigned long long)f->hazards);
    add_thread(t, f, 0);
    add(t, " and ");
    add_thread(t, f, 1);
    add(t, "\n");
}

static const char at_launch[] = "Saved host backtrace up to driver entry point at kernel launch time";

static void say(const struct t0_finding *f, const char *stack, const struct host_frames *frames)
{
    struct text *t = may_print() ? malloc(sizeof *t) : NULL;
    if (!t)
        return;
    static const char *const tools[] = {[T0_MEMCHECK] = "memcheck",
                                        [T0_RACECHECK] = "racecheck",
                                        [T0_INITCHECK] = "initcheck",
                                        [T0_SYNCCHECK] = "synccheck"};
    t->n = 0;
    if (host_config()->check_marks)
        add(t, "@%s %ld\n", tools[f->tool], (long)getpid());
    if (f->hazards)
        add_race(t, f);
    else
        add(t, LINE "%.1000s\n", f->title);
    for (unsigned k = 0; k < f->places && !f->hazards; k++)
        add_place(t, f->at[k].what, &f->at[k].place);
    for (unsigned k = 0; k < f->notes; k++)
        add(t, MORE "%.1000s\n", f->note[k]);
    if (f->has_address)
        add_where(t, f);
    for (unsigned k = 0; k < f->places; k++)
        add_callers(t, &f->at[k].place);
    add_frames(t, stack, frames);
    struct host_frames other;
    if (f->other && host_order_origin(f->other, &other))
        add_frames(t, "Saved host backtrace of the other one", &other);
    add(t, LINE "\n");
    put(t);
    free(t);
}

/* Places that this process has reported, by a digest; the table fills up, and what comes later is new each time. */
static bool is_new(const struct t0_finding *f)
{
    enum { TABLE = 4096, TRIES = 64 };
    static uint64_t seen[TABLE];
    uint64_t h = 14695981039346656037u + (uint64_t)f->tool + 16u * (f->other != 0) +
                 32u * (uint64_t)f->severity; /* FNV-1a */
    for (unsigned k = 0; k < f->places; k++) {
        for (const char *s = f->at[k].place.kernel; s && *s; s++)
            h = (h ^ (unsigned char)*s) * 1099511628211u;
        for (const char *s = f->at[k].copy; s && *s; s++)
            h = (h ^ (unsigned char)*s) * 1099511628211u;
        h = (h ^ f->at[k].place.pc) * 1099511628211u;
    }
    h += !h;
    for (unsigned k = 0; k < TRIES; k++) {
        uint64_t *at = &seen[(h + k) % TABLE];
        if (*at == h)
            return false;
        if (!*at) {
            *at = h;
            return true;
        }
    }
    return true;
}

static pthread_mutex_t reporting = PTHREAD_MUTEX_INITIALIZER;
/* Errors at places that earlier launches have reported: a program may launch a wrong kernel a million times. */
static _Atomic uint64_t repeated;

/* The first finding at its places is reported, the others are counted. */
static void on_finding(void *ctx, const struct t0_finding *f)
{
    struct host_memcheck_run *r = ctx;
    if (f->severity > host_config()->check_level)
        return;
    pthread_mutex_lock(&reporting);
    r->failed |= f->fatal;
    if (is_new(f)) {
        r->places++;
        say(f, at_launch, r->origin);
    } else {
        r->more++;
    }
    pthread_mutex_unlock(&reporting);
}

const struct t0_watch *host_memcheck_start(struct host_memcheck_run *r, MUcontext ctx, const struct host_frames *origin,
                                           const char *kernel, const struct t0_grid *g)
{
    if (!host_memcheck_chooses(kernel) || !host_memcheck_begin(r))
        return NULL;
    if (r->watch.tools & T0_RACECHECK)
        r->watch.race = t0_race_new(g, host_order_op(g, NULL));
    const struct host_running now = host_order_running();
    r->origin = origin || !now.order ? origin : &now.order->origin; /* a graph's kernel: of its launch */
    r->ctx = ctx;
    r->order = now.order;
    r->plan = now.plan;
    r->node = now.node;
    return &r->watch;
}

bool host_memcheck_begin(struct host_memcheck_run *r)
{
    if (!host_memcheck_on())
        return false;
    static _Atomic uint64_t begun;
    memset(r, 0, sizeof *r);
    r->serial = ++begun;
    r->watch = (struct t0_watch){.ctx = r,
                                 .tools = host_config()->check_tools,
                                 .allowed = host_memcheck_allowed,
                                 .report = on_finding,
                                 .denied = host_memcheck_denied,
                                 .range = host_memcheck_range,
                                 .written = host_initcheck_written,
                                 .undefined = host_initcheck_undefined};
    return true;
}

bool host_memcheck_end(struct host_memcheck_run *r)
{
    struct text t = {.n = 0};
    t0_race_end(r->watch.race, &r->watch);
    if (r->more && r->places) {
        add(&t, LINE "%llu more errors of other threads at the same places of this launch\n" LINE "\n",
            (unsigned long long)r->more);
        put(&t);
    } else {
        repeated += r->more;
    }
    return r->failed && !host_config()->check_goes_on;
}

static __attribute__((destructor)) void say_repeated(void)
{
    struct text t = {.n = 0};
    if (!repeated)
        return;
    add(&t, LINE "%llu more errors of later launches at the places above\n" LINE "\n", (unsigned long long)repeated);
    put(&t);
}

void host_memcheck_fault(const struct host_memcheck_run *r, const char *what, const struct t0_fault *f)
{
    char title[80];
    struct t0_finding finding = {.tool = T0_MEMCHECK, .title = title, .places = 1, .note = {f->text}};
    struct t0_place *p = &finding.at[0].place;
    if (!host_memcheck_on())
        return;
    snprintf(title, sizeof title, "Kernel ended: %s", what);
    p->kernel = f->kernel;
    p->line = f->line;
    p->source = f->source;
    memcpy(p->block, f->block, sizeof p->block);
    memcpy(p->thread, f->thread, sizeof p->thread);
    finding.notes = f->text[0] != 0;
    say(&finding, at_launch, r->origin);
}

void host_memcheck_say(const struct t0_finding *f, const char *stack)
{
    struct host_frames here;
    host_memcheck_frames(&here);
    say(f, stack, &here);
}

/* ---- calls ----------------------------------------------------------------------------------- */

extern __attribute__((visibility("default"))) cumu_host_report_call_t cumu_host_report_call;

void cumu_host_report_call(const char *function, const char *name, int error, const char *text)
{
    char title[600];
    const struct t0_finding f = {.tool = T0_MEMCHECK, .title = title};
    if (!host_memcheck_on())
        return;
    snprintf(title, sizeof title, "Program hit %s (error %d) due to \"%s\" on CUDA API call to %s.", name, error, text,
             function);
    host_memcheck_say(&f, "Saved host backtrace up to driver entry point at error");
}

/* ---- leaks ----------------------------------------------------------------------------------- */

/* " called NAME", if the program has named it. */
static const char *called(const struct host_block *b, char *text, size_t room)
{
    static const char word[] = " called ";
    const size_t n = sizeof word - 1;
    memcpy(text, word, n);
    return host_annotate_name(b->base, text + n, room - n) ? text : "";
}

void host_memcheck_say_leak(const struct host_block *b)
{
    char title[400], name[300];
    const struct t0_finding f = {.tool = T0_MEMCHECK, .title = title};
    snprintf(title, sizeof title, "Leaked %zu bytes at 0x%lx%s%s", b->of_array ? b->of_array : b->size,
             (unsigned long)b->base,
             b->in_heap    ? " on the device heap"
             : b->of_array ? " of an array"
                           : "",
             called(b, name, sizeof name));
    say(&f, "Saved host backtrace up to driver entry point at allocation time", &b->made);
}

void host_memcheck_say_early_free(const struct host_block *b)
{
    char where[120];
    const struct t0_finding f = {.tool = T0_MEMCHECK,
                                 .title = "Invalid free of memory that another stream uses or allocates",
                                 .note = {where},
                                 .notes = 1};
    snprintf(where, sizeof where, "Address 0x%lx of an allocation of size %zu bytes: nothing orders the free behind it",
             (unsigned long)b->base, b->size);
    host_memcheck_say(&f, "Saved host backtrace up to driver entry point at error");
}

void host_memcheck_say_unused(const struct host_block *b, uint64_t bytes, uint64_t first)
{
    char title[400], name[300], where[80], share[80];
    const struct t0_finding f = {.tool = T0_INITCHECK, .title = title, .note = {where, share}, .notes = 2};
    snprintf(title, sizeof title, "Unused memory in allocation 0x%lx%s of size %zu bytes", (unsigned long)b->base,
             called(b, name, sizeof name), b->size);
    if (bytes == b->size)
        snprintf(where, sizeof where, "Not written any memory.");
    else
        snprintf(where, sizeof where, "Not written %llu bytes at offset 0x%llx (0x%llx)", (unsigned long long)bytes,
                 (unsigned long long)(first - b->base), (unsigned long long)first);
    snprintf(share, sizeof share, "%.4g%% of allocation were unused.", 100.0 * (double)bytes / (double)b->size);
    say(&f, "Saved host backtrace up to driver entry point at allocation time", &b->made);
}

/* What a call has done, once for its place. */
static void say_of_call(const struct t0_finding *f, const struct host_order *order)
{
    struct host_frames here;
    const struct host_frames *origin = order ? &order->origin : &here;
    struct t0_finding place = {.tool = f->tool, .places = 1};
    if (!order)
        host_memcheck_frames(&here);
    for (int k = 0; k < origin->count; k++)
        place.at[0].place.pc = place.at[0].place.pc * 16777619u ^ (uint32_t)(uintptr_t)origin->at[k];
    pthread_mutex_lock(&reporting);
    if (is_new(&place))
        say(f, "Saved host backtrace up to driver entry point at error", origin);
    else
        repeated++;
    pthread_mutex_unlock(&reporting);
}

void host_memcheck_say_unwritten(uint64_t base, uint64_t size, uint64_t first)
{
    char title[120], where[120];
    const struct t0_finding f = {.tool = T0_INITCHECK, .title = title, .note = {where}, .notes = 1};
    snprintf(title, sizeof title, "Host API memory access error at host access to 0x%llx of size %llu bytes",
             (unsigned long long)base, (unsigned long long)size);
    snprintf(where, sizeof where, "Uninitialized access at 0x%llx on access by cudaMemcpy source",
             (unsigned long long)first);
    say_of_call(&f, host_order_running().order);
}

void host_memcheck_say_outlived(const struct host_block *b, const char *by, const struct host_order *order)
{
    char title[120], where[120];
    const struct t0_finding f = {.tool = T0_MEMCHECK, .title = title, .note = {where}, .notes = 1};
    snprintf(title, sizeof title, "Invalid use of stream-ordered memory by a %s", by);
    snprintf(where, sizeof where, "Address 0x%lx of an allocation of size %zu bytes: not allocated before it, or freed",
             (unsigned long)b->base, b->size);
    say_of_call(&f, order);
}

void host_memcheck_say_leaks(size_t bytes, size_t count)
{
    struct text t = {.n = 0};
    add(&t, LINE "LEAK SUMMARY: %zu bytes leaked in %zu allocations\n", bytes, count);
    put(&t);
}
