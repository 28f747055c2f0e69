/* Options of nvrtcCompileProgram: which architecture they ask for. */
#include "api/nvrtc/nvrtc.h"

#include <stdlib.h>
#include <string.h>

/* sm_N as compute_N; architectures have few digits and one letter at most. */
struct name {
    char text[48];
};

/* Where the architecture of an option stands: behind = or a blank; "" when it is the next option. */
static const char *architecture(const char *option)
{
    static const char *const keys[] = {"--gpu-architecture", "-arch"};
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = strlen(keys[i]);
        if (strncmp(option, keys[i], n) != 0)
            continue;
        if (option[n] == '\0')
            return option + n;
        if (option[n] == '=' || option[n] == ' ')
            return option + n + 1 + strspn(option + n + 1, " ");
    }
    return NULL;
}

/* `option` with the architecture at `at` made virtual, in *to; the option itself if it is virtual, or
 * too odd to be one. */
static const char *virtual_form(const char *option, const char *at, struct name *to, bool *real)
{
    size_t head = (size_t)(at - option);
    if (strncmp(at, "sm_", 3) != 0 || head + strlen(at) + sizeof "compute_" > sizeof to->text)
        return option;
    memcpy(to->text, option, head);
    strcpy(to->text + head, "compute_");
    strcat(to->text, at + 3);
    *real = true;
    return to->text;
}

const char **cumu_nvrtc_options(const char *const *options, int *n, bool keep_arch, bool *real)
{
    size_t count = *n > 0 ? (size_t)*n : 0, used = 0;
    const char **out = malloc(count * (sizeof *out + sizeof(struct name)) + 1);
    struct name *names = out ? (struct name *)(void *)(out + count) : NULL;
    *real = false;
    for (size_t i = 0; out && i < count; i++) {
        const char *at = options[i] ? architecture(options[i]) : NULL;
        bool next = at && !*at && i + 1 < count && options[i + 1];
        if (at && keep_arch && !next) {
            out[used++] = virtual_form(options[i], at, &names[i], real);
        } else if (next) {
            const char *value = virtual_form(options[i + 1], options[i + 1], &names[i], real);
            if (keep_arch) {
                out[used++] = options[i];
                out[used++] = value;
            }
            i++;
        } else if (!at) {
            out[used++] = options[i];
        }
    }
    *n = (int)used;
    return out;
}
