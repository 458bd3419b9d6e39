-- include_rate. Grain: answer (run x question x repeat) of the current result of each run.
-- Inputs: stored_include_rate, current_runs.
-- The profile's columns as it declares them; all metrics but the score are null where the answer is missing.
create view include_rate as
select
    r.run_id, s.question_id, s.repeat, s.weight,
    s.* exclude (run_id, question_id, repeat, commit, dataset, weight, input, line),
    r.eval_set
from stored_include_rate s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id;
