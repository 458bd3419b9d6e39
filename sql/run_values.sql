-- run_values. Grain: run x profile x eval set x metric: the one value that a run has of a metric, by the statistic that
-- its profile declares: what score, leaderboard, compare, run_delta and benchmark show.
-- Inputs: unit_values, profile_catalog. n: units that count.
create view run_values as
with tops as not materialized (
    select run_id, profile, eval_set, metric, max(weight) filter (value is not null) as top
    from unit_values
    group by run_id, profile, eval_set, metric
)
select
    v.run_id, v.profile, v.eval_set, v.metric,
    run_value(any_value(p.run_stat), v.value, v.weight, t.top, v.numerator, v.denominator) as value,
    count(*) as n
from unit_values v
join profile_catalog p on p.profile = v.profile
join tops t on t.run_id = v.run_id and t.profile = v.profile and t.eval_set = v.eval_set and t.metric = v.metric
group by v.run_id, v.profile, v.eval_set, v.metric;
