/* Tier 1's prelude: integer arithmetic, comparisons and selection. */
