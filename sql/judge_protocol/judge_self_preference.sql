-- judge_self_preference. Grain: run x model that was judged: its mean score by itself minus its mean score by others.
-- Inputs: judge_counted. Rows are pooled: no mean of judges' means. Null where it has not been judged by both.
create view judge_self_preference as
select
    run_id, eval_set, target_model as model,
    count(*) filter (method = 'self_judge') as n_self,
    count(*) filter (method = 'cross_judge') as n_others,
    exact_mean(case method when 'self_judge' then score end) as by_itself,
    exact_mean(case method when 'cross_judge' then score end) as by_others,
    exact_mean(case method when 'self_judge' then score end)
        - exact_mean(case method when 'cross_judge' then score end) as self_preference
from judge_counted
group by run_id, eval_set, target_model;
