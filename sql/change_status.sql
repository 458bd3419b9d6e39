-- change_status(base, cand, delta): what became of a question between two runs. delta is positive where the candidate is
-- better; a change of no more than 1e-9 is a tie. only_base, only_cand: the other run has no value for it.
create macro change_status(base, cand, delta) as
case
    when cand is null then 'only_base'
    when base is null then 'only_cand'
    when delta > 1e-9 then 'improvement'
    when delta < -1e-9 then 'regression'
    else 'tie'
end;
