-- judge_log(). Grain: run of a job: how many judgements were due and are there, and what the run's record says of them.
-- Inputs: rows (score rows before they were reconciled), stored (as they are stored).
-- question_count: judges x samples of the list, null without a list; answered_count: those with a record, or all records.
-- repeats: how many different ones the judgements have that the run's score is made of; at least 1.
create macro judge_log() as table
with timed as (
    select run_id, min(timestamp) as first_judged, max(timestamp) as last_judged
    from rows
    group by run_id
),
counted as (
    select
        run_id,
        nullif(count(due), 0) as question_count,
        case when count(due) = 0 then count(input) else coalesce(sum(answered), 0)::bigint end as answered_count,
        count(input) as judgements,
        count(distinct (question_id, prompt_variant, target_key, output_id))
            filter (coalesce(question_id, prompt_variant, target_key, output_id) is not null) as samples,
        string_agg(distinct judge_name, ', ' order by judge_name) as judges,
        greatest(count(distinct repeat) filter (cross_score is not null), 1) as repeats
    from stored
    group by run_id
)
select
    c.run_id, c.question_count, c.answered_count, c.repeats,
    map_from_entries(list_filter(
        [
            {k: 'judges', v: c.judges},
            {k: 'judgements', v: c.judgements::varchar},
            {k: 'samples', v: c.samples::varchar},
            {k: 'first_judged', v: t.first_judged},
            {k: 'last_judged', v: t.last_judged}
        ],
        lambda entry: entry.v is not null
    )) as meta
from counted c
join timed t on t.run_id = c.run_id;
