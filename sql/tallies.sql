-- tallies. Grain: run x kind x got x expected: what a profile counted while scoring, beside the scores.
-- Inputs: stored_tallies, current_runs.
create view tallies as
select r.run_id, r.profile, r.eval_set, t.kind, t.got, t.expected, t.n
from stored_tallies t
join current_runs r on r.commit = t.commit and r.stored_id = t.run_id;
