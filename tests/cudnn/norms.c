/* cuDNN's graphs of normalisation against plain loops: norms of all modes, forward and backward. */
#include "graph.h"

struct norm {
    int mode, dim[4], feature[4], kept[4]; /* shapes of scale, and of what is kept */
};
static struct norm random_norm(int mode)
{
    struct norm n = {.mode = mode, .dim = {2 + upto(2), 1 + upto(4), 1 + upto(4), 2 + upto(4)}};
    for (int i = 0; i < 4; i++) {
        bool layer = mode == CUDNN_LAYER_NORM || mode == CUDNN_RMS_NORM;
        bool reduced = layer ? i > 0 : mode == CUDNN_INSTANCE_NORM ? i > 1 : i != 1;
        n.kept[i] = reduced ? 1 : n.dim[i];
        n.feature[i] = layer ? (i > 0 ? n.dim[i] : 1) : i == 1 ? n.dim[1] : 1;
    }
    return n;
}
static int within(const int *dim, const int *shape,
                  int i) /* element i of shape lies where in dim, whose 1s serve all? */
{
    int index[4], at = 0;
    for (int d = 3; d >= 0; i /= shape[d], d--)
        index[d] = i % shape[d];
    for (int d = 0; d < 4; d++)
        at = at * dim[d] + (dim[d] > 1 ? index[d] : 0);
    return at;
}
static void norms(int mode, int type)
{
    struct norm n = random_norm(mode);
    bool centred = mode != CUDNN_RMS_NORM, running = mode == CUDNN_BATCH_NORM;
    struct tensor x = make(type, 4, n.dim, upto(2), false, false), y = make(type, 4, n.dim, upto(2), false, false);
    struct tensor dy = make(type, 4, n.dim, upto(2), false, false), dx = make(type, 4, n.dim, 0, false, false);
    struct tensor scale = make(F32, 4, n.feature, 0, false, false), bias = make(F32, 4, n.feature, 0, false, false);
    struct tensor mean = make(F32, 4, n.kept, 0, false, false), inverse = make(F32, 4, n.kept, 0, false, false);
    struct tensor ds = make(F32, 4, n.feature, 0, false, false), db = make(F32, 4, n.feature, 0, false, false);
    struct tensor old = make(F32, 4, n.kept, 0, false, false), new = make(F32, 4, n.kept, 0, false, false);
    struct tensor var = make(F32, 4, n.kept, 0, false, false), nvar = make(F32, 4, n.kept, 0, false, false);
    float epsilon = 0.5f, factor = 0.25f; /* large enough for types of few digits */
    int kept = count(&mean), all = count(&x), each = all / kept, features = count(&scale);
    double *m = calloc((size_t)kept * 6 + (size_t)features * 2 + (size_t)all * 2, sizeof *m), *v = m + kept,
           *inv = v + kept;
    double *g = inv + kept, *gx = g + kept, *run = gx + kept, *wds = run + kept, *wdb = wds + features,
           *wy = wdb + features;
    double *wdx = wy + all;
    for (int i = 0; centred && i < all; i++)
        m[within(n.kept, n.dim, i)] += x.v[i] / each;
    for (int i = 0; i < all; i++) {
        int k = within(n.kept, n.dim, i);
        v[k] += (x.v[i] - m[k]) * (x.v[i] - m[k]) / each;
    }
    for (int k = 0; k < kept; k++)
        inv[k] = 1 / sqrt(v[k] + epsilon);
    for (int i = 0; i < all; i++) {
        int k = within(n.kept, n.dim, i), f = within(n.feature, n.dim, i);
        double hat = (x.v[i] - m[k]) * inv[k];
        wy[i] = hat * scale.v[f] + bias.v[f];
        wds[f] += dy.v[i] * hat;
        wdb[f] += dy.v[i];
        g[k] += dy.v[i] * scale.v[f] / each;
        gx[k] += dy.v[i] * scale.v[f] * hat / each;
    }
    for (int i = 0; i < all; i++) {
        int k = within(n.kept, n.dim, i), f = within(n.feature, n.dim, i);
        double hat = (x.v[i] - m[k]) * inv[k];
        wdx[i] = inv[k] * (dy.v[i] * scale.v[f] - (centred ? g[k] : 0) - hat * gx[k]);
    }
    desc d = create(KIND(OPERATION_NORM_FORWARD)), b = create(KIND(OPERATION_NORM_BACKWARD));
    set_enum(d, A(OPERATION_NORM_FWD_MODE), TYPE(NORM_MODE), mode);
    set_enum(d, A(OPERATION_NORM_FWD_PHASE), TYPE(NORM_FWD_PHASE), CUDNN_NORM_FWD_TRAINING);
    set_desc(d, A(OPERATION_NORM_FWD_XDESC), of(&x, 1));
    set_desc(d, A(OPERATION_NORM_FWD_YDESC), of(&y, 2));
    set_desc(d, A(OPERATION_NORM_FWD_SCALE_DESC), of(&scale, 3));
    set_desc(d, A(OPERATION_NORM_FWD_BIAS_DESC), of(&bias, 4));
    set_desc(d, A(OPERATION_NORM_FWD_EPSILON_DESC), scalar_of(5, F32, 4));
    set_desc(d, A(OPERATION_NORM_FWD_MEAN_DESC), centred ? of(&mean, 6) : NULL);
    set_desc(d, A(OPERATION_NORM_FWD_INV_VARIANCE_DESC), of(&inverse, 7));
    if (running) {
        set_desc(d, A(OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC), scalar_of(8, F32, 4));
        set_desc(d, A(OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC), of(&old, 9));
        set_desc(d, A(OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC), of(&var, 10));
        set_desc(d, A(OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC), of(&new, 11));
        set_desc(d, A(OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC), of(&nvar, 12));
    }
    OK(finalize(d));
    int64_t uid[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    void *at[] = {x.at,   y.at,   scale.at, bias.at, &epsilon, mean.at, inverse.at, &factor,
                  old.at, var.at, new.at,   nvar.at, dy.at,    dx.at,   ds.at,      db.at};
    if (run_graph(1, &d, 16, uid, at)) {
        same(&y, wy, 4, "normalisation");
        same(&inverse, inv, 1, "its 1 / deviation");
        if (centred)
            same(&mean, m, 1, "its mean");
        for (int k = 0; running && k < kept; k++)
            run[k] = 0.75 * old.v[k] + 0.25 * m[k];
        if (running)
            same(&new, run, 1, "the running mean");
        for (int k = 0; running && k < kept; k++)
            run[k] = 0.75 * var.v[k] + 0.25 * v[k] * each / (each - 1);
        if (running)
            same(&nvar, run, 1, "the running variance");
    }
    set_enum(b, A(OPERATION_NORM_BWD_MODE), TYPE(NORM_MODE), mode);
    set_desc(b, A(OPERATION_NORM_BWD_XDESC), of(&x, 1));
    set_desc(b, A(OPERATION_NORM_BWD_DYDESC), of(&dy, 13));
    set_desc(b, A(OPERATION_NORM_BWD_SCALE_DESC), of(&scale, 3));
    set_desc(b, A(OPERATION_NORM_BWD_MEAN_DESC), centred ? of(&mean, 6) : NULL);
    set_desc(b, A(OPERATION_NORM_BWD_INV_VARIANCE_DESC), of(&inverse, 7));
    set_desc(b, A(OPERATION_NORM_BWD_DXDESC), of(&dx, 14));
    set_desc(b, A(OPERATION_NORM_BWD_DSCALE_DESC), of(&ds, 15));
    set_desc(b, A(OPERATION_NORM_BWD_DBIAS_DESC), of(&db, 16));
    OK(finalize(b));
    if (run_graph(1, &b, 16, uid, at)) {
        same(&dx, wdx, 4, "normalisation's gradient");
        same(&ds, wds, 16, "its gradient of scale");
        same(&db, wdb, 16, "its gradient of bias");
    }
    destroy_all();
    free(m);
    struct tensor *const used[] = {&x, &y, &dy, &dx, &scale, &bias, &mean, &inverse, &ds, &db, &old, &new, &var, &nvar};
    for (int i = 0; i < 14; i++)
        drop(used[i]);
}

int main(void)
{
    static const int types[] = {F32, F16, BF16};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 48; i++)
        norms((const int[]){CUDNN_LAYER_NORM, CUDNN_INSTANCE_NORM, CUDNN_BATCH_NORM, CUDNN_RMS_NORM}[i % 4],
              types[i / 4 % 3]);
    OK(cudnnDestroy(handle));
    return check_end("norms");
}
