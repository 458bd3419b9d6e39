-- run_values. Grain: run x profile x eval set x metric: the one value that a run has of a metric, by the statistic that
-- its profile declares (mean, weighted_mean or micro): what score, leaderboard, compare, run_delta and benchmark show.
-- Inputs: run_summary, profile_catalog. n: questions.
create view run_values as
select
    s.run_id, s.profile, s.eval_set, s.metric,
    case p.run_stat when 'weighted_mean' then s.weighted_mean when 'micro' then s.micro else s.mean end as value,
    s.n_total as n
from run_summary s
join profile_catalog p on p.profile = s.profile;
