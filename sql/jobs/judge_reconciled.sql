-- judge_reconciled(). Grain: judgement of a job, and sample of the list that a judge of a run has no record for.
-- Inputs: rows (score rows of single judgements, with the columns that are for comparing), listed (the samples).
-- What only all records together can tell: records of one judge for one sample (same run and repeat) with different
-- scores are inconsistent, all of them; a later one of the same text, or valid after a valid one, is a duplicate.
-- A part of the key that the rubric does not ask for may be null: it is '' in comparisons, which no name is.
-- judge_name, target_name: how the run first writes a model's name, by file and line, for all spellings that fold alike.
-- Only keys that occur twice are looked at, so that the wide rows pass once and the work on the side stays small.
create macro judge_reconciled() as table
with keyed as not materialized (
    select
        input, line, run_id, coalesce(judge_key, '') as judge_key, coalesce(question_id, '') as question_id,
        coalesce(prompt_variant, '') as prompt_variant, coalesce(target_key, '') as target_key,
        coalesce(output_id, '') as output_id, repeat, points, digest_a, digest_b, valid
    from rows
    where key_known
),
samples as materialized (
    select
        coalesce(question_id, '') as question_id, coalesce(prompt_variant, '') as prompt_variant, target_model,
        coalesce(target_key, '') as target_key, coalesce(output_id, '') as output_id
    from listed
),
several as (
    select run_id, judge_key, question_id, prompt_variant, target_key, output_id, repeat
    from keyed
    group by all
    having count(*) > 1
),
again as materialized (
    select k.*, dense_rank() over (
        order by run_id, judge_key, question_id, prompt_variant, target_key, output_id, repeat
    ) as key
    from keyed k
    semi join several s using (run_id, judge_key, question_id, prompt_variant, target_key, output_id, repeat)
),
-- One line for each score of a key that is not the same in all its records.
disputed as (
    select key, place
    from (select key, unnest(points) as point, generate_subscripts(points, 1) as place from again)
    where point is not null
    group by key, place
    having min(point) <> max(point)
),
conflicts as materialized (
    select distinct a.input, a.line
    from again a
    join disputed d on d.key = a.key and a.points[d.place] is not null
),
reconciled as (
    select a.*, a.valid and c.line is null as holds
    from again a
    left join conflicts c on c.input = a.input and c.line = a.line
),
duplicates as materialized (
    select input, line
    from reconciled
    qualify row_number() over (partition by key, digest_a, digest_b order by input, line) > 1
         or (holds and row_number() over (partition by key, holds order by input, line) > 1)
),
-- The first record of a judge for a sample of the list stands for the two in the share that is answered.
answers as materialized (
    select run_id, judge_key, question_id, prompt_variant, target_key, output_id,
           min({input: input, line: line}) as first
    from keyed
    semi join samples using (question_id, prompt_variant, target_key, output_id)
    group by run_id, judge_key, question_id, prompt_variant, target_key, output_id
),
judges as materialized (
    select run_id, coalesce(judge_key, '') as judge_key, arg_min(judge_model, {input: input, line: line}) as judge_name
    from rows
    where judge_key is not null or key_known
    group by all
),
targets as materialized (
    select run_id, target_key, arg_min(target_model, {input: input, line: line}) as target_name
    from rows
    where target_key is not null
    group by run_id, target_key
),
-- A run whose judges are all unknown has judged nothing: its samples are missing once, without a judge.
missing as (
    select
        r.run_id, j.judge_name as judge_model, j.judge_name, nullif(l.question_id, '') as question_id,
        nullif(l.prompt_variant, '') as prompt_variant, l.target_model, nullif(l.target_key, '') as target_key,
        coalesce(t.target_name, l.target_model) as target_name, nullif(l.output_id, '') as output_id
    from (select distinct run_id from rows) r
    left join judges j on j.run_id = r.run_id
    cross join samples l
    left join targets t on t.run_id = r.run_id and t.target_key = l.target_key
    anti join answers a
        on a.run_id = r.run_id and a.judge_key = j.judge_key and a.question_id = l.question_id
        and a.prompt_variant = l.prompt_variant and a.target_key = l.target_key and a.output_id = l.output_id
),
judged as (
    select
        r.* exclude (judge_key, key_known, points, digest_a, digest_b, timestamp)
            replace (
                j.judge_name as judge_name,
                t.target_name as target_name,
                case when c.line is not null and not list_contains(r.flags, 'INTERNAL_INCONSISTENCY')
                    then list_append(r.flags, 'INTERNAL_INCONSISTENCY') else r.flags end as flags,
                r.valid and c.line is null as valid,
                case when c.line is null then r.score end as score,
                coalesce(r.fail_reason, case when c.line is not null then 'INTERNAL_INCONSISTENCY' end) as fail_reason,
                case when d.line is not null then list_append(r.warnings, 'duplicate') else r.warnings end as warnings,
                case when a.first is not null then 1::tinyint end as due,
                case when a.first is not null then 1::tinyint end as answered
            )
    from rows r
    left join conflicts c on c.input = r.input and c.line = r.line
    left join duplicates d on d.input = r.input and d.line = r.line
    left join answers a on a.first.input = r.input and a.first.line = r.line
    left join judges j on j.run_id = r.run_id and j.judge_key = r.judge_key
    left join targets t on t.run_id = r.run_id and t.target_key = r.target_key
),
-- What enters means: cross-judging and self-judging apart, duplicates left out.
counted as (
    select
        * replace (
            case when method = 'cross_judge' and not list_contains(warnings, 'duplicate') then score end as cross_score,
            case when method = 'self_judge' and not list_contains(warnings, 'duplicate') then score end as self_score
        )
    from judged
)
select
    * replace (
        case when cross_score is not null then 1::tinyint end as cross_counted,
        case when self_score is not null then 1::tinyint end as self_counted
    )
from counted
union all by name
select
    *, 0::integer as repeat, 1.0::double as weight, false as valid, ['INCOMPLETE_COVERAGE'] as flags,
    []::varchar[] as warnings, 'missing' as fail_reason, 1::tinyint as due, 0::tinyint as answered,
    (select any_value(base_variant) from rows) as base_variant
from missing;
