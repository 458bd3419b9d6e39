-- regressions(base, cand, of_eval_set := null, of_profile := null). Grain: question of either run, or what else its profile
-- pairs runs by (a judged sample; unit_pairs has its whole key): its score in both, and what became of it (status:
-- regression, improvement, tie, only_base, only_cand). Where the runs have several eval sets or profiles in common it is of
-- the newest, or of those that are named. Inputs: unit_pairs, run_pair.
-- Example: from regressions('a', 'b'); from regressions('a', 'b', of_eval_set := 'set').
create macro regressions(base, cand, of_eval_set := null, of_profile := null) as table
select question_id, base_score, cand_score, delta, status
from unit_pairs(
    (select r.profile from run_pair(base, cand, of_eval_set, of_profile) r),
    'score',
    (select r.base_run from run_pair(base, cand, of_eval_set, of_profile) r),
    (select r.base_set from run_pair(base, cand, of_eval_set, of_profile) r),
    (select r.candidates from run_pair(base, cand, of_eval_set, of_profile) r),
    [base, cand]
);
