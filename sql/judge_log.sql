-- judge_log(). Grain: run of a job: how many judgements were due and are there, and what the run's record says of them.
-- Inputs: rows (score rows before they were settled), stored (as they are stored).
-- question_count: judges x samples of the list, null without a list; answered_count: those with a record, or all records.
-- repeats: the rows of the question that has most; with more than one, a question counts as the mean of its rows.
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
        count(distinct (question_id, prompt_variant, target_model, output_id)) as samples,
        string_agg(distinct judge_model, ', ' order by judge_model) as judges
    from stored
    group by run_id
),
asked as (
    select run_id, max(n) as repeats
    from (select run_id, question_id, count(*) as n from stored group by run_id, question_id)
    group by run_id
)
select
    c.run_id, c.question_count, c.answered_count, a.repeats,
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
join timed t on t.run_id = c.run_id
join asked a on a.run_id = c.run_id;
