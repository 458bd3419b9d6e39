-- metric_values. Grain: answer x metric of the current result of each run: the values that means are made of.
-- Inputs: metric_rows (every metric of every profile as rows), metric_catalog, current_runs.
-- A null counts as what the metric says it is worth, or not at all. unit: what runs are paired by. alone: the row is the
-- only one of its unit and its question, so that nothing has to be averaged.
create view metric_values as
select
    r.run_id, m.profile, r.eval_set, m.metric, m.question_id, m.unit, m.weight,
    m.by_question and r.repeats = 1 as alone,
    m.value is not null as scored,
    coalesce(m.value, c.null_counts_as) as value,
    m.numerator, m.denominator
from metric_rows m
join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
join metric_catalog c on c.profile = m.profile and c.metric = m.metric;
