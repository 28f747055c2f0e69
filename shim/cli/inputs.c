/* Finds the ELF files below a folder or in an archive. */
#include "cli/inputs.h"
#include "cli/cli.h"
#include "cli/program.h"
#include "cli/wheel.h"
#include "cli/zip.h"
#include "core/config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN_FOLDERS = 32 };

static struct check_inputs *walked; /* nftw hands nothing on; the tool walks one folder at a time */
static bool nomem;

static bool add(struct check_inputs *in, const char *path, char *name)
{
    struct check_input *grown = name ? realloc(in->file, (in->count + 1) * sizeof *grown) : NULL;
    if (grown)
        in->file = grown;
    char *copy = grown ? strdup(path) : NULL;
    if (!copy) {
        free(name);
        return false;
    }
    in->file[in->count++] = (struct check_input){copy, name};
    return true;
}

/* 1 ELF, 0 something else, -1 with errno. */
static int is_elf(const char *path)
{
    char magic[SELFMAG];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, magic, sizeof magic);
    (void)close(fd);
    return n == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)where;
    if (type == FTW_DNR || type == FTW_NS) {
        walked->unreadable++;
        (void)cumu_fail(0, "%s: cannot be read", path);
        return 0;
    }
    if (type != FTW_F || !S_ISREG(st->st_mode))
        return 0;
    int elf = is_elf(path);
    if (elf < 0) {
        walked->unreadable++;
        (void)cumu_fail(0, "%s: %s", path, strerror(errno));
    }
    if (elf > 0 && !add(walked, path, strdup(path)))
        nomem = true;
    return nomem;
}

static int by_name(const void *a, const void *b)
{
    const struct check_input *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static bool lists(const char *folders, const char *dir, size_t n)
{
    for (const char *s = folders; s && *s;) {
        size_t len = strcspn(s, ":");
        if (len == n && memcmp(s, dir, n) == 0)
            return true;
        s += len + (s[len] == ':');
    }
    return false;
}

/* What a folder brings along counts as found, whichever way its programs find it. */
static bool list_folders(struct check_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        const char *path = in->file[i].path, *base = strrchr(path, '/');
        size_t n = base ? (size_t)(base - path) : 0;
        if (!base || !strstr(base, ".so") || lists(in->folders, path, n))
            continue;
        char *longer;
        if (asprintf(&longer, "%s%s%.*s", in->folders ? in->folders : "", in->folders ? ":" : "", (int)n, path) < 0)
            return false;
        free(in->folders);
        in->folders = longer;
    }
    return true;
}

static int folder(struct check_inputs *in, const char *path)
{
    in->many = true;
    walked = in;
    nomem = false;
    if (nftw(path, visit, OPEN_FOLDERS, FTW_PHYS) < 0)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", path, strerror(errno));
    return 0;
}

struct archive {
    struct check_inputs *in;
    const char *path;
};

static void left_out(void *ctx, const char *member, const char *why)
{
    struct archive *a = ctx;
    a->in->unreadable++;
    (void)cumu_fail(0, "%s: %s %s", a->path, member, why);
}

static int erase(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    (void)remove(path);
    return 0;
}

/* The process that removes what was unpacked when the pipe's other end closes: in the end, or because this process was
 * ended, by whatever signal. Ctrl-C is not for it. */
static _Noreturn void remove_later(const char *path, int end)
{
    char byte;
    (void)setsid();
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_IGN);
    (void)dup2(end, 0); /* the other end, and those of earlier archives, are closed; so are the caller's pipes */
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 1u, ~0u, 0u) != 0)
#endif
        for (int fd = 1; fd < 1024; fd++)
            (void)close(fd);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    (void)nftw(path, erase, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

/* Without a second process the folder goes in the end alone. */
static void watch(struct check_inputs *in)
{
    int end[2];
    if (pipe2(end, O_CLOEXEC) != 0)
        return;
    in->remover = fork();
    if (in->remover == 0)
        remove_later(in->unpacked, end[0]);
    (void)close(end[0]);
    in->lifeline = end[1];
}

static void remove_unpacked(struct check_inputs *in)
{
    if (in->lifeline >= 0)
        (void)close(in->lifeline);
    if (in->remover > 0)
        (void)waitpid(in->remover, NULL, 0);
    else if (in->unpacked)
        (void)nftw(in->unpacked, erase, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(in->unpacked);
}

/* Unpacks a wheel or zip into a folder of its own and checks what it holds; files are shown by the archive's name,
 * as the folder is gone afterwards. */
static int archive(struct check_inputs *in, const char *path)
{
    struct archive a = {in, path};
    const char *tmp = cumu_env("TMPDIR");
    if (asprintf(&in->unpacked, "%s/cumu-check.XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
        in->unpacked = NULL;
        nomem = true;
        return 0;
    }
    if (!mkdtemp(in->unpacked)) {
        int status = cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", in->unpacked, strerror(errno));
        free(in->unpacked);
        in->unpacked = NULL;
        return status;
    }
    watch(in);
    cumu_wheel_look(path);
    const char *why = cumu_zip_unpack(path, in->unpacked, left_out, &a);
    if (why)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", path, why);
    int status = folder(in, in->unpacked);
    for (size_t i = 0; i < in->count; i++) {
        char *shown;
        if (asprintf(&shown, "%s%s", path, in->file[i].path + strlen(in->unpacked)) < 0)
            return nomem = true, status;
        free(in->file[i].name);
        in->file[i].name = shown;
    }
    return status;
}

int check_inputs_make(struct check_inputs *in, const char *operand)
{
    char path[PATH_MAX];
    struct stat st;
    *in = (struct check_inputs){.remover = -1, .lifeline = -1};
    nomem = false;
    int status = cumu_program_file(path, operand);
    if (status)
        return status;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        status = folder(in, path);
    else if (cumu_zip_is(path))
        status = archive(in, path);
    else
        nomem = !add(in, path, strdup(operand));
    if (status)
        return status;
    if (in->count > 1)
        qsort(in->file, in->count, sizeof *in->file, by_name);
    if (nomem || (in->many && !list_folders(in)))
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: out of memory", operand);
    if (in->many && !in->count)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: no ELF file in it", operand);
    return 0;
}

void check_inputs_free(struct check_inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        free(in->file[i].path);
        free(in->file[i].name);
    }
    free(in->file);
    free(in->folders);
    remove_unpacked(in);
}
