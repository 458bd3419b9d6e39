-- run_summary. Grain: run x profile x eval set x metric.
-- Inputs: stored_summary (what commits have of their rows), current_runs.
-- n_total: questions; n_scored: those with a value of their own; n_counted: with those that count though they have none (a
-- missing answer as 0), which mean, std and percentiles are over; std: of the population; micro: sum of numerators over sum
-- of denominators, over n_micro rows: a missing answer has neither. Several answers to a question (repeats, judgements)
-- count as their mean.
create view run_summary as
select
    r.run_id, r.profile, r.eval_set, s.metric, s.n_total, s.n_scored, s.n_counted,
    s.mean, s.weighted_mean, s.micro, s.n_parts as n_micro, s.std, s.min, s.p50, s.p90, s.p95, s.max, s.sum
from stored_summary s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id
where s.grouping = '' and s.metric <> '';
