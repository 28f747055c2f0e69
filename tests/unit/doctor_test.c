/* What a report of `cumu doctor` keeps of a text, and what names the person or the machine and goes. */
#include <stdlib.h>

#include "cli/doctor_file.h"
#include "unit/unit.h"

int main(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"operator / of f32", "operator / of f32"},
        {"/usr/local/musa/bin/mcc: status 1", "/usr/local/musa/bin/mcc: status 1"},
        {"/srv/alice/sdk/bin/mcc: status 1", "<path>/mcc: status 1"},
        {"in /srv/secret/of/hers, line 3", "in <path>, line 3"},
        {"/home/alice b/x/kernel.mu:3", "<path><path>/kernel.mu:3"},
        {"GPU 01234567-89ab-cdef-0123-456789abcdef at 00:1a:2B:3c:4d:5e.", "GPU <id> at <id>."},
        {"built by alice, at 12:30:00", "built by <name>, at 12:30:00"},
    };
    char got[200];
    setenv("HOME", "/home/alice b", 1);
    setenv("USER", "alice", 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        doctor_tidy(got, sizeof got, cases[k].text);
        check_text(got, cases[k].want, cases[k].text);
    }
    return check_end("unit doctor");
}
