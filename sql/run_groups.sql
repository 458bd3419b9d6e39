-- run_groups. Grain: run x profile x eval set x grouping x value: a run by type, difficulty, category, tag, … as its profile
-- names columns. A question with several tags stands under each of them, so the groups of a list do not add up to the run.
-- Inputs: group_rows (the named columns of every profile as rows), current_runs, profile_catalog.
-- Several repeats of a question count as their mean. overall_percentage: the mean as a share of the best score, times 100.
create view run_groups as
with asked as not materialized (
    select
        r.run_id, g.profile, r.eval_set, g.grouping, g.value, g.question_id,
        exact_mean(g.score) as score, exact_mean(g.passed) as passed
    from group_rows g
    join current_runs r on r.commit = g.commit and r.stored_id = g.run_id
    where g.value is not null
    group by r.run_id, g.profile, r.eval_set, g.grouping, g.value, g.question_id
)
select
    a.run_id, a.profile, a.eval_set, a.grouping, a.value,
    count(*) as total_tests,
    exact_sum(a.passed) as passed_tests,
    exact_mean(a.passed) as pass_rate,
    exact_mean(a.score) as mean,
    100 * exact_mean(a.score) / any_value(p.score_top) as overall_percentage
from asked a
join profile_catalog p on p.profile = a.profile
group by a.run_id, a.profile, a.eval_set, a.grouping, a.value;
