-- claim_evidence. Grain: answer (run x task x repeat) of the current result of each run.
-- Inputs: stored_claim_evidence, current_runs.
-- The profile's columns as it declares them; null means not applicable. Every rate has its numerator and denominator
-- beside it (_num, _den), so that averages over claims, citations or stages need no average of averages.
create view claim_evidence as
select
    r.run_id, s.question_id, s.repeat,
    s.* exclude (run_id, question_id, repeat, commit, dataset, weight, input, line),
    r.eval_set
from stored_claim_evidence s
join current_runs r on r.commit = s.commit and r.stored_id = s.run_id;
