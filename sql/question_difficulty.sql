-- question_difficulty. Grain: question x profile x eval set, over all current runs; hardest questions have low means.
-- Inputs: question_values (metric score), scores (for what went wrong most).
create view question_difficulty as
with means as not materialized (
    select
        profile, eval_set, question_id,
        count(*) as runs, exact_mean(value) as mean, min(value) as min, max(value) as max
    from question_values
    where metric = 'score'
    group by profile, eval_set, question_id
),
failed as not materialized (
    select profile, eval_set, question_id, fail_reason, count(*) as failures
    from scores
    where fail_reason is not null
    group by profile, eval_set, question_id, fail_reason
),
summed as not materialized (
    select
        profile, eval_set, question_id,
        sum(failures)::bigint as failures,
        min_by(fail_reason, (-failures, fail_reason)) as usual_failure
    from failed
    group by profile, eval_set, question_id
)
select
    a.profile, a.eval_set, a.question_id, a.runs, a.mean, a.min, a.max,
    coalesce(f.failures, 0) as failures, f.usual_failure
from means a
left join summed f on f.profile = a.profile and f.eval_set = a.eval_set and f.question_id = a.question_id;
