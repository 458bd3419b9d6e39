-- answers. Grain: answer of a current run: its text, to be joined with scores by run, question and repeat.
-- Inputs: stored_answers (the output files of commits, kept copies or read again), current_runs.
-- A missing answer is not here. Of a profile that judges judgements, several rows may have the same question and repeat.
create view answers as
select r.run_id, a.profile, r.eval_set, a.question_id, a.repeat, a.output
from stored_answers a
join current_runs r on r.commit = a.commit and r.stored_id = a.run_id;
