/* Fuzz target of `cumu check` on one file: headers, symbols, strings, fat binaries of whatever it is given. */
#include "cli/program.h"
#include "cli/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cumu_table *const none[] = {NULL};
    char path[64];
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
        struct check_report r = {.program = "fuzz", .tables = none};
        struct cumu_closure c = {0};
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        (void)cumu_program_refusal(path, true);
        if (cumu_closure_read(&c, path, NULL, NULL) && c.count) {
            (void)elf_version(EV_CURRENT);
            Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
            check_libraries(&r, &c);
            if (elf) {
                check_imports(&r, &c, path, "fuzz", elf);
                check_strings(&r, elf);
                check_fatbins(&r, "fuzz", elf);
                (void)elf_end(elf);
            }
            check_judge(&r);
        }
        cumu_closure_free(&c);
        check_free(&r);
    }
    if (fd >= 0)
        (void)close(fd);
    return 0;
}
