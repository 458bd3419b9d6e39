-- unit_values. Grain: run x metric x unit: what runs are paired and resampled by. A unit is a question, or what else the
-- profile declares (a judged sample); its name is then the JSON list of its key.
-- Inputs: metric_values. Several rows of a unit (repeats, judgements) count as their mean, and in micro averages by the
-- sums of their numerators and denominators, which are exact.
-- Rows that stand alone pass as they are: grouping them would cost much and change nothing.
create view unit_values as
select
    run_id, profile, eval_set, metric, unit, question_id, weight, scored, value,
    numerator::decimal(38, 18) as numerator, denominator::decimal(38, 18) as denominator
from metric_values
where alone
union all
select
    run_id, profile, eval_set, metric, unit, any_value(question_id), any_value(weight), bool_or(scored),
    exact_mean(value),
    sum(numerator::decimal(38, 18)), sum(denominator::decimal(38, 18))
from metric_values
where not alone
group by run_id, profile, eval_set, metric, unit;
