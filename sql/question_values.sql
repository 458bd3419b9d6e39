-- question_values. Grain: run x metric x question: the value that means and percentiles are made of.
-- Inputs: unit_values, and metric_values for profiles whose units are not questions.
-- Several rows of a question (repeats, judgements) count as their mean.
create view question_values as
select run_id, profile, eval_set, metric, unit as question_id, weight, scored, value
from unit_values
where by_question
union all
select run_id, profile, eval_set, metric, question_id, any_value(weight), bool_or(scored), exact_mean(value)
from metric_values
where not by_question
group by run_id, profile, eval_set, metric, question_id;
