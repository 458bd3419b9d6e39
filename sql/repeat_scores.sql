-- repeat_scores. Grain: run x profile x eval set x repeat: the run's score over the answers of that repeat alone.
-- Inputs: scores, metric_catalog, profile_catalog. A question without any answer counts in every repeat, not only in
-- the one that its row stands under.
create view repeat_scores as
with answers as not materialized (
    select
        s.run_id, s.profile, s.eval_set, s.repeat, s.weight,
        s.fail_reason is not distinct from 'missing_output' as missing,
        coalesce(s.score, m.null_counts_as) as score
    from scores s
    join metric_catalog m on m.profile = s.profile and m.metric = 'score'
),
repeats as not materialized (
    select run_id, profile, eval_set, repeat
    from answers
    where not missing
    group by run_id, profile, eval_set, repeat
),
spread as not materialized (
    select r.run_id, r.profile, r.eval_set, r.repeat, a.weight, a.score
    from repeats r
    join answers a
        on a.run_id = r.run_id and a.profile = r.profile and a.eval_set = r.eval_set
        and (a.missing or a.repeat = r.repeat)
),
tops as not materialized (
    select run_id, profile, eval_set, max(weight) as top from scores group by run_id, profile, eval_set
)
select
    s.run_id, s.profile, s.eval_set, s.repeat, count(*) as n,
    case any_value(p.run_stat)
        when 'weighted_mean' then exact_weighted_mean(s.score, s.weight, t.top)
        else exact_mean(s.score)
    end as score
from spread s
join tops t on t.run_id = s.run_id and t.profile = s.profile and t.eval_set = s.eval_set
join profile_catalog p on p.profile = s.profile
group by s.run_id, s.profile, s.eval_set, s.repeat;
