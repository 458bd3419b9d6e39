-- metric_summary. Grain: run x profile x eval set x metric: the one definition of every statistic of a run; run_summary shows
-- it, gates are held against it. Inputs: question_values, metric_values, exact_mean, exact_sum, exact_weighted_mean.
-- n_total: questions; n_scored: those with a value of their own; n_counted: those with a value, a null counting as the
-- metric says; rate: share of the values that are not 0; std: of the population; micro: sum of numerators over sum of
-- denominators, n_parts: rows that have them. Weights are scaled by the largest, so that any finite one adds exactly.
create view metric_summary as
with means as not materialized (
    select
        run_id, profile, eval_set, metric,
        count(*) as n_total,
        count(*) filter (scored) as n_scored,
        count(value) as n_counted,
        exact_mean(value) as mean,
        exact_sum(value) as sum,
        exact_mean((value <> 0)::int::double) as rate,
        max(weight) filter (value is not null) as max_weight,
        min(value) as min,
        quantile_cont(value, [0.5, 0.9, 0.95]) as cuts,
        max(value) as max
    from question_values
    group by run_id, profile, eval_set, metric
),
spreads as not materialized (
    select
        v.run_id, v.profile, v.eval_set, v.metric,
        sqrt(exact_mean((v.value - m.mean) * (v.value - m.mean))) as std,
        exact_weighted_mean(v.value, v.weight, m.max_weight) as weighted_mean
    from question_values v
    join means m
        on m.run_id = v.run_id and m.profile = v.profile and m.eval_set = v.eval_set and m.metric = v.metric
    group by v.run_id, v.profile, v.eval_set, v.metric
),
micros as not materialized (
    select
        run_id, profile, eval_set, metric, count(denominator) as n_parts,
        exact_sum(numerator) / nullif(exact_sum(denominator), 0) as micro
    from metric_values
    where denominator is not null
    group by run_id, profile, eval_set, metric
)
select
    m.run_id, m.profile, m.eval_set, m.metric, m.n_total, m.n_scored, m.n_counted, coalesce(i.n_parts, 0) as n_parts,
    m.mean, s.weighted_mean, i.micro, m.rate, s.std, m.min, m.cuts[1] as p50, m.cuts[2] as p90, m.cuts[3] as p95,
    m.max, m.sum
from means m
left join spreads s
    on s.run_id = m.run_id and s.profile = m.profile and s.eval_set = m.eval_set and s.metric = m.metric
left join micros i
    on i.run_id = m.run_id and i.profile = m.profile and i.eval_set = m.eval_set and i.metric = m.metric;
