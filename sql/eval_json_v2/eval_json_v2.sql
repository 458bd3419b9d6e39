-- eval_json_v2. Grain: answer (run x question x repeat) of the current result of each run.
-- Inputs: stored_eval_json_v2, current_runs.
-- The profile's columns as it declares them; sub-scores are null where the answer failed or is missing.
create view eval_json_v2 as
select
    r.run_id, s.question_id, s.repeat,
    s.* exclude (run_id, question_id, repeat, commit, dataset, weight, input, line),
    r.eval_set
from stored_eval_json_v2 s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id;
