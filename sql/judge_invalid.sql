-- judge_invalid. Grain: run x judge x flag, and flag any: how many of the judge's rows have it.
-- Inputs: judge_protocol. Missing rows and duplicates are rows of the judge too; a judge that is not known is null.
create view judge_invalid as
with known as (
    select unnest([
        'any', 'UNPARSABLE_OUTPUT', 'PROTOCOL_VIOLATION', 'INCOMPLETE_COVERAGE', 'JUDGE_REFUSAL_OR_EVASION',
        'INTERNAL_INCONSISTENCY'
    ]) as flag
)
select
    j.run_id, j.eval_set, j.judge_model, k.flag,
    count(*) filter (case k.flag when 'any' then not j.valid else list_contains(j.flags, k.flag) end) as n,
    count(*) as rows,
    count(*) filter (case k.flag when 'any' then not j.valid else list_contains(j.flags, k.flag) end) / count(*) as rate
from judge_protocol j
cross join known k
group by j.run_id, j.eval_set, j.judge_model, k.flag;
