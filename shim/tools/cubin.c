/* Cubins that the tools write, and what they share on the way: architectures by name, files written whole. */
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "ptx/ir.h"
#include "tools/tools.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned tool_arch(const char *name, char *suffix, bool *code)
{
    static const char *const kinds[] = {"sm_", "lto_", "compute_"};
    /* Every architecture that some release of ptxas took, and those of 13.0. */
    static const unsigned known[] = {20, 21, 30, 32, 35, 37, 50, 52,  53,  60,  61,  62,  70, 72,
                                     75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t n = strlen(kinds[k]);
        if (strncmp(name, kinds[k], n) != 0)
            continue;
        char *end;
        unsigned long number = strtoul(name + n, &end, 10);
        *suffix = *end;
        *code = k < 2;
        if (end == name + n || (*end && ((*end != 'a' && *end != 'f') || end[1] || number < 90)))
            return 0;
        for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
            if (known[i] == number)
                return known[i];
    }
    return 0;
}

/* The command line, as a note for readers. */
static char *joined(char **argv)
{
    size_t size = 1;
    for (unsigned i = 1; argv[i]; i++)
        size += strlen(argv[i]) + 1;
    char *line = malloc(size), *at = line;
    for (unsigned i = 1; line && argv[i]; i++) {
        at = stpcpy(at, argv[i]);
        *at++ = argv[i + 1] ? ' ' : 0;
    }
    if (line)
        *at = 0;
    return line;
}

char *tool_cubin(const struct ptx_module *m, unsigned arch, bool relocatable, char **argv, size_t *size)
{
    struct fatbin_carried *func = calloc(m->nfunc + 1, sizeof *func);
    char *line = joined(argv), *cubin = NULL;
    unsigned n = 0;
    for (uint32_t i = 0; func && i < m->nfunc; i++)
        if (!m->func[i].is_decl)
            func[n++] = (struct fatbin_carried){.name = m->func[i].name,
                                                .offset = (size_t)(m->func[i].body - m->text),
                                                .size = m->func[i].body_len,
                                                .entry = m->func[i].is_entry};
    struct fatbin_carrier c = {.ptx = m->text,
                               .ptx_len = strnlen(m->text, m->text_len),
                               .options = line,
                               .arch = arch,
                               .relocatable = relocatable,
                               .func = func,
                               .nfunc = n};
    if (func && line)
        cubin = fatbin_carrier_make(&c, size);
    free(func);
    free(line);
    return cubin;
}

bool tool_is_ours(const char *data, size_t size)
{
    return memmem(data, size, FATBIN_CARRIED, sizeof FATBIN_CARRIED) != NULL;
}

unsigned tool_cubin_arch(const char *cubin)
{
    Elf64_Ehdr eh;
    memcpy(&eh, cubin, sizeof eh);
    return eh.e_flags & 0xff;
}

/* A device or pipe (/dev/null) is written as it is; of a file that cannot be written whole nothing is left. */
bool tool_write(const struct tool *t, const char *path, const void *data, size_t size)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        (void)tool_fatal(t, "Output file '%s' could not be opened", path);
        return false;
    }
    bool file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode), good = cumu_write_all(fd, data, size);
    good = close(fd) == 0 && good;
    if (!good) {
        (void)tool_fatal(t, "Output file '%s' could not be written: %s", path, strerror(errno));
        if (file)
            (void)unlink(path);
    }
    return good;
}
