-- scores. Grain: answer x profile of the current result of each run: what all profiles have in common.
-- Inputs: stored_scores (all profiles, all commits), current_runs.
create view scores as
select
    r.run_id, s.profile, r.eval_set, s.question_id, s.dataset, s.repeat, s.weight, s.score, s.fail_reason
from stored_scores s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id;
