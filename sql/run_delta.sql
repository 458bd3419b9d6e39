-- run_delta(base, cand, of_eval_set := null, of_profile := null). Grain: metric of two runs: the whole runs' values (by the
-- profile's statistic of a run), the delta (positive is better), and how many shared units rose, fell or stayed. Where the
-- runs have several eval sets or profiles in common it is of the newest, or of those that are named.
-- Inputs: unit_pairs, run_pair, metric_catalog, profile_catalog.
-- Example: from run_delta('a', 'b'); from run_delta('a', 'b', of_eval_set := 'set').
create macro run_delta(base, cand, of_eval_set := null, of_profile := null) as table
with pairs as materialized (
    from unit_pairs(
        (select r.profile from run_pair(base, cand, of_eval_set, of_profile) r),
        null,
        (select r.base_run from run_pair(base, cand, of_eval_set, of_profile) r),
        (select r.base_set from run_pair(base, cand, of_eval_set, of_profile) r),
        (select r.candidates from run_pair(base, cand, of_eval_set, of_profile) r),
        [base, cand]
    )
),
max_weights as not materialized (
    select metric, max(base_weight) as base_top, max(cand_weight) as cand_top
    from pairs
    group by metric
),
valued as not materialized (
    select
        p.metric,
        any_value(m.higher_is_better) as higher_is_better,
        run_value(any_value(c.run_stat), base_score, base_weight, base_top, base_numerator, base_denominator) as before,
        run_value(any_value(c.run_stat), cand_score, cand_weight, cand_top, cand_numerator, cand_denominator) as after,
        count(*) filter (status = 'improvement') as improvements,
        count(*) filter (status = 'regression') as regressions,
        count(*) filter (status = 'tie') as ties
    from pairs p
    join max_weights t on t.metric = p.metric
    join metric_catalog m
        on m.metric = p.metric and m.profile = (select r.profile from run_pair(base, cand, of_eval_set, of_profile) r)
    join profile_catalog c on c.profile = m.profile
    group by p.metric
)
select
    metric, before as base, after as cand,
    case when higher_is_better then after - before else before - after end as delta,
    improvements, regressions, ties
from valued;
