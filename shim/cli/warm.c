/* cumu cache warm: emits every kernel of a program's files and has them compiled, by as many compilers at a time as
 * there are CPUs, with the progress on a terminal. */
#include "cli/warm.h"

#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "cli/report.h"
#include "core/config.h"
#include "compile/compile.h"
#include "compile/progress.h"
#include "ptx/musa/musa.h"

enum { MAX_THREADS = 64, MAX_WAITING = 64, TOGETHER = CUMU_MUBIN_JOINED };

struct kernel {
    struct kernel *next;
    char *name, *text, *flat; /* emitted; flat: with flattened control flow, of a MUSA device's */
    size_t size, flat_size;
    struct mu_info info; /* of the text, likewise */
    enum t1_shape shape;
    struct cumu_key key; /* of this machine's objects */
};

struct warm {
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct kernel *first;
    unsigned waiting;
    bool closed;       /* no more will come */
    unsigned together; /* kernels that one thread takes at a time */
    enum t1_isa isa;   /* of objects for CPUs */
    unsigned kernels;  /* total: with the block shapes of each */
    unsigned total, done, compiled, cached, refused;
    bool counting;
    unsigned arch; /* of a MUSA device, 0 = this machine */
};

static const char *const shape_names[T1_NSHAPES] = {"blocks of whole warps", "blocks 16 wide", "1-D blocks",
                                                    "any blocks"};

/* Lock held. */
static void count(struct warm *w, const char *name, enum t1_shape shape, enum cumu_made made, const char *why)
{
    w->done++;
    w->compiled += made == CUMU_MADE_COMPILED;
    w->cached += made == CUMU_MADE_CACHED;
    w->refused += made == CUMU_MADE_FAILED;
    if (made == CUMU_MADE_FAILED) {
        cumu_progress_line("%s", "");
        if (w->arch)
            (void)cumu_fail(0, "%s has no code for mp_%u: %s", name, w->arch, why);
        else
            (void)cumu_fail(0, "%s stays on tier 0 (%s): %s", name, shape_names[shape], why);
    }
    cumu_progress_line("cumu: %u of %u: %.48s", w->done, w->total, name);
}

static void drop(struct kernel *k)
{
    free(k->name);
    free(k->text);
    free(k->flat);
    free(k);
}

static bool take_flat(void *ctx, char **text, size_t *size)
{
    struct kernel *k = ctx;
    *text = k->flat;
    *size = k->flat_size;
    k->flat = NULL;
    return *text != NULL;
}

/* Lock held. Waits for kernels, takes up to w->together of them; 0: there are no more. */
static unsigned take(struct warm *w, struct kernel *k[TOGETHER])
{
    unsigned n = 0;
    while (w->waiting < w->together && !w->closed)
        (void)pthread_cond_wait(&w->change, &w->lock);
    for (; w->first && n < w->together; n++, w->waiting--) {
        k[n] = w->first;
        w->first = w->first->next;
    }
    (void)pthread_cond_broadcast(&w->change);
    return n;
}

static void compile_for_device(const struct warm *w, struct kernel **k, unsigned n, enum cumu_made *made,
                               struct cumu_compiled *o)
{
    struct cumu_musa_source s[TOGETHER];
    for (unsigned i = 0; i < n; i++)
        s[i] = (struct cumu_musa_source){k[i]->name, k[i]->text, k[i]->size, take_flat, k[i], &k[i]->info, NULL};
    cumu_mubin_make_many(o, made, s, n, w->arch, CUMU_WANT_CARRIED);
}

/* One of the threads that run compilers: takes kernels from the queue until it is closed and empty. The queue is
 * bounded: texts are made faster than compiled, and each may be megabytes. A device's kernels are taken some at a time,
 * as one run of its compiler may do several. */
static void *compile_some(void *arg)
{
    struct warm *w = arg;
    struct kernel *k[TOGETHER];
    struct cumu_compiled o[TOGETHER];
    enum cumu_made made[TOGETHER];
    (void)pthread_mutex_lock(&w->lock);
    for (unsigned n; (n = take(w, k)) > 0;) {
        (void)pthread_mutex_unlock(&w->lock);
        if (w->arch)
            compile_for_device(w, k, n, made, o);
        else
            made[0] = cumu_object_make(&o[0], &k[0]->key, k[0]->name, k[0]->text, k[0]->size, k[0]->shape, w->isa,
                                       false);
        (void)pthread_mutex_lock(&w->lock);
        for (unsigned i = 0; i < n; i++) {
            count(w, k[i]->name, k[i]->shape, made[i], o[i].why);
            free(o[i].data);
            drop(k[i]);
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void hand_over(struct warm *w, struct kernel *k)
{
    (void)pthread_mutex_lock(&w->lock);
    while (w->waiting >= MAX_WAITING)
        (void)pthread_cond_wait(&w->change, &w->lock);
    k->next = w->first;
    w->first = k;
    w->waiting++;
    (void)pthread_cond_broadcast(&w->change);
    (void)pthread_mutex_unlock(&w->lock);
}

static int emit_musa(const struct ptx_module *m, struct kernel *k, struct ptx_diag *diag)
{
    struct ptx_diag of_flat;
    struct mu_info of_flat_text;
    void *image;
    if (lir_lower_kernel(m, k->name, &image, &k->size, diag))
        return -1;
    int result = mu_emit(m, k->name, image, MU_MUSA, &k->text, &k->size, &k->info, diag);
    if (!result)
        (void)mu_emit(m, k->name, image, MU_MUSA_FLAT, &k->flat, &k->flat_size, &of_flat_text, &of_flat);
    free(image);
    return result;
}

/* Translates one kernel for one shape and queues it, unless the cache has it. The host's key is that of the kernel's
 * PTX, known before; a device's is that of the text. */
static void emit(struct warm *w, const struct ptx_module *m, const uint8_t digest[CUMU_HASH_BYTES], const char *name,
                 enum t1_shape shape)
{
    struct cumu_key key = {{0}};
    struct cumu_compiled o = {.data = NULL};
    struct ptx_diag diag = {0};
    char why[sizeof diag.msg + sizeof diag.what + 32];
    struct kernel *k = calloc(1, sizeof *k);
    if (!k || !(k->name = strdup(name))) {
        free(k);
        return;
    }
    if (!w->arch) {
        cumu_object_key(&key, m, digest, name, shape, w->isa, 0);
        if (cumu_object_find(&o, &key) == CUMU_MADE_CACHED) {
            free(o.data);
            (void)pthread_mutex_lock(&w->lock);
            count(w, name, shape, CUMU_MADE_CACHED, NULL);
            (void)pthread_mutex_unlock(&w->lock);
            drop(k);
            return;
        }
    }
    k->shape = shape;
    k->key = key;
    if ((w->arch ? emit_musa(m, k, &diag)
                 : t1_emit_as(m, name, shape, w->isa, cumu_object_debugged() ? T1_EMIT_LINES : 0, &k->text, &k->size,
                              &diag)) == 0) {
        hand_over(w, k);
        return;
    }
    drop(k);
    ptx_diag_text(&diag, why, sizeof why);
    (void)pthread_mutex_lock(&w->lock);
    count(w, name, shape, CUMU_MADE_FAILED, why);
    (void)pthread_mutex_unlock(&w->lock);
}

static bool mentions(const struct ptx_func *f, const char *word)
{
    return f->body && memmem(f->body, f->body_len, word, strlen(word));
}

/* Classes of block shapes that a program may launch the kernel with, as a mask: the one it was written for
 * if it says so; else those of 1-D blocks, or of 2-D blocks when it asks for the second index. */
static unsigned shapes_of(const struct ptx_module *m, const struct ptx_func *kernel)
{
    bool flat = !mentions(kernel, "%tid.y") && !mentions(kernel, "%tid.z");
    if (kernel->reqntid[0])
        return 1u << t1_shape((uint32_t[3]){kernel->reqntid[0], kernel->reqntid[1] ? kernel->reqntid[1] : 1,
                                            kernel->reqntid[2] ? kernel->reqntid[2] : 1});
    for (uint32_t i = 0; i < m->nfunc && flat && mentions(kernel, "call"); i++)
        flat = m->func[i].is_entry || !mentions(&m->func[i], "%tid.y");
    return 1u << T1_SHAPE_LINEAR | (flat ? 1u << T1_SHAPE_FLAT : 1u << T1_SHAPE_HALF | 1u << T1_SHAPE_ANY);
}

static void on_module(void *ctx, const struct ptx_module *m)
{
    struct warm *w = ctx;
    uint8_t digest[CUMU_HASH_BYTES] = {0};
    if (!w->counting && !w->arch)
        cumu_module_digest(m, digest);
    for (uint32_t i = 0; i < m->nfunc; i++) {
        const struct ptx_func *f = &m->func[i];
        if (!f->is_entry || f->is_decl)
            continue;
        unsigned shapes = w->arch ? 1 : shapes_of(m, f); /* one text serves all shapes there */
        w->kernels += w->counting;
        for (unsigned s = 0; s < T1_NSHAPES; s++) {
            if (!(shapes >> s & 1))
                continue;
            if (w->counting)
                w->total++;
            else
                emit(w, m, digest, f->name, (enum t1_shape)s);
        }
    }
}

static void read_file(struct warm *w, const char *path)
{
    struct check_report r = {
        .on_module = on_module, .on_module_ctx = w, .claimed = (unsigned)cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY)};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf) {
        check_fatbins(&r, path, elf);
        (void)elf_end(elf);
    }
    if (fd >= 0)
        (void)close(fd);
    check_free(&r);
}

static int read_closure(struct warm *w, const char *name)
{
    struct cumu_closure c = {0};
    char path[PATH_MAX];
    if (cumu_program_file(path, name))
        return CUMU_EXIT_NOT_FOUND;
    bool good = cumu_closure_read(&c, path, cumu_env("LD_LIBRARY_PATH"), cumu_has_facade);
    for (unsigned i = 0; i < c.count; i++) {
        const struct cumu_object *o = &c.objects[i];
        if (o->path && !o->facade && (i == 0 || !check_is_vendors(o->soname)))
            read_file(w, o->path);
    }
    cumu_closure_free(&c);
    return good ? 0 : cumu_fail(CUMU_EXIT_CANNOT_RUN, "out of memory");
}

int cumu_warm(unsigned n, char **programs, unsigned arch, enum t1_isa isa)
{
    struct warm w = {.lock = PTHREAD_MUTEX_INITIALIZER,
                     .change = PTHREAD_COND_INITIALIZER,
                     .counting = true,
                     .arch = arch,
                     .isa = isa};
    pthread_t thread[MAX_THREADS];
    unsigned threads = 0;
    const char *why;
    int status = 0;
    if (!(arch ? cumu_musa_compiler(&why) : cumu_compiler(&why)))
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s", why);
    for (unsigned i = 0; i < n && !status; i++)
        status = read_closure(&w, programs[i]);
    if (status)
        return status;
    w.counting = false;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    /* As many as leave work for all CPUs. */
    const unsigned all = cpus > 1 ? (unsigned)cpus : 1, each = (w.total + all - 1) / all;
    w.together = !arch || each < 1 ? 1 : each < TOGETHER ? each : TOGETHER;
    for (; threads < MAX_THREADS && threads < (cpus > 1 ? (unsigned long)cpus : 1ul); threads++)
        if (pthread_create(&thread[threads], NULL, compile_some, &w) != 0)
            break;
    if (threads == 0)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "cannot start a thread");
    for (unsigned i = 0; i < n; i++)
        (void)read_closure(&w, programs[i]);
    (void)pthread_mutex_lock(&w.lock);
    w.closed = true;
    (void)pthread_cond_broadcast(&w.change);
    (void)pthread_mutex_unlock(&w.lock);
    for (unsigned i = 0; i < threads; i++)
        (void)pthread_join(thread[i], NULL);
    cumu_progress_line("%s", "");
    if (arch)
        printf("%u kernels for mp_%u: %u compiled, %u were there, %u not\n", w.kernels, arch, w.compiled, w.cached,
               w.refused);
    else
        printf("%u kernels, %u with their block shapes: %u compiled, %u were there, %u stay on tier 0\n", w.kernels,
               w.total, w.compiled, w.cached, w.refused);
    return w.refused ? 1 : 0;
}
