-- metric_spread(value, weight, totals): the statistics of a metric over the questions of a run that need its
-- metric_totals; an aggregate. std: of the population; large and small deviations are scaled before their squares are
-- added.
-- weighted_mean: null where all weights are equal, as it is the mean.
create macro metric_spread(value, weight, totals) as {
    std: sqrt(exact_mean(
        ((value - totals.mean) / spread_scale(totals)) * ((value - totals.mean) / spread_scale(totals))
    )) * any_value(spread_scale(totals)),
    weighted_mean: exact_weighted_mean(case when not totals.even_weights then value end, weight, totals.max_weight)
};
