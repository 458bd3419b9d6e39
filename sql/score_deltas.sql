-- score_deltas(base, cands, of_eval_set := null, of_profile := null). Grain: candidate of a list of names: the scores of the
-- base and of the candidate (by the profile's statistic of a run), the delta (positive is better), and how many of the n
-- shared units rose, fell or stayed. What run_delta says of the score, of many candidates by one pass over their rows.
-- Where the base has several eval sets or profiles in common with them it is of the newest, or of those that are named.
-- Inputs: unit_pairs, current_runs, metric_catalog, profile_catalog.
-- Example: from score_deltas('a', ['b', 'c']); from score_deltas('a', ['b', 'c'], of_eval_set := 'set').
create macro score_deltas(base, cands, of_eval_set := null, of_profile := null) as table
with shared as materialized (
    select
        c.profile, any_value(b.eval_set) as base_set,
        list({run_id: c.run_id, eval_set: c.eval_set} order by c.run_id) as candidates
    from current_runs b
    join current_runs c on c.profile = b.profile and c.questions_sha256 = b.questions_sha256
    where b.run_id = base and list_contains(cands, c.run_id)
      and (of_profile is null or c.profile = of_profile)
      and (of_eval_set is null or starts_with(c.questions_sha256, of_eval_set)
           or (of_eval_set in (b.eval_set, split_part(b.eval_set, '@', 1))
               and of_eval_set in (c.eval_set, split_part(c.eval_set, '@', 1))))
    group by c.profile, c.questions_sha256
    order by max(c.commit) desc, c.questions_sha256
    limit 1
),
pairs as materialized (
    from unit_pairs(
        (select s.profile from shared s),
        'score',
        base,
        (select s.base_set from shared s),
        (select s.candidates from shared s),
        list_append(cands, base)
    )
),
max_weights as not materialized (
    select run_id, max(base_weight) as base_top, max(cand_weight) as cand_top
    from pairs
    group by run_id
),
valued as not materialized (
    select
        p.run_id,
        any_value(m.higher_is_better) as higher_is_better,
        run_value(any_value(c.run_stat), base_score, base_weight, base_top, base_numerator, base_denominator) as before,
        run_value(any_value(c.run_stat), cand_score, cand_weight, cand_top, cand_numerator, cand_denominator) as after,
        count(*) filter (status = 'improvement') as improvements,
        count(*) filter (status = 'regression') as regressions,
        count(*) filter (status = 'tie') as ties
    from pairs p
    join max_weights t on t.run_id = p.run_id
    join profile_catalog c on c.profile = (select s.profile from shared s)
    join metric_catalog m on m.profile = c.profile and m.metric = 'score'
    group by p.run_id
)
select
    run_id as candidate, before as base, after as cand,
    case when higher_is_better then after - before else before - after end as delta,
    improvements, regressions, ties, improvements + regressions + ties as n
from valued;
