-- gated(wanted). Grain: current run x gate, of every level that its profile's gates have.
-- wanted: names of runs, or null for all. Inputs: gate_catalog (gates as rows), stored_summary (what they are about),
-- current_runs, profile_catalog. actual is null where there is nothing to apply a gate to: it is skipped, as is one that
-- is waived and would fail. n: questions that the statistic is over. Limits hold within 1e-9. failure: where it failed.
-- A run to which none of its gates applies fails: it gets one row more, `applicable_gates`, whose n is how many gates
-- there were. Gates on coverage (shares of answers, the record's provenance) do not count for that where there are others.
create macro gated(wanted) as table
with selected_runs as materialized (
    select r.*, row_number() over () as run, p.provenance
    from current_runs r
    join profile_catalog p on p.profile = r.profile
    where wanted is null or list_contains(wanted, r.run_id)
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
    from selected_runs
    where len(provenance) > 0
),
figures as not materialized (
    select a.run, s.metric, unnest([
        {stat: case s.metric when '' then 'usable_share' else 'mean' end, actual: s.mean, n: s.n_counted},
        {stat: 'weighted_mean', actual: s.weighted_mean, n: s.n_counted},
        {stat: 'sum', actual: s.sum, n: s.n_counted},
        {stat: 'min', actual: s.min, n: s.n_counted},
        {stat: 'max', actual: s.max, n: s.n_counted},
        {stat: 'rate', actual: s.rate, n: s.n_counted},
        {stat: 'n', actual: s.n_scored::double, n: s.n_counted},
        {stat: 'p50', actual: s.p50, n: s.n_counted},
        {stat: 'p90', actual: s.p90, n: s.n_counted},
        {stat: 'p95', actual: s.p95, n: s.n_counted},
        {stat: 'micro', actual: s.micro, n: s.n_parts}
    ], max_depth := 2)
    from stored_summary s
    join selected_runs a on a.commit = s.commit and a.stored_id = s.run_id
    where s.grouping = ''
    union all
    select run, '', 'answered_share', answered_count / nullif(question_count, 0), question_count from selected_runs
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
    from selected_runs a
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
