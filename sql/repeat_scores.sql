-- repeat_scores. Grain: run x profile x eval set x repeat: the run's score over the answers of that repeat alone.
-- Inputs: metric_rows (score), metric_catalog, profile_catalog, current_runs. n: the answers that the score is made of.
-- A question without any answer counts in every repeat, not only in the one that its row stands under.
create view repeat_scores as
with answers as not materialized (
    select
        r.run_id, m.profile, r.eval_set, m.repeat, m.weight, m.numerator, m.denominator,
        m.fail_reason is not distinct from 'missing_output' as missing,
        coalesce(m.value, c.null_counts_as) as score
    from metric_rows m
    join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
    join metric_catalog c on c.profile = m.profile and c.metric = m.metric
    where m.metric = 'score'
),
repeats as not materialized (
    select run_id, profile, eval_set, repeat
    from answers
    where not missing
    group by run_id, profile, eval_set, repeat
),
spread as not materialized (
    select r.run_id, r.profile, r.eval_set, r.repeat, a.weight, a.numerator, a.denominator, a.score
    from repeats r
    join answers a
        on a.run_id = r.run_id and a.profile = r.profile and a.eval_set = r.eval_set
        and (a.missing or a.repeat = r.repeat)
),
max_weights as not materialized (
    select run_id, profile, eval_set, max(weight) as top from answers group by run_id, profile, eval_set
)
select
    s.run_id, s.profile, s.eval_set, s.repeat, count(s.score) as n,
    case any_value(p.run_stat)
        when 'weighted_mean' then exact_weighted_mean(s.score, s.weight, t.top)
        when 'micro' then exact_sum(s.numerator) / nullif(exact_sum(s.denominator), 0)
        else exact_mean(s.score)
    end as score
from spread s
join max_weights t on t.run_id = s.run_id and t.profile = s.profile and t.eval_set = s.eval_set
join profile_catalog p on p.profile = s.profile
group by s.run_id, s.profile, s.eval_set, s.repeat;
