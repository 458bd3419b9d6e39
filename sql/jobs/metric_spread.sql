-- metric_spread(value, weight, totals): the statistics of a metric over the questions of a run that need its
-- metric_totals; an aggregate. std: of the population. weighted_mean: null where all weights are equal, as it is the mean.
create macro metric_spread(value, weight, totals) as {
    std: sqrt(exact_mean((value - totals.mean) * (value - totals.mean))),
    weighted_mean: exact_weighted_mean(case when not totals.even_weights then value end, weight, totals.max_weight)
};
