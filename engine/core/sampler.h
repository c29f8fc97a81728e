/* Draws from a distribution in constant time: Zipf over ranks, and any list of weights. For C11 and C++20.
 *
 * Nothing here allocates; the chance comes from a splitmix64 state of the caller's, so a seed repeats. */
#ifndef WT_CORE_SAMPLER_H
#define WT_CORE_SAMPLER_H

#include <math.h>
#include <stdbool.h>

#include "core/random.h"

/* A number in [0, 1), on the grid of 2^-53. */
static inline double wt_unit(uint64_t *random) { return (double)(random_next(random) >> 11) * 0x1p-53; }

/* Zipf: rank k of 1 to n with a probability proportional to k^-exponent, exactly, for every exponent above 0.
 *
 * Rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone
 * discrete distributions", ACM TOMACS 6(3), 1996. The sum of the probabilities lies below an integral H that
 * is inverted in closed form; most draws take one round. H is written with expm1 and log1p, so that the
 * exponent 1, where its usual form is 0 / 0, is like any other. YCSB's generator (Gray et al., SIGMOD 1994)
 * was not taken: it approximates, sums n powers before it begins, and knows no exponent of 1 or more. */
struct wt_zipf {
    double from, to; /* the integral, half before the first rank and half behind the last */
    double surely;   /* a rank that lies at most so far above its real number needs no second look */
    double exponent;
    double n;
};

/* (e^t - 1) / t and ln(1 + t) / t, with their limits at 0 */
static inline double wt_zipf_expm1(double t) { return fabs(t) > 1e-8 ? expm1(t) / t : 1 + t / 2; }

static inline double wt_zipf_log1p(double t) { return fabs(t) > 1e-8 ? log1p(t) / t : 1 - t / 2; }

/* The integral of x^-exponent from 1, and its inverse. */
static inline double wt_zipf_integral(const struct wt_zipf *z, double x) {
    const double log_x = log(x);
    return wt_zipf_expm1((1 - z->exponent) * log_x) * log_x;
}

static inline double wt_zipf_inverse(const struct wt_zipf *z, double integral) {
    const double t = integral * (1 - z->exponent);
    return exp(wt_zipf_log1p(t > -1 ? t : -1) * integral); /* below -1 by rounding alone */
}

static inline double wt_zipf_weight(const struct wt_zipf *z, double rank) {
    return exp(-z->exponent * log(rank));
}

/* False where there is no such distribution: n is 0 or more than 2^52 (ranks are exact in a double), or the
 * exponent is not above 0 and at most 64 (from where on only rank 1 is ever drawn). */
static inline bool wt_zipf_init(struct wt_zipf *z, uint64_t n, double exponent) {
    if (n < 1 || n > UINT64_C(1) << 52 || !(exponent > 0 && exponent <= 64)) return false;
    z->exponent = exponent;
    z->n = (double)n;
    z->from = wt_zipf_integral(z, 1.5) - 1;
    z->to = wt_zipf_integral(z, z->n + 0.5);
    z->surely = 2 - wt_zipf_inverse(z, wt_zipf_integral(z, 2.5) - wt_zipf_weight(z, 2));
    return true;
}

/* A rank of 1 to n. */
static inline uint64_t wt_zipf_draw(const struct wt_zipf *z, uint64_t *random) {
    for (;;) { /* every round ends it with a fair chance, at any exponent */
        const double at = z->to + wt_unit(random) * (z->from - z->to);
        const double x = wt_zipf_inverse(z, at);
        double rank = floor(x + 0.5);
        if (!(rank > 1)) rank = 1;
        if (rank > z->n) rank = z->n;
        if (rank - x <= z->surely || at >= wt_zipf_integral(z, rank + 0.5) - wt_zipf_weight(z, rank))
            return (uint64_t)rank;
    }
}

/* Any list of weights: place i of 0 to n - 1 with a probability proportional to weights[i].
 *
 * The alias method (A. J. Walker, 1974) with the table laid out as in M. D. Vose, "A linear algorithm for
 * generating random numbers with a given distribution", IEEE TSE 17(9), 1991. A draw is one number and one
 * look at one slot. */
struct wt_alias_slot {
    double keep;    /* the chance to stay at this place; else it is the other */
    uint32_t other; /* while the table is laid out: the next of its list */
    uint32_t reserved;
};

struct wt_alias {
    const struct wt_alias_slot *slots;
    uint32_t n;
};

#define WT_ALIAS_NONE UINT32_MAX

static inline void wt_alias_push(struct wt_alias_slot *slots, uint32_t *list, uint32_t place) {
    slots[place].other = *list;
    *list = place;
}

static inline uint32_t wt_alias_pop(const struct wt_alias_slot *slots, uint32_t *list) {
    const uint32_t place = *list;
    *list = slots[place].other;
    return place;
}

/* What rounding left over: kept for sure, unless it must never be drawn. */
static inline void wt_alias_rest(struct wt_alias_slot *slots, uint32_t list, const double *weights,
                                 uint32_t heaviest) {
    while (list != WT_ALIAS_NONE) {
        const uint32_t place = wt_alias_pop(slots, &list);
        slots[place].keep = weights[place] > 0 ? 1 : 0;
        slots[place].other = heaviest;
    }
}

/* `slots` has room for n and lives as long as the sampler. False where there is no such distribution: no
 * weight, a weight that is negative or no number, a sum that is 0 or infinite. */
static inline bool wt_alias_init(struct wt_alias *a, struct wt_alias_slot *slots, const double *weights,
                                 uint32_t n) {
    double sum = 0;
    uint32_t heaviest = 0;
    for (uint32_t i = 0; i < n; ++i) {
        if (!(weights[i] >= 0)) return false;
        if (weights[i] > weights[heaviest]) heaviest = i;
        sum += weights[i];
    }
    if (n == 0 || n == WT_ALIAS_NONE || !(sum > 0 && sum <= 1.7976931348623157e308)) return false;
    uint32_t small = WT_ALIAS_NONE, large = WT_ALIAS_NONE;
    for (uint32_t i = n; i-- > 0;) {
        slots[i].keep = weights[i] / sum * n; /* 1 on average */
        slots[i].reserved = 0;
        wt_alias_push(slots, slots[i].keep < 1 ? &small : &large, i);
    }
    while (small != WT_ALIAS_NONE && large != WT_ALIAS_NONE) {
        const uint32_t less = wt_alias_pop(slots, &small), more = wt_alias_pop(slots, &large);
        slots[less].other = more; /* fills up what `less` does not need */
        slots[more].keep -= 1 - slots[less].keep;
        wt_alias_push(slots, slots[more].keep < 1 ? &small : &large, more);
    }
    wt_alias_rest(slots, small, weights, heaviest);
    wt_alias_rest(slots, large, weights, heaviest);
    a->slots = slots;
    a->n = n;
    return true;
}

/* A place of 0 to n - 1. */
static inline uint32_t wt_alias_draw(const struct wt_alias *a, uint64_t *random) {
    const random_product both = (random_product)random_next(random) * a->n;
    const uint32_t place = (uint32_t)(both >> 64);
    const double chance = (double)((uint64_t)both >> 11) * 0x1p-53; /* what the place left of the number */
    return chance < a->slots[place].keep ? place : a->slots[place].other;
}

#endif
