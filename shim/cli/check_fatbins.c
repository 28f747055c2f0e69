/* cumu check: the device code of a file, and which of its kernels can be translated. */
#include "cli/cli.h"
#include "cli/check_kernels.h"
#include "cli/report.h"
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "compile/bound.h"
#include "compile/link.h"
#include "compile/pack.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_UNITS = 4096 };

/* Where an image is: how it is called in the report, and what tells its bytes from all others. */
struct place {
    const char *file;
    size_t section; /* of an ELF file */
    const uint8_t *data;
};

static char *image_key(const struct place *at, const struct fatbin_entry *e)
{
    char *key = NULL;
    return asprintf(&key, "%s#%zu+%zu", at->file, at->section, (size_t)(e->payload - at->data)) < 0 ? NULL : key;
}

/* Units of relocatable device code of one file, kept open because they need each other. */
struct units {
    struct ptx_module *unit[MAX_UNITS];
    unsigned n;
};

static struct ptx_module *open_text(struct check_report *r, const char *text, size_t len, const char *file)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, len, &diag);
    if (!m) {
        char name[512];
        (void)snprintf(name, sizeof name, "(module of %s)", file);
        check_diag_problem(r, name, &diag);
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
            (void)check_kernel_named(r, name); /* stays without PTX unless some container has it */
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
        struct check_kernel *k = check_kernel_named(r, name);
        if (k && !k->ptx && !k->problem)
            k->problem = strdup("machine code (SASS) only, and the pack lacks it");
    }
    char *key = NULL;
    if (asprintf(&key, "pack %s %p", cumu_pack_path(pack), (const void *)m) < 0)
        key = NULL;
    if (m->stored && check_lower_again(r, key)) {
        if (m->arch > r->needs)
            r->needs = m->arch;
        free(key);
        return true;
    }
    char *text = m->stored ? cumu_pack_text(pack, m, &why) : NULL;
    struct ptx_module *ptx = text ? open_text(r, text, m->text, file) : NULL;
    if (m->stored && !text)
        check_problem(r, cumu_pack_path(pack), why, 0);
    if (ptx) {
        if (m->arch > r->needs)
            r->needs = m->arch;
        check_lower(r, ptx, key);
        ptx_module_close(ptx);
    }
    free(text);
    free(key);
    return true;
}

static void note_taken(struct check_report *r, const struct fatbin_entry *e)
{
    if (e->arch > r->needs)
        r->needs = e->arch;
    r->beyond |= !fatbin_is_for(e, r->claimed);
}

/* Opens one PTX image and goes through its kernels, or leaves it open among the units. False: it cannot be read. */
static bool take_image(struct check_report *r, const struct fatbin_entry *e, char *key, struct units *linked,
                       struct ptx_diag *diag)
{
    char *text;
    size_t len;
    const int err = fatbin_unpack(e, &text, &len);
    const uint32_t registers = fatbin_registers(e->options, e->options_len);
    struct ptx_module *m = err ? NULL : cumu_ptx_open(text, len, registers, diag); /* as kernel/unit.c */
    if (err)
        (void)snprintf(diag->msg, sizeof diag->msg, "%s", fatbin_error_text(err));
    else
        free(text);
    if (m && linked && linked->n < MAX_UNITS)
        linked->unit[linked->n++] = m;
    else if (m) {
        check_lower(r, m, key);
        ptx_module_close(m);
    }
    return m;
}

/* The best PTX of a container, or where that cannot be read the next, as the runtime takes it (kernel/unit.c). Where
 * none can be read, what is wrong with the first is noted. */
static void take_best(struct check_report *r, const struct place *at, const struct fatbin_list *l, struct units *linked)
{
    struct ptx_diag first = {0};
    char name[512];
    for (unsigned i = 0; i < l->nptx; i++) {
        struct ptx_diag diag = {0};
        char *key = linked ? NULL : image_key(at, &l->entry[i]);
        const bool taken = check_lower_again(r, key) || take_image(r, &l->entry[i], key, linked, &diag);
        free(key);
        if (taken) {
            note_taken(r, &l->entry[i]);
            return;
        }
        if (i == 0)
            first = diag;
    }
    (void)snprintf(name, sizeof name, "(module of %s)", at->file);
    check_diag_problem(r, name, &first);
}

/* The image that the runtime would take from this container, and its kernels. */
static void container(struct check_report *r, const struct place *at, const void *data, size_t size,
                      struct units *linked)
{
    struct fatbin_list l;
    int err = fatbin_list_make(&l, data, size, r->claimed);
    if (err == FATBIN_NO_PTX && !packed(r, at->file, data, size))
        sass_kernels(r, &l);
    if (!err)
        take_best(r, at, &l, linked);
    if (err && err != FATBIN_NO_PTX && err != FATBIN_NO_IMAGE) {
        char name[512];
        (void)snprintf(name, sizeof name, "(fat binary in %s)", at->file);
        check_problem(r, name, fatbin_error_text(err), 0);
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

static void section(struct check_report *r, struct place at, size_t size, struct units *linked)
{
    struct fatbin_walk w;
    const uint8_t *p = fatbin_skip_padding(at.data, &size);
    if (!p)
        return;
    int err = fatbin_walk_open(&w, p, size);
    if (err) {
        container(r, &at, p, size, linked); /* names the error */
        return;
    }
    do {
        const uint8_t *from = w.container;
        images(r, at.file, &w, linked != NULL);
        container(r, &at, from, size - (size_t)(from - p), linked);
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
        check_lower(r, whole, NULL);
        ptx_module_close(whole);
    }
    for (unsigned i = 0; i < u->n; i++) {
        if (!needs)
            check_lower(r, u->unit[i], NULL);
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
            section(r, (struct place){name, elf_ndxscn(s), d->d_buf}, d->d_size, relocatable ? linked : NULL);
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
        check_lower(r, m, NULL);
        ptx_module_close(m);
    }
    for (unsigned k = 0; !text && (kernel = fatbin_cubin_kernel(data, size, &k));)
        (void)check_kernel_named(r, kernel);
}

static void bare_text(struct check_report *r, const char *name, const char *data, size_t size)
{
    struct ptx_module *m = open_text(r, data, strnlen(data, size), name);
    if (!m)
        return;
    if (m->target > r->needs)
        r->needs = m->target;
    r->beyond |= m->target > r->claimed;
    check_lower(r, m, NULL);
    ptx_module_close(m);
}

static void bare_container(struct check_report *r, const char *name, const char *data, size_t size)
{
    section(r, (struct place){name, 0, (const uint8_t *)data}, size, NULL);
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
