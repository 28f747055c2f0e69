/* Another device for a while. */
#include "api/visit.h"

int cumu_visit(struct cumu_visit *v, int device)
{
    *v = (struct cumu_visit){0};
    int err = mu.musaGetDevice(&v->device);
    if (err || v->device == device)
        return err;
    (void)mu.muCtxGetCurrent(&v->context); /* NULL where there is none */
    err = mu.musaSetDevice(device);
    v->away = !err;
    return err;
}

void cumu_visit_end(const struct cumu_visit *v)
{
    if (!v->away)
        return;
    (void)mu.musaSetDevice(v->device); /* makes its primary context current, which need not have been */
    if (v->context)
        (void)mu.muCtxSetCurrent(v->context);
}
