-- metrics. Grain: answer x metric, long form. A null value means not applicable.
-- Inputs: metric_rows (every declared metric of every profile as rows), metric_catalog, current_runs.
-- Rates carry numerator and denominator, so that micro averages need no average of averages.
create view metrics as
select
    r.run_id, m.profile, r.eval_set, m.question_id, m.repeat, m.metric,
    m.value, m.numerator, m.denominator, c.higher_is_better
from metric_rows m
join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
join metric_catalog c on c.profile = m.profile and c.metric = m.metric;
