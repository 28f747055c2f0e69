/* cumu check: the device code of a file, and which of its kernels can be translated. */
#include "cli/cli.h"
#include "cli/report.h"
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "compile/link.h"
#include "compile/pack.h"
#include "ptx/tier0/tier0.h"

#include <gelf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_UNITS = 4096, MAX_THREADS = 64 };

/* Units of relocatable device code of one file, kept open because they need each other. */
struct units {
    struct ptx_module *unit[MAX_UNITS];
    unsigned n;
};

static struct check_kernel *kernel_named(struct check_report *r, const char *name)
{
    struct check_kernel *k;
    HASH_FIND_STR(r->kernels, name, k);
    if (k)
        return k;
    k = calloc(1, sizeof *k);
    if (k && (k->name = strdup(name)))
        HASH_ADD_KEYPTR(hh, r->kernels, k->name, strlen(k->name), k);
    if (k && k->name && hmap_added(k))
        return k;
    if (k)
        free(k->name);
    free(k);
    r->nomem = true;
    return NULL;
}

static void problem(struct check_report *r, const char *name, const char *text, unsigned line)
{
    struct check_kernel *k = kernel_named(r, name);
    if (!k || k->problem)
        return;
    k->ptx = true;
    if ((line ? asprintf(&k->problem, "line %u: %s", line, text) : asprintf(&k->problem, "%s", text)) < 0) {
        k->problem = NULL;
        r->nomem = true;
    }
}

static void diag_problem(struct check_report *r, const char *name, const struct ptx_diag *d)
{
    char text[sizeof d->what + sizeof d->msg + 4];
    (void)snprintf(text, sizeof text, "%s%s%s", d->what, *d->what ? ": " : "", d->msg);
    problem(r, name, text, d->line);
}

/* The kernels of one module, lowered by as many threads as there are CPUs. */
struct lowering {
    const struct ptx_module *m;
    atomic_uint next;
    struct ptx_diag *diag; /* one a function; what is empty went well */
    const struct check_target *target;
    struct check_on_target *on; /* one a function, with a target */
};

static void *lower_some(void *lowering)
{
    struct lowering *l = lowering;
    for (uint32_t i; (i = atomic_fetch_add(&l->next, 1)) < l->m->nfunc;) {
        const struct ptx_func *f = &l->m->func[i];
        void *image = NULL;
        size_t size;
        if (!f->is_entry || f->is_decl)
            continue;
        if (lir_lower_kernel(l->m, f->name, &image, &size, &l->diag[i]) != 0 && !*l->diag[i].msg)
            (void)snprintf(l->diag[i].msg, sizeof l->diag[i].msg, "cannot be lowered");
        else if (l->target && image)
            check_on_target(l->target, l->m, f->name, image, &l->diag[i], &l->on[i]);
        free(image);
    }
    return NULL;
}

/* Every kernel of an open module goes through the lowering that the runtime would do. */
static void lower_kernels(struct check_report *r, const struct ptx_module *m)
{
    pthread_t helper[MAX_THREADS];
    unsigned helpers = 0, wanted = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    if (r->on_module) {
        r->on_module(r->on_module_ctx, m);
        return;
    }
    const size_t n = m->nfunc ? m->nfunc : 1;
    struct lowering l = {.m = m,
                         .diag = calloc(n, sizeof *l.diag),
                         .target = r->target,
                         .on = r->target ? calloc(n, sizeof *l.on) : NULL};
    if (!l.diag || (r->target && !l.on)) {
        r->nomem = true;
        free(l.diag);
        return;
    }
    while (helpers < wanted && helpers < MAX_THREADS && helpers + 1 < m->nfunc &&
           pthread_create(&helper[helpers], NULL, lower_some, &l) == 0)
        helpers++;
    (void)lower_some(&l);
    while (helpers)
        (void)pthread_join(helper[--helpers], NULL);
    for (uint32_t i = 0; i < m->nfunc; i++) {
        const struct ptx_func *f = &m->func[i];
        struct check_kernel *k = f->is_entry && !f->is_decl ? kernel_named(r, f->name) : NULL;
        if (!k)
            continue;
        k->ptx = true;
        if (*l.diag[i].msg)
            diag_problem(r, f->name, &l.diag[i]);
        k->dynamic |= l.on && l.on[i].dynamic;
        if (l.on && *l.on[i].slow && !k->slow)
            k->slow = strdup(l.on[i].slow);
    }
    free(l.diag);
    free(l.on);
}

static struct ptx_module *open_text(struct check_report *r, const char *text, size_t len, const char *file)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, len, &diag);
    if (!m) {
        char name[512];
        (void)snprintf(name, sizeof name, "(module of %s)", file);
        diag_problem(r, name, &diag);
    }
    return m;
}

static void sass_kernels(struct check_report *r, const struct fatbin_list *l)
{
    for (unsigned i = 0; i < l->n; i++) {
        char *elf;
        size_t len;
        const char *name;
        if (l->entry[i].kind != FATBIN_CUBIN || fatbin_unpack(&l->entry[i], &elf, &len) != 0)
            continue;
        for (unsigned k = 0; (name = fatbin_cubin_kernel(elf, len, &k));)
            (void)kernel_named(r, name); /* stays without PTX unless some container has it */
        free(elf);
    }
}

/* Machine code that a pack serves: the kernels of its PTX, and those that it lacks. */
static bool packed(struct check_report *r, const char *file, const void *data, size_t size)
{
    struct fatbin_walk w;
    const struct cumu_pack *pack;
    const struct cumu_pack_module *m;
    const char *why, *name;
    if (fatbin_walk_open(&w, data, size) ||
        !cumu_packs_find(w.container, (size_t)(w.container_end - w.container), &pack, &m))
        return false;
    r->packed++;
    r->pack_kernels += m->kernels;
    r->pack_lacks += m->lacking;
    for (uint32_t i = 0; (name = cumu_pack_missing(pack, m, i)); i++) {
        struct check_kernel *k = kernel_named(r, name);
        if (k && !k->ptx && !k->problem)
            k->problem = strdup("machine code (SASS) only, and the pack lacks it");
    }
    char *text = m->stored ? cumu_pack_text(pack, m, &why) : NULL;
    struct ptx_module *ptx = text ? open_text(r, text, m->text, file) : NULL;
    if (m->stored && !text)
        problem(r, cumu_pack_path(pack), why, 0);
    if (ptx) {
        if (m->arch > r->needs)
            r->needs = m->arch;
        lower_kernels(r, ptx);
        ptx_module_close(ptx);
    }
    free(text);
    return true;
}

/* The best PTX of a container, or where that cannot be read the next, as the runtime takes it (kernel/unit.c). NULL:
 * none can be read, and what is wrong with the first is noted. */
static struct ptx_module *open_best(struct check_report *r, const char *file, const struct fatbin_list *l)
{
    struct ptx_diag first = {0}, diag;
    char name[512];
    (void)snprintf(name, sizeof name, "(module of %s)", file);
    for (unsigned i = 0; i < l->nptx; i++) {
        char *text;
        size_t len;
        memset(&diag, 0, sizeof diag);
        int err = fatbin_unpack(&l->entry[i], &text, &len);
        struct ptx_module *m = err ? NULL : ptx_module_open(text, len, &diag);
        if (err)
            (void)snprintf(diag.msg, sizeof diag.msg, "%s", fatbin_error_text(err));
        else
            free(text);
        if (m) {
            if (l->entry[i].arch > r->needs)
                r->needs = l->entry[i].arch;
            r->beyond |= !fatbin_is_for(&l->entry[i], r->claimed);
            return m;
        }
        if (i == 0)
            first = diag;
    }
    diag_problem(r, name, &first);
    return NULL;
}

/* The image that the runtime would take from this container, and its kernels. */
static void container(struct check_report *r, const char *file, const void *data, size_t size, struct units *linked)
{
    struct fatbin_list l;
    int err = fatbin_list_make(&l, data, size, r->claimed);
    if (err == FATBIN_NO_PTX && !packed(r, file, data, size))
        sass_kernels(r, &l);
    struct ptx_module *m = err ? NULL : open_best(r, file, &l);
    if (m && linked && linked->n < MAX_UNITS)
        linked->unit[linked->n++] = m;
    else if (m) {
        lower_kernels(r, m);
        ptx_module_close(m);
    }
    if (err && err != FATBIN_NO_PTX && err != FATBIN_NO_IMAGE) {
        char name[512];
        (void)snprintf(name, sizeof name, "(fat binary in %s)", file);
        problem(r, name, fatbin_error_text(err), 0);
    }
    fatbin_list_free(&l);
}

static void images(struct check_report *r, const char *file, struct fatbin_walk *w, bool relocatable)
{
    struct fatbin_entry e;
    bool more;
    for (int err; (err = fatbin_walk_next(w, &e, &more)), more;) {
        struct check_image *i = check_grow(r, &r->image, &r->nimage, sizeof *i);
        if (!i)
            return;
        i->object = check_keep(r, file);
        i->kind = e.kind == FATBIN_PTX     ? "ptx"
                  : e.kind == FATBIN_CUBIN ? "sass"
                  : e.kind == FATBIN_LTOIR ? "ltoir"
                                           : "unknown";
        i->compression = !e.compressed             ? "none"
                         : e.flags & FATBIN_F_ZSTD ? "zstd"
                         : e.flags & FATBIN_F_LZ4  ? "lz4"
                                                   : "unknown";
        i->arch = e.arch;
        i->major = e.major;
        i->minor = e.minor;
        i->relocatable = relocatable;
        i->suffix = e.suffix;
        i->stored = e.stored;
        i->unpacked = e.unpacked;
        if (err && err != FATBIN_UNKNOWN_KIND)
            return;
    }
}

static void section(struct check_report *r, const char *file, const uint8_t *p, size_t size, struct units *linked)
{
    struct fatbin_walk w;
    p = fatbin_skip_padding(p, &size);
    if (!p)
        return;
    int err = fatbin_walk_open(&w, p, size);
    if (err) {
        container(r, file, p, size, linked); /* names the error */
        return;
    }
    do {
        const uint8_t *at = w.container;
        images(r, file, &w, linked != NULL);
        container(r, file, at, size - (size_t)(at - p), linked);
    } while (fatbin_walk_container(&w));
}

/* Units that need each other are linked as the runtime links them; others stand alone. */
static void link_units(struct check_report *r, const char *file, struct units *u)
{
    bool needs = false;
    for (unsigned a = 0; a < u->n && !needs; a++)
        for (unsigned b = 0; b < u->n && !needs; b++)
            needs = a != b && cumu_ptx_needs(u->unit[a], u->unit[b]);
    size_t len = 0;
    char *text = needs ? cumu_ptx_link(u->unit, u->n, &len) : NULL;
    struct ptx_module *whole = text ? open_text(r, text, len, file) : NULL;
    if (whole) {
        lower_kernels(r, whole);
        ptx_module_close(whole);
    }
    for (unsigned i = 0; i < u->n; i++) {
        if (!needs)
            lower_kernels(r, u->unit[i]);
        ptx_module_close(u->unit[i]);
    }
    free(text);
}

void check_fatbins(struct check_report *r, const char *name, Elf *elf)
{
    struct units *linked = calloc(1, sizeof *linked);
    size_t names;
    GElf_Shdr sh;
    if (!linked || elf_getshdrstrndx(elf, &names) != 0) {
        r->nomem |= !linked;
        free(linked);
        return;
    }
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        const char *is = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
        bool relocatable = is && strcmp(is, "__nv_relfatbin") == 0;
        Elf_Data *d = relocatable || (is && strcmp(is, ".nv_fatbin") == 0) ? elf_rawdata(s, NULL) : NULL;
        if (d && d->d_buf)
            section(r, name, d->d_buf, d->d_size, relocatable ? linked : NULL);
    }
    link_units(r, name, linked);
    free(linked);
}

/* A cubin: one of ours carries its PTX; of others a pack may have it. */
static void bare_cubin(struct check_report *r, const char *name, const char *data, size_t size)
{
    size_t len;
    const char *kernel, *text = fatbin_carried(data, size, &len);
    if (!fatbin_elf_size(data, size))
        check_fatal(r, "a damaged cubin");
    struct ptx_module *m = text ? open_text(r, text, len, name) : NULL;
    if (m) {
        lower_kernels(r, m);
        ptx_module_close(m);
    }
    for (unsigned k = 0; !text && (kernel = fatbin_cubin_kernel(data, size, &k));)
        (void)kernel_named(r, kernel);
}

static void bare_text(struct check_report *r, const char *name, const char *data, size_t size)
{
    struct ptx_module *m = open_text(r, data, strnlen(data, size), name);
    if (!m)
        return;
    if (m->target > r->needs)
        r->needs = m->target;
    r->beyond |= m->target > r->claimed;
    lower_kernels(r, m);
    ptx_module_close(m);
}

static void bare_container(struct check_report *r, const char *name, const char *data, size_t size)
{
    section(r, name, (const uint8_t *)data, size, NULL);
}

/* Who reads a file that begins so; NULL: it is no device code. */
static void (*reader(const char *head, size_t size))(struct check_report *, const char *, const char *, size_t)
{
    enum { EM_OF_CUDA = 190 };
    const char *text = head + strspn(head, " \t\r\n");
    uint32_t magic = 0;
    if (size >= sizeof magic)
        memcpy(&magic, head, sizeof magic);
    if (magic == FATBIN_MAGIC)
        return bare_container;
    if (fatbin_is_elf(head, size))
        return ((const Elf64_Ehdr *)(const void *)head)->e_machine == EM_OF_CUDA ? bare_cubin : NULL;
    while (text[0] == '/' && text[1] == '/') { /* comments, with which nvcc begins a file */
        text += strcspn(text, "\n");
        text += strspn(text, " \t\r\n");
    }
    return strncmp(text, ".version", strlen(".version")) == 0 ? bare_text : NULL;
}

bool check_device_code(struct check_report *r, const char *path, const char *name)
{
    enum { HEAD = 4096 };
    size_t size;
    char *data = cumu_file_read(path, HEAD, &size);
    void (*read)(struct check_report *, const char *, const char *, size_t) = data ? reader(data, size) : NULL;
    free(data);
    data = read ? cumu_file_read(path, FATBIN_MAX_IMAGE, &size) : NULL;
    if (data)
        read(r, name, data, size);
    r->nomem |= read && !data;
    free(data);
    return read;
}
