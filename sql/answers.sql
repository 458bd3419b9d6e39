-- answers. Grain: answer of a current run: its text and its other columns, to be joined with scores by run, question and repeat.
-- Inputs: stored_answers (the output files of commits, kept copies or read again), stored_extras (kept in commits), current_runs.
-- output is null where the answer was null, and where its own file is gone or changed: other files of the commit are read all the
-- same. A missing answer is not here. Of a profile that judges judgements, several rows may have the same question and repeat; their
-- places in the files tell them apart. A column that is constant within each run is metadata of the runs, and not here. A query that
-- says which runs or questions it is about, as where run_id = 'a', reads no other inputs.
create view answers as
select
    r.run_id, a.profile, r.eval_set, a.question_id, a.repeat, a.output,
    x.* exclude (commit, run_id, question_id, repeat, input, line)
from stored_answers a
join current_runs r on r.commit = a.commit and r.stored_id = a.run_id
left join stored_extras x
    on x.commit = a.commit and x.run_id = a.run_id and x.input = a.input and x.line = a.line
where a.line is not null
-- Of a copy that does not say where its rows stood, the keys tell them apart.
union all
select
    r.run_id, a.profile, r.eval_set, a.question_id, a.repeat, a.output,
    x.* exclude (commit, run_id, question_id, repeat, input, line)
from stored_answers a
join current_runs r on r.commit = a.commit and r.stored_id = a.run_id
left join stored_extras x
    on x.commit = a.commit and x.run_id = a.run_id and x.question_id = a.question_id and x.repeat = a.repeat
where a.line is null;
