/* CTC losses, spatial transformers, divisive normalisation and foldings in drawn programs (sequences.c): the loss
 * against a model on a tape (tape.h), the others against plain loops. */
#ifndef CUMU_TESTS_PROGRAM_GRIDS_H
#define CUMU_TESTS_PROGRAM_GRIDS_H

#include "program.h"
#include "tape.h"

static void *ctc, *spatial, *folding;

/* ---- CTC --------------------------------------------------------------------------------------- */

enum { CTC_TIMES = 12, CTC_BATCH = 4, CTC_CLASSES = 7 };
/* The negative logarithm of the probability of a sequence's labels, of logits on the tape: x of (time, class). -1:
 * there is no path. Sums over paths by the states of Graves et al., in plain probabilities. */
static inline int ctc_model(const int *x, int time, int classes, const int *label, int length)
{
    int now[2 * CTC_TIMES + 1], then[2 * CTC_TIMES + 1], end = -1;
    for (int t = 0; t < time; t++) {
        int sum = -1, p[CTC_CLASSES];
        double most = -INFINITY;
        for (int k = 0; k < classes; k++)
            most = fmax(most, v_of(x[t * classes + k]));
        for (int k = 0; k < classes; k++) {
            p[k] = exp_of(plus(x[t * classes + k], leaf(-most)));
            sum = sum < 0 ? p[k] : plus(sum, p[k]);
        }
        for (int k = 0; k < classes; k++)
            p[k] = quotient(p[k], sum);
        for (int s = 0; s < 2 * length + 1; s++) {
            const bool skips = s > 1 && s % 2 && label[s / 2] != label[s / 2 - 1];
            const int from[] = {t       ? then[s]
                                : s < 2 ? leaf(1)
                                        : -1,
                                t && s ? then[s - 1] : -1, t && skips ? then[s - 2] : -1};
            now[s] = -1;
            for (int k = 0; k < 3; k++)
                if (from[k] >= 0)
                    now[s] = now[s] < 0 ? from[k] : plus(now[s], from[k]);
            now[s] = now[s] < 0 ? -1 : times(now[s], p[s % 2 ? label[s / 2] : 0]);
        }
        memcpy(then, now, sizeof then);
    }
    for (int s = 2 * length; s >= 0 && s >= 2 * length - 1; s--)
        if (now[s] >= 0)
            end = end < 0 ? now[s] : plus(end, now[s]);
    return end < 0 ? -1 : scaled(log_of(end), -1);
}

static inline void ctcs(void)
{
    const int time = 1 + upto(CTC_TIMES), batch = 1 + upto(CTC_BATCH), classes = 2 + upto(CTC_CLASSES - 1);
    const int dim[] = {time, batch, classes}, algo = upto(2), all = time * batch * classes;
    const bool softmax = upto(2), skip = upto(2), wants = upto(4) != 0, device = upto(2);
    int length[CTC_BATCH], inputs[CTC_BATCH], labels[CTC_BATCH * CTC_TIMES + 1] = {0}, n = 0;
    size_t size = 0;
    type = F32;
    struct operand *probs = draw_operand(F32, 3, dim, false, 0), *grads = draw_operand(F32, 3, dim, false, 0);
    struct operand *costs = packed_operand(F32, 3, (const int[]){batch, 1, 1}, 1);
    const double large = upto(4) ? 1 : 20;
    double *x = malloc(sizeof *x * (size_t)all), *slopes = malloc(sizeof *slopes * (size_t)all), cost[CTC_BATCH];
    for (int i = 0; i < time * batch; i++) {
        double sum = 0, *row = probs->t.v + i * classes;
        for (int k = 0; k < classes; k++) { /* a class may be impossible */
            row[k] = k && upto(16) == 0 ? -INFINITY : row[k] * large;
            sum += exp(row[k]);
        }
        for (int k = 0; k < classes && !softmax; k++)
            row[k] = exp(row[k]) / sum;
    }
    upload_operand(probs);
    for (int i = 0; i < all; i++)
        x[i] = softmax ? probs->t.v[i] : log(probs->t.v[i]);
    for (int s = 0; s < batch; s++) {
        length[s] = upto(time + 1), inputs[s] = 1 + upto(time);
        for (int i = 0; i < length[s]; i++)
            labels[n++] = 1 + upto(classes - 1);
    }
    if (wants)
        poison(grads);
    poison(costs);
    const int least = length[0];
    int most = 0;
    for (int s = 0; s < batch; s++)
        most = length[s] > most ? length[s] : most;
    if (device)
        OK(cudnnSetCTCLossDescriptor_v8(ctc, F32, softmax, skip, most + upto(3)));
    else
        OK(cudnnSetCTCLossDescriptorEx(ctc, F32, softmax, skip));
    if (upto(4) == 0) {
        int a1 = 9, a2 = 9, a3 = 9;
        EXPECT(cudnnSetCTCLossDescriptorEx(ctc, F32, 2 + upto(9), skip));
        EXPECT(cudnnSetCTCLossDescriptor_v8(ctc, F32, softmax, skip, 257));
        OK(cudnnGetCTCLossDescriptorEx(ctc, &a1, &a2, &a3));
        EXPECT(a1 == F32 && a2 == softmax && a3 == skip);
    }
    if (device)
        OK(cudnnGetCTCLossWorkspaceSize_v8(handle, algo, ctc, probs->t.desc, grads->t.desc, &size));
    else
        OK(cudnnGetCTCLossWorkspaceSize(handle, probs->t.desc, grads->t.desc, n ? labels : NULL, length, inputs, algo,
                                        ctc, &size));
    struct operand *space = packed_operand(F64, 3, (const int[]){(int)(size / 8) + 1, 1, 1}, 1);
    clear_tape();
    int *at = leaves(x, all), first = 0;
    for (int s = 0; s < batch; s++) {
        int own[CTC_TIMES * CTC_CLASSES];
        for (int i = 0; i < time * classes; i++)
            own[i] = at[(i / classes * batch + s) * classes + i % classes];
        const int end = ctc_model(own, inputs[s], classes, labels + first, length[s]);
        cost[s] = end < 0 ? 0 : v_of(end);

        if (end >= 0 && isfinite(cost[s]))
            tape[end].g = 1;
        first += length[s];
        for (int i = 0; i < time * classes && !(end >= 0); i++) /* no path: kept, or zeros */
            x[(i / classes * batch + s) * classes + i % classes] = NAN;
        for (int i = 0; i < time * classes && end >= 0 && !isfinite(cost[s]); i++)
            x[(i / classes * batch + s) * classes + i % classes] = INFINITY;
    }
    sweep();
    bool known = true;
    for (int i = 0; i < all; i++) {
        known &= x[i] != INFINITY; /* the gradient of an infinite cost */
        slopes[i] = isnan(x[i]) ? (skip && wants ? NAN : 0) : isnan(tape[at[i]].g) ? 0 : tape[at[i]].g;
    }
    expects(costs, cost, most_of(cost, batch));
    expects(wants ? grads : NULL, known ? slopes : ANYTHING, 1);
    expects(space, ANYTHING, 0);
    int r;
    if (device) {
        int *d;
        MUST(cudaMalloc((void **)&d, sizeof labels + 2 * sizeof length));
        OK(cudaMemcpy(d, length, sizeof length, 1));
        OK(cudaMemcpy(d + CTC_BATCH, inputs, sizeof inputs, 1));
        OK(cudaMemcpy(d + 2 * CTC_BATCH, labels, sizeof labels, 1));
        if (upto(4) == 0)
            settle_all(cudnnCTCLoss_v8(handle, algo, ctc, probs->t.desc, probs->t.at, d + 2 * CTC_BATCH, d,
                                       d + CTC_BATCH, costs->t.at, grads->t.desc, grads->t.at, size - 1, space->t.at),
                       false, "a wrong CTC");
        r = cudnnCTCLoss_v8(handle, algo, ctc, probs->t.desc, probs->t.at, d + 2 * CTC_BATCH, d, d + CTC_BATCH,
                            costs->t.at, grads->t.desc, wants ? grads->t.at : NULL, size, space->t.at);
        settle_all(r, true, "CTC of the device's labels");
        OK(cudaFree(d));
    } else {
        if (upto(4) == 0) {
            length[0] = either(-1, 257);
            settle_all(cudnnCTCLoss(handle, probs->t.desc, probs->t.at, labels, length, inputs, costs->t.at,
                                    grads->t.desc, grads->t.at, algo, ctc, space->t.at, size),
                       false, "a wrong CTC");
            length[0] = least;
        }
        r = cudnnCTCLoss(handle, probs->t.desc, probs->t.at, n ? labels : NULL, length, inputs, costs->t.at,
                         grads->t.desc, wants ? grads->t.at : NULL, algo, ctc, space->t.at, size);
        memset(labels, 7, sizeof labels), memset(length, 7, sizeof length); /* the call has its own */
        settle_all(r, true, "CTC");
    }
    free(x), free(slopes), free(at);
}

/* ---- spatial transformers ---------------------------------------------------------------------- */

/* How much a place counts for a pixel, and by how much that changes; of one image's width. */
static inline double tent(double at, int pixel, double *slope)
{
    const double far = at - pixel;
    *slope = fabs(far) >= 1 ? 0 : far < 0 ? 1 : -1;
    return fmax(0, 1 - fabs(far));
}
static inline void spatials(void)
{
    const int n = 1 + upto(3), c = 1 + upto(3), xd[] = {n, c, 1 + upto(6), 1 + upto(6)};
    const int yd[] = {n, c, 1 + upto(6), 1 + upto(6)}, gd[] = {n, yd[2], yd[3], 2}, td[] = {n, 2, 3};
    const int places = yd[2] * yd[3], in = xd[2] * xd[3];
    OK(cudnnSetSpatialTransformerNdDescriptor(spatial, 0, type, 4, yd));
    if (upto(4) == 0) {
        EXPECT(cudnnSetSpatialTransformerNdDescriptor(spatial, 0, type, 5, (const int[]){1, 1, 1, 1, 1}));
        IS(cudnnSetSpatialTransformerNdDescriptor(spatial, 0, type, 4, (const int[]){1, 1, 0, 1}), BAD);
    }
    struct operand *theta = packed_operand(type, 3, td, 1), *grid = packed_operand(type, 4, gd, 1);
    double *g = calloc((size_t)(n * places * 2), sizeof *g);
    poison(grid);
    for (int i = 0; i < n * places; i++) {
        const double u[] = {yd[3] > 1 ? -1 + 2.0 * (i % yd[3]) / (yd[3] - 1) : 0,
                            yd[2] > 1 ? -1 + 2.0 * (i / yd[3] % yd[2]) / (yd[2] - 1) : 0, 1};
        for (int k = 0; k < 6; k++)
            g[2 * i + k / 3] += theta->t.v[i / places * 6 + k] * u[k % 3];
    }
    expects(grid, g, 4);
    settle_all(cudnnSpatialTfGridGeneratorForward(handle, spatial, theta->t.at, grid->t.at), true, "grid");
    /* samples of places that types hold, not at corners, near and far */
    for (int i = 0; i < 2 * n * places; i++)
        grid->t.v[i] = upto(12) ? (upto(37) - 18) / 16.0 + 1 / 64.0 : type == F16 ? 6e4 : 1e30 * (upto(2) ? 1 : -1);
    upload_operand(grid);
    struct operand *x = draw_operand(type, 4, xd, false, 0), *y = draw_operand(type, 4, yd, false, 0);
    factors(type);
    result(y);
    double *v = calloc((size_t)(n * c * (places + in)), sizeof *v), *dxv = v + n * c * places;
    for (int i = 0; i < n * c * places; i++) {
        const double *at = grid->t.v + 2 * (i / places / c * places + i % places);
        for (int k = 0; k < in; k++) {
            double s;
            v[i] += x->t.v[i / places * in + k] * tent((at[0] + 1) / 2 * (xd[3] - 1), k % xd[3], &s) *
                    tent((at[1] + 1) / 2 * (xd[2] - 1), k / xd[3], &s);
        }
        v[i] = blended(v[i], y, i);
    }
    expects(y, v, 4);
    if (upto(4) == 0)
        settle_all(cudnnSpatialTfSamplerForward(handle, spatial, &alpha, grid->t.desc, x->t.at, grid->t.at, &beta,
                                                theta->t.desc, y->t.at),
                   false, "wrong samples");
    settle_all(cudnnSpatialTfSamplerForward(handle, spatial, &alpha, x->t.desc, x->t.at, grid->t.at, &beta, y->t.desc,
                                            y->t.at),
               true, "samples");
    struct operand *dy = draw_operand(type, 4, yd, false, 0), *dx = draw_operand(type, 4, xd, false, 0);
    struct operand *dgrid = packed_operand(type, 4, gd, 1);
    factors(type);
    result(dx);
    const double a1 = a, b1 = b;
    const union factor alpha1 = alpha, beta1 = beta;
    factors(type);
    result(dgrid);
    memset(g, 0, sizeof *g * (size_t)(n * places * 2));
    for (int i = 0; i < n * c * places; i++) {
        const int cell = i / places / c * places + i % places;
        const double *at = grid->t.v + 2 * cell;
        for (int k = 0; k < in; k++) {
            double su, sv;
            const double u = tent((at[0] + 1) / 2 * (xd[3] - 1), k % xd[3], &su);
            const double w = tent((at[1] + 1) / 2 * (xd[2] - 1), k / xd[3], &sv), d = dy->t.v[i];
            const double pixel = x->t.v[i / places * in + k];
            dxv[i / places * in + k] += d * u * w;
            g[2 * cell] += d * pixel * su * w * (xd[3] - 1) / 2;
            g[2 * cell + 1] += d * pixel * u * sv * (xd[2] - 1) / 2;
        }
    }
    const double ag = a, bg = b;
    const union factor alpha_grid = alpha, beta_grid = beta;
    for (int i = 0; i < n * places * 2; i++)
        g[i] = ag * g[i] + (bg != 0 ? bg * dgrid->t.v[i] : 0);
    for (int i = 0; i < n * c * in; i++)
        dxv[i] = a1 * dxv[i] + (b1 != 0 ? b1 * dx->t.v[i] : 0);
    expects(dx, dxv, 8);
    expects(dgrid, g, 32);
    settle_all(cudnnSpatialTfSamplerBackward(handle, spatial, &alpha1, x->t.desc, x->t.at, &beta1, dx->t.desc, dx->t.at,
                                             &alpha_grid, dy->t.desc, dy->t.at, grid->t.at, &beta_grid, dgrid->t.at),
               true, "samples' gradients");
    double t[6 * 3] = {0};
    for (int i = 0; i < n * places; i++) {
        const double u[] = {yd[3] > 1 ? -1 + 2.0 * (i % yd[3]) / (yd[3] - 1) : 0,
                            yd[2] > 1 ? -1 + 2.0 * (i / yd[3] % yd[2]) / (yd[2] - 1) : 0, 1};
        for (int k = 0; k < 6; k++)
            t[i / places * 6 + k] += dgrid->t.v[2 * i + k / 3] * u[k % 3];
    }
    poison(theta);
    expects(theta, t, 32);
    settle_all(cudnnSpatialTfGridGeneratorBackward(handle, spatial, dgrid->t.at, theta->t.at), true, "map's gradient");
    free(g), free(v);
}

/* ---- divisive normalisation -------------------------------------------------------------------- */

/* Sums over the window of place i: f of each j in it. */
struct window {
    const int *dim;
    int n, size;
};
static inline bool in_window(const struct window *w, int i, int j)
{
    bool in = true;
    for (int d = w->n - 1; d >= 0; i /= w->dim[d], j /= w->dim[d], d--) {
        const int far = j % w->dim[d] - i % w->dim[d], behind = (w->size - 1) / 2;
        in &= d < 2 ? !far : far >= -behind && far < w->size - behind;
    }
    return in;
}
static inline void divisives(void)
{
    int dim[5], n = 4 + upto(2);
    for (int i = 0; i < n; i++)
        dim[i] = 1 + upto(i == 1 ? 2 : n == 5 ? 3 : 5);
    const struct window w = {dim, n, 1 + upto(5)};
    const double k = either(0, 1) ? 1 : 1e-3, factor = 0.25 * (1 + upto(8)), exponent = 0.25 * (1 + upto(4));
    const bool has_means = upto(3) != 0;
    double each = factor;
    for (int i = 2; i < n; i++)
        each /= w.size;
    OK(cudnnSetLRNDescriptor(lrn, (unsigned)w.size, factor, exponent, k));
    if (upto(4) == 0)
        IS(cudnnSetLRNDescriptor(lrn, either(0, 17), 1, 1, 1), BAD);
    const bool gaps = upto(2);
    const int format = upto(2);
    struct operand *x = lay_operand(type, n, dim, false, format, gaps, 0);
    struct operand *same[6] = {x}; /* means, dy and spaces lie as x does */
    for (int i = 1; i < 4; i++) {
        same[i] = lay_operand(type, n, dim, false, format, false, 0);
        memcpy(same[i]->t.stride, x->t.stride, sizeof x->t.stride);
        same[i]->t.size = x->t.size;
        upload_operand(same[i]);
    }
    struct operand *means = same[1], *dy = same[2], *space = same[3], *space2 = packed_operand(type, n, dim, 1);
    struct operand *y = draw_operand(type, n, dim, false, 0);
    /* far from 0, where a difference of squares has no digits left */
    const double off = (type == F64 || type == F32) && has_means && upto(2) ? (type == F64 ? 1e7 : 4096) : 0;
    const int all = count(&x->t);
    for (int i = 0; i < all; i++)
        x->t.v[i] += off, means->t.v[i] += off;
    upload_operand(x), upload_operand(means);
    double *denominator = calloc((size_t)all * 4, sizeof *denominator), *g = denominator + all, *out = g + all;
    double *dm = out + all;
    const double *m = means->t.v;
#define M(i) (has_means ? m[i] : 0)
    for (int i = 0; i < all; i++) {
        for (int j = 0; j < all; j++)
            denominator[i] += in_window(&w, i, j) ? (x->t.v[j] - M(i)) * (x->t.v[j] - M(i)) : 0;
        denominator[i] = k + each * denominator[i];
    }
    factors(type);
    result(y);
    for (int i = 0; i < all; i++)
        out[i] = blended(x->t.v[i] * pow(denominator[i], -exponent), y, i);
    expects(y, out, most_of(out, all));
    expects(space, ANYTHING, 0), expects(space2, ANYTHING, 0);
    settle_all(cudnnDivisiveNormalizationForward(handle, lrn, 0, &alpha, x->t.desc, x->t.at,
                                                 has_means ? means->t.at : NULL, space->t.at, space2->t.at, &beta,
                                                 y->t.desc, y->t.at),
               true, "divisive normalisation");
    struct operand *dx = draw_operand(type, n, dim, false, 0), *dmeans = packed_operand(type, n, dim, 1);
    memcpy(dmeans->t.stride, dx->t.stride, sizeof dx->t.stride);
    dmeans->t.size = dx->t.size;
    upload_operand(dmeans);
    const bool wants_means = has_means && upto(2);
    factors(type);
    result(dx);
    if (wants_means)
        result(dmeans);
    double steep = 1;
    for (int i = 0; i < all; i++)
        g[i] = 2 * exponent * each * dy->t.v[i] * x->t.v[i] * pow(denominator[i], -exponent - 1);
    for (int i = 0; i < all; i++) {
        double sum = dy->t.v[i] * pow(denominator[i], -exponent), of_mean = 0;
        for (int j = 0; j < all; j++) {
            sum -= in_window(&w, i, j) ? g[j] * (x->t.v[i] - M(j)) : 0;
            of_mean += in_window(&w, i, j) ? g[i] * (x->t.v[j] - M(i)) : 0;
            steep = fmax(steep, fabs(in_window(&w, i, j) ? g[j] * (x->t.v[i] - M(j)) : 0));
        }
        out[i] = blended(sum, dx, i), dm[i] = blended(of_mean, dmeans, i);
    }
    steep = fmax(steep, fmax(most_of(out, all), most_of(dm, all)));
    expects(dx, out, steep);
    expects(wants_means ? dmeans : NULL, dm, steep);
    expects(space, ANYTHING, 0), expects(space2, ANYTHING, 0);
    settle_all(cudnnDivisiveNormalizationBackward(handle, lrn, 0, &alpha, x->t.desc, x->t.at,
                                                  has_means ? means->t.at : NULL, dy->t.at, space->t.at, space2->t.at,
                                                  &beta, dx->t.desc, dx->t.at, wants_means ? dmeans->t.at : NULL),
               true, "divisive normalisation's gradients");
#undef M
    free(denominator);
}

/* ---- foldings ---------------------------------------------------------------------------------- */

/* Where element i of a shape goes, of (n, c, ...): padded, then each dimension behind the channels in blocks, whose
 * places are channels. -1: it is cut off. */
static inline int folded_to(int n, const int *dim, const int *before, const unsigned *fold, const int *out, int i)
{
    int place = 0, at = 0, index[5];
    for (int d = n - 1; d >= 0; i /= dim[d], d--)
        index[d] = i % dim[d];
    for (int d = 2; d < n; d++) {
        if (index[d] + before[d] < 0)
            return -1;
        place = place * (int)fold[d - 2] + (index[d] + before[d]) % (int)fold[d - 2];
    }
    for (int d = 0; d < n; d++) {
        int k = index[d] + before[d];
        k = d >= 2 ? k / (int)fold[d - 2] : d == 1 ? k + place * dim[1] : k;
        if (k < 0 || k >= out[d])
            return -1;
        at = at * out[d] + k;
    }
    return at;
}
static inline void foldings(void)
{
    int dim[5], out[5], before[5] = {0}, after[5] = {0}, back[2][5], n = 3 + upto(3), folds = 1,
                        to = upto(2) ? type : float_type();
    unsigned fold[3] = {1, 1, 1};
    const bool folded = upto(3) != 0, pads = upto(3) != 0, filter = upto(4) == 0;
    for (int i = 0; i < n; i++) {
        dim[i] = 1 + upto(i > 1 ? 6 : 3);
        if (pads && upto(2))
            before[i] = upto(3), after[i] = upto(3);
        if (i >= 2) {
            fold[i - 2] = folded ? 1u + (unsigned)upto(3) : 1;
            const int over = (dim[i] + before[i] + after[i]) % (int)fold[i - 2];
            after[i] += over ? (int)fold[i - 2] - over : 0;
            folds *= (int)fold[i - 2];
        }
        out[i] = dim[i] + before[i] + after[i];
        back[0][i] = -before[i], back[1][i] = -after[i];
    }
    for (int i = 1; i < n; i++)
        out[i] = i == 1 ? out[1] * folds : out[i] / (int)fold[i - 2];
    bool plain = folds == 1;
    for (int i = 0; i < n; i++)
        plain &= !before[i] && !after[i];
    struct operand *x = draw_operand(type, n, dim, filter, 0), *y = draw_operand(to, n, out, filter, 0);
    factors(to);
    if (!plain)
        b = 0, beta = factor_of(to, 0);
    result(y);
    double *v = calloc((size_t)(count(&y->t) + count(&x->t)), sizeof *v), *again = v + count(&y->t);
    for (int i = 0; plain && i < count(&y->t); i++)
        v[i] = b != 0 ? b * y->t.v[i] : 0;
    for (int i = 0; i < count(&x->t); i++) {
        const int at = folded_to(n, dim, before, fold, out, i);
        EXPECT(at >= 0);
        v[at] += a * x->t.v[i];
    }
    OK(cudnnSetTensorTransformDescriptor(folding, (unsigned)n, upto(2), before, after, fold, 0));
    if (upto(4) == 0) {
        const unsigned none[3] = {0, 0, 0};
        IS(cudnnSetTensorTransformDescriptor(folding, (unsigned)n, 0, before, after, none, 0), BAD);
        IS(cudnnSetTensorTransformDescriptor(folding, (unsigned)n, 0, before, after, fold, 2), BAD);
        if (memcmp(dim, out, sizeof *dim * (size_t)n))
            settle_all(
                filter ? cudnnTransformFilter(handle, folding, &alpha, y->t.desc, y->t.at, &beta, x->t.desc, x->t.at)
                       : cudnnTransformTensorEx(handle, folding, &alpha, y->t.desc, y->t.at, &beta, x->t.desc, x->t.at),
                false, "a wrong folding");
    }
#define FOLD(from, into) \
    (filter ? cudnnTransformFilter(handle, folding, &alpha, (from)->t.desc, (from)->t.at, &beta, (into)->t.desc, \
                                   (into)->t.at) \
            : cudnnTransformTensorEx(handle, folding, &alpha, (from)->t.desc, (from)->t.at, &beta, (into)->t.desc, \
                                     (into)->t.at))
    expects(y, v, 2);
    if (settle_all(FOLD(x, y), true, "folded")) {
        struct operand *z = draw_operand(type, n, dim, filter, 0);
        factors(type);
        result(z);
        for (int i = 0; i < count(&x->t); i++)
            again[i] = blended(y->t.v[folded_to(n, dim, before, fold, out, i)], z, i);
        OK(cudnnSetTensorTransformDescriptor(folding, (unsigned)n, 0, back[0], back[1], fold, 1));
        expects(z, again, 4);
        settle_all(FOLD(y, z), true, "unfolded");
    }
#undef FOLD
    free(v);
}

#endif
