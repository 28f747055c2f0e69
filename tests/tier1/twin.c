/* The structs that kernels of tier 1 see through the prelude are those of tier1.h, and the prelude
 * compiles by itself for every instruction set. Skipped without a compiler. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "ptx/tier1/tier1.h"

#define AT(S, field) \
    { \
#S, #field, offsetof(struct S, field) \
    }
static const struct {
    const char *type, *field;
    size_t at;
} fields[] = {AT(t1_block, shared),
              AT(t1_block, params),
              AT(t1_block, externs),
              AT(t1_block, local),
              AT(t1_block, local_stride),
              AT(t1_block, ctaid),
              AT(t1_block, nctaid),
              AT(t1_block, ntid),
              AT(t1_block, nthreads),
              AT(t1_block, nwarps),
              AT(t1_block, dynamic_shared),
              AT(t1_block, shared_size),
              AT(t1_block, smid),
              AT(t1_block, nsm),
              AT(t1_block, grid_id),
              AT(t1_block, envreg12),
              AT(t1_block, stacks),
              AT(t1_block, stack_size),
              AT(t1_block, current),
              AT(t1_block, services),
              AT(t1_block, worker),
              AT(t1_block, cluster_shared),
              AT(t1_block, cluster_barrier),
              AT(t1_block, cluster),
              AT(t1_block, cluster_size),
              AT(t1_block, rank),
              AT(t1_block, explicit_cluster),
              AT(t1_block, patience),
              AT(t1_cluster, live),
              AT(t1_cluster, arrived),
              AT(t1_cluster, generation),
              AT(t1_block, shared_used),
              AT(t1_block, ranges),
              AT(t1_block, others_run),
              AT(t1_services, fault),
              AT(t1_services, print),
              AT(t1_services, dev_malloc),
              AT(t1_services, dev_free),
              AT(t1_services, assert_fail),
              AT(t1_services, stopped),
              AT(t1_services, clock),
              AT(t1_services, globaltimer),
              AT(t1_services, alu),
              AT(t1_services, exec),
              AT(t1_services, device),
              AT(t1_services, watch),
              AT(t1_services, race),
              AT(t1_services, gather),
              AT(t1_services, met),
              AT(t1_row, wide),
              AT(t1_row, narrow),
              AT(t1_row, first),
              AT(t1_row, stride),
              AT(t1_row, elements),
              AT(t1_row, value),
              AT(t1_watched, pc),
              AT(t1_rows, row),
              AT(t1_rows, carry),
              AT(t1_info, version),
              AT(t1_info, isa),
              AT(t1_info, shape),
              AT(t1_info, barriers),
              AT(t1_info, stack_size),
              AT(t1_info, watched)};
#define SIZE(S) \
    { \
#S, sizeof(struct S) \
    }
static const struct {
    const char *type;
    size_t size;
} sizes[] = {SIZE(t1_block), SIZE(t1_cluster), SIZE(t1_services), SIZE(t1_rows), SIZE(t1_info), SIZE(t1_row)};

static bool write_text(const char *path, bool broken)
{
    size_t size;
    const char *text = t1_prelude(&size);
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fwrite(text, 1, size, f);
    for (unsigned k = 0; k < sizeof fields / sizeof fields[0]; k++)
        fprintf(f, "_Static_assert(__builtin_offsetof(struct %s, %s) == %zu, \"%s.%s\");\n", fields[k].type,
                fields[k].field, fields[k].at + (broken && k == 5), fields[k].type, fields[k].field);
    for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        fprintf(f, "_Static_assert(sizeof(struct %s) == %zu, \"size of %s\");\n", sizes[k].type, sizes[k].size,
                sizes[k].type);
    return fclose(f) == 0;
}

int main(void)
{
    static const char *const names[] = {"plain", "avx2", "avx512"};
    char dir[] = "/tmp/cumu-twin-XXXXXX", path[64], command[2048];
    if (system("command -v cc >/dev/null")) {
        printf("skip: no compiler\n");
        return 77;
    }
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/twin.c", dir);
    for (int isa = 0; isa <= (int)t1_isa_here(); isa++)
        for (int fibres = 0; fibres < 2; fibres++)
            for (int broken = 0; broken < 2; broken++) { /* a wrong offset must be noticed */
                snprintf(command, sizeof command, "cc %s -DT1_FIBRES=%d -fsyntax-only %s %s",
                         t1_isa_flags((enum t1_isa)isa), fibres, path, broken ? "2>/dev/null" : "");
                bool good = write_text(path, broken) && (system(command) == 0) == !broken;
                check(good, "the prelude's structs for %s, fibres %d%s", names[isa], fibres,
                      broken ? ", one moved" : "");
            }
    unlink(path);
    rmdir(dir);
    return check_end("the prelude's structs");
}
