-- judge_agreement. Grain: run x pair of judges (kappa), and one line for all judges of a run (alpha; judges null).
-- Inputs: judge_counted, cross-judging. A unit is a sample and repeat; n: units that both, or at least two, have judged.
-- kappa: Cohen's, unweighted, on the recomputed verdict. alpha: Krippendorff's, ordinal, on the recomputed sum, with the
-- weight of a unit's pairs 1 / (its values - 1). Null where undefined: no units, no disagreement that chance could make,
-- no verdicts. What a rubric does not ask for may be null in a unit.
create view judge_agreement as
with judged as (
    select
        run_id, eval_set, judge_model, verdict, overall_recomputed as value,
        (
            coalesce(question_id, ''), coalesce(prompt_variant, ''), coalesce(target_key, ''), coalesce(output_id, ''),
            repeat
        ) as unit
    from judge_counted
    where method = 'cross_judge'
),
pairs as (
    select a.run_id, a.eval_set, a.judge_model as judge_a, b.judge_model as judge_b, a.verdict as va, b.verdict as vb
    from judged a
    join judged b
        on b.run_id = a.run_id and b.eval_set = a.eval_set and b.unit = a.unit and b.judge_model > a.judge_model
),
judges as (select distinct run_id, eval_set, judge_model from judged),
agreed as (
    select
        run_id, eval_set, judge_a, judge_b,
        count(*)::hugeint as n, count(va) = count(*) as told, count(*) filter (va = vb) as same,
        count(*) filter (va = 'PASS') * count(*) filter (vb = 'PASS')::hugeint
            + count(*) filter (va = 'PARTIAL') * count(*) filter (vb = 'PARTIAL')::hugeint
            + count(*) filter (va = 'FAIL') * count(*) filter (vb = 'FAIL')::hugeint as chance
    from pairs
    group by run_id, eval_set, judge_a, judge_b
),
kappas as (
    select
        a.run_id, a.eval_set, a.judge_model as judge_a, b.judge_model as judge_b,
        coalesce(g.n, 0)::bigint as n,
        case when g.told then (g.n * g.same - g.chance)::double / nullif(g.n * g.n - g.chance, 0)::double end as kappa
    from judges a
    join judges b on b.run_id = a.run_id and b.eval_set = a.eval_set and b.judge_model > a.judge_model
    left join agreed g
        on g.run_id = a.run_id and g.eval_set = a.eval_set and g.judge_a = a.judge_model and g.judge_b = b.judge_model
),
-- alpha: how often a value stands in each unit that has at least two.
held as (
    select run_id, eval_set, unit, value, count(*) as times,
           sum(count(*)) over (partition by run_id, eval_set, unit)::bigint as size
    from judged
    group by run_id, eval_set, unit, value
    qualify size > 1
),
counts as (
    select
        run_id, eval_set, value, sum(times)::double as times,
        sum(sum(times)) over (partition by run_id, eval_set order by value)::double as up_to,
        sum(sum(times)) over (partition by run_id, eval_set)::double as total
    from held
    group by run_id, eval_set, value
),
-- Ordinal distance of two values: the values between them, the two themselves by half; as a share of all, squared.
distances as (
    select
        a.run_id, a.eval_set, a.value as low, b.value as high, a.total,
        pow((b.up_to - a.up_to + (a.times - b.times) / 2) / a.total, 2) as distance,
        a.times * b.times / (a.total * a.total) as expected
    from counts a
    join counts b on b.run_id = a.run_id and b.eval_set = a.eval_set and b.value > a.value
),
met as (
    select a.run_id, a.eval_set, a.value as low, b.value as high, a.size, sum(a.times * b.times)::double as times
    from held a
    join held b on b.run_id = a.run_id and b.eval_set = a.eval_set and b.unit = a.unit and b.value > a.value
    group by a.run_id, a.eval_set, a.value, b.value, a.size
),
observed as (
    select d.run_id, d.eval_set, exact_sum(m.times / (m.size - 1) / d.total * d.distance) as observed
    from met m
    join distances d on d.run_id = m.run_id and d.eval_set = m.eval_set and d.low = m.low and d.high = m.high
    group by d.run_id, d.eval_set
),
expected as (
    select run_id, eval_set, exact_sum(expected * distance) as expected, any_value(total) as total
    from distances
    group by run_id, eval_set
),
sizes as (
    select run_id, eval_set, count(distinct unit) filter (size > 1) as n
    from (select run_id, eval_set, unit, count(*) over (partition by run_id, eval_set, unit) as size from judged)
    group by run_id, eval_set
),
alphas as (
    select
        s.run_id, s.eval_set, s.n,
        1 - coalesce(o.observed, 0) * ((e.total - 1) / e.total) / nullif(e.expected, 0) as alpha
    from sizes s
    left join expected e on e.run_id = s.run_id and e.eval_set = s.eval_set
    left join observed o on o.run_id = s.run_id and o.eval_set = s.eval_set
)
select run_id, eval_set, judge_a, judge_b, n, kappa, null::double as alpha from kappas
union all
select run_id, eval_set, null, null, n, null, alpha from alphas;
