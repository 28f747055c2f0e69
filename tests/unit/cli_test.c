/* The tool's inside: the ELF closure, the order of preloads, what is refused. */
#include "cli/closure.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "unit/unit.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[] = "/tmp/cumu-cli-XXXXXX";

static bool compile(const char *source, const char *output, const char *flags)
{
    char command[2048];
    (void)snprintf(command, sizeof command,
                   "cd %s && printf '%s' | cc -x c - -x none -o %s -Wl,--no-as-needed %s 2>/dev/null", root, source,
                   output, flags);
    return system(command) == 0;
}

static const char *path_in(const char *name)
{
    static char paths[2][512]; /* a statement may need two */
    static unsigned turn;
    char *path = paths[turn++ % 2];
    (void)snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static bool is_facade(const char *soname) { return strcmp(soname, "libfacade.so.1") == 0; }

static void closure(void)
{
    bool built = mkdir(path_in("rp"), 0700) == 0 && mkdir(path_in("run"), 0700) == 0 &&
                 mkdir(path_in("ld"), 0700) == 0 &&
                 compile("int deep;", "rp/libdeep.so", "-shared -Wl,-soname,libdeep.so") &&
                 compile("int facade;", "libfacade.so.1", "-shared -Wl,-soname,libfacade.so.1") &&
                 compile("int a;", "run/liba.so",
                         "-shared rp/libdeep.so -Wl,-soname,liba.so "
                         "-Wl,--allow-shlib-undefined") &&
                 compile("int b;", "ld/libb.so", "-shared -Wl,-soname,libb.so") &&
                 compile("int main(void){return 0;}", "runpath",
                         "run/liba.so ld/libb.so libfacade.so.1 -Wl,--enable-new-dtags,-rpath,\\$ORIGIN/run "
                         "-Wl,--allow-shlib-undefined") &&
                 compile("int main(void){return 0;}", "rpath",
                         "run/liba.so ld/libb.so -Wl,--disable-new-dtags,-rpath,\\${ORIGIN}/run:\\$ORIGIN/rp");
    if (!built) {
        printf("skip closure: no compiler\n");
        return;
    }
    struct cumu_closure c;
    check(cumu_closure_read(&c, path_in("runpath"), NULL, is_facade), "closure is read");
    const struct cumu_object *a = cumu_closure_find(&c, "liba.so"), *b = cumu_closure_find(&c, "libb.so"),
                             *f = cumu_closure_find(&c, "libfacade.so.1"), *deep = cumu_closure_find(&c, "libdeep.so"),
                             *libc = cumu_closure_find(&c, "libc.so.6");
    check(a && a->path && strstr(a->path, "/run/liba.so"), "DT_RUNPATH with $ORIGIN");
    check(b && !b->path, "what is nowhere has no path");
    check(f && f->facade && !f->path, "a facade is not read");
    check(deep && !deep->path, "DT_RUNPATH does not count for dependencies of dependencies");
    check(libc && libc->path, "the default folders");
    cumu_closure_free(&c);

    check(cumu_closure_read(&c, path_in("rpath"), path_in("ld"), NULL), "closure is read");
    deep = cumu_closure_find(&c, "libdeep.so");
    b = cumu_closure_find(&c, "libb.so");
    check(deep && deep->path && strstr(deep->path, "/rp/libdeep.so"), "DT_RPATH counts for them");
    check(b && b->path && strstr(b->path, "/ld/libb.so"), "LD_LIBRARY_PATH");
    cumu_closure_free(&c);

    check(cumu_closure_read(&c, path_in("nothing"), NULL, NULL) && c.count == 1, "no such file: no needs");
    cumu_closure_free(&c);
}

static void merge(const char *callers, const char *ours, const char *want, const char *what)
{
    char *got = cumu_launch_merge(callers, ours);
    check_text(got, want, what);
    free(got);
}

static void preloads(void)
{
    merge(NULL, "/f/a", "/f/a", "ours alone");
    merge("/x.so", "/f/a:/f/b", "/f/a:/f/b:/x.so", "the caller's are kept, after ours");
    merge("/x.so /usr/lib/libasan.so.8:/y.so", "/f/a", "/usr/lib/libasan.so.8:/f/a:/x.so:/y.so",
          "a sanitizer stays first");
    merge("/f/a:/x.so", "/f/a:/f/b", "/f/a:/f/b:/x.so", "nothing twice");
    merge("", "", "", "nothing at all");
}

/* The first bytes of an ELF file, as the refusals read them. */
static const char *refusal(unsigned char class, uint16_t machine, uint16_t type, uint32_t segment, size_t size,
                           bool library)
{
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT},
                    .e_type = type,
                    .e_machine = machine,
                    .e_phoff = sizeof h,
                    .e_phnum = 1,
                    .e_phentsize = sizeof(Elf64_Phdr)};
    static const char musl[] = "/lib/ld-musl-x86_64.so.1"; /* behind the headers, where the size says so */
    Elf64_Phdr p = {.p_type = segment, .p_offset = sizeof h + sizeof p, .p_filesz = sizeof musl};
    char bytes[sizeof h + sizeof p + sizeof musl];
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, &p, sizeof p);
    memcpy(bytes + sizeof h + sizeof p, musl, sizeof musl);
    FILE *f = fopen(path_in("elf"), "w");
    if (!f)
        return "fopen";
    (void)fwrite(bytes, 1, size, f);
    (void)fclose(f);
    const char *why = cumu_program_refusal(path_in("elf"), library);
    return why ? why : "good";
}

static void refusals(void)
{
#if defined(__aarch64__)
    enum { HERE = EM_AARCH64, ELSEWHERE = EM_X86_64 };
#else
    enum { HERE = EM_X86_64, ELSEWHERE = EM_AARCH64 };
#endif
    size_t all = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    check(strstr(refusal(ELFCLASS64, HERE, ET_DYN, PT_LOAD, 3, false), "not an ELF"), "three bytes");
    check(strstr(refusal(ELFCLASS32, EM_386, ET_EXEC, PT_INTERP, all, false), "32-bit"), "32-bit");
    check(strstr(refusal(ELFCLASS64, ELSEWHERE, ET_EXEC, PT_INTERP, all, false), "machine"), "machine");
    check(strstr(refusal(ELFCLASS64, HERE, ET_REL, PT_INTERP, all, false), "neither"), "object file");
    check(strstr(refusal(ELFCLASS64, HERE, ET_EXEC, PT_LOAD, all + 25, false), "static"), "static");
    check(strstr(refusal(ELFCLASS64, HERE, ET_DYN, PT_DYNAMIC, all, false), "static"), "static-pie");
    check(strstr(refusal(ELFCLASS64, HERE, ET_DYN, PT_DYNAMIC, all, true), "good"), "a shared object");
    check(strstr(refusal(ELFCLASS64, HERE, ET_DYN, PT_LOAD, all - 8, false), "truncated"), "cut off");
    check(strstr(refusal(ELFCLASS64, HERE, ET_DYN, PT_LOAD, all + 24, true), "truncated"), "a segment cut off");
    check(strstr(refusal(ELFCLASS64, HERE, ET_DYN, PT_INTERP, all + 25, false), "musl"), "musl");
    check(cumu_program_refusal("/proc/self/exe", false) == NULL, "this very program");
    (void)refusal(ELFCLASS64, HERE, ET_DYN, PT_DYNAMIC, all, true);
    (void)chmod(path_in("elf"), 04755);
    const char *why = cumu_program_refusal(path_in("elf"), true);
    check(why && strstr(why, "setuid"), "setuid");
}

int main(void)
{
    if (!mkdtemp(root)) {
        printf("skip: no temporary folder\n");
        return 77;
    }
    closure();
    preloads();
    refusals();
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) == 0 ? check_failures : 1;
}
