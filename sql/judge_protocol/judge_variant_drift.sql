-- judge_variant_drift. Grain: run x prompt variant other than the base: mean change of score against the base.
-- Inputs: judge_counted (cross-judging), judge_protocol and stored_judge_protocol for the base: the parameter
-- base_variant, else the first variant by name of all rows, invalid and missing ones too.
-- Paired on judge x target x question; outputs and repeats of a pair are averaged first. low, high: a 95 % bootstrap
-- interval of the mean over pairs.
create view judge_variant_drift as
with variants as (
    select distinct run_id, eval_set, prompt_variant from judge_protocol where prompt_variant is not null
),
bases as (
    select v.run_id, v.eval_set, coalesce(any_value(given.base_variant), min(v.prompt_variant)) as base_variant
    from variants v
    join current_runs r on r.run_id = v.run_id and r.eval_set = v.eval_set and r.profile = 'judge_protocol'
    left join (select commit, run_id, any_value(base_variant) as base_variant from stored_judge_protocol group by all) given
        on given.commit = r.commit and given.run_id = r.stored_id
    group by v.run_id, v.eval_set
),
cells as (
    select run_id, eval_set, judge_model, target_model, question_id, prompt_variant, exact_mean(score) as score
    from judge_counted
    where method = 'cross_judge'
    group by run_id, eval_set, judge_model, target_model, question_id, prompt_variant
),
changes as (
    select b.run_id, b.eval_set, c.prompt_variant, c.score - before.score as change
    from bases b
    join cells c on c.run_id = b.run_id and c.eval_set = b.eval_set and c.prompt_variant <> b.base_variant
    join cells before
        on before.run_id = c.run_id and before.eval_set = c.eval_set and before.prompt_variant = b.base_variant
        and before.judge_model is not distinct from c.judge_model
        and before.target_model is not distinct from c.target_model
        and before.question_id is not distinct from c.question_id
),
means as (
    select
        run_id, eval_set, prompt_variant, count(*) as n, exact_mean(change) as mean_change,
        mean_interval(list({value: change, weight: 1.0}), 10000) as within
    from changes
    group by run_id, eval_set, prompt_variant
)
select
    v.run_id, v.eval_set, b.base_variant, v.prompt_variant,
    coalesce(m.n, 0) as n, m.mean_change, m.within.low as low, m.within.high as high
from variants v
join bases b on b.run_id = v.run_id and b.eval_set = v.eval_set and b.base_variant <> v.prompt_variant
left join means m on m.run_id = v.run_id and m.eval_set = v.eval_set and m.prompt_variant = v.prompt_variant;
