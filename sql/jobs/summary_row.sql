-- summary_row(name, totals, parts, spread, stat): a row of a summary from the aggregates of a metric.
-- micro: the sum of numerators over the sum of denominators. value: the one that a run has of the metric, by the
-- statistic that its profile declares (mean, weighted_mean, micro); n_units: what it is made of.
create macro summary_row(name, totals, parts, spread, stat) as {
    metric: name,
    n_total: totals.n_total,
    n_scored: totals.n_scored,
    n_counted: totals.n_counted,
    n_parts: parts.n_parts,
    mean: totals.mean,
    weighted_mean: case
        when not totals.even_weights then spread.weighted_mean
        when totals.max_weight <> 0 then totals.mean
    end,
    numerator: parts.numerator,
    denominator: parts.denominator,
    micro: parts.numerator / nullif(parts.denominator, 0),
    rate: totals.rate,
    std: spread.std,
    min: totals.min,
    p50: totals.cuts[1],
    p90: totals.cuts[2],
    p95: totals.cuts[3],
    max: totals.max,
    sum: totals.sum,
    value: case
        when stat = 'micro' then parts.numerator / nullif(parts.denominator, 0)
        when stat <> 'weighted_mean' then totals.mean
        when not totals.even_weights then spread.weighted_mean
        when totals.max_weight <> 0 then totals.mean
    end,
    n_units: totals.n_total
};
