/* cumu pack make: writes a pack. Each module's PTX is renamed to the program's names, read again, and held against the
 * program's machine code: a kernel that does not have the same name and parameters there counts as missing. */
#include "cli/pack_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "cli/cli.h"
#include "cli/pack_names.h"
#include "compile/pack.h"
#include "compile/progress.h"
#include "fatbin/fatbin.h"
#include "ptx/ir.h"

enum { LEVEL = 3, MOST_PARAMS = 4096 };

struct writer {
    FILE *out, *strings; /* the file; the strings' part in memory */
    char *string;
    size_t strings_size;
    uint64_t at; /* bytes written */
    struct cumu_pack_module *index;
    uint32_t count;
    unsigned other_params, other_variables; /* kernels, modules */
    bool failed;                            /* out of memory, or as errno says */
};

static void put(struct writer *w, const void *bytes, size_t size)
{
    w->failed |= fwrite(bytes, 1, size, w->out) != size;
    w->at += size;
}

/* Where the string stands. */
static uint32_t put_string(struct writer *w, const char *s)
{
    long at = ftell(w->strings);
    w->failed |= at < 0 || at > INT32_MAX || fwrite(s, 1, strlen(s) + 1, w->strings) != strlen(s) + 1;
    return (uint32_t)at;
}

/* Whether the PTX has the kernel of the cubin, with the same parameters as far as the cubin tells them. */
static bool has_kernel(struct writer *w, const struct ptx_module *ptx, const char *elf, size_t size, const char *name)
{
    static struct fatbin_param param[MOST_PARAMS];
    const struct ptx_func *f = ptx ? ptx_module_func(ptx, name) : NULL;
    if (!f || !f->is_entry || f->is_decl)
        return false;
    int n = fatbin_cubin_params(elf, size, name, param, MOST_PARAMS);
    bool same = n < 0 || (uint32_t)n == f->nparam;
    for (int i = 0; same && i < n && i < MOST_PARAMS; i++)
        same = param[i].offset == f->param[i].offset && param[i].size == f->param[i].size;
    w->other_params += !same;
    return same;
}

/* Whether the variables that both have are of the same sizes. Those whose names the compiler made may be others. */
static bool same_variables(const struct ptx_module *ptx, const char *elf, size_t size)
{
    uint64_t bytes;
    const char *name;
    for (unsigned i = 0; (name = fatbin_cubin_variable(elf, size, i, &bytes)); i++) {
        const struct ptx_var *v = *name == '$' || strncmp(name, "__", 2) == 0 ? NULL : ptx_module_var(ptx, name);
        if (v && !v->is_extern && !v->unsized && v->size != bytes)
            return false;
    }
    return true;
}

/* The PTX of m's match with the names of the cubin's kernels and variables. */
static char *renamed_ptx(const struct pack_job *job, const struct pack_module *m, const char *elf, size_t size,
                         size_t *len, unsigned *arch)
{
    struct pack_ids ids = {0};
    const char *name;
    uint64_t bytes;
    bool good = true;
    char *text = m->match == PACK_NONE ? NULL : pack_ptx(&job->from.module[m->match], len, arch), *renamed = NULL;
    for (unsigned k = 0; text && good && (name = fatbin_cubin_kernel(elf, size, &k));)
        good = pack_ids_add(&ids, name);
    for (unsigned i = 0; text && good && (name = fatbin_cubin_variable(elf, size, i, &bytes)); i++)
        good = pack_ids_add(&ids, name);
    if (text && good)
        renamed = pack_rename(text, *len, &ids, len);
    free(text);
    pack_ids_free(&ids);
    return renamed;
}

static void digest(const void *bytes, size_t size, uint8_t out[CUMU_HASH_BYTES])
{
    struct cumu_hash h;
    cumu_hash_start(&h);
    cumu_hash_add(&h, bytes, size);
    cumu_hash_end(&h, out);
}

static void put_frame(struct writer *w, struct cumu_pack_module *p, const char *text, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    void *frame = malloc(room);
    size_t n = frame ? ZSTD_compress(frame, room, text, len, LEVEL) : 0;
    w->failed |= !frame || ZSTD_isError(n);
    if (!w->failed) {
        p->at = w->at;
        p->stored = n;
        p->text = len;
        digest(frame, n, p->digest);
        put(w, frame, n);
    }
    free(frame);
}

/* A module's frame and its entry of the index, with the kernels that are missing. A frame without any of the module's
 * kernels is not written. */
static void put_module(struct writer *w, struct pack_job *job, const struct pack_module *m)
{
    struct cumu_pack_module *p = &w->index[w->count];
    struct ptx_diag diag;
    const char *name;
    size_t size = 0, len = 0;
    unsigned arch = 0;
    *p = (struct cumu_pack_module){.image_size = m->size, .number = m->number};
    digest(m->data, m->size, p->key);
    for (uint32_t i = 0; i < w->count; i++)
        if (memcmp(w->index[i].key, p->key, sizeof p->key) == 0)
            return; /* the same module again */
    w->count++;
    char *elf = pack_cubin(m, &size);
    char *text = elf ? renamed_ptx(job, m, elf, size, &len, &arch) : NULL;
    struct ptx_module *ptx = text ? ptx_module_open(text, len, &diag) : NULL;
    if (ptx && !same_variables(ptx, elf, size)) {
        ptx_module_close(ptx);
        ptx = NULL;
        w->other_variables++;
    }
    p->file = put_string(w, m->file);
    long missing = ftell(w->strings);
    w->failed |= !elf || missing < 0 || missing > INT32_MAX;
    p->missing = (uint32_t)missing;
    for (unsigned k = 0; elf && (name = fatbin_cubin_kernel(elf, size, &k)); p->kernels++)
        if (!has_kernel(w, ptx, elf, size, name)) {
            (void)put_string(w, name);
            p->lacking++;
        }
    if (ptx && p->lacking < p->kernels) {
        p->arch = arch ? arch : ptx->target;
        put_frame(w, p, text, len);
    }
    if (ptx)
        ptx_module_close(ptx);
    free(text);
    free(elf);
}

static int by_size_and_key(const void *x, const void *y)
{
    const struct cumu_pack_module *a = x, *b = y;
    if (a->image_size != b->image_size)
        return a->image_size < b->image_size ? -1 : 1;
    return memcmp(a->key, b->key, sizeof a->key);
}

/* The index, the strings, and at last the head. */
static void put_end(struct writer *w)
{
    static const char zeros[8];
    struct cumu_pack_head head = {.magic = CUMU_PACK_MAGIC, .version = CUMU_PACK_VERSION, .modules = w->count};
    struct cumu_hash h;
    w->failed |= fclose(w->strings) != 0;
    w->strings = NULL;
    qsort(w->index, w->count, sizeof *w->index, by_size_and_key);
    put(w, zeros, (8 - w->at % 8) % 8);
    head.index = w->at;
    put(w, w->index, w->count * sizeof *w->index);
    head.strings = w->at;
    if (!w->failed)
        put(w, w->string, w->strings_size);
    head.size = w->at;
    cumu_hash_start(&h);
    cumu_hash_add(&h, &head, offsetof(struct cumu_pack_head, seal));
    cumu_hash_add(&h, w->index, w->count * sizeof *w->index);
    cumu_hash_add(&h, w->string, w->failed ? 0 : w->strings_size);
    cumu_hash_end(&h, head.seal);
    w->failed |= fseek(w->out, 0, SEEK_SET) != 0;
    put(w, &head, sizeof head);
}

/* Writes to a file of its own beside `path`, which takes that name once it is whole: processes that have the old pack
 * mapped keep it. */
int pack_write(struct pack_job *job, const char *path)
{
    static const struct cumu_pack_head no_head;
    struct writer w = {.index = calloc(job->to.count + 1ul, sizeof *w.index)};
    char *name = NULL;
    int fd = -1;
    errno = ENOMEM;
    if (!w.index || asprintf(&name, "%s.XXXXXX", path) < 0)
        name = NULL;
    if (name && (fd = mkostemp(name, O_CLOEXEC)) >= 0)
        w.out = fdopen(fd, "wb");
    w.strings = open_memstream(&w.string, &w.strings_size);
    w.failed = !w.out || !w.strings;
    if (!w.failed)
        put(&w, &no_head, sizeof no_head);
    for (uint32_t i = 0; i < job->to.count && !w.failed; i++) {
        cumu_progress_line("cumu: module %u of %u", i + 1, job->to.count);
        put_module(&w, job, &job->to.module[i]);
    }
    cumu_progress_line("%s", "");
    if (!w.failed)
        put_end(&w);
    w.failed |= fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0;
    w.failed |= w.out && fclose(w.out) != 0;
    w.failed = w.failed || rename(name, path) != 0;
    int status = w.failed ? cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: cannot be written: %s", path, strerror(errno)) : 0;
    if (w.failed && fd >= 0)
        (void)unlink(name);
    if (w.other_params)
        (void)cumu_fail(0, "%u kernels have other parameters in the PTX, so they count as missing", w.other_params);
    if (w.other_variables)
        (void)cumu_fail(0, "%u modules have variables of other sizes in the PTX: it is of other sources, and not taken",
                        w.other_variables);
    if (w.strings)
        (void)fclose(w.strings);
    free(w.string);
    free(w.index);
    free(name);
    return status;
}
