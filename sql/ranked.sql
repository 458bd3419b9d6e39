-- ranked(wanted). Grain: run x profile x eval set, all of them ranked by the run's score; intervals of the wanted runs.
-- wanted: names of runs, or null for all. Inputs: run_values, unit_values, profile_catalog, current_runs,
-- stored_intervals (those that were kept, which all runs get). To resample is what takes long, so a page asks for the
-- runs that it shows. low, high: a 95 % bootstrap interval of the score, percentiles of 2,000 resamples of the run's
-- units; they never leave the range of its values. A unit counts as in the score: by its weight or, in a micro average,
-- by its denominator. Null where there is nothing to resample, and for other runs. A run without a score has no rank.
create macro ranked(wanted) as table
with kept as not materialized (
    select r.run_id, r.profile, r.eval_set, i.low, i.high
    from current_runs r
    join stored_intervals i on i.commit = r.commit and i.run_id = r.stored_id
),
weighed as not materialized (
    select
        v.run_id, v.profile, v.eval_set,
        case p.run_stat when 'micro' then (v.numerator / nullif(v.denominator, 0))::double else v.value end as value,
        case p.run_stat when 'weighted_mean' then v.weight when 'micro' then v.denominator::double else 1.0 end as weight
    from unit_values v
    join profile_catalog p on p.profile = v.profile
    anti join kept k on k.run_id = v.run_id and k.profile = v.profile and k.eval_set = v.eval_set
    where v.metric = 'score' and (wanted is null or list_contains(wanted, v.run_id))
),
computed as not materialized (
    select
        run_id, profile, eval_set,
        mean_interval(list({value: value, weight: weight}) filter (value is not null and weight is not null), 2000)
            as within
    from weighed
    group by run_id, profile, eval_set
),
intervals as not materialized (
    select run_id, profile, eval_set, within.low as low, within.high as high from computed
    union all
    from kept
)
select
    case when r.value is not null
        then rank() over (partition by r.profile, r.eval_set order by r.value desc nulls last)
    end as rank,
    r.run_id, r.profile, r.eval_set, r.value as score, r.stat, i.low, i.high, r.n
from run_values r
left join intervals i on i.run_id = r.run_id and i.profile = r.profile and i.eval_set = r.eval_set
where r.metric = 'score';
