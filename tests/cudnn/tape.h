/* Derivatives by reverse accumulation: numbers that remember what they were made of, for models of layers that are
 * written as plain loops once and give values and all gradients. */
#ifndef CUMU_TESTS_TAPE_H
#define CUMU_TESTS_TAPE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* v and its derivatives by the two it was made of; g, the derivative of all that was asked for by v. */
struct node {
    double v, g, by[2];
    int from[2];
};
enum { TAPE = 1 << 23 };
static struct node *tape;
static int nodes;
static bool kink; /* a function was asked for where its slope jumps */

static inline int put_node(double v, int a, double by_a, int b, double by_b)
{
    if (nodes == TAPE) {
        fprintf(stderr, "the tape is full\n");
        exit(1);
    }
    tape[nodes] = (struct node){v, 0, {by_a, by_b}, {a, b}};
    return nodes++;
}
static inline void clear_tape(void)
{
    tape = tape ? tape : malloc(TAPE * sizeof *tape);
    nodes = 0, kink = false;
}
static inline double v_of(int a) { return tape[a].v; }
static inline int leaf(double v) { return put_node(v, 0, 0, 0, 0); }
static inline int plus(int a, int b) { return put_node(v_of(a) + v_of(b), a, 1, b, 1); }
static inline int times(int a, int b) { return put_node(v_of(a) * v_of(b), a, v_of(b), b, v_of(a)); }
static inline int scaled(int a, double k) { return put_node(k * v_of(a), a, k, a, 0); }
static inline int quotient(int a, int b)
{
    const double u = v_of(a), w = v_of(b);
    return put_node(u / w, a, 1 / w, b, -u / (w * w));
}
static inline int sigmoid(int a)
{
    const double s = 1 / (1 + exp(-v_of(a)));
    return put_node(s, a, s * (1 - s), a, 0);
}
static inline int tanh_of(int a)
{
    const double t = tanh(v_of(a));
    return put_node(t, a, 1 - t * t, a, 0);
}
static inline int exp_of(int a)
{
    const double e = exp(v_of(a));
    return put_node(e, a, e, a, 0);
}
static inline int log_of(int a) { return put_node(log(v_of(a)), a, 1 / v_of(a), a, 0); }
static inline int relu_of(int a)
{
    kink |= fabs(v_of(a)) < 1e-3;
    return v_of(a) > 0 ? put_node(v_of(a), a, 1, a, 0) : leaf(v_of(a) < 0 ? 0 : v_of(a));
}
/* Between two bounds: what was cut off goes on as if it were not, but the caller hears of it. */
static inline int clipped(int a, double low, double high)
{
    kink |= v_of(a) <= low || v_of(a) >= high;
    return put_node(fmin(fmax(v_of(a), low), high), a, 1, a, 0);
}
/* The caller has set g of what was asked for. */
static inline void sweep(void)
{
    for (int i = nodes - 1; i >= 0; i--)
        for (int k = 0; k < 2; k++)
            if (tape[i].by[k] != 0)
                tape[tape[i].from[k]].g += tape[i].g * tape[i].by[k];
}
static inline int *leaves(const double *v, int n)
{
    int *at = malloc(sizeof *at * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        at[i] = leaf(v[i]);
    return at;
}

#endif
