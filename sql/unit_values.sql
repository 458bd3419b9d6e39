-- unit_values. Grain: run x metric x unit: what runs are paired and resampled by. A unit is a question, or what else the
-- profile declares (a judged sample); its name is then the JSON list of its key.
-- Inputs: metric_values. Several rows of a unit (repeats, judgements) count as their mean.
-- Rows that stand alone pass as they are: grouping them would cost much and change nothing.
create view unit_values as
select run_id, profile, eval_set, metric, unit, by_question, weight, scored, value, numerator, denominator
from metric_values
where alone
union all
select
    run_id, profile, eval_set, metric, unit, by_question, any_value(weight), bool_or(scored), exact_mean(value),
    exact_sum(numerator), exact_sum(denominator)
from metric_values
where not alone
group by run_id, profile, eval_set, metric, unit, by_question;
