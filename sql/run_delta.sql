-- run_delta(base, cand). Grain: metric of two runs: the whole runs' values (by the profile's statistic of a run), the
-- delta (positive is better), and how many shared questions rose, fell or stayed.
-- Inputs: question_pairs, run_pair, scores, profile_catalog, metric_catalog. Example: from run_delta('a', 'b').
create macro run_delta(base, cand) as table
with tops as (
    select
        coalesce(max(s.weight) filter (s.run_id = base), 1.0) as base_top,
        coalesce(max(s.weight) filter (s.run_id = cand), 1.0) as cand_top
    from scores s
    where s.run_id in (base, cand)
),
pairs as not materialized (
    from question_pairs(
        (select profile from run_pair(base, cand)),
        null,
        (select base_run from run_pair(base, cand)),
        (select base_set from run_pair(base, cand)),
        (select cands from run_pair(base, cand))
    )
),
valued as not materialized (
    select
        p.metric,
        exact_mean(p.base_score) as base_mean,
        exact_mean(p.cand_score) as cand_mean,
        exact_weighted_mean(p.base_score, p.base_weight, t.base_top) as base_weighted,
        exact_weighted_mean(p.cand_score, p.cand_weight, t.cand_top) as cand_weighted,
        count(*) filter (p.status = 'improvement') as improvements,
        count(*) filter (p.status = 'regression') as regressions,
        count(*) filter (p.status = 'tie') as ties
    from pairs p
    cross join tops t
    group by p.metric
),
scored as not materialized (
    select
        v.*, m.higher_is_better,
        case c.run_stat when 'weighted_mean' then v.base_weighted else v.base_mean end as before,
        case c.run_stat when 'weighted_mean' then v.cand_weighted else v.cand_mean end as after
    from valued v
    join metric_catalog m on m.metric = v.metric and m.profile = (select profile from run_pair(base, cand))
    join profile_catalog c on c.profile = m.profile
)
select
    metric, before as base, after as cand,
    case when higher_is_better then after - before else before - after end as delta,
    improvements, regressions, ties
from scored;
