/* Several kernels in one text, for one run of the compiler: the prelude once, and what each kernel has of its own in
 * a namespace of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/musa/musa.h"

/* The first line names the kernel. */
static const char *shared_part(const struct mu_part *p, size_t *size)
{
    const char *end = p->text + p->info->prelude, *line = memchr(p->text, '\n', p->info->prelude);
    const char *from = line ? line + 1 : end;
    *size = (size_t)(end - from);
    return from;
}

bool mu_joinable(const struct mu_part *a, const struct mu_part *b)
{
    size_t na, nb;
    const char *of_a = shared_part(a, &na), *of_b = shared_part(b, &nb);
    return !a->info->barriers && !b->info->barriers && strcmp(a->info->symbol, b->info->symbol) != 0 && na == nb &&
           memcmp(of_a, of_b, na) == 0;
}

void mu_externs_name(const struct mu_info *info, char name[MU_EXTERNS_NAME])
{
    (void)snprintf(name, MU_EXTERNS_NAME, "%s_externs", info->symbol);
}

/* What each text calls alike gets the kernel's number or name. A platform of the tests' has shared memory of its own
 * kind; CM_PART tells it whose it is. */
static void write_part(FILE *f, const struct mu_part *p, unsigned k)
{
    char externs[MU_EXTERNS_NAME];
    mu_externs_name(p->info, externs);
    (void)fprintf(f,
                  "namespace cm_%u { using namespace cm; }\n#define cm cm_%u\n#define " MU_EXTERNS " %s\n"
                  "#ifdef CM_PLATFORM\n#define CM_PART %s\n#else\n#define shared_memory shared_memory_%u\n#endif\n",
                  k, k, externs, p->info->symbol, k);
    (void)fwrite(p->text + p->info->prelude, 1, p->size - p->info->prelude, f);
    (void)fprintf(f, "\n#undef cm\n#undef " MU_EXTERNS "\n#undef CM_IN_FRONT\n"
                     "#ifdef CM_PLATFORM\n#undef CM_PART\n#else\n#undef shared_memory\n#endif\n");
}

char *mu_join(const struct mu_part *part, unsigned n, size_t *size)
{
    char *text = NULL;
    *size = 0;
    FILE *f = open_memstream(&text, size);
    if (!f)
        return NULL;
    (void)fwrite(part->text, 1, part->info->prelude, f);
    for (unsigned k = 0; k < n; k++)
        write_part(f, &part[k], k);
    bool good = !ferror(f);
    if (fclose(f) == 0 && good)
        return text;
    free(text);
    return NULL;
}
