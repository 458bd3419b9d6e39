-- spread_scale(totals): what deviations of a metric from its mean are divided by before they are squared, as sums have 18
-- decimals: 1 where the largest of them is between 1e-3 and 1e5, else that one. Deviations that are but the rounding of
-- the mean, as those of equal values, are divided by so much that nothing is left of them.
create macro spread_scale(totals) as
case
    when greatest(totals.max - totals.mean, totals.mean - totals.min) <= greatest(-totals.min, totals.max, 1e-3) * 1e-15
        then 1e12
    when greatest(totals.max - totals.mean, totals.mean - totals.min) between 1e-3 and 1e5 then 1.0
    else greatest(totals.max - totals.mean, totals.mean - totals.min)
end;
