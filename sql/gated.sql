-- gated(wanted). Grain: current run x gate, of every level that its profile's gates have.
-- wanted: names of runs, or null for all. Inputs: gate_catalog (gates as rows), gate_values (what they are about),
-- current_runs, profile_catalog. actual is null where there is nothing to apply a gate to: it is skipped, as is one that
-- is waived and would fail. n: questions that the statistic is over. Limits hold within 1e-9. failure: where it failed.
-- A run to which none of its gates applies fails: it gets one row more, `applicable_gates`, whose n is how many gates
-- there were. Gates on coverage (shares of answers, the record's provenance) do not count for that where there are others.
create macro gated(wanted) as table
with asked as materialized (
    -- A small number stands for a run, so that rows are grouped by it and not by three texts.
    select r.*, row_number() over () as run, p.provenance
    from current_runs r
    join profile_catalog p on p.profile = r.profile
    where wanted is null or list_contains(wanted, r.run_id)
),
answers as not materialized (
    select a.run, a.repeats, v.* exclude (commit, run_id)
    from gate_values v
    join asked a on a.commit = v.commit and a.stored_id = v.run_id
),
-- As in run_summary, several repeats of a question count as their mean.
questions as not materialized (
    select run, metric, form, scored, value, ranked, numerator, denominator, weighted, weight, has_weights
    from answers
    where repeats = 1
    union all
    select
        run, metric, form, bool_or(scored), exact_mean(value), exact_mean(ranked),
        exact_sum(numerator), exact_sum(denominator), exact_mean(weighted), any_value(weight), has_weights
    from answers
    where repeats > 1
    group by run, metric, form, question_id, has_weights
),
summed as materialized (
    select
        run, metric, form,
        count(value) as n, count(*) filter (scored) as n_scored,
        exact_mean(value) as mean, exact_sum(value) as sum, min(value) as min, max(value) as max,
        count(ranked) as n_ranked, quantile_cont(ranked, [0.5, 0.9, 0.95]) as cuts,
        count(denominator) as n_parts, exact_sum(numerator) / nullif(exact_sum(denominator), 0) as micro
    from questions
    group by run, metric, form
),
-- The largest weight that counts: exact_weighted_mean scales by it.
tops as not materialized (
    select run, metric, max(weight) as top
    from questions
    where has_weights and weighted is not null
    group by run, metric
),
weighted as not materialized (
    select
        q.run, q.metric, count(q.weighted) as n, exact_weighted_mean(q.weighted, q.weight, t.top) as mean
    from questions q
    join tops t on t.run = q.run and t.metric = q.metric
    where q.has_weights
    group by q.run, q.metric
),
lacking as materialized (
    select
        run,
        list_filter(provenance, lambda name: trim(coalesce(
            case name
                when 'prompt_sha256' then prompt_sha256
                when 'prompt_version' then prompt_version
                when 'index_version' then index_version
                when 'model_id' then model_id
                when 'adapter_id' then adapter_id
                when 'eval_set_version' then eval_set_version
                else meta[name]
            end, ''
        )) = '') as names
    from asked
    where len(provenance) > 0
),
figures as not materialized (
    select run, metric, unnest([
        {stat: case form when 'value' then 'mean' when 'rate' then 'rate' else 'usable_share' end, actual: mean, n: n},
        {stat: 'sum', actual: sum, n: n},
        {stat: 'min', actual: min, n: n},
        {stat: 'max', actual: max, n: n},
        {stat: 'n', actual: n_scored::double, n: n},
        {stat: 'p50', actual: cuts[1], n: n_ranked},
        {stat: 'p90', actual: cuts[2], n: n_ranked},
        {stat: 'p95', actual: cuts[3], n: n_ranked},
        {stat: 'micro', actual: micro, n: n_parts}
    ][:if(form = 'value', 9, 1)], max_depth := 2)
    from summed
    union all
    select run, metric, 'weighted_mean', mean, n from weighted
    union all
    select run, '', 'answered_share', answered_count / nullif(question_count, 0), question_count from asked
    union all
    select run, '', 'missing_provenance', len(names), 1 from lacking
),
held as not materialized (
    select
        a.run_id, a.profile, a.eval_set, g.*, f.actual, coalesce(f.n, 0) as n, l.names,
        case g.op
            when '>=' then f.actual >= g."limit" - 1e-9
            when '<=' then f.actual <= g."limit" + 1e-9
            when '>' then f.actual > g."limit" + 1e-9
            when '<' then f.actual < g."limit" - 1e-9
            else abs(f.actual - g."limit") <= 1e-9
        end as holds
    from asked a
    join gate_catalog g on g.profile = a.profile
    left join figures f on f.run = a.run and f.metric = g.metric and f.stat = g.stat
    left join lacking l on l.run = a.run and g.stat = 'missing_provenance'
),
judged as materialized (
    select
        run_id, profile, eval_set, gate, nullif(metric, '') as metric, stat, actual, op, "limit", level,
        case when holds then 'passed' when holds is null or waived then 'skipped' else 'failed' end as status,
        case when not holds and not waived then failure || coalesce(': ' || array_to_string(names, ', '), '') end
            as failure,
        n, coverage
    from held
),
counted as not materialized (
    select * from judged
    qualify not coverage or bool_and(coverage) over (partition by run_id, profile, eval_set, level)
)
select * exclude (coverage)
from judged
union all
select
    run_id, profile, eval_set, 'applicable_gates', null, 'applicable_gates', 0.0, '>=', 1.0, level,
    'failed', 'nothing to judge', count(*)
from counted
group by run_id, profile, eval_set, level
having bool_and(status = 'skipped');
