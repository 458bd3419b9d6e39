-- leaderboard. Grain: run x profile x eval set, ranked by the run's score. Inputs: ranked.
-- stat: the statistic that the score is. low, high: a 95 % bootstrap interval of that score; null where there is nothing
-- to resample.
create view leaderboard as
select rank, run_id, profile, eval_set, score, stat, low, high, n
from ranked(null);
