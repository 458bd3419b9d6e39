-- regressions(base, cand). Grain: question of either run, or what else its profile pairs runs by (a judged sample; unit_pairs
-- has its whole key): its score in both, and what became of it (status: regression, improvement, tie, only_base,
-- only_cand). Inputs: unit_pairs, run_pair. Example: from regressions('a', 'b').
create macro regressions(base, cand) as table
select question_id, base_score, cand_score, delta, status
from unit_pairs(
    (select profile from run_pair(base, cand)),
    'score',
    (select base_run from run_pair(base, cand)),
    (select base_set from run_pair(base, cand)),
    (select candidates from run_pair(base, cand)),
    [base, cand]
);
