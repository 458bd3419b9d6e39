-- answer_columns. Grain: answer of a current run that has other columns than the known fields: those columns, typed.
-- Inputs: stored_extras (kept in commits: the output files are not read again), current_runs.
-- A column that is constant within each run is metadata of the runs, and not here. Of runs that lack a column it is null.
create view answer_columns as
select
    r.run_id, r.profile, r.eval_set, x.question_id, x.repeat,
    x.* exclude (commit, run_id, question_id, repeat, input, line)
from stored_extras x
join current_runs r on r.commit = x.commit and r.stored_id = x.run_id;
