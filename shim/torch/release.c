/* Which PyTorch is loaded: read from the library, and its numbers compared with the names that it gives them. */
#include "torch/torch.h"

#include "core/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* at::show_config() returns a std::string. Of both ABIs of libstdc++ the first word points to the text, and
 * 32 bytes hold either. The string is left to the process: once, some 2 KiB. */
static const char *configuration(void)
{
    static char *text[4];
    void *(*show)(void *);
    static const char *const names[] = {"_ZN2at11show_configB5cxx11Ev", "_ZN2at11show_configEv"};
    for (unsigned i = 0; i < 2; i++) {
        *(void **)&show = cumu_torch_find(names[i]);
        if (show) {
            (void)show(text);
            return text[0];
        }
    }
    return NULL;
}

/* Copies "2.7.1" out of "... TORCH_VERSION=2.7.1, ...". */
static bool version_of(const char *config, char *out, size_t room)
{
    static const char key[] = "TORCH_VERSION=";
    const char *at = config ? strstr(config, key) : NULL;
    if (!at)
        return false;
    at += sizeof key - 1;
    int n = (int)strcspn(at, ", \n");
    return snprintf(out, room, "%.*s", n, at) > 0;
}

/* Is `full` "2.7.1" of the release "2.7"? */
static bool belongs(const char *full, const char *release)
{
    size_t n = strlen(release);
    return strncmp(full, release, n) == 0 && (full[n] == '.' || !full[n] || full[n] == '+');
}

/* c10::toString(DispatchKey) is the library's own word on its numbers. */
static bool agrees(const struct cumu_torch_release *r, const char *version)
{
    const char *(*name)(uint16_t);
    *(void **)&name = cumu_torch_find("_ZN3c108toStringENS_11DispatchKeyE");
    for (const struct cumu_torch_number *n = r->numbers; name && n->cuda; n++) {
        if (n->device)
            continue;
        const char *from = name(n->from), *to = name(n->to);
        if (strcmp(from, n->cuda) != 0 || strcmp(to, n->musa) != 0) {
            cumu_log(NULL, CUMU_ERROR, "torch", NULL,
                     "PyTorch %s calls dispatch keys %u and %u %s and %s, not %s and %s as in release %s: CUDA "
                     "extensions are not taken over",
                     version, n->from, n->to, from, to, n->cuda, n->musa, r->version);
            return false;
        }
    }
    if (!name)
        cumu_log(NULL, CUMU_ERROR, "torch", NULL,
                 "PyTorch %s does not name its dispatch keys: CUDA extensions are "
                 "not taken over",
                 version);
    return name != NULL;
}

static const struct cumu_torch_release *find_release(void)
{
    char version[64];
    const char *config = configuration();
    if (!version_of(config, version, sizeof version)) {
        cumu_log(NULL, CUMU_ERROR, "torch", NULL, "%s: CUDA extensions are not taken over",
                 config ? "the loaded PyTorch does not say its version" : "no PyTorch is loaded");
        return NULL;
    }
    for (const struct cumu_torch_release *r = cumu_torch_releases; r->version; r++)
        if (belongs(version, r->version))
            return agrees(r, version) ? r : NULL;
    cumu_log(NULL, CUMU_ERROR, "torch", NULL,
             "PyTorch %s is not known (mapping/torch has no %s.numbers): CUDA "
             "extensions are not taken over",
             version, version);
    return NULL;
}

const struct cumu_torch_release *cumu_torch_release(void)
{
    static _Atomic(const struct cumu_torch_release *) known;
    static const struct cumu_torch_release unknown;
    const struct cumu_torch_release *r = atomic_load(&known);
    if (!r) {
        r = find_release(); /* two threads may find the same */
        atomic_store(&known, r ? r : &unknown);
    }
    return r && r->version ? r : NULL;
}

int cumu_torch_number(const char *cuda, bool device, bool musa)
{
    const struct cumu_torch_release *r = cumu_torch_release();
    for (const struct cumu_torch_number *n = r ? r->numbers : NULL; n && n->cuda; n++)
        if (n->device == device && strcmp(n->cuda, cuda) == 0)
            return musa ? n->to : n->from;
    return -1;
}
