-- run_values. Grain: run x profile x eval set x metric: the one value that a run has of a metric, by the statistic that
-- its profile declares: what score, leaderboard, compare, run_delta and benchmark show.
-- Inputs: stored_summary, current_runs, profile_catalog. stat: what people call that statistic. n: all its units;
-- of a metric that some have no value of, run_summary says over how many the value is.
create view run_values as
select r.run_id, r.profile, r.eval_set, s.metric, s.value, p.stat, s.n_units as n
from stored_summary s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id
left join profile_catalog p on p.profile = r.profile
where s.grouping = '' and s.metric <> '';
