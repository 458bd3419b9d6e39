-- run_groups_by(field). Grain: run x profile x eval set x value of a field of the question: $.name, or $.a.b further down.
-- Inputs: questions, question_values. A question counts once, with the mean of its repeats; one without the field is not
-- here. A field that is a list or an object stands as its JSON.
create macro run_groups_by(field) as table
select
    v.run_id, v.profile, v.eval_set, q.fields ->> field as value,
    count(*) as n, exact_mean(v.value) as mean
from question_values v
join questions q on q.profile = v.profile and q.eval_set = v.eval_set and q.question_id = v.question_id
where v.metric = 'score' and q.fields ->> field is not null
group by v.run_id, v.profile, v.eval_set, q.fields ->> field;
