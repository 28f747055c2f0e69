/* cumu pack make: finds the modules of files, and the names of what is in them. */
#include "cli/pack_make.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/pack_names.h"
#include "core/config.h"
#include "fatbin/fatbin.h"
#include "ptx/ir.h"

/* ---- the images of a module ------------------------------------------------------------------ */

static bool is_container(const struct pack_module *m)
{
    const uint32_t magic = FATBIN_MAGIC;
    return m->size >= sizeof magic && memcmp(m->data, &magic, sizeof magic) == 0;
}

char *pack_ptx(const struct pack_module *m, size_t *len, unsigned *arch)
{
    struct fatbin_list l;
    char *text = NULL;
    *arch = 0;
    if (!is_container(m)) {
        *len = strnlen(m->data, m->size);
        return strndup(m->data, *len);
    }
    if (fatbin_list_make(&l, m->data, m->size, (unsigned)cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY)) == FATBIN_OK) {
        *arch = l.entry[0].arch;
        if (fatbin_unpack(&l.entry[0], &text, len) != FATBIN_OK)
            text = NULL;
    }
    fatbin_list_free(&l);
    return text;
}

/* Of several cubins the one for the highest architecture that is not above the claimed one, else the lowest. */
char *pack_cubin(const struct pack_module *m, size_t *len)
{
    struct fatbin_list l;
    const struct fatbin_entry *best = NULL;
    unsigned claimed = (unsigned)cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY);
    char *elf = NULL;
    if (!is_container(m)) {
        *len = m->size;
        elf = malloc(m->size);
        return elf ? memcpy(elf, m->data, m->size) : NULL;
    }
    (void)fatbin_list_make(&l, m->data, m->size, claimed);
    for (unsigned i = 0; i < l.n; i++) {
        const struct fatbin_entry *e = &l.entry[i];
        if (e->kind == FATBIN_CUBIN &&
            (!best || (e->arch <= claimed ? best->arch > claimed || e->arch > best->arch : e->arch < best->arch)))
            best = e;
    }
    if (best && fatbin_unpack(best, &elf, len) != FATBIN_OK)
        elf = NULL;
    fatbin_list_free(&l);
    return elf;
}

/* ---- names ---------------------------------------------------------------------------------- */

static struct pack_name *intern(struct pack_job *job, const char *name)
{
    struct pack_name *n;
    char *plain = pack_plain_name(name);
    if (!plain) {
        job->nomem = true;
        return NULL;
    }
    HASH_FIND_STR(job->names, plain, n);
    if (n) {
        free(plain);
        return n;
    }
    n = calloc(1, sizeof *n);
    if (n) {
        n->plain = plain;
        n->number = job->nnames;
        HASH_ADD_KEYPTR(hh, job->names, n->plain, strlen(n->plain), n);
    }
    if (!n || !hmap_added(n)) {
        free(n);
        free(plain);
        job->nomem = true;
        return NULL;
    }
    job->nnames++;
    return n;
}

/* Room for a power of two; a full array doubles. */
static bool push(uint32_t **list, uint32_t *count, uint32_t value)
{
    if ((*count & (*count - 1)) == 0) {
        uint32_t *grown = realloc(*list, (*count ? (size_t)*count * 2 : 1) * sizeof **list);
        if (!grown)
            return false;
        *list = grown;
    }
    (*list)[(*count)++] = value;
    return true;
}

static void add_name(struct pack_job *job, struct pack_module *m, const char *name, bool from)
{
    struct pack_name *n = intern(job, name);
    if (!n)
        return;
    job->nomem |= !push(&m->name, &m->nname, n->number);
    if (from && (!n->nin || n->in[n->nin - 1] != job->from.count))
        job->nomem |= !push(&n->in, &n->nin, job->from.count);
}

static void names_of_ptx(struct pack_job *job, struct pack_module *m)
{
    struct ptx_diag diag;
    size_t len;
    unsigned arch;
    char *text = pack_ptx(m, &len, &arch);
    struct ptx_module *ptx = text ? ptx_module_open(text, len, &diag) : NULL;
    if (!ptx)
        (void)cumu_fail(0, "%s: container %u: its PTX cannot be read", m->file, m->number);
    for (uint32_t i = 0; ptx && i < ptx->nfunc; i++)
        if (ptx->func[i].is_entry && !ptx->func[i].is_decl) {
            add_name(job, m, ptx->func[i].name, true);
            m->kernels++;
        }
    for (uint32_t i = 0; ptx && i < ptx->nvar; i++)
        if (!ptx->var[i].is_extern)
            add_name(job, m, ptx->var[i].name, true);
    if (ptx)
        ptx_module_close(ptx);
    free(text);
}

static void names_of_cubin(struct pack_job *job, struct pack_module *m)
{
    size_t len;
    uint64_t bytes;
    const char *name;
    char *elf = pack_cubin(m, &len);
    for (unsigned k = 0; elf && (name = fatbin_cubin_kernel(elf, len, &k)); m->kernels++)
        add_name(job, m, name, false);
    for (unsigned i = 0; elf && (name = fatbin_cubin_variable(elf, len, i, &bytes)); i++)
        add_name(job, m, name, false);
    free(elf);
}

/* ---- modules -------------------------------------------------------------------------------- */

/* What nvlink made of the file's relocatable modules: programs have both, and use those. */
static bool is_linked(const struct pack_side *side, const struct pack_module *m)
{
    for (unsigned i = 0; i < m->kernels; i++) {
        bool seen = false;
        for (uint32_t k = m->rel; k < m->rel_end && !seen; k++)
            for (unsigned n = 0; n < side->module[k].kernels && !seen; n++)
                seen = side->module[k].name[n] == m->name[i];
        if (!seen)
            return false;
    }
    return m->kernels > 0;
}

/* Keeps the module if it has a kernel that is looked for: one with PTX of --from, else one without. */
static void add_module(struct pack_job *job, bool from, struct pack_module m, bool ptx)
{
    struct pack_side *side = from ? &job->from : &job->to;
    m.match = PACK_NONE;
    if (ptx != from)
        return;
    if ((side->count & (side->count - 1)) == 0) {
        struct pack_module *grown = realloc(side->module, (side->count ? side->count * 2ul : 1) * sizeof *grown);
        if (!grown) {
            job->nomem = true;
            return;
        }
        side->module = grown;
    }
    if (from)
        names_of_ptx(job, &m);
    else
        names_of_cubin(job, &m);
    if (m.kernels && !is_linked(side, &m))
        side->module[side->count++] = m;
    else
        free(m.name);
}

static void add_container(struct pack_job *job, bool from, struct pack_module m)
{
    struct fatbin_list l;
    int err = fatbin_list_make(&l, m.data, m.size, 0);
    if (err && err != FATBIN_NO_PTX && err != FATBIN_NO_IMAGE)
        (void)cumu_fail(0, "%s: container %u: %s", m.file, m.number, fatbin_error_text(err));
    if (!err || (err == FATBIN_NO_PTX && l.ncubin))
        add_module(job, from, m, !err);
    fatbin_list_free(&l);
}

static void add_containers(struct pack_job *job, bool from, struct pack_module m, const char *p, size_t size)
{
    struct fatbin_walk w;
    p = fatbin_skip_padding(p, &size);
    if (!p)
        return;
    int err = fatbin_walk_open(&w, p, size);
    if (err) {
        (void)cumu_fail(0, "%s: %s", m.file, fatbin_error_text(err));
        return;
    }
    do {
        m.data = w.container;
        m.size = (size_t)(w.container_end - w.container);
        add_container(job, from, m);
        m.number++;
    } while (fatbin_walk_container(&w));
}

static void add_sections(struct pack_job *job, bool from, const struct pack_module *m, const struct pack_map *map)
{
    static const char *const sections[] = {"__nv_relfatbin", ".nv_fatbin"};
    const struct pack_side *side = from ? &job->from : &job->to;
    const uint32_t first = side->count;
    uint32_t end = first;
    size_t names;
    GElf_Shdr sh;
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_memory(map->bytes, map->size);
    bool good = elf && elf_getshdrstrndx(elf, &names) == 0;
    for (unsigned k = 0; k < 2 && good; k++, end = side->count)
        for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
            const char *is = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
            struct pack_module in = *m;
            in.rel = first;
            in.rel_end = end;
            if (is && strcmp(is, sections[k]) == 0 && sh.sh_type != SHT_NOBITS && sh.sh_offset <= map->size &&
                sh.sh_size <= map->size - sh.sh_offset)
                add_containers(job, from, in, (const char *)map->bytes + sh.sh_offset, sh.sh_size);
        }
    if (elf)
        (void)elf_end(elf);
}

/* What a file is, its first bytes tell: an object with fat binaries in it, a fat binary, a cubin, PTX text. */
static void add_file(struct pack_job *job, bool from, const struct pack_map *map, const char *name, bool alone)
{
    enum { EM_OF_CUDA = 190 };
    struct pack_module m = {.file = name, .data = map->bytes, .size = map->size};
    uint32_t magic = 0;
    if (map->size >= sizeof magic)
        memcpy(&magic, map->bytes, sizeof magic);
    if (fatbin_is_elf(map->bytes, map->size)) {
        if (((const Elf64_Ehdr *)map->bytes)->e_machine != EM_OF_CUDA) {
            add_sections(job, from, &m, map);
            return;
        }
        m.size = fatbin_elf_size(map->bytes, map->size);
        if (m.size)
            add_module(job, from, m, false);
        else
            (void)cumu_fail(0, "%s: a damaged cubin", name);
    } else if (magic == FATBIN_MAGIC)
        add_containers(job, from, m, map->bytes, map->size);
    else if (alone && from)
        add_module(job, from, m, true);
}

/* The mapping lives as long as the job: modules point into it. */
static bool map_file(struct pack_job *job, struct pack_side *side, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    struct pack_map *grown = realloc(side->map, (side->maps + 1) * sizeof *grown);
    if (grown)
        side->map = grown;
    job->nomem |= !grown;
    if (grown && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED)
        side->map[side->maps++] = (struct pack_map){bytes, (size_t)st.st_size};
    else
        (void)cumu_fail(0, "%s: cannot be read", path);
    if (fd >= 0)
        (void)close(fd);
    return bytes != MAP_FAILED;
}

int pack_read(struct pack_job *job, bool from, const char *operand)
{
    struct pack_side *side = from ? &job->from : &job->to;
    struct check_inputs *grown = realloc(side->input, (side->inputs + 1) * sizeof *grown);
    if (!grown)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "out of memory");
    side->input = grown;
    struct check_inputs *in = &side->input[side->inputs++];
    int status = check_inputs_make(in, operand);
    for (size_t i = 0; !status && i < in->count; i++)
        if (map_file(job, side, in->file[i].path))
            add_file(job, from, &side->map[side->maps - 1], in->file[i].name, !in->many);
        else if (!in->many)
            status = CUMU_EXIT_CANNOT_RUN;
    return job->nomem ? cumu_fail(CUMU_EXIT_CANNOT_RUN, "out of memory") : status;
}

static void free_side(struct pack_side *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        free(s->module[i].name);
    for (unsigned i = 0; i < s->maps; i++)
        (void)munmap(s->map[i].bytes, s->map[i].size);
    for (unsigned i = 0; i < s->inputs; i++)
        check_inputs_free(&s->input[i]);
    free(s->module);
    free(s->map);
    free(s->input);
}

void pack_free(struct pack_job *job)
{
    struct pack_name *n, *next;
    HASH_ITER(hh, job->names, n, next)
    {
        HASH_DEL(job->names, n);
        free(n->plain);
        free(n->in);
        free(n);
    }
    free_side(&job->from);
    free_side(&job->to);
}
