-- run_value(stat, value, weight, top, numerator, denominator): the one value that a run has of a metric, over its units, by
-- the statistic that its profile declares (mean, weighted_mean, micro). top is the largest weight of a unit with a value.
create macro run_value(stat, value, weight, top, numerator, denominator) as
case stat
    when 'weighted_mean' then exact_weighted_mean(value, weight, top)
    when 'micro' then exact_sum(numerator) / nullif(exact_sum(denominator), 0)
    else exact_mean(value)
end;
