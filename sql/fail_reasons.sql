-- fail_reasons. Grain: run x profile x eval set x reason; answers without one are not here.
-- Inputs: scores.
create view fail_reasons as
select
    run_id, profile, eval_set, fail_reason,
    count(*) as n,
    count(*) / any_value(total) as share
from (select *, count(*) over (partition by run_id, profile, eval_set) as total from scores)
where fail_reason is not null
group by run_id, profile, eval_set, fail_reason;
