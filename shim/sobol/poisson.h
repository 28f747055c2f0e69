/* Sums of the Poisson distribution, by which a uniform number becomes a Poisson one: for the CPU's generators, and over
 * a muRAND that has none. */
#ifndef CUMU_SOBOL_POISSON_H
#define CUMU_SOBOL_POISSON_H

#include <math.h>

#define POISSON_LAMBDA_MAX 400000 /* cuRAND's */

/* The sums, where they are neither 0 nor 1 in a double: value `first` + i has sum[i] at or below it. */
struct poisson_sums {
    unsigned first, count;
    double *sum;
};

/* Of lambda in (0, POISSON_LAMBDA_MAX]: the range, for the caller to allocate `count` sums, which fill writes. */
static inline struct poisson_sums poisson_range(double lambda)
{
    double reach = 12 * sqrt(lambda) + 40;
    unsigned first = lambda > reach ? (unsigned)(lambda - reach) : 0;
    return (struct poisson_sums){first, (unsigned)(lambda + reach) + 1 - first, 0};
}

static inline void poisson_fill(const struct poisson_sums *p, double lambda)
{
    double total = 0;
    for (unsigned i = 0; i < p->count; i++) {
        double k = p->first + i;
        p->sum[i] = total += exp(k * log(lambda) - lambda - lgamma(k + 1));
    }
}

/* The least value whose sum is not below u. */
static inline unsigned poisson_at(const struct poisson_sums *p, double u)
{
    unsigned low = 0, high = p->count - 1;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (p->sum[middle] < u)
            low = middle + 1;
        else
            high = middle;
    }
    return p->first + low;
}

#endif
