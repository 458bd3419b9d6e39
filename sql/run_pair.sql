-- run_pair(base, cand, of_eval_set := null, of_profile := null). Grain: one row, or none: the profile and questions that two
-- runs have in common, the newest of the candidate's where there are several; of_eval_set (its name, version, or the start
-- of its hash) and of_profile say which. Inputs: current_runs.
create macro run_pair(base, cand, of_eval_set := null, of_profile := null) as table
select
    c.profile, b.run_id as base_run, b.eval_set as base_set,
    [{run_id: c.run_id, eval_set: c.eval_set}] as candidates, c.eval_set as cand_set
from current_runs b
join current_runs c on c.profile = b.profile and c.questions_sha256 = b.questions_sha256
where b.run_id = base and c.run_id = cand
  and (of_profile is null or c.profile = of_profile)
  and (of_eval_set is null or starts_with(c.questions_sha256, of_eval_set)
       or (of_eval_set in (b.eval_set, split_part(b.eval_set, '@', 1))
           and of_eval_set in (c.eval_set, split_part(c.eval_set, '@', 1))))
order by c.commit desc, b.commit desc
limit 1;
