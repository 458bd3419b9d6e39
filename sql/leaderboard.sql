-- leaderboard. Grain: run x profile x eval set, ranked by the run's score (a mean or weighted mean, as its profile says).
-- Inputs: run_summary, question_values, profile_catalog. low and high: a 95 % interval of that mean by the normal
-- approximation; of a weighted mean, each question's distance from it counts by its share of the weights.
create view leaderboard as
with scored as not materialized (
    select
        s.run_id, s.profile, s.eval_set, p.run_stat,
        case p.run_stat when 'weighted_mean' then s.weighted_mean else s.mean end as score,
        s.std / sqrt(nullif(s.n_total, 0)) as error,
        s.n_total as n
    from run_summary s
    join profile_catalog p on p.profile = s.profile
    where s.metric = 'score'
),
weighed as not materialized (
    select v.run_id, v.profile, v.eval_set, max(v.weight) as top
    from question_values v
    join profile_catalog p on p.profile = v.profile and p.run_stat = 'weighted_mean'
    where v.metric = 'score'
    group by v.run_id, v.profile, v.eval_set
),
weighted_errors as not materialized (
    select
        v.run_id, v.profile, v.eval_set,
        sqrt(exact_sum(((v.value - s.score) * (v.weight / w.top)) ** 2))
            / nullif(exact_sum(case when v.value is not null then v.weight / w.top end), 0) as error
    from question_values v
    join weighed w on w.run_id = v.run_id and w.profile = v.profile and w.eval_set = v.eval_set and w.top > 0
    join scored s on s.run_id = v.run_id and s.profile = v.profile and s.eval_set = v.eval_set
    where v.metric = 'score'
    group by v.run_id, v.profile, v.eval_set
)
select
    rank() over (partition by s.profile, s.eval_set order by s.score desc nulls last) as rank,
    s.run_id, s.profile, s.eval_set, s.score,
    s.score - 1.959963984540054 * coalesce(e.error, s.error) as low,
    s.score + 1.959963984540054 * coalesce(e.error, s.error) as high,
    s.n
from scored s
left join weighted_errors e on e.run_id = s.run_id and e.profile = s.profile and e.eval_set = s.eval_set;
