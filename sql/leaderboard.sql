-- leaderboard. Grain: run x profile x eval set, ranked by the run's score (a mean or weighted mean, as its profile says).
-- Inputs: run_summary, profile_catalog. low and high: a 95 % interval of the mean by the normal approximation.
create view leaderboard as
with scored as not materialized (
    select
        s.run_id, s.profile, s.eval_set,
        case p.run_stat when 'weighted_mean' then s.weighted_mean else s.mean end as score,
        1.959963984540054 * s.std / sqrt(nullif(s.n_total, 0)) as half,
        s.n_total as n
    from run_summary s
    join profile_catalog p on p.profile = s.profile
    where s.metric = 'score'
)
select
    rank() over (partition by profile, eval_set order by score desc nulls last) as rank,
    run_id, profile, eval_set, score, score - half as low, score + half as high, n
from scored;
