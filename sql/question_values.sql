-- question_values. Grain: run x metric x question: the value that means and percentiles are made of.
-- Inputs: metric_rows, metric_catalog, profile_catalog, current_runs; given_values (runs of files that are compared in this session).
-- Several repeats of a question count as their mean. A null counts as what the metric says it is worth, or not at all.
-- Runs without repeats pass as they are: grouping them would cost much and change nothing. Where the run's score is a
-- mean over all rows (micro), a question may have many rows without any repeats.
create view question_values as
with valued as not materialized (
    select
        m.commit, r.run_id, m.profile, r.eval_set, m.metric, m.question_id, m.weight,
        r.repeats = 1 and p.run_stat <> 'micro' as single,
        m.value is not null as scored,
        coalesce(m.value, c.null_counts_as) as value
    from metric_rows m
    join current_runs r on r.commit = m.commit and r.stored_id = m.run_id
    join metric_catalog c on c.profile = m.profile and c.metric = m.metric
    join profile_catalog p on p.profile = m.profile
)
select run_id, profile, eval_set, metric, question_id, weight, scored, value
from valued
where single
union all
select run_id, profile, eval_set, metric, question_id, any_value(weight), bool_or(scored), exact_mean(value)
from valued
where not single
group by run_id, profile, eval_set, metric, question_id
union all
select run_id, profile, eval_set, metric, question_id, weight, scored, value
from given_values;
