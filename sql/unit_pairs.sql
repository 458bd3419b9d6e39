-- unit_pairs(of_profile, of_metric, base, base_set, candidates, names). Grain: metric x candidate x unit of either run: a
-- question, or what else the profile pairs runs by. Inputs: unit_values, metric_catalog. candidates is a list of {run_id,
-- eval_set}; names are the names of base and candidates, so that no rows of other runs are read; of_metric null stands
-- for all metrics. A unit has its mean over its rows on both sides; one without a value on a side is not on that side.
-- delta is candidate minus base, turned where lower is better.
create macro unit_pairs(of_profile, of_metric, base, base_set, candidates, names) as table
with wanted as not materialized (
    select unnest(candidates, max_depth := 2)
),
-- The units of all these runs by one pass over their rows.
selected as materialized (
    select
        v.run_id, v.eval_set, v.metric, v.unit, v.question_id, v.weight, v.value, v.numerator, v.denominator
    from unit_values v
    where list_contains(names, v.run_id)
      and v.profile = of_profile and (of_metric is null or v.metric = of_metric) and v.value is not null
      and (v.run_id, v.eval_set) in (select base, base_set union all select run_id, eval_set from wanted)
),
before as not materialized (
    select w.run_id, s.* exclude (run_id, eval_set)
    from selected s
    cross join wanted w
    where s.run_id = base and s.eval_set = base_set
),
after as not materialized (
    select s.* exclude (eval_set)
    from selected s
    join wanted w on w.run_id = s.run_id and w.eval_set = s.eval_set
),
paired as not materialized (
    select
        coalesce(b.metric, a.metric) as metric,
        coalesce(b.run_id, a.run_id) as run_id,
        coalesce(b.unit, a.unit) as unit,
        coalesce(b.question_id, a.question_id) as question_id,
        b.weight as base_weight,
        a.weight as cand_weight,
        b.value as base_score,
        a.value as cand_score,
        b.numerator as base_numerator,
        b.denominator as base_denominator,
        a.numerator as cand_numerator,
        a.denominator as cand_denominator
    from before b
    full join after a on a.run_id = b.run_id and a.metric = b.metric and a.unit = b.unit
)
select
    p.*,
    case when c.higher_is_better is false then p.base_score - p.cand_score else p.cand_score - p.base_score end as delta,
    change_status(p.base_score, p.cand_score, delta) as status
from paired p
left join metric_catalog c on c.profile = of_profile and c.metric = p.metric;
