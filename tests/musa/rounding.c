/* Compiles the emitted kernels' prelude with rounding.cc and runs it. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ptx/musa/musa.h"

enum { ROUNDS = 200000 };

int main(void)
{
    char dir[] = "/tmp/cumu-rounding-XXXXXX", command[700], path[80];
    size_t size;
    char *text = mu_prelude(&size);
    if (system("command -v ${CXX:-g++} >/dev/null 2>&1") != 0)
        return puts("skip: no C++ compiler"), 77;
    if (!text || !mkdtemp(dir))
        return 1;
    (void)snprintf(path, sizeof path, "%s/prelude.h", dir);
    FILE *f = fopen(path, "w");
    const bool written = f && fwrite(text, 1, size, f) == size;
    (void)snprintf(command, sizeof command,
                   "${CXX:-g++} -std=c++14 -O1 -w -frounding-math -ffp-contract=off -Itests -I%s "
                   "-DCM_PLATFORM='\"musa/host.h\"' -o %s/a tests/musa/rounding.cc -lm && timeout 100 %s/a %u",
                   dir, dir, dir, ROUNDS);
    check(f && !fclose(f) && written && system(command) == 0, "sums, products, quotients and roots in every mode");
    free(text);
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    return check_failures | (system(command) != 0);
}
