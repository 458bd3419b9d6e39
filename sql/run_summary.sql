-- run_summary. Grain: run x profile x eval set x metric.
-- Inputs: metric_summary, whose header says what each statistic is.
create view run_summary as
select
    run_id, profile, eval_set, metric, n_total, n_scored, mean, weighted_mean, micro, std, min, p50, p90, p95, max, sum
from metric_summary;
