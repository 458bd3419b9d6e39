-- run_summary. Grain: run x profile x eval set x metric.
-- Inputs: question_values, metric_rows, current_runs.
-- n_total: questions; n_scored: those with a value of their own; std: of the population; micro: sum of numerators over
-- sum of denominators. The weighted mean scales weights by the largest, so that any finite weight can be added exactly.
create view run_summary as
with means as not materialized (
    select
        run_id, profile, eval_set, metric,
        count(*) as n_total,
        count(*) filter (scored) as n_scored,
        exact_mean(value) as mean,
        exact_sum(value) as sum,
        max(weight) filter (value is not null) as top_weight,
        min(value) as min,
        quantile_cont(value, 0.5) as p50,
        quantile_cont(value, 0.9) as p90,
        quantile_cont(value, 0.95) as p95,
        max(value) as max
    from question_values
    group by run_id, profile, eval_set, metric
),
spreads as not materialized (
    select
        v.run_id, v.profile, v.eval_set, v.metric,
        sqrt(exact_mean((v.value - m.mean) * (v.value - m.mean))) as std,
        exact_weighted_mean(v.value, v.weight, m.top_weight) as weighted_mean
    from question_values v
    join means m
        on m.run_id = v.run_id and m.profile = v.profile and m.eval_set = v.eval_set and m.metric = v.metric
    group by v.run_id, v.profile, v.eval_set, v.metric
),
micros as not materialized (
    select
        r.run_id, m.profile, r.eval_set, m.metric,
        exact_sum(m.numerator) / nullif(exact_sum(m.denominator), 0) as micro
    from metric_rows m
    join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
    where m.denominator is not null
    group by r.run_id, m.profile, r.eval_set, m.metric
)
select
    m.run_id, m.profile, m.eval_set, m.metric, m.n_total, m.n_scored,
    m.mean, s.weighted_mean, i.micro, s.std, m.min, m.p50, m.p90, m.p95, m.max, m.sum
from means m
left join spreads s
    on s.run_id = m.run_id and s.profile = m.profile and s.eval_set = m.eval_set and s.metric = m.metric
left join micros i
    on i.run_id = m.run_id and i.profile = m.profile and i.eval_set = m.eval_set and i.metric = m.metric;
