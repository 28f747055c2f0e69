/* Finds SuiteSparse's libraries. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "api/api.h"
#include "api/cusolver/suitesparse.h"

static struct cumu_suitesparse functions;
static bool found;

/* Sonames of SuiteSparse 7 and 5, the newest first. */
static const struct {
    const char *sonames[4];
    const char *functions[12];
    size_t offset; /* of the first; the others follow it */
} libraries[] = {
    {{"libamd.so.3", "libamd.so.2"}, {"amd_order"}, offsetof(struct cumu_suitesparse, amd_order)},
    {{"libbtf.so.2", "libbtf.so.1"}, {"btf_maxtrans"}, offsetof(struct cumu_suitesparse, btf_maxtrans)},
    {{"libklu.so.2", "libklu.so.1"},
     {"klu_defaults", "klu_analyze_given", "klu_factor", "klu_z_factor", "klu_extract", "klu_z_extract",
      "klu_free_symbolic", "klu_free_numeric", "klu_z_free_numeric"},
     offsetof(struct cumu_suitesparse, klu_defaults)},
    {{"libspqr.so.4", "libspqr.so.3", "libspqr.so.2"}, /* and with it CHOLMOD */
     {"cholmod_l_start", "cholmod_l_finish", "cholmod_l_free_sparse", "cholmod_l_free_dense", "cholmod_l_free",
      "SuiteSparseQR_C"},
     offsetof(struct cumu_suitesparse, cholmod_l_start)},
};

/* What cholmod_common's head says after cholmod_l_start, if it is the struct that we take it for. */
static bool as_described(void)
{
    struct cumu_spqr_common c;
    memset(&c, 0xa5, sizeof c);
    bool same = functions.cholmod_l_start(&c) && c.print == 3 && c.precise == 0 && c.try_catch == 0;
    functions.cholmod_l_finish(&c);
    return same;
}
static void find(void)
{
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++) {
        void *library = NULL;
        for (int i = 0; !library && libraries[k].sonames[i]; i++)
            library = dlopen(libraries[k].sonames[i], RTLD_NOW | RTLD_LOCAL);
        char *to = (char *)&functions + libraries[k].offset;
        for (int i = 0; libraries[k].functions[i]; i++, to += sizeof(void *)) {
            void *f = library ? dlsym(library, libraries[k].functions[i]) : NULL;
            if (!f)
                return;
            memcpy(to, &f, sizeof f);
        }
    }
    found = as_described();
}

const struct cumu_suitesparse *cumu_suitesparse(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    if (!found)
        cumu_gap("cusolver", "cusolverSp",
                 "sparse factors need SuiteSparse's KLU and SPQR (packages libklu1 and "
                 "libspqr2, or libsuitesparse-dev)");
    return found ? &functions : NULL;
}
