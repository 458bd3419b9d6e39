-- metric_totals(value, scored, nonzero, weight): the statistics of a metric over the questions of a run that need no
-- second look; an aggregate. Of a question with several answers (repeats, judgements), value and nonzero are their means.
-- value: a null counts as the metric says, or not at all; scored: null where the question has no value of its own;
-- nonzero: 1 where the value is not 0, else 0; weight: null where there is no value. n_total: questions; n_counted: those
-- with a value; rate: the mean of nonzero; max_weight: weighted means scale by it; even_weights: they are all equal.
create macro metric_totals(value, scored, nonzero, weight) as {
    n_total: count(*),
    n_scored: count(scored),
    n_counted: count(value),
    mean: exact_mean(value),
    rate: exact_mean(nonzero),
    min: min(value),
    cuts: quantile_cont(value, [0.5, 0.9, 0.95]),
    max: max(value),
    sum: exact_sum(value),
    max_weight: max(weight),
    even_weights: min(weight) = max(weight) and count(weight) = count(value)
};
