-- question_values. Grain: run x metric x question: the value that means and percentiles are made of.
-- Inputs: metric_values. Several rows of a question (repeats, judgements) count as their mean.
-- Rows that stand alone pass as they are: grouping them would cost much and change nothing.
create view question_values as
select run_id, profile, eval_set, metric, question_id, weight, scored, value
from metric_values
where alone
union all
select run_id, profile, eval_set, metric, question_id, any_value(weight), bool_or(scored), exact_mean(value)
from metric_values
where not alone
group by run_id, profile, eval_set, metric, question_id;
