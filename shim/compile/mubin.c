/* MUSA C++ to a mubin by mcc or MTRTC, and the device's part out of what mcc puts around it. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config.h"
#include "core/ldcache.h"
#include "compile/mcc.h"
#include "compile/mubin.h"
#include "compile/native.h"
#include "compile/tool.h"
#include "ptx/musa/musa.h"

/* QY1 and QY2 of public code, and PH1 (31) with what comes after it: mp_32, mp_41, mp_42 and mp_43 are known by their
 * devices' PCI numbers, and another is compiled as what it calls itself. mp_10 has no public compiler. */
bool cumu_arch_known(unsigned arch) { return arch == 21 || arch == 22 || (arch >= 31 && arch < 1000); }

/* ---- compilers ------------------------------------------------------------------------------- */

static const char *const homes[] = {"MUSA_HOME", "MUSA_PATH", "MUSA_INSTALL_PATH"};
enum { NHOMES = sizeof homes / sizeof homes[0] };

static struct cumu_tool tool;  /* mcc, or our own with MTRTC's library behind it */
static char library[PATH_MAX]; /* MTRTC's; "" with mcc */
static const char usual[] = "/usr/local/musa";

/* <home>/<name> of the k-th place to look at; false past the last. */
static bool place(unsigned k, const char *name, char path[PATH_MAX])
{
    const char *home = k < NHOMES ? cumu_env(homes[k]) : usual;
    if (k > NHOMES)
        return false;
    if (!home || *home != '/' || snprintf(path, PATH_MAX, "%s/%s", home, name) >= PATH_MAX)
        *path = '\0';
    return true;
}

static bool find_mcc(void)
{
    const char *own = cumu_opt_text(CUMU_OPT_MCC);
    char path[PATH_MAX];
    bool found = *own && cumu_tool_find(&tool, own);
    for (unsigned k = 0; !*own && !found && place(k, "bin/mcc", path); k++)
        found = *path && cumu_tool_find(&tool, path);
    if (!*own && !found)
        found = cumu_tool_find(&tool, "mcc");
    return found && cumu_tool_identify(&tool);
}

static bool readable(const char *path, void *ctx)
{
    (void)ctx;
    if (access(path, R_OK) != 0)
        return false;
    (void)snprintf(library, sizeof library, "%s", path);
    return true;
}

/* What it compiles is decided by the library; the tool only calls it. */
static bool find_mtrtc(void)
{
    struct cumu_tool of_library = {.why = NULL};
    char name[64], path[PATH_MAX];
    bool found = false;
    for (const char *const *s = cumu_sonames("mtrtc"); s && *s && !found; s++) {
        (void)snprintf(name, sizeof name, "lib/%s", *s);
        for (unsigned k = 0; !found && place(k, name, path); k++)
            found = *path && readable(path, NULL);
        if (!found)
            found = cumu_ldcache_find(*s, readable, NULL);
    }
    (void)snprintf(of_library.path, sizeof of_library.path, "%s", library);
    if (!found || strchr(library, ' ') || !cumu_own_tool(tool.path) || access(tool.path, X_OK) != 0 ||
        !cumu_tool_identify(&of_library)) {
        library[0] = '\0';
        return false;
    }
    memcpy(tool.identity, of_library.identity, sizeof tool.identity);
    return true;
}

static void find_compiler(void)
{
    const char *want = cumu_opt_text(CUMU_OPT_MUSA_COMPILER), *own = cumu_opt_text(CUMU_OPT_MCC);
    const bool mcc = strcmp(want, "mtrtc") != 0;
    if ((mcc && find_mcc()) || (strcmp(want, "mcc") != 0 && !*own && find_mtrtc()))
        return;
    tool.why = !mcc   ? "no libmtrtc in MUSA_HOME or /usr/local/musa, nor where the dynamic linker looks"
               : *own ? "CUMU_MCC names no program"
                      : "no MUSA compiler: no mcc in MUSA_HOME, /usr/local/musa or on PATH, and no libmtrtc";
}

const char *cumu_musa_compiler(const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_compiler);
    *why = tool.why;
    return tool.why ? NULL : *library ? library : tool.path;
}

const char *cumu_musa_identity(void) { return tool.identity; }

/* ---- what comes out -------------------------------------------------------------------------- */

static uint64_t number(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
enum { MAGIC = sizeof magic - 1, MEMBER = 24, MEMBER_AT = 4096 };

/* Clang's offload bundle: magic, number of parts, and of each its offset, size and the target it is for. The
 * part for a musa target and this architecture, moved to the front. */
bool cumu_mubin_unbundle(struct cumu_compiled *o, unsigned arch)
{
    uint8_t *data = o->data;
    char want[16], others[128] = "";
    if (o->size >= 4 && memcmp(data, "CCOB", 4) == 0) {
        (void)snprintf(o->why, sizeof o->why, "is a compressed bundle, which no known mcc writes");
        return false;
    }
    if (o->size < MAGIC + 8 || memcmp(data, magic, MAGIC) != 0)
        return true;
    (void)snprintf(want, sizeof want, "mp_%u", arch);
    (void)snprintf(o->why, sizeof o->why, "is a damaged bundle");
    uint64_t at = MAGIC + 8, n = number(data + MAGIC);
    for (uint64_t k = 0; k < n; k++) {
        if (o->size - at < MEMBER)
            return false;
        const uint64_t from = number(data + at), size = number(data + at + 8), len = number(data + at + 16);
        const uint8_t *target = data + at + MEMBER;
        at += MEMBER;
        if (len > o->size - at || from > o->size || size > o->size - from)
            return false;
        at += len;
        if (len < 4 || memcmp(target, "musa", 4) != 0)
            continue;
        if (len >= strlen(want) && memcmp(target + len - strlen(want), want, strlen(want)) == 0) {
            memmove(data, data + from, size);
            o->size = size;
            o->why[0] = '\0';
            return true;
        }
        size_t used = strlen(others);
        (void)snprintf(others + used, sizeof others - used, " %.*s", (int)(len < 64 ? len : 64), (const char *)target);
    }
    (void)snprintf(o->why, sizeof o->why, *others ? "has no code for %s, but for%s" : "is a bundle without device code",
                   want, others);
    return false;
}

void *cumu_mubin_bundle(const void *mubin, size_t size, unsigned arch)
{
    char target[2][48] = {"host-x86_64-unknown-linux"};
    (void)snprintf(target[1], sizeof target[1], "musa-mtgpu-mt-musa--mp_%u", arch);
    uint8_t *out = size < SIZE_MAX / 2 ? calloc(1, MEMBER_AT + size) : NULL;
    if (!out)
        return NULL;
    uint8_t *to = out + MAGIC + 8;
    const uint64_t n = 2;
    memcpy(out, magic, MAGIC);
    memcpy(out + MAGIC, &n, sizeof n);
    for (unsigned k = 0; k < n; k++) {
        const uint64_t row[3] = {MEMBER_AT, k ? size : 0, strlen(target[k])};
        memcpy(to, row, sizeof row);
        memcpy(to + sizeof row, target[k], row[2]);
        to += sizeof row + row[2];
    }
    memcpy(out + MEMBER_AT, mubin, size);
    return out;
}

/* muModuleLoadData takes a mubin, which is an ELF file, and from SDK 5 on a fat binary. */
static bool finish(struct cumu_compiled *o, void *ctx)
{
    static const uint8_t fatbin[] = {0xb1, 0x43, 0x62, 0x46};
    const unsigned *arch = ctx;
    char why[200];
    if (cumu_mubin_unbundle(o, *arch) && o->size > 4 && (!memcmp(o->data, "\177ELF", 4) || !memcmp(o->data, fatbin, 4)))
        return true;
    (void)snprintf(why, sizeof why, "%.190s", *o->why ? o->why : "is neither an ELF file nor a fat binary");
    (void)snprintf(o->why, sizeof o->why, "%.120s: its output %s", *library ? library : tool.path, why);
    o->fault = CUMU_FAULT_TOOL;
    free(o->data);
    o->data = NULL;
    return false;
}

/* The source with forms of the toolkit's own. */
struct formed {
    const struct cumu_musa_source *plain;
    uint32_t set;
};

static bool form_flat(void *ctx, char **text, size_t *size)
{
    const struct formed *f = ctx;
    char *plain;
    if (!f->plain->flat || !f->plain->flat(f->plain->ctx, &plain, size))
        return false;
    *text = cumu_native_text(f->set, plain, *size, size);
    free(plain);
    return *text != NULL;
}

static enum cumu_made make(struct cumu_compiled *o, struct cumu_recipe *r, const struct cumu_musa_source *s,
                           char flags[PATH_MAX + 64], bool compile)
{
    if (!*library)
        return cumu_mcc_make(o, r, s, compile);
    (void)snprintf(flags, PATH_MAX + 64, "--mtrtc %s mp_%u", library, r->entry.isa);
    return cumu_tool_make(o, r, s->text, s->size, compile);
}

/* The object is also kept so that a machine without a compiler finds it by the text. */
static void carried_key(struct cumu_key *key, const struct cumu_musa_source *s, unsigned arch)
{
    char flags[24];
    (void)snprintf(flags, sizeof flags, "mp_%u", arch);
    cumu_tool_key(key, MU_VERSION, "", flags, s->text, s->size);
}

void cumu_mubin_carry(const struct cumu_compiled *o, const struct cumu_musa_source *s, unsigned arch)
{
    struct cumu_entry e = {.isa = arch, .compile_ms = o->ms};
    struct cumu_key key;
    void *there = NULL;
    size_t size;
    carried_key(&key, s, arch);
    (void)snprintf(e.kernel, sizeof e.kernel, "%s", s->kernel);
    if (!cumu_cache_get(&key, &there, &size))
        cumu_cache_put(&key, &e, o->data, o->size);
    free(there);
}

enum cumu_made cumu_mubin_make(struct cumu_compiled *o, const struct cumu_musa_source *s, unsigned arch,
                               enum cumu_want want)
{
    char flags[PATH_MAX + 64];
    const char *why;
    struct cumu_recipe r = {.tool = &tool,
                            .suffix = ".mu",
                            .flags = flags,
                            .version = MU_VERSION,
                            .entry = {.isa = arch},
                            .finish = finish,
                            .ctx = &arch};
    if (!cumu_arch_known(arch)) {
        *o = (struct cumu_compiled){.data = NULL};
        (void)snprintf(o->why, sizeof o->why, "mp_%u is no architecture that is known", arch);
        return CUMU_MADE_FAILED;
    }
    (void)snprintf(r.entry.kernel, sizeof r.entry.kernel, "%s", s->kernel);
    struct cumu_key carried;
    carried_key(&carried, s, arch);
    if (!cumu_musa_compiler(&why)) {
        *o = (struct cumu_compiled){.data = NULL};
        (void)snprintf(o->why, sizeof o->why, "%s", why);
        return cumu_cache_get(&carried, &o->data, &o->size) ? CUMU_MADE_CACHED : CUMU_MADE_FAILED;
    }
    struct formed f = {s, s->native ? *s->native : cumu_native_wanted(arch)};
    struct cumu_musa_source with = *s;
    char *text = f.set ? cumu_native_text(f.set, s->text, s->size, &with.size) : NULL;
    if (text) {
        with.text = text;
        with.flat = s->flat ? form_flat : NULL;
        with.ctx = &f;
    }
    enum cumu_made made = make(o, &r, text ? &with : s, flags, want != CUMU_WANT_CACHED);
    free(text);
    if (want == CUMU_WANT_CARRIED && o->data)
        cumu_mubin_carry(o, s, arch);
    return made;
}

/* Each kernel's entry under the command and the text that it would have been compiled by alone, and what it is called
 * by on machines without a compiler, lead to the object of all. */
static void link_kernel(const struct cumu_recipe *r, const struct cumu_key *object, const struct cumu_musa_source *s,
                        uint32_t forms, bool carried)
{
    struct cumu_entry e = r->entry;
    struct cumu_key key;
    size_t size = s->size;
    (void)snprintf(e.kernel, sizeof e.kernel, "%s", s->kernel);
    char *text = forms ? cumu_native_text(forms, s->text, s->size, &size) : NULL;
    if (!forms || text) {
        cumu_tool_key(&key, MU_VERSION, tool.identity, r->flags, text ? text : s->text, size);
        cumu_cache_link(&key, &e, object);
    }
    free(text);
    carried_key(&key, s, r->entry.isa);
    if (carried)
        cumu_cache_link(&key, &e, object);
}

bool cumu_mubin_make_joined(struct cumu_compiled *o, const struct cumu_musa_source *const *s, unsigned n,
                            const char *text, size_t size, unsigned arch, enum cumu_want want)
{
    char flags[PATH_MAX + 64];
    struct cumu_recipe r = {.tool = &tool,
                            .suffix = ".mu",
                            .flags = flags,
                            .part = 8,
                            .version = MU_VERSION,
                            .entry = {.isa = arch},
                            .finish = finish,
                            .ctx = &arch};
    const uint32_t forms = cumu_native_wanted(arch);
    char *with = cumu_native_text(forms, text, size, &size);
    const struct cumu_musa_source all = {.kernel = s[0]->kernel, .text = with, .size = size};
    struct cumu_key object;
    *o = (struct cumu_compiled){.data = NULL};
    if (!with)
        return false;
    (void)snprintf(r.entry.kernel, sizeof r.entry.kernel, "(%u kernels) %.100s", n, s[0]->kernel);
    enum cumu_made made = CUMU_MADE_FAILED;
    if (*library)
        made = make(o, &r, &all, flags, true);
    else
        made = cumu_mcc_make_once(o, &r, &all, flags);
    if (o->data) {
        cumu_tool_key(&object, MU_VERSION, tool.identity, r.flags, with, size);
        for (unsigned k = 0; k < n; k++)
            link_kernel(&r, &object, s[k], forms, want == CUMU_WANT_CARRIED);
    }
    free(with);
    return made != CUMU_MADE_FAILED && o->data;
}
