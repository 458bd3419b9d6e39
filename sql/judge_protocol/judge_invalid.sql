-- judge_invalid. Grain: run x judge x flag, and flag any: how many of the judge's rows have it.
-- Inputs: stored_judge_protocol, current_runs. Missing rows and duplicates are rows of the judge too; a judge is called
-- as the run first writes it, and null where it is not known.
create view judge_invalid as
with known as (
    select unnest([
        'any', 'UNPARSABLE_OUTPUT', 'PROTOCOL_VIOLATION', 'INCOMPLETE_COVERAGE', 'JUDGE_REFUSAL_OR_EVASION',
        'INTERNAL_INCONSISTENCY'
    ]) as flag
)
select
    r.run_id, r.eval_set, coalesce(j.judge_name, j.judge_model) as judge_model, k.flag,
    count(*) filter (case k.flag when 'any' then not j.valid else list_contains(j.flags, k.flag) end) as n,
    count(*) as rows,
    count(*) filter (case k.flag when 'any' then not j.valid else list_contains(j.flags, k.flag) end) / count(*) as rate
from stored_judge_protocol j
join current_runs r on r.commit = j.commit and r.stored_id = j.run_id
cross join known k
group by r.run_id, r.eval_set, coalesce(j.judge_name, j.judge_model), k.flag;
