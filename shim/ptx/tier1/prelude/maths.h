/* Tier 1's prelude: floating point, conversions and the approximate functions. */
