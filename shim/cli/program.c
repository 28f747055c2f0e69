/* Finds the program a name stands for and says what would keep cumu out of it. */
#include "cli/cli.h"
#include "cli/program.h"
#include "core/config.h"
#include "core/tools.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__aarch64__)
enum { MACHINE_HERE = EM_AARCH64 };
#else
enum { MACHINE_HERE = EM_X86_64 };
#endif
enum { MAX_SCRIPTS = 4 }; /* as the kernel's limit on interpreters of interpreters */

static bool runnable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp: a name with a slash is a path; others are searched. */
static int search(char *out, const char *name)
{
    struct stat st;
    if (strchr(name, '/')) {
        if (snprintf(out, PATH_MAX, "%s", name) >= PATH_MAX || stat(name, &st) != 0)
            return cumu_fail(CUMU_EXIT_NOT_FOUND, "%s: %s", name, strerror(errno ? errno : ENAMETOOLONG));
        if (S_ISDIR(st.st_mode))
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: is a folder", name);
        if (!runnable(name))
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: not executable", name);
        return 0;
    }
    const char *path = cumu_env("PATH");
    bool seen = false;
    for (const char *d = path ? path : "/usr/bin:/bin"; *name;) {
        size_t n = strcspn(d, ":");
        int len = snprintf(out, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? d : ".", name);
        if (len < PATH_MAX && runnable(out))
            return 0;
        seen |= len < PATH_MAX && access(out, F_OK) == 0;
        if (!d[n])
            break;
        d += n + 1;
    }
    /* What only the program's own PATH has, cumu's folder of tools, is found from outside as well. */
    const char *ours = cumu_tool_named(name), *dir = ours ? cumu_lib_dir() : NULL;
    if (dir && snprintf(out, PATH_MAX, "%s/" CUMU_TOOLS_FOLDER "%s", dir, ours) < PATH_MAX && runnable(out))
        return 0;
    return seen ? cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: found on PATH but not executable", name)
                : cumu_fail(CUMU_EXIT_NOT_FOUND, "%s: not found on PATH", name);
}

/* The interpreter named by a #! line at the start of file, into out; false if there is none. */
static bool interpreter(const char *file, char out[PATH_MAX])
{
    char line[256];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        (void)close(fd);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    const char *s = line + 2 + strspn(line + 2, " \t");
    size_t len = strcspn(s, " \t");
    (void)snprintf(out, PATH_MAX, "%.*s", (int)len, s);
    return len > 0;
}

bool cumu_program_is_script(const char *path)
{
    char ignored[PATH_MAX];
    return interpreter(path, ignored);
}

/* Is the dynamic linker that a program asks for musl's (/lib/ld-musl-x86_64.so.1)? */
static bool of_musl(int fd, const Elf64_Phdr *interp)
{
    char name[PATH_MAX] = "";
    size_t size = interp->p_filesz < sizeof name ? (size_t)interp->p_filesz : sizeof name - 1;
    return pread(fd, name, size, (off_t)interp->p_offset) > 0 && strstr(name, "/ld-musl-");
}

/* Why a preload cannot reach this file, or NULL. Reads no more than headers: the file may be anything. */
static const char *refuse_elf(int fd, bool library)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf64_Ehdr h;
    } e;
    if (pread(fd, &e, sizeof e, 0) < EI_NIDENT || memcmp(e.ident, ELFMAG, SELFMAG) != 0)
        return "not an ELF file";
    if (e.ident[EI_CLASS] != ELFCLASS64)
        return "a 32-bit program; CUDA and cumu serve 64-bit programs only, so build it for x86-64";
    if (pread(fd, &e, sizeof e, 0) < (ssize_t)sizeof e || e.ident[EI_DATA] != ELFDATA2LSB)
        return CUMU_TRUNCATED " or foreign ELF file";
    if (e.h.e_machine != MACHINE_HERE)
        return "built for another machine; `uname -m` names this one, and `file` the program's";
    if (e.h.e_type != ET_EXEC && e.h.e_type != ET_DYN)
        return "an ELF file that is neither a program nor a shared object";
    if (e.h.e_phentsize != sizeof(Elf64_Phdr))
        return "an ELF file with a damaged header";
    bool dynamic = false, loader = false;
    struct stat st;
    const uint64_t size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    for (unsigned i = 0; i < e.h.e_phnum; i++) {
        Elf64_Phdr ph;
        off_t at = (off_t)(e.h.e_phoff + (Elf64_Off)i * sizeof ph);
        if (pread(fd, &ph, sizeof ph, at) != (ssize_t)sizeof ph)
            return CUMU_TRUNCATED " ELF file";
        if (ph.p_type == PT_LOAD && (ph.p_offset > size || ph.p_filesz > size - ph.p_offset))
            return CUMU_TRUNCATED " ELF file: a segment goes beyond its end";
        dynamic |= ph.p_type == PT_DYNAMIC;
        loader |= ph.p_type == PT_INTERP;
        if (ph.p_type == PT_INTERP && of_musl(fd, &ph))
            return "linked to musl; cumu needs glibc, as CUDA's own libraries do";
    }
    if (!dynamic || (!loader && !library))
        return "statically linked; there is no dynamic linker to preload cumu, so link it without -static";
    return NULL;
}

const char *cumu_program_refusal(const char *image, bool library)
{
    struct stat st;
    int fd = open(image, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return "not readable, so cumu cannot see what it needs";
    const char *why = refuse_elf(fd, library);
    if (!why && fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
        why = "setuid or setgid; the dynamic linker ignores preloads there";
    if (!why && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        why = "given file capabilities; the dynamic linker ignores preloads there";
    (void)close(fd);
    return why;
}

/* cumu run inside cumu run: the tool may be static, and sets the same environment again. */
static bool is_self(const char *image)
{
    struct stat a, b;
    return stat(image, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cumu_program_find(struct cumu_program *p, const char *name)
{
    errno = 0;
    int status = search(p->path, name);
    if (status)
        return status;
    char next[PATH_MAX];
    (void)snprintf(p->image, sizeof p->image, "%s", p->path);
    for (int i = 0; interpreter(p->image, next); i++) {
        if (i == MAX_SCRIPTS)
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: too many interpreters", name);
        if (!runnable(next))
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: its interpreter %s does not run", p->image, next);
        memcpy(p->image, next, sizeof next);
    }
    const char *why = is_self(p->image) ? NULL : cumu_program_refusal(p->image, false);
    if (why)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", p->image, why);
    return 0;
}

int cumu_program_file(char path[PATH_MAX], const char *name)
{
    struct cumu_program p;
    if (strchr(name, '/') || access(name, R_OK) == 0)
        (void)snprintf(path, PATH_MAX, "%s", name);
    else if (cumu_program_find(&p, name) == 0)
        (void)snprintf(path, PATH_MAX, "%s", p.image);
    else
        return CUMU_EXIT_NOT_FOUND;
    return access(path, R_OK) == 0 ? 0 : cumu_fail(CUMU_EXIT_NOT_FOUND, "%s: cannot be read", path);
}
