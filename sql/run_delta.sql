-- run_delta(base, cand). Grain: metric of two runs: the whole runs' values (by the profile's statistic of a run), the
-- delta (positive is better), and how many shared units rose, fell or stayed.
-- Inputs: unit_pairs, run_pair, run_values, metric_catalog. Example: from run_delta('a', 'b').
create macro run_delta(base, cand) as table
with counted as not materialized (
    select
        metric,
        count(*) filter (status = 'improvement') as improvements,
        count(*) filter (status = 'regression') as regressions,
        count(*) filter (status = 'tie') as ties
    from unit_pairs(
        (select profile from run_pair(base, cand)),
        null,
        (select base_run from run_pair(base, cand)),
        (select base_set from run_pair(base, cand)),
        (select cands from run_pair(base, cand))
    )
    group by metric
),
valued as not materialized (
    select c.*, b.value as before, a.value as after, m.higher_is_better
    from counted c
    cross join run_pair(base, cand) p
    join metric_catalog m on m.profile = p.profile and m.metric = c.metric
    left join run_values b
        on b.run_id = p.base_run and b.profile = p.profile and b.eval_set = p.base_set and b.metric = c.metric
    left join run_values a
        on a.run_id = cand and a.profile = p.profile and a.eval_set = p.cand_set and a.metric = c.metric
)
select
    metric, before as base, after as cand,
    case when higher_is_better then after - before else before - after end as delta,
    improvements, regressions, ties
from valued;
