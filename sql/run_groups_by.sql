-- run_groups_by(field). Grain: run x profile x eval set x value of a field of the question: $.name, or $.a.b further down.
-- Inputs: questions, question_values. A question counts once, with the mean of its repeats; one without the field is not
-- here, nor one that stands in several rows with several values (samples of judges). A field that is a list or an object
-- stands as its JSON.
create macro run_groups_by(field) as table
with grouped as (
    select profile, eval_set, question_id, any_value(fields ->> field) as value
    from questions
    group by profile, eval_set, question_id
    having count(distinct fields ->> field) = 1
)
select
    v.run_id, v.profile, v.eval_set, q.value,
    count(*) as n, exact_mean(v.value) as mean
from question_values v
join grouped q on q.profile = v.profile and q.eval_set = v.eval_set and q.question_id = v.question_id
where v.metric = 'score'
group by v.run_id, v.profile, v.eval_set, q.value;
