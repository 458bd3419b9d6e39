-- run_pair(base, cand). Grain: one row, or none: the profile and questions that two runs have in common, the newest of
-- the candidate's where there are several. Inputs: current_runs.
create macro run_pair(base, cand) as table
select
    c.profile, b.run_id as base_run, b.eval_set as base_set,
    [{run_id: c.run_id, eval_set: c.eval_set}] as candidates, c.eval_set as cand_set
from current_runs b
join current_runs c on c.profile = b.profile and c.questions_sha256 = b.questions_sha256
where b.run_id = base and c.run_id = cand
order by c.commit desc, b.commit desc
limit 1;
