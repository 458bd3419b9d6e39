-- fail_reasons. Grain: run x profile x eval set x reason; answers without one are not here.
-- Inputs: stored_summary, current_runs. n: answers; share: of all answers of the run.
create view fail_reasons as
select
    r.run_id, r.profile, r.eval_set, s.group_value as fail_reason, s.n_total as n, s.n_total / s.n_counted as share
from stored_summary s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id
where s.metric = '' and s.grouping = 'fail_reason';
